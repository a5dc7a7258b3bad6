import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '#server/clock.ts'
import { parseNetworks } from '#server/safe-http/address-policy.ts'
import { createSafeFetch } from '#server/safe-http/safe-fetch.ts'
import { attempt } from '#server/webhooks/attempt.ts'
import { newBatchBody, newPayload } from '#server/webhooks/payload.ts'
import { newWebhookSecret, signatureHeaders } from '#server/webhooks/signature.ts'

const secret = newWebhookSecret()
const body = newPayload({
  requestId: 'req_test_1',
  webhookId: 'whk_1',
  createdAt: 0,
  event: {
    id: 'evt_1',
    monitor_id: 'mon_1',
    occurred: '2026-01-01T00:00:00.000Z',
    current_value: ['spaces \u2028 and ünïcode 😀'],
    old_state: 'VALID',
    new_state: 'MISMATCH',
    incidence_count: 1,
    domain: { domain: 'example.com', subdomain: '', record_type: 'TXT', expected_value: ['x'], is_exact_match: true },
  },
})

const EXAMPLES = [
  { language: 'TypeScript', file: 'receive.ts', command: process.execPath, version: '--version' },
  { language: 'Python', file: 'receive.py', command: 'python3', version: '--version' },
  { language: 'Go', file: 'receive.go', command: 'go', version: 'version', args: ['run'] },
  { language: 'PHP', file: 'receive.php', command: 'php', version: '--version' },
  { language: 'Ruby', file: 'receive.rb', command: 'ruby', version: '--version' },
  { language: 'shell', file: 'receive.cgi.sh', command: 'sh', version: '-c :' },
]

/** Tests the languages that are installed. TypeScript always is. */
const runnable = EXAMPLES.filter(({ command, version }) => {
  const [option = '', ...rest] = version.split(' ')
  return spawnSync(command, [option, ...rest]).status === 0
})

describe.each(runnable)('the receiver in $language', (example) => {
  let receiver: { port: number; stop: () => Promise<void> }

  beforeAll(async () => {
    receiver = await started(example)
  })

  afterAll(async () => {
    await receiver.stop()
  })

  const statusOf = async (headers: Record<string, string>, octets: Buffer = body) => {
    const sent = http.request({ port: receiver.port, host: '127.0.0.1', method: 'POST', path: '/', agent: false })
    for (const [name, value] of Object.entries(headers)) sent.setHeader(name, value)
    sent.setHeader('content-length', octets.length).end(octets)
    const [answer] = await once(sent, 'response')
    answer.resume()
    return answer.statusCode
  }
  const signed = (changed: { secret?: string; sentAt?: number } = {}) =>
    signatureHeaders({ requestId: 'req_test_1', body, secret, sentAt: Date.now(), ...changed })

  test('accepts the requests of Zonewatch', async () => {
    const loopback = parseNetworks('127.0.0.0/8')
    const safeFetch = createSafeFetch({
      clock: systemClock,
      lookup: async () => [],
      allowedNetworks: loopback.ok ? loopback.networks : [],
    })
    const url = `http://127.0.0.1:${receiver.port}/`
    const deps = { safeFetch, clock: systemClock }

    expect(await attempt({ id: 'req_test_1', url, headers: {}, body, secret }, deps)).toMatchObject({
      statusCode: 204,
    })
    await safeFetch.close()
  })

  test('accepts a batch', async () => {
    const { event } = JSON.parse(body.toString())
    const events = [1, 2].map(() => Buffer.from(JSON.stringify({ event })))
    const batch = newBatchBody({ requestId: 'req_test_1', webhookId: 'whk_1', createdAt: 0, events })
    const headers = signatureHeaders({ requestId: 'req_test_1', body: batch, secret, sentAt: Date.now() })
    expect(await statusOf(headers, batch)).toBe(204)
  })

  test.each([-290_000, 290_000])('accepts a clock that differs by %i ms', async (ms) => {
    expect(await statusOf(signed({ sentAt: Date.now() + ms }))).toBe(204)
  })

  test.each([-310_000, 310_000])('refuses a timestamp that differs by %i ms', async (ms) => {
    expect(await statusOf(signed({ sentAt: Date.now() + ms }))).toBe(401)
  })

  test('refuses another secret', async () => {
    expect(await statusOf(signed({ secret: newWebhookSecret() }))).toBe(401)
  })

  test('refuses a body that differs by one byte', async () => {
    const changed = Buffer.from(body)
    changed[changed.length - 1]! ^= 1

    expect(await statusOf(signed(), changed)).toBe(401)
    expect(await statusOf(signed(), Buffer.concat([body, Buffer.from('\n')]))).toBe(401)
    expect(await statusOf(signed(), Buffer.alloc(0))).toBe(401)
  })

  test('accepts a body of 1 MiB and refuses a larger one', async () => {
    const bodyOf = (size: number) => Buffer.from(body.toString().replace('ünïcode', 'x'.repeat(size - body.length + 9)))
    const signedBy = (octets: Buffer) =>
      signatureHeaders({ requestId: 'req_test_1', body: octets, secret, sentAt: Date.now() })
    const [largest, larger] = [bodyOf(1_048_576), bodyOf(1_048_577)]
    expect(largest).toHaveLength(1_048_576)

    expect(await statusOf(signedBy(largest), largest)).toBe(204)
    // A receiver may close the connection before it has read everything.
    expect(await statusOf(signedBy(larger), larger).catch(() => 413)).toBeGreaterThanOrEqual(400)
  })

  test.each([
    ['no signature', { 'X-Service-Signature': '' }],
    ['a short signature', { 'X-Service-Signature': 'abc' }],
    ['a signature that is not ASCII', { 'X-Service-Signature': 'ÿ'.repeat(64) }],
    ['no time', { 'X-Webhook-Timestamp': '' }],
    ['a time in words', { 'X-Webhook-Timestamp': 'now' }],
    ['a time that computes', { 'X-Webhook-Timestamp': '1e10' }],
    ['a time without end', { 'X-Webhook-Timestamp': '9'.repeat(400) }],
    ['a negative time', { 'X-Webhook-Timestamp': '-1' }],
  ])('refuses %s', async (_what, headers) => {
    expect(await statusOf({ ...signed(), ...headers })).toBe(401)
  })

  test('refuses a request without any of the headers', async () => {
    expect(await statusOf({})).toBe(401)
  })
})

/** Requires curl. */
const senders = spawnSync('curl', ['--version']).status === 0 ? ['docs/reference/webhooks.md'] : []

test.each(senders)('the example request in %s is accepted', async (document) => {
  const receiver = await started(EXAMPLES[0]!)
  const script = /```sh\n(.*?)```/s.exec(readFileSync(document, 'utf8'))![1]!
  const sending = spawn('sh', ['-c', script.replace('127.0.0.1:8000', `127.0.0.1:${receiver.port}`)], {
    env: { ...process.env, WEBHOOK_SECRET: secret },
  })
  let output = ''
  sending.stdout.on('data', (text) => {
    output += text
  })
  await once(sending, 'close')
  await receiver.stop()

  expect(output).toMatch(/^HTTP\/1\.1 204 /)
})

async function started({ file, command, args = [] }: { file: string; command: string; args?: string[] }) {
  const path = fileURLToPath(new URL(`../examples/receive-webhook/${file}`, import.meta.url))
  if (file.endsWith('.cgi.sh')) return await servedByCgi(path)
  const port = await freePort()
  const own = command === 'php' ? ['-S', `127.0.0.1:${port}`] : args
  const env = { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) }
  const child = spawn(command, [...own, path], { env, stdio: 'ignore', detached: true })
  await reachable(port, child)
  return { port, stop: () => stopped(child) }
}

/** Runs a CGI script as a web server does. RFC 3875. */
async function servedByCgi(path: string) {
  const server = http.createServer((request, response) => {
    const variables = Object.entries(request.headers).map(([name, value]) => [
      `HTTP_${name.toUpperCase().replaceAll('-', '_')}`,
      String(value),
    ])
    const { PATH = '' } = process.env
    const CONTENT_LENGTH = request.headers['content-length'] ?? ''
    const script = spawn('sh', [path], {
      env: { ...Object.fromEntries(variables), PATH, CONTENT_LENGTH, WEBHOOK_SECRET: secret },
    })
    let output = ''
    script.stdin.on('error', () => {}) // the script may refuse before it has read everything
    request.pipe(script.stdin)
    script.stdout.on('data', (text) => {
      output += text
    })
    script.on('close', () => response.writeHead(Number(/^Status: (\d+)/.exec(output)?.[1] ?? 500)).end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = async () => {
    server.closeAllConnections()
    server.close()
  }
  return { port: (server.address() as net.AddressInfo).port, stop }
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function reachable(port: number, child: ChildProcess): Promise<void> {
  const giveUpAt = Date.now() + 50_000 // go compiles at first
  while (Date.now() < giveUpAt && child.exitCode === null) {
    const socket = net.connect(port, '127.0.0.1')
    const outcome = await Promise.race([once(socket, 'connect').then(() => true), once(socket, 'error')]).catch(
      () => false,
    )
    socket.destroy()
    if (outcome === true) return
    await systemClock.sleep(50)
  }
  await stopped(child)
  throw new Error('the receiver did not start')
}

/** Kills the process group, because `go run` starts the program as a child. */
async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return
  const closed = once(child, 'exit')
  process.kill(-child.pid, 'SIGKILL')
  await closed
}
