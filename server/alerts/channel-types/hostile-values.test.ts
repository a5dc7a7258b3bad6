import { expect, test } from 'vitest'
import { CHANNEL_TYPES, type ChannelType } from '#contract/alerts.ts'
import { CONTRACTS } from '../../testing/channel-contracts.ts'
import { oneLine } from '../../text.ts'
import { mailOf } from '../alert-mail.ts'
import { type AlertMessage, failingMessage } from '../alert-message.ts'
import { HTTP_CHANNEL_TYPES } from './channel-types.ts'

/** What anyone can write into a record: mentions, links, images, tags, marks that change the direction of text, and characters without a shape. */
const HOSTILE =
  '\u202e\u0007\u2066\u200e\u200b\u009b\ufeff @r\u006fom @everyone @all <users/all> <!channel> <@U1> <https://evil.example|here> [here](https://evil.example) ![x](https://evil.example/i.png) <b>bold</b> "onload=x dmarc@example.com http://evil.example/a www.evil.example'

const HIDDEN = ['202E', '0007', '2066', '200E', '200B', '009B', 'FEFF']

const incident = {
  ...{ id: 'inc_1', zone: HOSTILE, state: 'MISMATCH', openedAt: 0, resolvedAt: null, monitors: 2, failing: 2 },
  ...{ causeKind: 'value' as const, causeValue: HOSTILE },
}
const monitor = {
  ...{
    id: 'mon_1',
    name: HOSTILE,
    recordType: 'TXT',
    expected: [HOSTILE],
    found: [HOSTILE],
    cause: HOSTILE,
    advice: HOSTILE,
    warnings: [HOSTILE, HOSTILE],
    resolution: 'auto' as const,
  },
}
const context = { id: 'alr_1', organization: 'Acme', baseUrl: 'https://dns.example.com', now: 0 }
const several = failingMessage(incident, [monitor], context)
const single = failingMessage({ ...incident, monitors: 1 }, [monitor], context)
const MESSAGES: AlertMessage[] = [single, several]

const MENTION = /(?<!\w)@\w/
const TAG = /<b>bold|<users|<!channel|<@U|<https:/
/** What programs link by themselves. */
const URL_IN_TEXT = /:\/\/evil/
const MARKDOWN_LINK = /(?<!\\)\]\(/
/** Mattermost links a host without a scheme. Escaped, it is shown and copied as it is. */
const HOST_IN_MARKDOWN = /www\.evil/
/** Text in which Slack links hosts. */
const LINKING = /"type":"mrkdwn","text":"(?:[^"\\]|\\.)*"\}/
/** What each medium would interpret, beside texts that it shows as they are. */
const INTERPRETED: Record<ChannelType, { texts: (body: string) => unknown; active: RegExp[] }> = {
  email: { texts: (body) => body, active: [TAG, /"onload/] },
  slack: { texts: slackTexts, active: [TAG, URL_IN_TEXT, LINKING] },
  slack_app: { texts: slackTexts, active: [TAG, URL_IN_TEXT, LINKING] },
  discord: {
    texts: (body) => JSON.parse(body).embeds[0],
    active: [MENTION, MARKDOWN_LINK, URL_IN_TEXT, /(?<!\\)</],
  },
  teams: {
    texts: (body) => JSON.parse(body).attachments[0].content.body,
    active: [MENTION, MARKDOWN_LINK, URL_IN_TEXT],
  },
  telegram: { texts: (body) => JSON.parse(body).text, active: [MENTION, TAG, URL_IN_TEXT] },
  mattermost: {
    // The title is our link, and the fallback is for notifications, which show plain text.
    texts: (body) => {
      const { text, title, fallback } = JSON.parse(body).attachments[0]
      return [text, `${title} ${fallback}`.replaceAll('www.evil', '')]
    },
    active: [MENTION, MARKDOWN_LINK, URL_IN_TEXT, HOST_IN_MARKDOWN],
  },
  google_chat: {
    // Cards are HTML, where a Markdown link is text.
    texts: (body) => [JSON.parse(body).text, JSON.stringify(JSON.parse(body).cardsV2).replaceAll('](', '')],
    active: [MENTION, TAG, MARKDOWN_LINK, URL_IN_TEXT],
  },
  matrix: {
    texts: (body) => [JSON.parse(body).body, JSON.parse(body).formatted_body],
    active: [MENTION, TAG, URL_IN_TEXT],
  },
  opsgenie: { texts: (body) => JSON.parse(body), active: [TAG, URL_IN_TEXT] },
  // These show texts as they are: Pushover without `html`, ntfy without `markdown`.
  pushover: { texts: (body) => JSON.parse(body).html ?? '', active: [/./] },
  ntfy: { texts: (body) => JSON.parse(body).markdown ?? '', active: [/./] },
  pagerduty: { texts: () => '', active: [] },
  twilio: { texts: (body) => new URLSearchParams(body).get('Body'), active: [/[^\x20-\x7e]/] },
  http: { texts: () => '', active: [] },
}

/** Texts of the type `plain_text` are shown as they are, as is code. Of the others, hosts become links unless they are `verbatim`. */
function slackTexts(body: string): unknown {
  const { text, blocks } = JSON.parse(body)
  const ofType = (value: unknown): unknown[] =>
    typeof value !== 'object' || value === null
      ? []
      : [...('type' in value && value.type === 'mrkdwn' ? [value] : []), ...Object.values(value).flatMap(ofType)]
  return [text, JSON.stringify(ofType(blocks)).replaceAll(/`[^`]*`/g, '')]
}

test.each(CHANNEL_TYPES)('DNS data becomes no mention, link or tag in a message of %s', (type) => {
  for (const message of MESSAGES) {
    const bodies =
      type === 'email'
        ? [mailOf(message, 'https://dns.example.com/u').html]
        : requestsOf(type, message).map(({ body }) => body)
    for (const body of bodies) {
      const { texts, active } = INTERPRETED[type]
      const shown = allTexts(texts(body)).join('\n')
      for (const pattern of active) expect([type, shown.match(pattern)]).toEqual([type, null])
    }
  }
})

test.each(CHANNEL_TYPES)('hidden characters of DNS data are shown in a message of %s', (type) => {
  for (const message of MESSAGES) {
    const bodies =
      type === 'email'
        ? Object.values(mailOf(message, 'https://dns.example.com/u'))
        : requestsOf(type, message).map(({ body }) => body.replaceAll('%2B', '+'))
    for (const body of bodies) {
      // A zero-width space is only where a mention, a URL or markup is broken.
      expect([type, body.match(/[\u009b\u200e\u202e\u2066\ufeff]|(?<![@<\]:])\u200b/)]).toEqual([type, null])
      for (const codePoint of message === single || body.includes(HOSTILE_TITLE) ? HIDDEN : []) {
        expect([type, body]).toEqual([type, expect.stringContaining(`U+${codePoint}`)])
      }
    }
  }
})

/** The texts of an object, without those that no provider formats: its addresses. */
function allTexts(value: unknown): string[] {
  if (typeof value === 'string') return value.startsWith('https://dns.example.com') ? [] : [value]
  return typeof value !== 'object' || value === null ? [] : Object.values(value).flatMap(allTexts)
}

function requestsOf(type: Exclude<ChannelType, 'email'>, message: AlertMessage) {
  const { request, update } = HTTP_CHANNEL_TYPES[type]
  const settings = CONTRACTS[type].settings('https://x.example')
  const recovered: AlertMessage = { ...message, kind: 'recovered', title: HOSTILE_TITLE }
  return [request(message, settings), ...(update ? [update(recovered, settings, '1')] : [])]
}

const HOSTILE_TITLE = oneLine(HOSTILE)

test('an address in a record can be copied', () => {
  const { body } = HTTP_CHANNEL_TYPES.telegram.request(single, CONTRACTS.telegram.settings('https://x.example'))
  expect(body).toContain('dmarc@example.com')
})
