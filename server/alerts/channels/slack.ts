import { DATA_FACTS, type Notice } from '../notice.ts'
import { buttonsOf, cut, errorOf, httpMedium, jsonOf, SecretUrl, Settings } from './channel.ts'

/** Block Kit: a header has at most 150 characters, a text 3,000, and a section 10 fields of 2,000. */
const HEADER = 150
const TEXT = 3000
const FIELD = 2000

/** Slack's incoming webhooks. 403 and 404: revoked or unknown; 410: the channel is archived; 429 with `Retry-After`. */
export const slack = httpMedium({
  type: 'slack',
  name: 'Slack',
  help: 'In Slack, create an app with “Incoming Webhooks”, add a webhook to a channel, and copy its URL.',
  settings: Settings({
    webhook_url: SecretUrl('Webhook URL', { examples: ['https://hooks.slack.com/services/T000/B000/XXXX'] }),
  }),
  permanent: [400, 403, 404, 410],
  // Workflows of Slack answer as its API does.
  errorIn: ({ body }) => (jsonOf(body)?.ok === false ? errorOf('Slack', body, 'error') : undefined),
  request: (notice, { webhook_url }) => ({ url: webhook_url, body: JSON.stringify(slackMessage(notice)) }),
})

export function slackMessage(notice: Notice) {
  const { title, text, facts, remedy, organization } = notice
  const mark =
    notice.kind === 'recovered'
      ? ':white_check_mark:'
      : notice.kind === 'failing'
        ? ':red_circle:'
        : ':information_source:'
  const remedyText = remedy === null ? [] : [section(`*What to do:* ${escaped(remedy)}`)]
  return {
    // Shown in notifications, where there are no blocks.
    text: cut(escaped(`${title}. ${text}`), TEXT),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: cut(`${mark} ${title}`, HEADER), emoji: true } },
      // No format: names such as _dmarc.example.com would be in italics.
      { type: 'section', text: { type: 'plain_text', text: cut(text, TEXT), emoji: false } },
      {
        type: 'section',
        fields: facts
          .slice(0, 10)
          .map(({ name, value }) => ({ type: 'mrkdwn', text: `*${name}*\n${shown(name, value)}` })),
      },
      ...remedyText,
      {
        type: 'actions',
        elements: buttonsOf(notice).map(({ label, href }) => ({
          type: 'button',
          text: { type: 'plain_text', text: label },
          url: href,
        })),
      },
      { type: 'context', elements: [{ type: 'mrkdwn', text: cut(`Zonewatch · ${escaped(organization)}`, FIELD) }] },
    ],
  }
}

/** Data as code, in which nothing is a format. The part that is cut ends before the code does. */
const shown = (name: string, value: string): string => {
  const text = cut(escaped(value), FIELD - 100)
  return DATA_FACTS.has(name) ? `\`${text.replaceAll('`', 'ˋ')}\`` : text
}

const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text: cut(text, TEXT) } })

/** The three characters that Slack's text format needs escaped; so no text mentions anybody or makes a link. */
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
