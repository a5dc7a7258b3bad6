import { truncate } from '../../text.ts'
import { type AlertMessage, linkLines, messageLinks } from '../alert-message.ts'
import { ApiUrl, httpChannelType, joinUrl, providerError, Secret, Settings, STATE_EMOJI, Text } from './channel-type.ts'
import { escapeAttribute, escapeHtml } from './escape.ts'

/** A message has at most 4,096 characters after its entities are parsed. */
const MAX_PART_CHARACTERS = 700
const API = 'https://api.telegram.org'

/** 401 and 404: the token is wrong; 400: the chat is unknown; 403: the bot was removed; 429 with `parameters.retry_after`. */
export const telegram = httpChannelType({
  type: 'telegram',
  name: 'Telegram',
  help: 'Create a bot with @BotFather and copy its token. Add the bot to a group; @userinfobot shows the id of a chat.',
  settings: Settings({
    token: Secret('Bot token', { pattern: '^[0-9]+:[A-Za-z0-9_-]+$', examples: ['123456:ABC-DEF'] }),
    chat_id: Text('Chat id', { description: 'A number, or @name of a public channel.', examples: ['-1001234567890'] }),
    api_url: ApiUrl(API),
  }),
  permanentStatuses: [400, 401, 403, 404],
  request: (message, { token, chat_id, api_url = API }) => {
    const { reference } = message
    const reply =
      reference === undefined
        ? {}
        : { reply_parameters: { message_id: Number(reference), allow_sending_without_reply: true } }
    return {
      url: joinUrl(api_url, `/bot${token}/sendMessage`),
      body: JSON.stringify({ chat_id, ...telegramMessage(message), ...reply }),
    }
  },
  update: (message, { token, chat_id, api_url = API }, reference) => ({
    url: joinUrl(api_url, `/bot${token}/editMessageText`),
    body: JSON.stringify({ chat_id, message_id: Number(reference), ...telegramMessage(message) }),
  }),
  // The id precedes the message in the body, which may be truncated and so be no JSON.
  findReference: ({ body }) => /"message_id":\s*(\d{1,15})\b/.exec(body)?.[1],
  findError: (response) =>
    response.json.ok === false ? providerError('Telegram', response, 'description') : undefined,
  findRetryAfterMs: ({ json }) => {
    const { retry_after } = (json.parameters ?? {}) as { retry_after?: unknown }
    return typeof retry_after === 'number' ? retry_after * 1000 : undefined
  },
})

const telegramMessage = (message: AlertMessage) => ({
  text: toHtml(message),
  parse_mode: 'HTML',
  link_preview_options: { is_disabled: true },
  ...(hasButtons(message)
    ? {
        reply_markup: {
          inline_keyboard: [messageLinks(message).map(({ label, href }) => ({ text: label, url: href }))],
        },
      }
    : {}),
})

/** Telegram refuses buttons with a host name without a dot, such as localhost: BUTTON_URL_INVALID. */
const hasButtons = ({ link }: AlertMessage): boolean => new URL(link.href).hostname.includes('.')

function toHtml(message: AlertMessage): string {
  const { kind, title, text, facts, remedy } = message
  const lines = [
    `${STATE_EMOJI[kind]}<b>${toPart(title)}</b>`,
    toPart(text),
    ...facts.slice(0, 3).map(({ name, value }) => `<b>${name}:</b> ${toPart(value)}`),
  ]
  if (remedy !== null) lines.push(`<b>What to do:</b> ${toPart(remedy)}`)
  if (!hasButtons(message)) lines.push(...linkLines(message).map(escapeAttribute))
  return lines.join('\n')
}

const toPart = (text: string): string => escapeHtml(truncate(text, MAX_PART_CHARACTERS))
