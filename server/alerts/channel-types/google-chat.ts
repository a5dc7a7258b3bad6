import { truncate } from '../../text.ts'
import { messageLinks } from '../alert-message.ts'
import { httpChannelType, SecretUrl, Settings } from './channel-type.ts'
import { breakMarkup, escapeHtml } from './escape.ts'

/** A message has at most 32,000 bytes: title, cause, five facts and the remedy. Escaping makes up to six bytes of a character. */
const MAX_TEXT_CHARACTERS = 600

/**
 * A webhook of a space. Messages about one incident share a thread. 429: more than one message per second, from all webhooks of
 * the space.
 */
export const googleChat = httpChannelType({
  type: 'google_chat',
  name: 'Google Chat',
  help: 'In a space of Google Chat, open Apps & integrations, add a webhook, and copy its URL.',
  settings: Settings({
    webhook_url: SecretUrl('Webhook URL', {
      examples: ['https://chat.googleapis.com/v1/spaces/AAAA/messages?key=xxxx&token=xxxx'],
    }),
  }),
  permanentStatuses: [400, 401, 403, 404],
  request: (message, { webhook_url }) => {
    const { key, title, text, facts, remedy } = message
    const widgets = [
      paragraph(text),
      ...facts.map(({ name, value }) => ({
        decoratedText: { topLabel: name, text: escapeHtml(truncate(value, MAX_TEXT_CHARACTERS)), wrapText: true },
      })),
      ...(remedy === null ? [] : [paragraph(`What to do: ${remedy}`)]),
      {
        buttonList: {
          buttons: messageLinks(message).map(({ label, href }) => ({
            text: label,
            onClick: { openLink: { url: href } },
          })),
        },
      },
    ]
    const url = new URL(webhook_url)
    url.searchParams.set('messageReplyOption', 'REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD')
    const card = { header: { title: breakMarkup(truncate(title, 200)) }, sections: [{ widgets }] }
    const body = {
      text: breakMarkup(truncate(title, MAX_TEXT_CHARACTERS)),
      cardsV2: [{ cardId: key, card }],
      thread: { threadKey: key },
    }
    return { url: url.href, body: JSON.stringify(body) }
  },
})

const paragraph = (text: string) => ({ textParagraph: { text: escapeHtml(truncate(text, MAX_TEXT_CHARACTERS)) } })
