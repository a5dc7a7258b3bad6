import type { Notice } from '../notice.ts'
import { cut, httpMedium, jsonOf, SecretUrl, Settings, withoutMarkdown } from './channel.ts'

/** An embed has a title of 256 characters, a description of 4,096, 25 fields of 1,024, and 6,000 in all. */
const TITLE = 256
const DESCRIPTION = 1400
const FIELD = 1000

/** 404: the webhook was deleted; 401: its token is wrong; 429 says in `retry_after` how many seconds to wait. */
export const discord = httpMedium({
  type: 'discord',
  name: 'Discord',
  help: 'In the settings of a Discord channel, open Integrations, create a webhook, and copy its URL.',
  settings: Settings({
    webhook_url: SecretUrl('Webhook URL', { examples: ['https://discord.com/api/webhooks/000/XXXX'] }),
  }),
  permanent: [400, 401, 403, 404],
  request: (notice, { webhook_url }) => {
    const url = new URL(webhook_url)
    // Otherwise the response has no message, and so no id.
    url.searchParams.set('wait', 'true')
    return { url: url.href, body: JSON.stringify(discordMessage(notice)) }
  },
  update: (notice, { webhook_url }, id) => {
    const url = new URL(webhook_url)
    url.pathname += `/messages/${id}`
    const { username: _, ...message } = discordMessage(notice)
    return { method: 'PATCH', url: url.href, body: JSON.stringify(message) }
  },
  referenceOf: ({ body }) => {
    const id = jsonOf(body)?.id
    return typeof id === 'string' && /^\d{1,20}$/.test(id) ? id : undefined
  },
  retryAfterMs: ({ body }) => {
    const seconds = jsonOf(body)?.retry_after
    return typeof seconds === 'number' ? seconds * 1000 : undefined
  },
})

function discordMessage({ kind, title, text, facts, remedy, link, acknowledge, at, organization }: Notice) {
  return {
    username: 'Zonewatch',
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: cut(title, TITLE),
        url: link.href,
        description: [
          cut(withoutMarkdown(text), DESCRIPTION),
          ...(remedy === null ? [] : [`**What to do:** ${remedy}`]),
          // Webhooks of a channel have no buttons, an application's only.
          ...(acknowledge === null ? [] : [`[Acknowledge](${acknowledge})`]),
        ].join('\n\n'),
        color: kind === 'recovered' ? 0x2eb67d : kind === 'failing' ? 0xe01e5a : 0x4a90d9,
        fields: facts.slice(0, 4).map(({ name, value }) => ({ name, value: cut(withoutMarkdown(value), FIELD) })),
        footer: { text: cut(organization, TITLE) },
        timestamp: new Date(at).toISOString(),
      },
    ],
  }
}
