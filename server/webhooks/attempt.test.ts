import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import type { Clock } from '../clock.ts'
import { parseNetworks } from '../safe-http/address-policy.ts'
import { createSafeFetch } from '../safe-http/safe-fetch.ts'
import { patientClock } from '../testing/patient-clock.ts'
import { type Receiver, startReceiver } from '../testing/receiver.ts'
import { type AttemptRequest, type AttemptResult, attempt } from './attempt.ts'
import { newWebhookSecret } from './signature.ts'

const NOW = Date.UTC(2026, 0, 1)
const open: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

async function givenAttempts(
  changed: Partial<AttemptRequest> = {},
  clock: Clock = { ...patientClock, now: () => NOW },
) {
  const receiver: Receiver = await startReceiver()
  const loopback = parseNetworks('127.0.0.0/8')
  const safeFetch = createSafeFetch({
    clock,
    lookup: async () => [],
    allowedNetworks: loopback.ok ? loopback.networks : [],
    timeoutMs: 200,
  })
  open.push(safeFetch.close, receiver.close)
  const request: AttemptRequest = {
    id: 'req_1',
    url: receiver.url,
    headers: {},
    body: Buffer.from('{"id":"req_1"}'),
    secret: newWebhookSecret(),
    ...changed,
  }
  return { receiver, request, send: async () => (await attempt(request, { safeFetch, clock })) as AttemptResult }
}

describe('an attempt', () => {
  test('sends the body, the signatures, and the headers of the webhook', async () => {
    const { receiver, send } = await givenAttempts({ headers: { Authorization: 'Bearer abc' } })

    await send()

    expect(receiver.received[0]?.headers).toMatchObject({
      authorization: 'Bearer abc',
      'content-type': 'application/json',
      'user-agent': `Zonewatch/${packageJson.version}`,
      'x-service-signature': expect.stringMatching(/^[0-9a-f]{64}$/),
      'x-webhook-timestamp': String(NOW / 1000),
      'webhook-id': 'req_1',
    })
  })

  test('keeps no secret that the endpoint repeats', async () => {
    const headers = { Authorization: 'Bearer 0123456789', 'X-Key': 'a "quoted" key', 'X-Debug': 'true' }
    const { receiver, request, send } = await givenAttempts({ headers, previousSecret: newWebhookSecret() })
    const repeated = [...Object.values(headers), request.secret, request.previousSecret]
    receiver.answers({ status: 500, body: JSON.stringify({ token: '0123456789', repeated }) })

    const { excerpt } = await send()
    expect(JSON.parse(excerpt!)).toEqual({
      token: '********',
      repeated: ['********', '********', 'true', '********', '********'],
    })
  })

  test('is verified by the published Standard Webhooks library', async () => {
    const { receiver, request, send } = await givenAttempts({}, patientClock)

    await send()

    const { headers, body } = receiver.received[0]!
    expect(new Webhook(request.secret).verify(body, headers as Record<string, string>)).toEqual({ id: 'req_1' })
  })

  test('sends the same bytes and the same id when it is repeated', async () => {
    const { receiver, request, send } = await givenAttempts({ body: Buffer.from('{"text":"ünïcode \u2028"}') })

    await send()
    await send()

    expect(receiver.received.map(({ body }) => body)).toEqual([request.body, request.body])
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual(['req_1', 'req_1'])
  })
})

describe('an attempt is', () => {
  test.each([200, 201, 204, 299])('delivered by %i', async (status) => {
    const { receiver, send } = await givenAttempts()
    receiver.answers({ status })

    expect(await send()).toMatchObject({ at: NOW, statusCode: status, delivered: true, error: null, gone: false })
  })

  test.each([
    [301, 'does not follow redirects'],
    [304, 'does not follow redirects'],
    [400, 'the endpoint responded with 400'],
    [401, 'the endpoint responded with 401'],
    [500, 'the endpoint responded with 500'],
    [599, 'the endpoint responded with 599'],
  ])('failed by %i', async (status, words) => {
    const { receiver, send } = await givenAttempts()
    receiver.answers({ status, body: status === 304 ? '' : 'why' })

    expect(await send()).toMatchObject({
      statusCode: status,
      delivered: false,
      gone: false,
      error: expect.stringContaining(words),
      excerpt: status === 304 ? '' : 'why',
    })
  })

  test('gone after a 410', async () => {
    const { receiver, send } = await givenAttempts()
    receiver.answers(410)

    expect(await send()).toMatchObject({ statusCode: 410, delivered: false, gone: true })
  })

  test('failed without a status if no response arrives', async () => {
    const { receiver, send } = await givenAttempts()
    receiver.hang()

    expect(await send()).toMatchObject({
      statusCode: null,
      excerpt: null,
      delivered: false,
      error: 'no response arrived within 0.2 s',
    })
  })

  test('failed without a connection if the address is not allowed', async () => {
    const { send } = await givenAttempts({ url: 'http://169.254.169.254/' })

    expect(await send()).toMatchObject({ statusCode: null, error: expect.stringContaining('(link-local)') })
  })
})

test.each([
  [429, '120', 120_000],
  [503, '120', 120_000],
  [503, 'Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
  [503, 'later', undefined],
  [500, '120', undefined],
  [200, '120', undefined],
  [503, ['120', '7'], 120_000],
  [503, ['later', 'never'], undefined],
  [503, '', undefined],
])('a %i with Retry-After %j asks for a delay of %s ms', async (status, value, ms) => {
  const { receiver, send } = await givenAttempts()
  receiver.answers({ status, headers: { 'retry-after': value } })

  expect((await send()).retryAfterMs).toBe(ms)
})
