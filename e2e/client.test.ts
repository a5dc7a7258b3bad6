import { spawnSync } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { build, type Rolldown } from 'vite'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Answer, type Received, startReceiver } from '#server/testing/receiver.ts'
import { PROJECT, run, startServer } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, givenEnvironment, givenServer, ONE_PROCESS } from '#server/testing/test-server.ts'
import { signatureHeaders } from '#server/webhooks/signature.ts'
import { buildClient } from '../scripts/build-client.ts'

/** The package `@zonewatch/client` as people install it: built from the document of a running server, and used from a folder of its own. */

type Package = typeof import('../client/client.ts') &
  typeof import('../client/error.ts') &
  typeof import('../client/send.ts') &
  typeof import('../client/webhook.ts') & {
    // biome-ignore lint/suspicious/noExplicitAny: the README is type-checked instead
    createClient(options: object): Record<string, (...args: any[]) => any>
  }

let folder: string
let client: Package
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'zonewatch-client-'))
  const modules = join(folder, 'node_modules')
  const installed = join(modules, '@zonewatch/client')
  const settings = { DATA_DIR: join(folder, 'data'), DNS_SERVERS: '127.0.0.1:9', DNS_ROOTS: 'off', DNS_CANARIES: 'off' }
  const server = await startServer({ ...settings, ...ONE_PROCESS })
  buildClient(await (await fetch(`${server.url}/openapi.json`)).text(), installed)
  await server.kill()
  for (const name of ['@types', 'undici-types']) symlinkSync(`${PROJECT}node_modules/${name}`, join(modules, name))
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  for (const { name, text } of readmePrograms()) writeFileSync(join(folder, name), text)
  client = await import(join(installed, 'build/index.js'))
})
afterAll(() => rm(folder, { recursive: true }))

test('the programs of its README type-check', () => {
  const programs = readmePrograms()
  expect(programs).toHaveLength(7)
  const options = '--noEmit --strict --exactOptionalPropertyTypes --module nodenext --target es2023 --types node'
  const files = programs.map(({ name }) => join(folder, name))
  const tsc = `${PROJECT}e2e/api/client/node_modules/.bin/tsc`
  const { stdout } = spawnSync(process.execPath, [tsc, ...options.split(' '), ...files], { encoding: 'utf8' })
  expect(stdout).toBe('')
})

test('it has less than 15 kB, without any dependency', async () => {
  const entry = join(folder, 'node_modules/@zonewatch/client/build/index.js')
  const options = { write: false, minify: true, lib: { entry, formats: ['es' as const] } }
  const [built] = (await build({ configFile: false, logLevel: 'silent', build: options })) as Rolldown.RolldownOutput[]
  const { code, imports } = built!.output[0]
  expect([imports, code.length < 15_000]).toEqual([[], true])
})

test('the programs of its README run', async () => {
  const { dns, settings } = await givenEnvironment('sqlite')
  dns.set('www.customer.example', 'A', ['192.0.2.1'])
  dns.set('late.customer.example', 'A', ['192.0.2.9'])
  const { url } = await givenServer({ ...settings, ...ADMIN })
  const outputs: string[] = []
  for (const { name, isRun } of readmePrograms()) {
    if (!isRun) continue
    const program = run([process.execPath, join(folder, name)], { ZONEWATCH_URL: url, ZONEWATCH_KEY: ADMIN_KEY })
    const isFollowing = name.includes('followEvents')
    for (let index = 0; isFollowing && !(await Promise.race([program.ended.then(() => true), pause(300)])); index++) {
      const body = { full_domain: `e${index}.example.org`, record_type: 'A', expected_value: ['192.0.2.1'] }
      await client.createClient({ url, key: ADMIN_KEY }).createMonitor!({ body })
    }
    const { code, stdout, stderr } = await program.ended
    expect([name, code, stderr]).toEqual([name, 0, ''])
    outputs.push(stdout.trim())
  }
  const [customer, list, many, event, change, error] = outputs
  expect(customer).toMatch(/^Show this page to the customer: http\S+\nwww.customer.example has 192.0.2.1.$/)
  expect(list).toBe('1 monitors, no more')
  expect(many).toBe('1200 monitors exist.\n1200 monitors were changed.')
  expect(event).toMatch(/^evt_\w+ \S+ UNSET NOT_FOUND$/)
  expect(change).toBe('')
  expect(error).toMatch(/^400 \{[^}]*full_domain[^}]*\}/)
  const { waitUntilValid, createMonitor } = client.createClient({ url, key: ADMIN_KEY })
  const body = { full_domain: 'late.customer.example', record_type: 'A', expected_value: ['192.0.2.1'] }
  const { id } = await createMonitor!({ body })
  const waiting = waitUntilValid!(id, { timeoutSeconds: 3, pollSeconds: 0.2 })
  await expect(waiting).rejects.toThrow(/^mon_\w+ is MISMATCH: .*192\.0\.2\.9/)
  await expect(waiting).rejects.toBeInstanceOf(client.WaitTimeoutError)
})

describe('a request that fails', () => {
  const MONITOR = {
    status: 200,
    headers: { 'content-type': 'application/json', etag: '"1.a"' },
    body: '{"id":"mon_1"}',
  }
  const LATER = { status: 503, headers: { 'retry-after': '0' } }

  /** A server that gives these answers, in order. */
  async function givenAnswers(...answers: Answer[]) {
    const receiver = await startReceiver()
    onTestFinished(() => receiver.close())
    receiver.answers(() => answers.shift() ?? { status: 500 })
    return { receiver, zonewatch: client.createClient({ url: receiver.url, key: 'zw_key' }) }
  }
  const keysOf = (received: Received[]) => received.map(({ headers }) => headers['idempotency-key'])

  test('is sent again with the same idempotency key, after the time that the server asks for', async () => {
    const { receiver, zonewatch } = await givenAnswers(LATER, { status: 429, headers: { 'retry-after': '0' } }, MONITOR)
    expect(await zonewatch.createMonitor!({ body: {} })).toEqual({ id: 'mon_1' })
    const keys = keysOf(receiver.received)
    expect([keys.length, new Set(keys).size, keys[0]]).toEqual([3, 1, expect.stringMatching(/^[\w-]{36}$/)])
  })

  test('is not sent again when it is wrong, and names each wrong field', async () => {
    const body = JSON.stringify({ code: 400, error: 'The request is invalid.', errors: { frequency: 'must be 5.' } })
    const headers = { 'content-type': 'application/json', 'x-request-id': 'r-1' }
    const { receiver, zonewatch } = await givenAnswers({ status: 400, headers, body })
    const error = await zonewatch.createMonitor!({ body: {} }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(client.ZonewatchError)
    const { message } = error as Error
    expect(message).toBe('The request is invalid. frequency must be 5.')
    expect(error).toMatchObject({ code: 400, errors: { frequency: 'must be 5.' }, requestId: 'r-1', retryAfter: null })
    expect(receiver.received).toHaveLength(1)
  })

  test('with a version is not sent again when it may have been executed', async () => {
    const { receiver, zonewatch } = await givenAnswers({ status: 502 }, MONITOR)
    const change = zonewatch.updateMonitor!({ monitor: 'mon_1', body: {} }, { ifMatch: '"1.a"' })
    await expect(change).rejects.toMatchObject({ code: 502 })
    expect(receiver.received.map(({ headers }) => headers['if-match'])).toEqual(['"1.a"'])
  })

  test('is a success when it deleted at its first attempt and a proxy lost the response', async () => {
    const { zonewatch } = await givenAnswers({ status: 504 }, { status: 404 })
    expect(await zonewatch.deleteMonitor!({ monitor: 'mon_1' })).toBeUndefined()
    const { zonewatch: other } = await givenAnswers({ status: 404 })
    await expect(other.deleteMonitor!({ monitor: 'mon_1' })).rejects.toMatchObject({ code: 404 })
  })

  test('without any response is sent again, and fails with the cause in the end', async () => {
    const { receiver } = await givenAnswers()
    await receiver.close()
    const options = { url: receiver.url, key: 'zw_key', retries: 1 }
    await expect(client.createClient(options).getMonitor!({ monitor: 'mon_1' })).rejects.toThrow('fetch failed')
    let attempts = 0
    const failing = () =>
      attempts++ < 2 ? Promise.reject(new TypeError('fetch failed')) : fetch('data:application/json,{}')
    await client.createClient({ ...options, retries: 2, fetch: failing }).createMonitor!({ body: {} })
    expect(attempts).toBe(3)
  })

  test('does not follow a redirect, so that the key goes nowhere else', async () => {
    const { receiver: other } = await givenAnswers(MONITOR)
    const { zonewatch } = await givenAnswers({ status: 308, headers: { location: `${other.url}/monitors/mon_1` } })
    await expect(zonewatch.getMonitor!({ monitor: 'mon_1' })).rejects.toThrow('The address redirects to another one')
    expect(other.received).toEqual([])
  })

  test('ends at once when its signal aborts, also during a wait', async () => {
    const { receiver, zonewatch } = await givenAnswers({ status: 429, headers: { 'retry-after': '100' } })
    const abort = new AbortController()
    const reading = zonewatch.getMonitor!({ monitor: 'mon_1' }, { signal: abort.signal })
    await receiver.waitFor(1)
    abort.abort(new Error('not needed any more'))
    await expect(reading).rejects.toThrow('not needed any more')
  })

  test('that must wait longer than the limit fails with the time to wait', async () => {
    const { zonewatch } = await givenAnswers({ status: 429, headers: { 'retry-after': '3600' } })
    await expect(zonewatch.getMonitor!({ monitor: 'mon_1' })).rejects.toMatchObject({ code: 429, retryAfter: 3600 })
  })

  test('is not sent when a part of its path is missing', async () => {
    const { receiver, zonewatch } = await givenAnswers()
    expect(() => zonewatch.deleteMonitor!({ monitor: '' })).toThrow('monitor is missing.')
    expect(receiver.received).toEqual([])
  })

  test('a list is read to its end, with its filters', async () => {
    const page = (ids: string[], after: string | null): Answer => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ data: ids.map((id) => ({ id })), after, has_more: after !== null }),
    })
    const { receiver, zonewatch } = await givenAnswers(page(['a', 'b'], 'x y'), page(['c'], null))
    const found: string[] = []
    const query = { metadata: { plan: 'big & new' }, include: ['tags', 'group'], state: undefined }
    for await (const { id } of zonewatch.listMonitors!(query)) found.push(id)
    expect(found).toEqual(['a', 'b', 'c'])
    const sent = receiver.received.map(({ path }) => Object.fromEntries(new URL(path, receiver.url).searchParams))
    const filters = { 'metadata[plan]': 'big & new', include: 'tags,group', limit: '100' }
    expect(sent).toEqual([filters, { ...filters, after: 'x y' }])
  })

  test('a resource has its version, and a part of it has none', async () => {
    const { zonewatch } = await givenAnswers(MONITOR)
    const monitor = await zonewatch.getMonitor!({ monitor: 'mon_1' })
    expect([client.etagOf(monitor), client.etagOf({ ...monitor })]).toEqual(['"1.a"', undefined])
  })
})

describe('verifyWebhook', () => {
  const SECRET = 'whsec_YW4gZXhhbXBsZSBvZiAzMiBvY3RldHMgaW4gYWxsISE='
  const PLAIN = 'another secret, which is no base64'
  const text =
    '{"id":"req_1","webhook_id":"whk_1","event":{"id":"evt_1","name":"Grüße"},"created":"2026-01-01T00:00:00.000Z"}'
  const body = Buffer.from(text)
  const signed = (changed: { secret?: string; sentAt?: number; body?: Buffer } = {}) =>
    lowerCased(signatureHeaders({ requestId: 'req_1', body, secret: SECRET, sentAt: Date.now(), ...changed }))
  const service = (changed = {}) => {
    const { 'x-service-signature': signature, 'x-webhook-timestamp': time } = signed(changed)
    return { 'x-service-signature': signature!, 'x-webhook-timestamp': time! }
  }
  const verify = (headers: object, options: object = {}) =>
    client.verifyWebhook({ body, headers: headers as Record<string, string>, secret: SECRET, ...options })

  test.each([
    ['both signatures', () => verify(signed())],
    ['the signature of the service alone', () => verify(service())],
    [
      'header names in capitals',
      () =>
        verify({
          'X-Service-Signature': service()['x-service-signature'],
          'X-WEBHOOK-TIMESTAMP': service()['x-webhook-timestamp'],
        }),
    ],
    ['a Headers object', () => verify(new Headers(signed()))],
    ['a text as its body', () => verify(signed(), { body: text })],
    ['a secret that is no base64', () => verify(signed({ secret: PLAIN }), { secret: PLAIN })],
    ['the second of two secrets', () => verify(signed(), { secret: [PLAIN, SECRET] })],
    ['what a library of Standard Webhooks signed', () => verify(signedByLibrary())],
  ])('accepts %s', async (_what, verified) => {
    expect(await verified()).toEqual({
      id: 'req_1',
      webhook_id: 'whk_1',
      created: '2026-01-01T00:00:00.000Z',
      events: [{ event: { id: 'evt_1', name: 'Grüße' } }],
    })
  })

  function signedByLibrary() {
    const now = new Date()
    return {
      'webhook-id': 'req_1',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
      'webhook-signature': `v1a,abcd ${new Webhook(SECRET).sign('req_1', now, text)}`,
    }
  }

  test('returns all events of a batch', async () => {
    const batch = Buffer.from('{"id":"req_1","events":[{"event":{"id":"evt_1"}},{"event":{"id":"evt_2"}}]}')
    const { events } = await verify(signed({ body: batch }), { body: batch })
    expect(events).toEqual([{ event: { id: 'evt_1' } }, { event: { id: 'evt_2' } }])
  })

  test.each([
    ['no headers', {}],
    ['no timestamp', () => ({ ...service(), 'x-webhook-timestamp': undefined })],
    ['a timestamp that computes', () => ({ ...service(), 'x-webhook-timestamp': '1e10' })],
    ['an old timestamp', () => signed({ sentAt: Date.now() - 310_000 })],
    ['a timestamp of the future', () => service({ sentAt: Date.now() + 310_000 })],
    [
      'a new timestamp for an old signature',
      () => ({ ...signed(), 'webhook-timestamp': String(Math.floor(Date.now() / 1_000) + 5) }),
    ],
    ['another id', () => ({ ...signed(), 'webhook-id': 'req_2' })],
    ['no signature', () => ({ ...service(), 'x-service-signature': undefined })],
    ['a short signature', () => ({ ...service(), 'x-service-signature': 'ab' })],
    ['a signature that is not ASCII', () => ({ ...service(), 'x-service-signature': 'ÿ'.repeat(64) })],
    ['several signatures', () => ({ ...service(), 'x-service-signature': ['a'.repeat(64), 'b'.repeat(64)] })],
    ['a signature that is no base64', () => ({ ...signed(), 'webhook-signature': 'v1,%%%' })],
    ['another secret', () => signed({ secret: PLAIN })],
    [
      'a right signature of the service beside a wrong one of the standard',
      () => ({ ...signed(), 'webhook-signature': 'v1,AAAA' }),
    ],
  ])('refuses %s', async (_what, headers) => {
    const verifying = verify(typeof headers === 'function' ? headers() : headers)
    await expect(verifying).rejects.toBeInstanceOf(client.WebhookError)
  })

  test.each([
    ['changed', Buffer.concat([body, Buffer.from(' ')])],
    ['empty', Buffer.alloc(0)],
  ])('refuses a body that is %s', async (_what, other) => {
    await expect(verify(signed(), { body: other })).rejects.toBeInstanceOf(client.WebhookError)
    await expect(verify(service(), { body: other })).rejects.toBeInstanceOf(client.WebhookError)
  })

  test('the handler of the README answers 204 to a request of Zonewatch and 401 to any other', async () => {
    process.env.WEBHOOK_SECRET = SECRET
    onTestFinished(() => void delete process.env.WEBHOOK_SECRET)
    const { handle } = await import(join(folder, readmePrograms().find(({ isRun }) => !isRun)!.name))
    const request = (headers: Record<string, string>) =>
      new Request('http://127.0.0.1/dns', {
        method: 'POST',
        headers,
        body: '{"id":"req_1","event":{"domain":{"domain":"example.com"}}}',
      })
    const own = Buffer.from('{"id":"req_1","event":{"domain":{"domain":"example.com"}}}')
    expect((await handle(request(signed({ body: own })))).status).toBe(204)
    expect((await handle(request({}))).status).toBe(401)
  })
})

const lowerCased = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** The blocks of the README as programs, each with the one that makes the client before it. */
function readmePrograms(): { name: string; text: string; isRun: boolean }[] {
  const readme = readFileSync(`${PROJECT}client/README.md`, 'utf8')
  const blocks = [...readme.matchAll(/^```ts( \w+)?\n(.*?)^```$/gms)].map(([, kind = '', text]) => ({
    kind,
    text: text!,
  }))
  const start = blocks.find(({ kind }) => kind === ' client')!.text
  return blocks
    .filter(({ kind }) => kind !== ' client')
    .map(({ kind, text }, index) => {
      const isRun = kind === ''
      const word = text.match(
        /(?:upsertMonitor|listMonitors|createMonitors|followEvents|verifyWebhook|etagOf|ZonewatchError)/,
      )?.[0]
      return { name: `readme-${index}-${word}.ts`, text: isRun ? start + text : text, isRun }
    })
}
