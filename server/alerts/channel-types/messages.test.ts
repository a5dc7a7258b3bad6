import { expect, test } from 'vitest'
import { CONTRACTS, HTTP_TYPES } from '../../testing/channel-contracts.ts'
import { SAMPLE_MESSAGES, sampleMails } from '../../testing/sample-messages.ts'
import { failingMessage } from '../alert-message.ts'
import { newResponse } from './channel-type.ts'
import { HTTP_CHANNEL_TYPES } from './channel-types.ts'

test('Telegram receives links instead of buttons for a host name without a dot, because it refuses such buttons', () => {
  const local = { label: 'Open the monitor', href: 'http://localhost:8080/dashboard/monitors/mon_1' }
  const notice = { ...SAMPLE_MESSAGES.recovered!, link: local }
  const { reply_markup, text } = JSON.parse(
    HTTP_CHANNEL_TYPES.telegram.request(notice, CONTRACTS.telegram.settings('')).body,
  )
  expect(reply_markup).toBeUndefined()
  expect(text).toContain(`${local.label}: ${local.href}`)
})

test('the longest possible texts stay below the limits of every provider', () => {
  const value = '*_`<&'.repeat(60)
  const longest = {
    ...SAMPLE_MESSAGES.failing!,
    title: value.repeat(3),
    text: value.repeat(10),
    facts: ['Expected', 'Found', 'State', 'Since'].map((name) => ({ name, value: value.repeat(5) })),
  }
  const bodyOf = (type: keyof typeof CONTRACTS) =>
    HTTP_CHANNEL_TYPES[type].request(longest, CONTRACTS[type].settings('https://x.example')).body
  const [embed] = JSON.parse(bodyOf('discord')).embeds
  const fields = embed.fields as { name: string; value: string }[]
  const texts = [
    embed.title,
    embed.description,
    embed.footer.text,
    ...fields.flatMap(({ name, value }) => [name, value]),
  ]
  expect(texts.join('').length).toBeLessThanOrEqual(6000)
  expect(Math.max(...fields.map(({ value }) => value.length))).toBeLessThanOrEqual(1024)
  const blocks = JSON.parse(bodyOf('slack')).blocks
  expect(Math.max(...blocks[2].fields.map(({ text }: { text: string }) => text.length))).toBeLessThanOrEqual(2000)
  expect(blocks[0].text.text.length).toBeLessThanOrEqual(150)
  expect(JSON.parse(bodyOf('telegram')).text.replace(/<[^>]+>|&\w+;/g, '.').length).toBeLessThanOrEqual(4096)
  expect(bodyOf('teams').length).toBeLessThanOrEqual(28_000)
  expect(bodyOf('google_chat').length).toBeLessThanOrEqual(32_000)
  expect(Buffer.byteLength(JSON.parse(bodyOf('ntfy')).message)).toBeLessThanOrEqual(4096)
  expect(JSON.parse(bodyOf('pushover')).message.length).toBeLessThanOrEqual(1024)
  expect(JSON.parse(bodyOf('pagerduty')).payload.summary.length).toBeLessThanOrEqual(1024)
  expect(JSON.parse(bodyOf('opsgenie')).message.length).toBeLessThanOrEqual(130)
})

test.each(HTTP_TYPES)('the messages of %s match the recorded ones', async (type) => {
  const { settings } = CONTRACTS[type]
  const channelType = HTTP_CHANNEL_TYPES[type]
  const { status, body = '' } = CONTRACTS[type].accepts
  const reference = channelType.findReference?.(newResponse(status, body))
  const requests = Object.entries(SAMPLE_MESSAGES).map(
    ([name, message]) => [name, channelType.request(message, settings('https://api.example.net'))] as const,
  )
  if (channelType.update && reference !== undefined) {
    const recovered = { ...SAMPLE_MESSAGES.recovered!, reference }
    requests.push([
      'the first message, resolved',
      channelType.update(recovered, settings('https://api.example.net'), reference),
    ])
    requests.push(['recovered, as a reply', channelType.request(recovered, settings('https://api.example.net'))])
  }
  const messages = requests.map(([name, { method = 'POST', url, body }]) => {
    const shown = body.startsWith('{') ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body))
    return `# ${name}: ${method} ${url}\n${outline(shown, '')}`
  })
  await expect(messages.join('\n')).toMatchFileSnapshot(`./messages/${type}.txt`)
})

test('the mails match the recorded ones', async () => {
  const { confirm_address, ...mails } = sampleMails()
  const link = /[^/]+$/m // is signed with the time
  const shown = { ...mails, confirm_address: { ...confirm_address!, text: confirm_address!.text.replace(link, '…') } }
  const texts = Object.entries(shown).map(([name, { subject, text }]) => `# ${name}: ${subject}\n\n${text}`)
  await expect(texts.join('\n')).toMatchFileSnapshot('./messages/email.txt')
})

/** JSON as an outline: names and texts without quotation marks, one level for each object and list. */
function outline(value: unknown, indent: string): string {
  if (typeof value !== 'object' || value === null) return `${indent}${String(value).replaceAll('\n', `\n${indent}`)}\n`
  const isList = Array.isArray(value)
  return Object.entries(value)
    .map(([name, inner]) => {
      const label = isList ? '-' : `${name}:`
      const isLong = typeof inner === 'object' ? inner !== null : String(inner).includes('\n')
      return isLong ? `${indent}${label}\n${outline(inner, `${indent}  `)}` : `${indent}${label} ${inner}\n`
    })
    .join('')
}

test('an SMS has at most 160 characters', () => {
  const incident = {
    id: 'inc_1',
    zone: `${'long.'.repeat(30)}example.com`,
    state: 'NOT_FOUND',
    openedAt: 0,
    resolvedAt: null,
    monitors: 400,
    failing: 400,
  }
  const common = { id: 'alr_1', organization: 'Acme', baseUrl: 'https://dns.example.com', now: 0 }
  const { body } = HTTP_CHANNEL_TYPES.twilio.request(
    failingMessage(incident, [], common),
    CONTRACTS.twilio.settings('https://x.example'),
  )
  expect(new URLSearchParams(body).get('Body')!.length).toBeLessThanOrEqual(160)
})
