import { textWithoutLink } from '../notice.ts'
import { cut, errorOf, httpMedium, jsonOf, SecretUrl, Settings, withoutMarkdown } from './channel.ts'

/** Incoming webhooks of Mattermost and Rocket.Chat, which share a format. 400 and 404: unknown; 501: switched off. A text has at most 16,383 characters; 5,000 is Rocket.Chat's. */
const TEXT = 4000

export const mattermost = httpMedium({
  type: 'mattermost',
  name: 'Mattermost or Rocket.Chat',
  help: 'Create an incoming webhook in the integrations of Mattermost or Rocket.Chat, and copy its URL.',
  settings: Settings({
    webhook_url: SecretUrl('Webhook URL', { examples: ['https://chat.example.com/hooks/xxxx'] }),
  }),
  permanent: [400, 401, 403, 404, 501],
  // Rocket.Chat's, with 200 in some versions.
  errorIn: ({ body }) => (jsonOf(body)?.success === false ? errorOf('Rocket.Chat', body, 'error') : undefined),
  request: (notice, { webhook_url }) => ({
    url: webhook_url,
    body: JSON.stringify({
      username: 'Zonewatch',
      attachments: [
        {
          fallback: cut(notice.title, TEXT),
          color: notice.kind === 'recovered' ? '#2eb67d' : notice.kind === 'failing' ? '#e01e5a' : '#4a90d9',
          title: cut(notice.title, 250),
          title_link: notice.link.href,
          text: [
            cut(withoutMarkdown(textWithoutLink(notice)), TEXT),
            ...(notice.acknowledge === null ? [] : [`[Acknowledge](${notice.acknowledge})`]),
          ].join('\n\n'),
        },
      ],
    }),
  }),
})
