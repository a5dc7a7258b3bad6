import { expect, test } from 'vitest'
import { CHANNEL_TYPES } from '#contract/alerts.ts'
import { CONTRACTS, TOKEN, HTTP_TYPES as types } from '../../testing/channel-contracts.ts'
import { startReceiver } from '../../testing/receiver.ts'
import { SAMPLE_MESSAGES } from '../../testing/sample-messages.ts'
import { givenApp } from '../../testing/test-app.ts'
import { sendMessage } from '../send-message.ts'
import { newResponse } from './channel-type.ts'
import { HTTP_CHANNEL_TYPES } from './channel-types.ts'

const TEAMS_FAILED = 'Webhook message delivery failed with error: Microsoft Teams endpoint returned'

test('every channel type has a contract', () => {
  expect(['email', ...types].sort()).toEqual([...CHANNEL_TYPES].sort())
})

test('every channel type sends a test, detects a revoked token and a rate limit, and returns no secret', async () => {
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
    const content =
      request.headers['content-type'] === 'application/json'
        ? JSON.parse(request.body.toString())
        : request.body.toString()
    expect(content).toBeTruthy()
    const all = `${request.path} ${JSON.stringify(request.headers)} ${request.body}`
    const token = type === 'twilio' ? Buffer.from(`AC${'0'.repeat(32)}:${TOKEN}`).toString('base64') : secrets[0]!
    expect([type, type === 'http' ? all.includes('Bearer') : all.includes(token)]).toEqual([type, true])

    // Slack's Web API answers 200 with the name of the error.
    const named = /"error":"(\w+)"/.exec(revoked.body ?? '')?.[1] ?? String(revoked.status)
    expect([type, (await tested(revoked)).attempt]).toMatchObject([
      type,
      { status_code: revoked.status, error: expect.stringContaining(named) },
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

test('every channel type reads the delay of a rate limit, and knows its permanent errors', () => {
  for (const type of types) {
    const { revoked, limited } = CONTRACTS[type]
    const { findError, findRetryAfterMs, permanentStatuses } = HTTP_CHANNEL_TYPES[type]
    const { status = revoked.status } = findError?.(newResponse(revoked.status, revoked.body ?? '')) ?? {}
    expect([type, permanentStatuses.includes(status)]).toEqual([type, true])
    expect([type, permanentStatuses.includes(429)]).toEqual([type, false])
    const inBody = { discord: 30_500, telegram: 30_000, matrix: 30_000 }[type as string]
    expect([type, findRetryAfterMs?.(newResponse(429, limited.body ?? ''))]).toEqual([type, inBody])
  }
})

test.each([
  [
    'slack',
    200,
    '{"ok": false, "error": "channel_not_found"}',
    'retry',
    'Slack did not accept the message: channel_not_found',
  ],
  [
    'mattermost',
    200,
    '{"success": false, "error": "Invalid token"}',
    'retry',
    'did not accept the message: Invalid token',
  ],
  [
    'telegram',
    200,
    '{"ok": false, "description": "Bad Request"}',
    'retry',
    'Telegram did not accept the message: Bad Request',
  ],
  ['pushover', 200, '{"status": 0}', 'retry', 'Pushover did not accept the message'],
  ['teams', 200, `${TEAMS_FAILED} HTTP error 429 with ContextId 1..`, 'retry', 'Microsoft Teams responded with 429'],
  ['teams', 200, `${TEAMS_FAILED} HTTP error 403 with ContextId 1..`, 'failed', 'Microsoft Teams responded with 403'],
] as const)('an error of %s in a response with %i is detected: %s', async (type, status, body, kind, error) => {
  const { deps, call } = await givenApp('sqlite')
  const receiver = await startReceiver()
  const settings = CONTRACTS[type].settings(receiver.url)
  const { id } = (await call('/channels', { method: 'POST', body: { name: type, type, settings } })).body
  receiver.answers({ status, body })
  const channel = await deps.db.selectFrom('channels').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const result = await sendMessage({ ...deps, sendMail: null }, channel, SAMPLE_MESSAGES.failing!, {
    signal: AbortSignal.timeout(5000),
  })
  expect(result).toMatchObject({ kind, error: expect.stringContaining(error) })
})

test.each([
  ['pagerduty', ['trigger', 'resolve']],
  ['opsgenie', ['/v2/alerts', '/v2/alerts/alr_1/close?identifierType=alias']],
] as const)('a message without a later recovery is closed after %s created the alert', async (type, requests) => {
  const { deps: real, call } = await givenApp('sqlite')
  const slept: number[] = []
  const deps = { ...real, clock: { ...real.clock, sleep: async (ms: number) => void slept.push(ms) } }
  const receiver = await startReceiver()
  const settings = CONTRACTS[type].settings(receiver.url)
  const { id } = (await call('/channels', { method: 'POST', body: { name: type, type, settings } })).body
  const channel = await deps.db.selectFrom('channels').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const sent = (notice: keyof typeof SAMPLE_MESSAGES) =>
    sendMessage({ ...deps, sendMail: null }, channel, SAMPLE_MESSAGES[notice]!, { signal: AbortSignal.timeout(5000) })
  const received = () =>
    receiver.received.map(({ path, body }) => (type === 'opsgenie' ? path : JSON.parse(body.toString()).event_action))
  for (const notice of ['test', 'summary', 'digest'] as const) {
    receiver.reset()
    receiver.answers(CONTRACTS[type].accepts)
    expect((await sent(notice)).kind).toBe('sent')
    expect(received()).toEqual(requests)
  }
  expect(slept).toEqual(Array(3).fill(type === 'opsgenie' ? 5000 : 0))
  receiver.reset()
  receiver.answers(CONTRACTS[type].accepts)
  expect((await sent('failing')).kind).toBe('sent')
  expect(received()).toEqual(requests.slice(0, 1))

  receiver.reset()
  receiver.answers(() => CONTRACTS[type][receiver.received.length === 1 ? 'accepts' : 'limited'])
  expect(await sent('summary')).toMatchObject({
    kind: 'retry',
    error: expect.stringContaining('was sent, but not closed'),
  })
})

test('an SMS is sent from a number, or by a Messaging Service', () => {
  const { settings } = CONTRACTS.twilio
  const sentWith = (from: string) => {
    const { body } = HTTP_CHANNEL_TYPES.twilio.request(SAMPLE_MESSAGES.failing!, {
      ...settings('http://127.0.0.1'),
      from,
    })
    return Object.fromEntries(new URLSearchParams(body))
  }
  const service = `MG${'0'.repeat(32)}`
  expect(sentWith(service)).toEqual({ MessagingServiceSid: service, To: '+15557654321', Body: expect.any(String) })
  expect(sentWith('+15551234567')).toMatchObject({ From: '+15551234567' })
})

test('a secret that is masked or left out is kept, and a new one replaces it', async () => {
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

  await send('PATCH', `/channels/${id}`, { settings: { endpoint: '********', authorization: '********' } })
  await send('POST', `/channels/${id}/test`)
  await send('PATCH', `/channels/${id}`, { settings: { authorization: 'Bearer second' } })
  await send('POST', `/channels/${id}/test`)
  expect(receiver.received.map(({ path, headers }) => [path, headers.authorization])).toEqual([
    ['/one', 'Bearer first'],
    ['/one', 'Bearer second'],
  ])
})

test('a new address of a channel needs every secret again, so that nobody reads them there', async () => {
  const world = await givenApp('sqlite')
  const [receiver, attacker] = [await startReceiver(), await startReceiver()]
  for (const type of types) {
    const settings = CONTRACTS[type].settings(receiver.url)
    const { id } = (await world.call('/channels', { method: 'POST', body: { name: type, type, settings } })).body
    const masked = (await world.call(`/channels/${id}`)).body.settings
    const moved = CONTRACTS[type].settings(attacker.url)
    const secrets = Object.keys(masked).filter((name) => masked[name] === '********')
    // Of slack and others the address is the secret, so there is no other.
    const others = secrets.filter((name) => !String(moved[name]).startsWith(attacker.url))
    const changes = Object.fromEntries(
      Object.keys(moved).map((name) => [name, others.includes(name) ? masked[name] : moved[name]]),
    )
    const withoutSecrets = Object.fromEntries(Object.entries(changes).filter(([name]) => !others.includes(name)))
    for (const change of [changes, withoutSecrets]) {
      const { status, body } = await world.call(`/channels/${id}`, { method: 'PATCH', body: { settings: change } })
      expect([type, status, Object.keys(body.errors ?? {})]).toEqual([
        type,
        others.length > 0 ? 400 : 200,
        others.map((name) => `settings.${name}`),
      ])
    }
    const again = { ...moved, ...Object.fromEntries(others.map((name) => [name, moved[name]])) }
    expect((await world.call(`/channels/${id}`, { method: 'PATCH', body: { settings: again } })).status).toBe(200)
  }
  expect(attacker.received).toEqual([])
})

test('invalid settings are refused, each with its field', async () => {
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
  expect(await errorsOf('slack_app', { token: 'xoxp-1', channel: 'general' })).toEqual({
    'settings.token': 'must be like "xoxb-0000-0000-XXXX", not "***".',
    'settings.channel': 'must be an id such as C0123456789, at the end of the details of the channel, not "general".',
  })
  expect(await errorsOf('ntfy', { topic: 'a b' })).toEqual({
    'settings.topic': 'must be letters, digits, - and _, not "a b".',
  })
  expect(await errorsOf('email', { owners: false })).toEqual({
    'settings.addresses': 'must have at least one address, unless owners is true.',
  })
  const endpoint = 'http://127.0.0.1:9999/'
  expect(await errorsOf('http', { endpoint, template: '{"a": {{title}}x}' })).toMatchObject({
    'settings.template': expect.stringContaining('must be JSON'),
  })
  // JSON while a name is empty, and not with most values.
  for (const template of ['[1{{title}}]', '[{{title}}]', '["\\u004{{title}}1"]', '["\\{{title}}n"]', 'tru{{title}}e']) {
    expect([template, await errorsOf('http', { endpoint, template })]).toEqual([
      template,
      expect.objectContaining({ 'settings.template': expect.stringContaining('must be JSON') }),
    ])
  }
  expect(await errorsOf('http', { endpoint, template: `["${'{{text}}'.repeat(31)}"]` })).toMatchObject({
    'settings.template': expect.stringContaining('at most 30'),
  })
  expect(await errorsOf('http', { endpoint, template: '{"a": "{{colour}}"}' })).toMatchObject({
    'settings.template': expect.stringContaining('colour'),
  })
})
