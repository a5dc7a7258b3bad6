import { type Notice, textWithoutLink } from '../notice.ts'
import { ApiUrl, at, cut, errorOf, httpMedium, jsonOf, Secret, Settings } from './channel.ts'

/** A message has at most 1,024 characters, a title 250, a URL 512. */
const MESSAGE = 1000
const TITLE = 250
const API = 'https://api.pushover.net'

/** 400: a wrong key, which must not be sent again; 429: the month's messages are used up. */
export const pushover = httpMedium({
  type: 'pushover',
  name: 'Pushover',
  help: 'Create an application on pushover.net and copy its API token; your user key is on the same page.',
  settings: Settings({ token: Secret('API token'), user: Secret('User or group key'), api_url: ApiUrl(API) }),
  permanent: [400, 401, 403, 404],
  request: (notice, { token, user, api_url = API }) => ({
    url: at(api_url, '/1/messages.json'),
    body: JSON.stringify({
      token,
      user,
      title: cut(notice.title, TITLE),
      message: textOf(notice),
      priority: notice.kind === 'failing' ? 1 : 0,
      url: notice.link.href,
      url_title: notice.link.label,
      timestamp: Math.floor(notice.at / 1000),
    }),
  }),
  errorIn: ({ body }) => (jsonOf(body)?.status === 0 ? errorOf('Pushover', body, 'message') : undefined),
})

/** The other link has a field of its own. */
function textOf(notice: Notice): string {
  const acknowledge = notice.acknowledge === null ? '' : `\nAcknowledge: ${notice.acknowledge}`
  return `${cut(textWithoutLink(notice), MESSAGE - acknowledge.length)}${acknowledge}`
}
