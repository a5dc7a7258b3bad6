import { Type } from 'typebox'
import { plainText } from '../notice.ts'
import { ApiUrl, buttonsOf, cut, httpMedium, Secret, Settings, Text } from './channel.ts'

/** A message has at most 4,096 octets; longer ones become attachments. A title has 1,024, tags 512. */
const MESSAGE = 1000
const TITLE = 250
const API = 'https://ntfy.sh'

/** JSON to the root of the server. 401 and 403: the token is wrong or missing; 413: too large; 429: too many messages. */
export const ntfy = httpMedium({
  type: 'ntfy',
  name: 'ntfy',
  help: 'Choose a topic that nobody guesses, and subscribe to it in the ntfy app. A protected topic needs an access token.',
  settings: Settings({
    topic: Text('Topic', { pattern: '^[-_A-Za-z0-9]{1,64}$', description: 'Letters, digits, - and _.' }),
    token: Type.Optional(Secret('Access token', { examples: ['tk_xxxx'] })),
    api_url: ApiUrl(API),
  }),
  permanent: [400, 401, 403, 404, 413],
  request: (notice, { topic, token, api_url = API }) => ({
    url: api_url,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    body: JSON.stringify({
      topic,
      title: cut(notice.title, TITLE),
      message: cut(plainText(notice), MESSAGE),
      priority: notice.kind === 'failing' ? 4 : 3,
      tags: [
        notice.kind === 'failing'
          ? 'red_circle'
          : notice.kind === 'recovered'
            ? 'white_check_mark'
            : 'information_source',
      ],
      click: notice.link.href,
      actions: buttonsOf(notice).map(({ label, href }) => ({ action: 'view', label, url: href })),
    }),
  }),
})
