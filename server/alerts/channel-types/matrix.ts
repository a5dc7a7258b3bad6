import { truncate } from '../../text.ts'
import { type AlertMessage, linkLines, messageLinks, textWithoutLink } from '../alert-message.ts'
import { type HttpRequest, httpChannelType, joinUrl, Secret, Settings, STATE_EMOJI, Text, Url } from './channel-type.ts'
import { breakMarkup, escapeAttribute, escapeHtml } from './escape.ts'

/** An event has at most 65,536 bytes. */
const MAX_TEXT_CHARACTERS = 4000
const MAX_PART_CHARACTERS = 500

/** The format of the Matrix specification, at most 255 bytes. Other texts, such as one with U+0000, cannot be stored. */
const EVENT_ID = /^\$[!-~]{1,254}$/

/**
 * Client-Server API: PUT with a transaction id, by which the server recognizes a repeated request. 401 and 403: the token is wrong
 * or the user is not in the room; 404: no such room; 413: too large; 429 with `Retry-After`, or `retry_after_ms` from older servers.
 */
export const matrix = httpChannelType({
  type: 'matrix',
  name: 'Matrix',
  help: 'Create a user for Zonewatch, invite it to a room without encryption and join it. Its access token and the room id are in the settings of Element.',
  settings: Settings({
    homeserver: Url('Homeserver', { examples: ['https://matrix.example.org'] }),
    access_token: Secret('Access token', { pattern: '^[\\x21-\\x7e]*$', examples: ['syt_xxxx'] }),
    room_id: Text('Room id', { pattern: '^![^\\s]+$', examples: ['!xxxx:example.org'] }),
  }),
  permanentStatuses: [400, 401, 403, 404, 413],
  request: (message, settings) => {
    const { reference, messageId } = message
    const reply = reference === undefined ? {} : { 'm.relates_to': { 'm.in_reply_to': { event_id: reference } } }
    return put(settings, messageId, { ...matrixMessage(message), ...reply })
  },
  update: (message, settings, event_id) => {
    const content = matrixMessage(message)
    const replacement = { 'm.new_content': content, 'm.relates_to': { rel_type: 'm.replace', event_id } }
    return put(settings, `${message.messageId}.edit`, { ...content, ...replacement })
  },
  findReference: ({ json }) => {
    const id = String(json.event_id)
    return EVENT_ID.test(id) ? id : undefined
  },
  findRetryAfterMs: ({ json }) => (typeof json.retry_after_ms === 'number' ? json.retry_after_ms : undefined),
})

type MatrixSettings = { homeserver: string; access_token: string; room_id: string }

function put(settings: MatrixSettings, transactionId: string, content: object): HttpRequest {
  const { homeserver, access_token, room_id } = settings
  const path = `/_matrix/client/v3/rooms/${encodeURIComponent(room_id)}/send/m.room.message/${transactionId}`
  return {
    method: 'PUT',
    url: joinUrl(homeserver, path),
    headers: { authorization: `Bearer ${access_token}` },
    body: JSON.stringify(content),
  }
}

const matrixMessage = (message: AlertMessage) => ({
  msgtype: 'm.text',
  body: truncate(
    [breakMarkup(`${message.title}\n${textWithoutLink(message)}`), ...linkLines(message)].join('\n'),
    MAX_TEXT_CHARACTERS,
  ),
  format: 'org.matrix.custom.html',
  formatted_body: toHtml(message),
  // Without it, programs look for mentions and for names of users in the body.
  'm.mentions': {},
})

function toHtml(message: AlertMessage): string {
  const { kind, title, text, facts, remedy } = message
  const links = messageLinks(message).map(
    ({ label, href }) => `<a href="${escapeAttribute(href)}">${toPart(label)}</a>`,
  )
  const lines = [
    `${STATE_EMOJI[kind]}<strong>${toPart(title)}</strong>`,
    toPart(text),
    ...facts.slice(0, 5).map(({ name, value }) => `<strong>${name}:</strong> ${toPart(value)}`),
    ...(remedy === null ? [] : [`<strong>What to do:</strong> ${toPart(remedy)}`]),
    links.join(' · '),
  ]
  return lines.join('<br>')
}

const toPart = (text: string): string => escapeHtml(truncate(text, MAX_PART_CHARACTERS)).replaceAll('\n', '<br>')
