import { truncate } from '../../text.ts'
import { messageLinks } from '../alert-message.ts'
import { ApiUrl, httpChannelType, joinUrl, Secret, Settings } from './channel-type.ts'

/** `summary` has at most 1,024 characters, `dedup_key` 255. */
const MAX_SUMMARY_CHARACTERS = 1024
const API = 'https://events.pagerduty.com'

/**
 * Events API v2, which responds with 202. All messages about an incident have one `dedup_key`, and so become one alert; `resolve`
 * closes it. 400: a wrong key.
 */
export const pagerduty = httpChannelType({
  type: 'pagerduty',
  name: 'PagerDuty',
  help: 'Add the integration “Events API V2” to a PagerDuty service, and copy its integration key.',
  settings: Settings({
    routing_key: Secret('Integration key', { pattern: '^[A-Za-z0-9]{32}$', description: '32 letters and digits.' }),
    api_url: ApiUrl(API),
  }),
  closesAfterMs: 0,
  permanentStatuses: [400, 401, 403, 404],
  request: (message, { routing_key, api_url = API }) => {
    const { kind, key, title, text, facts, remedy, link, at, organization } = message
    const common = { routing_key, dedup_key: key, event_action: kind === 'recovered' ? 'resolve' : 'trigger' }
    const payload = {
      summary: truncate(title, MAX_SUMMARY_CHARACTERS),
      source: organization,
      severity: kind === 'failing' ? 'critical' : 'info',
      timestamp: new Date(at).toISOString(),
      custom_details: {
        cause: text,
        ...Object.fromEntries(facts.map(({ name, value }) => [name.toLowerCase(), value])),
        ...(remedy === null ? {} : { 'what to do': remedy }),
      },
    }
    const links = messageLinks(message).map(({ label, href }) => ({ href, text: label }))
    const trigger = { ...common, client: 'Zonewatch', client_url: link.href, links, payload }
    return { url: joinUrl(api_url, '/v2/enqueue'), body: JSON.stringify(kind === 'recovered' ? common : trigger) }
  },
})
