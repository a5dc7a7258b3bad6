import { type Notice, textWithoutLink } from '../notice.ts'
import { at, buttonsOf, cut, httpMedium, jsonOf, linksOf, Secret, Settings, Text, Url } from './channel.ts'

/** An event has at most 65,536 octets. */
const TEXT = 4000

/**
 * Client-Server API: PUT with a transaction id, by which the server knows an attempt that it took already. 401 and 403: the token
 * is wrong or the user is not in the room; 404: no such room; 413: too large; 429 with `Retry-After`, of older servers with
 * `retry_after_ms`.
 */
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
  request: (notice, { homeserver, access_token, room_id }) => ({
    method: 'PUT',
    url: at(
      homeserver,
      `/_matrix/client/v3/rooms/${encodeURIComponent(room_id)}/send/m.room.message/${notice.messageId}`,
    ),
    headers: { authorization: `Bearer ${access_token}` },
    body: JSON.stringify({
      msgtype: 'm.text',
      body: cut([notice.title, textWithoutLink(notice), ...linksOf(notice)].join('\n'), TEXT),
      format: 'org.matrix.custom.html',
      formatted_body: html(notice),
    }),
  }),
  retryAfterMs: ({ body }) => {
    const ms = jsonOf(body)?.retry_after_ms
    return typeof ms === 'number' ? ms : undefined
  },
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
