import { truncate } from '../../text.ts'
import type { AlertMessage } from '../alert-message.ts'
import { httpChannelType, SecretUrl, Settings } from './channel-type.ts'
import { escapeMarkdown } from './escape.ts'

/** An embed has at most 256 characters in its title, 4,096 in its description, 25 fields of 1,024, and 6,000 in total. */
const MAX_TITLE_CHARACTERS = 256
const MAX_DESCRIPTION_CHARACTERS = 1400
const MAX_FIELD_CHARACTERS = 1000

/** 404: the webhook was deleted; 401: its token is wrong; 429: `retry_after` has the seconds to wait. */
export const discord = httpChannelType({
  type: 'discord',
  name: 'Discord',
  help: 'In the settings of a Discord channel, open Integrations, create a webhook, and copy its URL.',
  settings: Settings({
    webhook_url: SecretUrl('Webhook URL', { examples: ['https://discord.com/api/webhooks/000/XXXX'] }),
  }),
  permanentStatuses: [400, 401, 403, 404],
  request: (message, { webhook_url }) => {
    const url = new URL(webhook_url)
    // Without `wait` the response does not contain the message and its id.
    url.searchParams.set('wait', 'true')
    return { url: url.href, body: JSON.stringify({ username: 'Zonewatch', ...discordMessage(message) }) }
  },
  update: (message, { webhook_url }, id) => {
    const url = new URL(webhook_url)
    url.pathname += `/messages/${id}`
    return { method: 'PATCH', url: url.href, body: JSON.stringify(discordMessage(message)) }
  },
  findReference: ({ json: { id } }) => (typeof id === 'string' && /^\d{1,20}$/.test(id) ? id : undefined),
  findRetryAfterMs: ({ json }) => (typeof json.retry_after === 'number' ? json.retry_after * 1000 : undefined),
})

function discordMessage({ kind, title, text, facts, remedy, link, acknowledge, at, organization }: AlertMessage) {
  return {
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: truncate(escapeMarkdown(title), MAX_TITLE_CHARACTERS),
        url: link.href,
        description: [
          truncate(escapeMarkdown(text), MAX_DESCRIPTION_CHARACTERS),
          ...(remedy === null
            ? []
            : [`**What to do:** ${truncate(escapeMarkdown(remedy), MAX_DESCRIPTION_CHARACTERS)}`]),
          // Only messages of applications can have buttons.
          ...(acknowledge === null ? [] : [`[Acknowledge](${acknowledge})`]),
        ].join('\n\n'),
        color: kind === 'recovered' ? 0x2eb67d : kind === 'failing' ? 0xe01e5a : 0x4a90d9,
        fields: facts
          .slice(0, 4)
          .map(({ name, value }) => ({ name, value: truncate(escapeMarkdown(value), MAX_FIELD_CHARACTERS) })),
        footer: { text: truncate(organization, MAX_TITLE_CHARACTERS) },
        timestamp: new Date(at).toISOString(),
      },
    ],
  }
}
