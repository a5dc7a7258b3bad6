import type { Notice } from '../notice.ts'
import { ApiUrl, at, buttonsOf, cut, errorOf, httpMedium, jsonOf, Secret, Settings, Text } from './channel.ts'

/** A message has at most 4,096 characters after its entities are read. */
const PART = 700
const API = 'https://api.telegram.org'

/** 401 and 404: the token is wrong; 400: the chat is unknown; 403: the bot was removed; 429 with `parameters.retry_after`. */
export const telegram = httpMedium({
  type: 'telegram',
  name: 'Telegram',
  help: 'Create a bot with @BotFather and copy its token. Add the bot to a group; @userinfobot shows the id of a chat.',
  settings: Settings({
    token: Secret('Bot token', { pattern: '^[0-9]+:[A-Za-z0-9_-]+$', examples: ['123456:ABC-DEF'] }),
    chat_id: Text('Chat id', { description: 'A number, or @name of a public channel.', examples: ['-1001234567890'] }),
    api_url: ApiUrl(API),
  }),
  permanent: [400, 401, 403, 404],
  request: (notice, { token, chat_id, api_url = API }) => {
    const { reference } = notice
    const reply =
      reference === undefined
        ? {}
        : { reply_parameters: { message_id: Number(reference), allow_sending_without_reply: true } }
    return {
      url: at(api_url, `/bot${token}/sendMessage`),
      body: JSON.stringify({ chat_id, ...telegramMessage(notice), ...reply }),
    }
  },
  update: (notice, { token, chat_id, api_url = API }, reference) => ({
    url: at(api_url, `/bot${token}/editMessageText`),
    body: JSON.stringify({ chat_id, message_id: Number(reference), ...telegramMessage(notice) }),
  }),
  // Before the message itself, which may be cut.
  referenceOf: ({ body }) => /"message_id":\s*(\d{1,15})\b/.exec(body)?.[1],
  errorIn: ({ body }) => (jsonOf(body)?.ok === false ? errorOf('Telegram', body, 'description') : undefined),
  retryAfterMs: ({ body }) => {
    const { retry_after } = (jsonOf(body)?.parameters ?? {}) as { retry_after?: unknown }
    return typeof retry_after === 'number' ? retry_after * 1000 : undefined
  },
})

const telegramMessage = (notice: Notice) => ({
  text: html(notice),
  parse_mode: 'HTML',
  link_preview_options: { is_disabled: true },
  ...(hasButtons(notice)
    ? { reply_markup: { inline_keyboard: [buttonsOf(notice).map(({ label, href }) => ({ text: label, url: href }))] } }
    : {}),
})

/** Telegram refuses messages whose buttons lead to a host name without a dot, such as localhost: BUTTON_URL_INVALID. */
const hasButtons = ({ link }: Notice): boolean => new URL(link.href).hostname.includes('.')

function html(notice: Notice): string {
  const { kind, title, text, facts, remedy } = notice
  const mark = kind === 'recovered' ? '✅ ' : kind === 'failing' ? '🔴 ' : ''
  const lines = [
    `${mark}<b>${part(title)}</b>`,
    part(text),
    ...facts.slice(0, 3).map(({ name, value }) => `<b>${name}:</b> ${part(value)}`),
  ]
  if (remedy !== null) lines.push(`<b>What to do:</b> ${part(remedy)}`)
  if (!hasButtons(notice)) lines.push(...buttonsOf(notice).map(({ label, href }) => `${label}: ${part(href)}`))
  return lines.join('\n')
}

const part = (text: string): string =>
  cut(text, PART).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
