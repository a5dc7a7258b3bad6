import { truncate } from '../../text.ts'
import { messageLinks } from '../alert-message.ts'
import { type HttpResponse, httpChannelType, SecretUrl, Settings } from './channel-type.ts'
import { escapeMarkdown } from './escape.ts'

/** A message has at most 28 KB. */
const MAX_TEXT_CHARACTERS = 2000

/** The Workflows trigger “When a Teams webhook request is received”, which responds with 202. 401, 403, 404: wrong or deleted. */
export const teams = httpChannelType({
  type: 'teams',
  name: 'Microsoft Teams',
  help: 'In Teams, open Workflows, choose “Send webhook alerts to a channel”, and copy the URL that it shows.',
  settings: Settings({
    webhook_url: SecretUrl('Workflow URL', { examples: ['https://example.webhook.office.com/workflows/xxxx'] }),
  }),
  permanentStatuses: [400, 401, 403, 404, 410, 413],
  request: (message, { webhook_url }) => {
    const { kind, title, text, facts, remedy } = message
    const color = kind === 'recovered' ? 'Good' : kind === 'failing' ? 'Attention' : 'Default'
    const card = {
      $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
      type: 'AdaptiveCard',
      version: '1.4',
      body: [
        textBlock(title, { weight: 'Bolder', size: 'Medium', color }),
        textBlock(text),
        {
          type: 'FactSet',
          facts: facts.map(({ name, value }) => ({
            title: name,
            value: escapeMarkdown(truncate(value, MAX_TEXT_CHARACTERS)),
          })),
        },
        ...(remedy === null ? [] : [textBlock(`What to do: ${remedy}`)]),
      ],
      actions: messageLinks(message).map(({ label, href }) => ({ type: 'Action.OpenUrl', title: label, url: href })),
      msteams: { width: 'Full' },
    }
    const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: card }
    return { url: webhook_url, body: JSON.stringify({ type: 'message', attachments: [attachment] }) }
  },
  findError,
})

/** Connectors always respond with 200, and name the status in a text: “… Microsoft Teams endpoint returned HTTP error 429 …”. */
function findError({ body }: HttpResponse): { error: string; status?: number } | undefined {
  if (!body.startsWith('Webhook message delivery failed')) return undefined
  const status = /HTTP error (\d{3})/.exec(body)?.[1]
  if (status === undefined) return { error: 'Microsoft Teams did not accept the message' }
  return { error: `Microsoft Teams responded with ${status}`, status: Number(status) }
}

const textBlock = (text: string, style: object = {}) => ({
  type: 'TextBlock',
  text: escapeMarkdown(truncate(text, MAX_TEXT_CHARACTERS)),
  wrap: true,
  ...style,
})
