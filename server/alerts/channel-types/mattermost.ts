import { truncate } from '../../text.ts'
import { textWithoutLink } from '../alert-message.ts'
import { httpChannelType, providerError, SecretUrl, Settings } from './channel-type.ts'
import { breakMarkup, escapeHosts, escapeMarkdown } from './escape.ts'

/** A text has at most 16,383 characters in Mattermost, and 5,000 in Rocket.Chat. */
const MAX_TEXT_CHARACTERS = 4000

/** Incoming webhooks of Mattermost and Rocket.Chat, which share a format. 400 and 404: unknown; 501: disabled. */
export const mattermost = httpChannelType({
  type: 'mattermost',
  name: 'Mattermost or Rocket.Chat',
  help: 'Create an incoming webhook in the integrations of Mattermost or Rocket.Chat, and copy its URL.',
  settings: Settings({
    webhook_url: SecretUrl('Webhook URL', { examples: ['https://chat.example.com/hooks/xxxx'] }),
  }),
  permanentStatuses: [400, 401, 403, 404, 501],
  // Some versions of Rocket.Chat respond with 200 and an error.
  findError: (response) =>
    response.json.success === false ? providerError('Rocket.Chat', response, 'error') : undefined,
  request: (message, { webhook_url }) => ({
    url: webhook_url,
    body: JSON.stringify({
      username: 'Zonewatch',
      attachments: [
        {
          fallback: truncate(breakMarkup(message.title), MAX_TEXT_CHARACTERS),
          color: message.kind === 'recovered' ? '#2eb67d' : message.kind === 'failing' ? '#e01e5a' : '#4a90d9',
          title: truncate(escapeMarkdown(message.title), 250),
          title_link: message.link.href,
          text: [
            truncate(escapeHosts(escapeMarkdown(textWithoutLink(message))), MAX_TEXT_CHARACTERS),
            ...(message.acknowledge === null ? [] : [`[Acknowledge](${message.acknowledge})`]),
          ].join('\n\n'),
        },
      ],
    }),
  }),
})
