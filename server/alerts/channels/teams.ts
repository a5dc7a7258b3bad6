import { buttonsOf, cut, httpMedium, type Response, SecretUrl, Settings, withoutMarkdown } from './channel.ts'

/** A message has at most 28 KB. */
const TEXT = 2000

/** The trigger “When a Teams webhook request is received” of Workflows, which answers 202. 401, 403, 404: wrong or deleted. */
export const teams = httpMedium({
  type: 'teams',
  name: 'Microsoft Teams',
  help: 'In Teams, open Workflows, choose “Send webhook alerts to a channel”, and copy the URL that it shows.',
  settings: Settings({
    webhook_url: SecretUrl('Workflow URL', { examples: ['https://example.webhook.office.com/workflows/xxxx'] }),
  }),
  permanent: [400, 401, 403, 404, 410, 413],
  request: (notice, { webhook_url }) => {
    const { kind, title, text, facts, remedy } = notice
    const card = {
      $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
      type: 'AdaptiveCard',
      version: '1.4',
      body: [
        block(title, {
          weight: 'Bolder',
          size: 'Medium',
          color: kind === 'recovered' ? 'Good' : kind === 'failing' ? 'Attention' : 'Default',
        }),
        block(text),
        {
          type: 'FactSet',
          facts: facts.map(({ name, value }) => ({ title: name, value: withoutMarkdown(cut(value, TEXT)) })),
        },
        ...(remedy === null ? [] : [block(`What to do: ${remedy}`)]),
      ],
      actions: buttonsOf(notice).map(({ label, href }) => ({ type: 'Action.OpenUrl', title: label, url: href })),
      msteams: { width: 'Full' },
    }
    const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: card }
    return { url: webhook_url, body: JSON.stringify({ type: 'message', attachments: [attachment] }) }
  },
  errorIn,
})

/** Connectors answer 200 whatever Teams says, with the status as text: “… Microsoft Teams endpoint returned HTTP error 429 …”. */
function errorIn({ body }: Response): { error: string; status?: number } | undefined {
  if (!body.startsWith('Webhook message delivery failed')) return undefined
  const status = /HTTP error (\d{3})/.exec(body)?.[1]
  return {
    error:
      status === undefined ? 'Microsoft Teams did not accept the message' : `Microsoft Teams responded with ${status}`,
    ...(status === undefined ? {} : { status: Number(status) }),
  }
}

const block = (text: string, look: object = {}) => ({
  type: 'TextBlock',
  text: withoutMarkdown(cut(text, TEXT)),
  wrap: true,
  ...look,
})
