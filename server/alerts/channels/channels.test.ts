import { expect, test } from 'vitest'
import { CHANNEL_TYPES, type ChannelType } from '#contract/alerts.ts'
import { givenApp } from '../../testing/app-world.ts'
import { NOTICES, sampleMails } from '../../testing/notices.ts'
import { startReceiver } from '../../testing/receiver.ts'
import { startMailServer } from '../../testing/smtp.ts'
import { noticeOfIncident } from '../notice.ts'
import { HTTP_MEDIA } from './channels.ts'

const TOKEN = 'secret-token-of-the-test-0000000'

type Contract = {
  /** `at`: where the receiver listens. */
  settings: (at: string) => Record<string, unknown>
  /** What stands in the database encrypted. */
  secrets: string[]
  accepts: { status: number; body?: string }
  revoked: { status: number; body?: string }
  limited: { status: number; headers?: Record<string, string>; body?: string }
}

const HOOK = (at: string) => ({ webhook_url: `${at}/hooks/${TOKEN}` })
const LIMITED = { status: 429, headers: { 'retry-after': '30' } }

/** What the providers document. */
const CONTRACTS: Record<Exclude<ChannelType, 'email'>, Contract> = {
  slack: {
    settings: HOOK,
    secrets: [TOKEN],
    accepts: { status: 200, body: 'ok' },
    revoked: { status: 403, body: 'invalid_token' },
    limited: LIMITED,
  },
  discord: {
    settings: HOOK,
    secrets: [TOKEN],
    accepts: { status: 204 },
    revoked: { status: 404, body: '{"message": "Unknown Webhook", "code": 10015}' },
    limited: { status: 429, body: '{"message": "You are being rate limited.", "retry_after": 30.5, "global": false}' },
  },
  teams: { settings: HOOK, secrets: [TOKEN], accepts: { status: 202 }, revoked: { status: 404 }, limited: LIMITED },
  telegram: {
    settings: (at) => ({ token: `123456:${TOKEN}`, chat_id: '-100123', api_url: at }),
    secrets: [TOKEN],
    accepts: { status: 200, body: '{"ok": true, "result": {}}' },
    revoked: { status: 401, body: '{"ok": false, "error_code": 401, "description": "Unauthorized"}' },
    limited: { status: 429, body: '{"ok": false, "error_code": 429, "parameters": {"retry_after": 30}}' },
  },
  pagerduty: {
    settings: (at) => ({ routing_key: 'A'.repeat(32), api_url: at }),
    secrets: ['A'.repeat(32)],
    accepts: { status: 202, body: '{"status": "success", "dedup_key": "k"}' },
    revoked: { status: 400, body: '{"status": "invalid event"}' },
    limited: LIMITED,
  },
  opsgenie: {
    settings: (at) => ({ api_key: TOKEN, api_url: at }),
    secrets: [TOKEN],
    accepts: { status: 202, body: '{"result": "Request will be processed"}' },
    revoked: { status: 403 },
    limited: LIMITED,
  },
  ntfy: {
    settings: (at) => ({ topic: 'ops', token: TOKEN, api_url: at }),
    secrets: [TOKEN],
    accepts: { status: 200, body: '{}' },
    revoked: { status: 403 },
    limited: LIMITED,
  },
  pushover: {
    settings: (at) => ({ token: TOKEN, user: `user-${TOKEN}`, api_url: at }),
    secrets: [TOKEN],
    accepts: { status: 200, body: '{"status": 1}' },
    revoked: { status: 400, body: '{"token": "invalid", "status": 0}' },
    limited: LIMITED,
  },
  mattermost: {
    settings: HOOK,
    secrets: [TOKEN],
    accepts: { status: 200, body: 'ok' },
    revoked: { status: 404 },
    limited: LIMITED,
  },
  google_chat: {
    settings: (at) => ({ webhook_url: `${at}/v1/spaces/AAAA/messages?key=k&token=${TOKEN}` }),
    secrets: [TOKEN],
    accepts: { status: 200, body: '{}' },
    revoked: { status: 403 },
    limited: LIMITED,
  },
  matrix: {
    settings: (at) => ({ homeserver: at, access_token: TOKEN, room_id: '!room:example.org' }),
    secrets: [TOKEN],
    accepts: { status: 200, body: '{"event_id": "$1"}' },
    revoked: { status: 401, body: '{"errcode": "M_UNKNOWN_TOKEN"}' },
    limited: { status: 429, body: '{"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 30000}' },
  },
  twilio: {
    settings: (at) => ({
      account_sid: `AC${'0'.repeat(32)}`,
      auth_token: TOKEN,
      from: '+15551234567',
      to: '+15557654321',
      api_url: at,
    }),
    secrets: [TOKEN],
    accepts: { status: 201, body: '{"sid": "SM1"}' },
    revoked: { status: 401, body: '{"code": 20003}' },
    limited: { status: 429, body: '{"code": 20429}' },
  },
  http: {
    settings: (at) => ({ endpoint: `${at}/alerts`, authorization: `Bearer ${TOKEN}` }),
    secrets: [TOKEN],
    accepts: { status: 200 },
    revoked: { status: 410 },
    limited: LIMITED,
  },
}

const types = Object.keys(CONTRACTS) as (keyof typeof CONTRACTS)[]

test('every type has a contract here', () => {
  expect(['email', ...types].sort()).toEqual([...CHANNEL_TYPES].sort())
})

test('each medium sends a test, notices a revoked token and a rate limit, and shows no secret in any answer', async () => {
  const world = await givenApp('sqlite')
  const receiver = await startReceiver()
  const post = (path: string, body?: unknown) =>
    world.call(path, { method: 'POST', ...(body === undefined ? {} : { body }) })
  for (const type of types) {
    const { settings, secrets, accepts, revoked, limited } = CONTRACTS[type]
    const made = await post('/channels', { name: type, type, settings: settings(receiver.url) })
    expect([type, made.status, made.text]).toEqual([type, 201, expect.any(String)])
    const texts = [made.text]
    const tested = async (answer: { status: number }) => {
      receiver.reset()
      receiver.answers(answer)
      const { body, text, status } = await post(`/channels/${made.body.id}/test`)
      texts.push(text)
      expect([type, status]).toEqual([type, 201])
      return { ...body, attempt: body.log[0] }
    }

    const sent = await tested(accepts)
    expect([type, sent.status, sent.error]).toEqual([type, 'SENT', null])
    const request = receiver.received[0]!
    expect([type, request.method]).toEqual([type, type === 'matrix' ? 'PUT' : 'POST'])
    const octets =
      request.headers['content-type'] === 'application/json'
        ? JSON.parse(request.body.toString())
        : request.body.toString()
    expect(octets).toBeTruthy()
    const all = `${request.path} ${JSON.stringify(request.headers)} ${request.body}`
    const token = type === 'twilio' ? Buffer.from(`AC${'0'.repeat(32)}:${TOKEN}`).toString('base64') : secrets[0]!
    expect([type, type === 'http' ? all.includes('Bearer') : all.includes(token)]).toEqual([type, true])

    expect([type, (await tested(revoked)).attempt]).toMatchObject([
      type,
      { status_code: revoked.status, error: expect.stringContaining(String(revoked.status)) },
    ])
    expect([type, (await tested(limited)).attempt.status_code]).toEqual([type, 429])
    texts.push(
      (await world.call('/channels?limit=100')).text,
      (await world.call('/alerts')).text,
      (await world.call('/audit-log')).text,
    )
    for (const secret of [...secrets, token])
      expect([type, texts.some((text) => text.includes(secret))]).toEqual([type, false])
    const row = await world.deps.db
      .selectFrom('channels')
      .selectAll()
      .where('id', '=', made.body.id)
      .executeTakeFirstOrThrow()
    for (const secret of secrets) expect([type, row.settings.includes(secret)]).toEqual([type, false])
  }
})

test('what a rate limit asks to wait is read, and what no retry mends is known', () => {
  for (const type of types) {
    const { revoked, limited } = CONTRACTS[type]
    expect([type, HTTP_MEDIA[type].permanent.includes(revoked.status)]).toEqual([type, true])
    expect([type, HTTP_MEDIA[type].permanent.includes(429)]).toEqual([type, false])
    const asked = HTTP_MEDIA[type].retryAfterMs?.({ status: 429, body: limited.body ?? '' })
    const inBody = { discord: 30_500, telegram: 30_000, matrix: 30_000 }[type as string]
    expect([type, asked]).toEqual([type, inBody])
  }
})

test('a secret that is masked or left out is kept, another one replaces it', async () => {
  const world = await givenApp('sqlite')
  const receiver = await startReceiver()
  const send = (method: string, path: string, body?: unknown) =>
    world.call(path, { method, ...(body === undefined ? {} : { body }) })
  const settings = { endpoint: `${receiver.url}/one`, authorization: 'Bearer first' }
  const { id } = (await send('POST', '/channels', { name: 'A', type: 'http', settings })).body
  expect((await world.call(`/channels/${id}`)).body.settings).toEqual({
    endpoint: '********',
    authorization: '********',
  })

  await send('PATCH', `/channels/${id}`, { settings: { endpoint: `${receiver.url}/two`, authorization: '********' } })
  await send('POST', `/channels/${id}/test`)
  await send('PATCH', `/channels/${id}`, { settings: { authorization: 'Bearer second' } })
  await send('POST', `/channels/${id}/test`)
  expect(receiver.received.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ['/two', 'Bearer first'],
    ['/two', 'Bearer second'],
  ])
})

test('settings that cannot be used are refused, each with its field', async () => {
  const world = await givenApp('sqlite')
  const errorsOf = async (type: string, settings: unknown) =>
    (await world.call('/channels', { method: 'POST', body: { name: 'A', type, settings } })).body.errors
  expect(await errorsOf('slack', {})).toEqual({ 'settings.webhook_url': 'is required.' })
  expect(Object.keys(await errorsOf('slack', { webhook_url: 'http://169.254.169.254/', colour: 1 }))).toEqual([
    'settings.colour',
  ])
  expect(await errorsOf('slack', { webhook_url: 'http://169.254.169.254/' })).toMatchObject({
    'settings.webhook_url': expect.stringContaining('169.254.169.254'),
  })
  expect(await errorsOf('telegram', { token: 'x', chat_id: '1' })).toMatchObject({
    'settings.token': expect.any(String),
  })
  expect(await errorsOf('email', { owners: false })).toEqual({
    'settings.addresses': 'must have at least one address, unless owners is true.',
  })
  const endpoint = 'http://127.0.0.1:9999/'
  expect(await errorsOf('http', { endpoint, template: '{"a": {{title}}x}' })).toMatchObject({
    'settings.template': expect.stringContaining('must be JSON'),
  })
  expect(await errorsOf('http', { endpoint, template: '{"a": "{{colour}}"}' })).toMatchObject({
    'settings.template': expect.stringContaining('colour'),
  })
})

test('an address of a stranger is sent nothing before its owner confirmed it, and nothing after unsubscribing', async () => {
  const mail = await startMailServer()
  const world = await givenApp('sqlite', { SMTP_URL: mail.url, MAIL_FROM: 'zonewatch@example.com' })
  const { db, seal } = world.deps
  const settings = { addresses: ['Stranger@example.org', 'owner@first.example'] }
  const { id } = (await world.call('/channels', { method: 'POST', body: { name: 'Mail', type: 'email', settings } }))
    .body
  const test = async () => {
    mail.received.length = 0
    await world.call(`/channels/${id}/test`, { method: 'POST' })
    return mail.received.map(({ to }) => to[0]).sort()
  }
  expect(await test()).toEqual(['owner@first.example'])
  const asked = await db.selectFrom('mails').selectAll().where('recipient', '=', 'stranger@example.org').execute()
  expect(asked).toHaveLength(1)

  const { alertToken } = await import('../../mail/account-link.ts')
  const { id: organizationId } = await world.organization()
  const confirm = `/alert-addresses/confirm/${alertToken(seal, 'confirm', organizationId, asked[0]!.about)}`
  const open = (path: string, method: string, headers = {}) =>
    world.call(path, {
      method,
      key: null,
      headers,
      ...(method === 'POST' ? { raw: 'List-Unsubscribe=One-Click' } : {}),
    })
  expect((await open(confirm, 'GET')).body).toMatchObject({ email: 'stranger@example.org' })
  expect(await test()).toEqual(['owner@first.example'])
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  expect((await open(confirm, 'POST', form)).status).toBe(200)
  expect(await test()).toEqual(['owner@first.example', 'stranger@example.org'])

  const source = mail.received.find(({ to }) => to[0] === 'stranger@example.org')!.source.replaceAll(/=\r\n|\r\n /g, '')
  const path = /List-Unsubscribe: ?<[^>]*?(\/alert-addresses\/unsubscribe\/[^>]+)>/.exec(source)![1]!
  expect((await open(path.replace(/.$/, 'A').replace('adr_', 'adr_0'), 'POST', form)).status).toBe(404)
  expect((await open(path, 'POST', form)).status).toBe(200)
  expect(await test()).toEqual(['owner@first.example'])
})

test.each(types)('the messages of %s are what people see', async (type) => {
  const { settings } = CONTRACTS[type]
  const messages = Object.entries(NOTICES).map(([name, notice]) => {
    const { method = 'POST', url, body } = HTTP_MEDIA[type].request(notice, settings('https://api.example.net'))
    const shown = body.startsWith('{') ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body))
    return `# ${name}: ${method} ${url}\n${outline(shown, '')}`
  })
  await expect(messages.join('\n')).toMatchFileSnapshot(`./messages/${type}.txt`)
})

test('the mails are what people see', async () => {
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
  const { body } = HTTP_MEDIA.twilio.request(
    noticeOfIncident('failing', incident, [], common),
    CONTRACTS.twilio.settings('https://x.example'),
  )
  expect(new URLSearchParams(body).get('Body')!.length).toBeLessThanOrEqual(160)
})
