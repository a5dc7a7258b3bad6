import { truncate } from '../../text.ts'
import { type AlertMessage, textWithoutLink } from '../alert-message.ts'
import { ApiUrl, httpChannelType, joinUrl, providerError, Secret, Settings } from './channel-type.ts'

/** A message has at most 1,024 characters, a title 250, a URL 512. */
const MAX_MESSAGE_CHARACTERS = 1000
const MAX_TITLE_CHARACTERS = 250
const API = 'https://api.pushover.net'

/** 400: a wrong key, which must not be sent again; 429: the monthly limit is reached. */
export const pushover = httpChannelType({
  type: 'pushover',
  name: 'Pushover',
  help: 'Create an application on pushover.net and copy its API token; your user key is on the same page.',
  settings: Settings({ token: Secret('API token'), user: Secret('User or group key'), api_url: ApiUrl(API) }),
  permanentStatuses: [400, 401, 403, 404],
  request: (message, { token, user, api_url = API }) => ({
    url: joinUrl(api_url, '/1/messages.json'),
    body: JSON.stringify({
      token,
      user,
      title: truncate(message.title, MAX_TITLE_CHARACTERS),
      message: messageText(message),
      priority: message.kind === 'failing' ? 1 : 0,
      url: message.link.href,
      url_title: message.link.label,
      timestamp: Math.floor(message.at / 1000),
    }),
  }),
  findError: (response) => (response.json.status === 0 ? providerError('Pushover', response, 'message') : undefined),
})

/** The link of the message has its own field. */
function messageText(message: AlertMessage): string {
  const acknowledge = message.acknowledge === null ? '' : `\nAcknowledge: ${message.acknowledge}`
  return `${truncate(textWithoutLink(message), MAX_MESSAGE_CHARACTERS - acknowledge.length)}${acknowledge}`
}
