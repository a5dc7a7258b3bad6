import { truncate } from '../../text.ts'
import { type AlertMessage, DATA_FACTS, messageLinks } from '../alert-message.ts'
import { httpChannelType, providerError, SecretUrl, Settings } from './channel-type.ts'
import { escapeEntities, escapeSlack } from './escape.ts'

/** Block Kit: a header has at most 150 characters, a text 3,000, and a section 10 fields of 2,000. */
const MAX_HEADER_CHARACTERS = 150
const MAX_TEXT_CHARACTERS = 3000
const MAX_FIELD_CHARACTERS = 2000
const EMOJI = {
  failing: ':red_circle:',
  recovered: ':white_check_mark:',
  information: ':information_source:',
  summary: ':information_source:',
  test: ':information_source:',
}

/** Incoming webhooks. 403 and 404: revoked or unknown; 410: the channel is archived; 429 with `Retry-After`. */
export const slack = httpChannelType({
  type: 'slack',
  name: 'Slack',
  help: 'In Slack, create an app with “Incoming Webhooks”, add a webhook to a channel, and copy its URL.',
  settings: Settings({
    webhook_url: SecretUrl('Webhook URL', { examples: ['https://hooks.slack.com/services/T000/B000/XXXX'] }),
  }),
  permanentStatuses: [400, 403, 404, 410],
  // Slack's workflows respond like its API.
  findError: (response) => (response.json.ok === false ? providerError('Slack', response, 'error') : undefined),
  request: (message, { webhook_url }) => ({ url: webhook_url, body: JSON.stringify(slackMessage(message)) }),
})

export function slackMessage(message: AlertMessage) {
  const { kind, title, text, facts, remedy, organization } = message
  return {
    // For notifications, which show no blocks.
    text: truncate(escapeSlack(`${title}. ${text}`), MAX_TEXT_CHARACTERS),
    blocks: [
      {
        type: 'header',
        text: { type: 'plain_text', text: truncate(`${EMOJI[kind]} ${title}`, MAX_HEADER_CHARACTERS), emoji: true },
      },
      // Plain text: Markdown would show names such as _dmarc.example.com in italics.
      { type: 'section', text: { type: 'plain_text', text: truncate(text, MAX_TEXT_CHARACTERS), emoji: false } },
      {
        type: 'section',
        fields: facts.slice(0, 10).map(({ name, value }) => markdown(`*${name}*\n${factText(name, value)}`)),
      },
      ...(remedy === null ? [] : [remedySection(remedy)]),
      {
        type: 'actions',
        elements: messageLinks(message).map(({ label, href }) => ({
          type: 'button',
          text: { type: 'plain_text', text: label },
          url: href,
        })),
      },
      {
        type: 'context',
        elements: [markdown(truncate(`Zonewatch · ${escapeSlack(organization)}`, MAX_FIELD_CHARACTERS))],
      },
    ],
  }
}

/** `verbatim`: hosts and names of channels in it become no links. */
const markdown = (text: string) => ({ type: 'mrkdwn', text, verbatim: true })

/** Record data is code, in which Slack interprets no format. It is truncated before the closing backtick. */
function factText(name: string, value: string): string {
  if (!DATA_FACTS.has(name)) return truncate(escapeSlack(value), MAX_FIELD_CHARACTERS - 100)
  return `\`${truncate(escapeEntities(value), MAX_FIELD_CHARACTERS - 100).replaceAll('`', 'ˋ')}\``
}

const remedySection = (remedy: string) => ({
  type: 'section',
  text: markdown(truncate(`*What to do:* ${escapeSlack(remedy)}`, MAX_TEXT_CHARACTERS)),
})
