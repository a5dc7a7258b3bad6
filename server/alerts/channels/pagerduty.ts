import { ApiUrl, at, buttonsOf, cut, httpMedium, Secret, Settings } from './channel.ts'

/** `summary` has at most 1,024 characters, `dedup_key` 255. */
const SUMMARY = 1024
const API = 'https://events.pagerduty.com'

/** Events API v2, which answers 202. `dedup_key` makes one alert of all that is sent about an incident; `resolve` closes it. 400: a wrong key. */
export const pagerduty = httpMedium({
  type: 'pagerduty',
  name: 'PagerDuty',
  help: 'Add the integration “Events API V2” to a PagerDuty service, and copy its integration key.',
  settings: Settings({
    routing_key: Secret('Integration key', { pattern: '^[A-Za-z0-9]{32}$', description: '32 letters and digits.' }),
    api_url: ApiUrl(API),
  }),
  closesAfterMs: 0,
  permanent: [400, 401, 403, 404],
  request: (notice, { routing_key, api_url = API }) => {
    const { kind, key, title, text, facts, remedy, link, at: time, organization } = notice
    const common = { routing_key, dedup_key: key, event_action: kind === 'recovered' ? 'resolve' : 'trigger' }
    const payload = {
      summary: cut(title, SUMMARY),
      source: organization,
      severity: kind === 'failing' ? 'critical' : 'info',
      timestamp: new Date(time).toISOString(),
      custom_details: {
        cause: text,
        ...Object.fromEntries(facts.map(({ name, value }) => [name.toLowerCase(), value])),
        ...(remedy === null ? {} : { 'what to do': remedy }),
      },
    }
    const links = buttonsOf(notice).map(({ label, href }) => ({ href, text: label }))
    const trigger = { ...common, client: 'Zonewatch', client_url: link.href, links, payload }
    return { url: at(api_url, '/v2/enqueue'), body: JSON.stringify(kind === 'recovered' ? common : trigger) }
  },
})
