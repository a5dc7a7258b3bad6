import { type Notice, textWithoutLink } from '../notice.ts'
import {
  at,
  buttonsOf,
  cut,
  httpMedium,
  jsonOf,
  linksOf,
  type Outgoing,
  Secret,
  Settings,
  Text,
  Url,
} from './channel.ts'

/** An event has at most 65,536 octets. */
const TEXT = 4000

/**
 * Client-Server API: PUT with a transaction id, by which the server knows an attempt that it took already. 401 and 403: the token
 * is wrong or the user is not in the room; 404: no such room; 413: too large; 429 with `Retry-After`, of older servers with
 * `retry_after_ms`.
 */
/** As the Matrix specification has them, of at most 255 octets. Any other text of a server, such as one with U+0000, could not be stored. */
const EVENT_ID = /^\$[!-~]{1,254}$/

export const matrix = httpMedium({
  type: 'matrix',
  name: 'Matrix',
  help: 'Create a user for Zonewatch, invite it to a room without encryption and join it. Its access token and the room id are in the settings of Element.',
  settings: Settings({
    homeserver: Url('Homeserver', { examples: ['https://matrix.example.org'] }),
    access_token: Secret('Access token', { pattern: '^[\\x21-\\x7e]*$', examples: ['syt_xxxx'] }),
    room_id: Text('Room id', { pattern: '^![^\\s]+$', examples: ['!xxxx:example.org'] }),
  }),
  permanent: [400, 401, 403, 404, 413],
  request: (notice, settings) => {
    const { reference, messageId } = notice
    const reply = reference === undefined ? {} : { 'm.relates_to': { 'm.in_reply_to': { event_id: reference } } }
    return put(settings, messageId, { ...matrixMessage(notice), ...reply })
  },
  update: (notice, settings, event_id) => {
    const message = matrixMessage(notice)
    const replaced = { 'm.new_content': message, 'm.relates_to': { rel_type: 'm.replace', event_id } }
    return put(settings, `${notice.messageId}.edit`, { ...message, ...replaced })
  },
  referenceOf: ({ body }) => {
    const id = String(jsonOf(body)?.event_id)
    return EVENT_ID.test(id) ? id : undefined
  },
  retryAfterMs: ({ body }) => {
    const ms = jsonOf(body)?.retry_after_ms
    return typeof ms === 'number' ? ms : undefined
  },
})

type Room = { homeserver: string; access_token: string; room_id: string }

function put({ homeserver, access_token, room_id }: Room, transaction: string, content: object): Outgoing {
  const path = `/_matrix/client/v3/rooms/${encodeURIComponent(room_id)}/send/m.room.message/${transaction}`
  return {
    method: 'PUT',
    url: at(homeserver, path),
    headers: { authorization: `Bearer ${access_token}` },
    body: JSON.stringify(content),
  }
}

const matrixMessage = (notice: Notice) => ({
  msgtype: 'm.text',
  body: cut([notice.title, textWithoutLink(notice), ...linksOf(notice)].join('\n'), TEXT),
  format: 'org.matrix.custom.html',
  formatted_body: html(notice),
})

function html(notice: Notice): string {
  const { kind, title, text, facts, remedy } = notice
  const mark = kind === 'recovered' ? '✅ ' : kind === 'failing' ? '🔴 ' : ''
  const lines = [
    `${mark}<strong>${part(title)}</strong>`,
    part(text),
    ...facts.slice(0, 5).map(({ name, value }) => `<strong>${name}:</strong> ${part(value)}`),
    ...(remedy === null ? [] : [`<strong>What to do:</strong> ${part(remedy)}`]),
    buttonsOf(notice)
      .map(({ label, href }) => `<a href="${part(href)}">${part(label)}</a>`)
      .join(' · '),
  ]
  return lines.join('<br>')
}

const PART = 500
const part = (text: string): string =>
  cut(text, PART)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '<br>')
