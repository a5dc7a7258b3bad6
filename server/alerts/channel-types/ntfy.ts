import { Type } from 'typebox'
import { truncate } from '../../text.ts'
import { messageLinks, plainText } from '../alert-message.ts'
import { ApiUrl, httpChannelType, Secret, Settings, Text } from './channel-type.ts'

/** A message has at most 4,096 bytes; longer ones become attachments. A title has 1,024, tags 512. */
const MAX_MESSAGE_CHARACTERS = 1000
const MAX_TITLE_CHARACTERS = 250
const API = 'https://ntfy.sh'
const TAGS = {
  failing: 'red_circle',
  recovered: 'white_check_mark',
  information: 'information_source',
  summary: 'information_source',
  test: 'information_source',
}

/** JSON to the root of the server. 401 and 403: the token is wrong or missing; 413: too large; 429: too many messages. */
export const ntfy = httpChannelType({
  type: 'ntfy',
  name: 'ntfy',
  help: 'Choose a topic that nobody guesses, and subscribe to it in the ntfy app. A protected topic needs an access token.',
  settings: Settings({
    topic: Text('Topic', { pattern: '^[-_A-Za-z0-9]{1,64}$', description: 'Letters, digits, - and _.' }),
    token: Type.Optional(Secret('Access token', { examples: ['tk_xxxx'] })),
    api_url: ApiUrl(API),
  }),
  permanentStatuses: [400, 401, 403, 404, 413],
  request: (message, { topic, token, api_url = API }) => ({
    url: api_url,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    body: JSON.stringify({
      topic,
      title: truncate(message.title, MAX_TITLE_CHARACTERS),
      message: truncate(plainText(message), MAX_MESSAGE_CHARACTERS),
      priority: message.kind === 'failing' ? 4 : 3,
      tags: [TAGS[message.kind]],
      click: message.link.href,
      actions: messageLinks(message).map(({ label, href }) => ({ action: 'view', label, url: href })),
    }),
  }),
})
