import { buttonsOf, cut, httpMedium, SecretUrl, Settings } from './channel.ts'

/** A message has at most 32,000 octets: title, cause, five facts and the remedy, in which a character may become five octets. */
const TEXT = 700

/** Webhooks of a space. Messages about one incident share a thread. 429: more than one message in a second, of all webhooks of the space. */
export const googleChat = httpMedium({
  type: 'google_chat',
  name: 'Google Chat',
  help: 'In a space of Google Chat, open Apps & integrations, add a webhook, and copy its URL.',
  settings: Settings({
    webhook_url: SecretUrl('Webhook URL', {
      examples: ['https://chat.googleapis.com/v1/spaces/AAAA/messages?key=xxxx&token=xxxx'],
    }),
  }),
  permanent: [400, 401, 403, 404],
  request: (notice, { webhook_url }) => {
    const { key, title, text, facts, remedy } = notice
    const widgets = [
      paragraph(text),
      ...facts.map(({ name, value }) => ({
        decoratedText: { topLabel: name, text: escaped(cut(value, TEXT)), wrapText: true },
      })),
      ...(remedy === null ? [] : [paragraph(`What to do: ${remedy}`)]),
      {
        buttonList: {
          buttons: buttonsOf(notice).map(({ label, href }) => ({ text: label, onClick: { openLink: { url: href } } })),
        },
      },
    ]
    const url = new URL(webhook_url)
    url.searchParams.set('messageReplyOption', 'REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD')
    const card = { header: { title: cut(title, 200) }, sections: [{ widgets }] }
    const body = { text: cut(title, TEXT), cardsV2: [{ cardId: key, card }], thread: { threadKey: key } }
    return { url: url.href, body: JSON.stringify(body) }
  },
})

const paragraph = (text: string) => ({ textParagraph: { text: escaped(cut(text, TEXT)) } })

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
