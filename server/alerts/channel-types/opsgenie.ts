import { truncate } from '../../text.ts'
import { linkLines, textWithoutLink } from '../alert-message.ts'
import { ApiUrl, httpChannelType, joinUrl, Secret, Settings } from './channel-type.ts'
import { breakMarkup } from './escape.ts'

/** `message` has at most 130 characters, `alias` 512, `description` 15,000. */
const MAX_MESSAGE_CHARACTERS = 130
const MAX_DESCRIPTION_CHARACTERS = 15_000
const API = 'https://api.opsgenie.com'

/** The Alert API, which responds with 202. All messages about an incident have one `alias`, and so become one alert. 422: invalid. */
export const opsgenie = httpChannelType({
  type: 'opsgenie',
  name: 'Opsgenie',
  help: 'Add an API integration to an Opsgenie team, and copy its API key. In the EU, use https://api.eu.opsgenie.com. Atlassian ends Opsgenie in April 2027.',
  settings: Settings({ api_key: Secret('API key'), api_url: ApiUrl(API) }),
  // Opsgenie processes requests after its response, in no certain order.
  closesAfterMs: 5000,
  permanentStatuses: [401, 402, 403, 404, 422],
  request: (message, { api_key, api_url = API }) => {
    const headers = { authorization: `GenieKey ${api_key}` }
    if (message.kind === 'recovered') {
      const path = `/v2/alerts/${encodeURIComponent(message.key)}/close?identifierType=alias`
      return {
        url: joinUrl(api_url, path),
        headers,
        body: JSON.stringify({ source: 'Zonewatch', note: breakMarkup(message.text) }),
      }
    }
    const body = {
      message: truncate(breakMarkup(message.title), MAX_MESSAGE_CHARACTERS),
      alias: message.key,
      description: truncate(
        [breakMarkup(textWithoutLink(message)), ...linkLines(message)].join('\n'),
        MAX_DESCRIPTION_CHARACTERS,
      ),
      source: 'Zonewatch',
      priority: message.kind === 'failing' ? 'P2' : 'P5',
    }
    return { url: joinUrl(api_url, '/v2/alerts'), headers, body: JSON.stringify(body) }
  },
})
