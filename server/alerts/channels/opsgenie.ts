import { textWithoutLink } from '../notice.ts'
import { ApiUrl, at, cut, httpMedium, linksOf, Secret, Settings } from './channel.ts'

/** `message` has at most 130 characters, `alias` 512, `description` 15,000. */
const MESSAGE = 130
const DESCRIPTION = 15_000
/** Opsgenie answers before it does what is asked, in no certain order. */
const CLOSES_AFTER_MS = 5000
const API = 'https://api.opsgenie.com'

/** The Alert API, which answers 202. `alias` makes one alert of all that is sent about an incident. 422: invalid. */
export const opsgenie = httpMedium({
  type: 'opsgenie',
  name: 'Opsgenie',
  help: 'Add an API integration to an Opsgenie team, and copy its API key. In the EU, use https://api.eu.opsgenie.com. Atlassian ends Opsgenie in April 2027.',
  settings: Settings({ api_key: Secret('API key'), api_url: ApiUrl(API) }),
  closesAfterMs: CLOSES_AFTER_MS,
  permanent: [401, 402, 403, 404, 422],
  request: (notice, { api_key, api_url = API }) => {
    const headers = { authorization: `GenieKey ${api_key}` }
    if (notice.kind === 'recovered') {
      const path = `/v2/alerts/${encodeURIComponent(notice.key)}/close?identifierType=alias`
      return { url: at(api_url, path), headers, body: JSON.stringify({ source: 'Zonewatch', note: notice.text }) }
    }
    const body = {
      message: cut(notice.title, MESSAGE),
      alias: notice.key,
      description: cut([textWithoutLink(notice), ...linksOf(notice)].join('\n'), DESCRIPTION),
      source: 'Zonewatch',
      priority: notice.kind === 'failing' ? 'P2' : 'P5',
    }
    return { url: at(api_url, '/v2/alerts'), headers, body: JSON.stringify(body) }
  },
})
