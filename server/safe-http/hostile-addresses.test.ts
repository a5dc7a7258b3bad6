import net from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../clock.ts'
import { SPECIAL_ADDRESSES } from '../testing/fixtures/special-addresses.ts'
import { parseNetworks } from './address-policy.ts'
import { createSafeFetch, type SafeFetch, type SafeFetchOptions } from './safe-fetch.ts'

const body = Buffer.from('{}')
const open: (() => Promise<void>)[] = []
/** Every attempt of this process to connect a socket, whatever made it. */
const connects = vi.spyOn(net.Socket.prototype, 'connect')

beforeEach(() => {
  connects.mockClear()
})

afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

/** Answers every request with 200 and counts who connects. */
async function givenListener(ip: string, port = 0): Promise<{ port: number; connections: () => number }> {
  let connections = 0
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, ip, resolve)
  })
  open.push(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return { port: (server.address() as net.AddressInfo).port, connections: () => connections }
}

function givenSafeFetch(allowed: string, lookup: SafeFetchOptions['lookup'] = async () => []): SafeFetch {
  const parsed = parseNetworks(allowed)
  const safeFetch = createSafeFetch({
    clock: systemClock,
    lookup,
    allowedNetworks: parsed.ok ? parsed.networks : [],
    timeoutMs: 300,
    lookupMs: 100,
  })
  open.push(safeFetch.close)
  return safeFetch
}

const urlOf = (host: string, port: number) => `http://${host.includes(':') ? `[${host}]` : host}:${port}/`

describe('without an allowed network, nothing connects', () => {
  test.each([
    '127.0.0.1',
    '127.1',
    '127.0.0.1.',
    '2130706433',
    '0x7f000001',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '017700000001',
    '%31%32%37.0.0.1',
    '127。0。0。1',
    '①②⑦.0.0.1',
    '0',
    '0.0.0.0',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:0.0.0.0',
    '::127.0.0.1',
    '64:ff9b::127.0.0.1',
    '2002:7f00:1::',
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    'user@127.0.0.1',
    'receiver.test@127.0.0.1',
  ])('to http://%s', async (host) => {
    const listener = await givenListener('127.0.0.1')
    const safeFetch = givenSafeFetch('', async () => ['127.0.0.1'])

    const result = await safeFetch.post(urlOf(host, listener.port), {}, body)

    expect(result).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/\.$/) })
    expect(connects).not.toHaveBeenCalled()
    expect(listener.connections()).toBe(0)
  })

  test.each(SPECIAL_ADDRESSES.map(([ip]) => ip))('to a name that leads to %s', async (ip) => {
    const listener = await givenListener('127.0.0.1')
    const safeFetch = givenSafeFetch('', async () => [ip])

    for (const scheme of ['http', 'https']) {
      const result = await safeFetch.post(`${scheme}://receiver.test:${listener.port}/`, {}, body)
      expect(result).toMatchObject({
        kind: 'refused',
        reason: expect.stringContaining('receiver.test has an address that is not public'),
      })
      expect(result).not.toMatchObject({ reason: expect.stringContaining(ip) })
    }

    expect(connects).not.toHaveBeenCalled()
    expect(listener.connections()).toBe(0)
  })

  test('to a name that leads to no address but to text', async () => {
    const result = await givenSafeFetch('', async () => ['localhost']).post('http://receiver.test/', {}, body)

    expect(result).toMatchObject({ kind: 'refused' })
    expect(connects).not.toHaveBeenCalled()
  })
})

describe('a name', () => {
  test.each([
    ['first', ['127.0.0.1', '127.0.0.2']],
    ['last', ['127.0.0.2', '127.0.0.1']],
    ['after many good ones', [...Array<string>(20).fill('127.0.0.2'), '::1']],
  ])('with one bad address, %s, is refused whole', async (_where, addresses) => {
    const good = await givenListener('127.0.0.2')
    const safeFetch = givenSafeFetch('127.0.0.2', async () => addresses)

    const result = await safeFetch.post(`http://receiver.test:${good.port}/`, {}, body)

    expect(result.kind).toBe('refused')
    expect(connects).not.toHaveBeenCalled()
  })

  test('is asked for once, and the address that was judged is the one connected to', async () => {
    const bad = await givenListener('127.0.0.1')
    const good = await givenListener('127.0.0.2', bad.port)
    const answers = [['127.0.0.2'], ['127.0.0.1'], ['127.0.0.1']]
    const lookup = vi.fn(async () => answers.shift() ?? [])
    const safeFetch = givenSafeFetch('127.0.0.2', lookup)
    const url = `http://rebinding.test:${good.port}/`

    expect(await safeFetch.post(url, {}, body)).toMatchObject({ kind: 'response', status: 200 })
    expect(lookup).toHaveBeenCalledTimes(1)

    await nextTurn()
    expect(await safeFetch.post(url, {}, body)).toMatchObject({ kind: 'response', status: 200 })
    expect(lookup).toHaveBeenCalledTimes(1) // the connection to the judged address is still open
    expect(good.connections()).toBe(1)

    await nextTurn()
    const [first, second] = await Promise.all([safeFetch.post(url, {}, body), safeFetch.post(url, {}, body)])
    expect([first.kind, second.kind].sort()).toEqual(['refused', 'response']) // the one that needs a new connection asks again
    expect(bad.connections()).toBe(0)
  })

  test('that does not exist fails', async () => {
    expect(await givenSafeFetch('').post('http://missing.test/', {}, body)).toEqual({
      kind: 'failed',
      reason: 'the host name does not exist or has no address',
      timings: { totalMs: expect.any(Number) },
    })
  })

  test('that nobody can look up fails with what stood in the way', async () => {
    const safeFetch = givenSafeFetch('', async () => {
      throw new Error('the host name cannot be resolved: no name server answered in time')
    })

    expect(await safeFetch.post('http://receiver.test/', {}, body)).toMatchObject({
      kind: 'failed',
      reason: 'the host name cannot be resolved: no name server answered in time',
    })
  })

  test('whose lookup never ends is a timeout, and an answer that comes later is not used', async () => {
    const listener = await givenListener('127.0.0.1')
    const late = Promise.withResolvers<string[]>()
    const safeFetch = givenSafeFetch('127.0.0.0/8', () => late.promise)

    const result = await safeFetch.post(`http://slow.test:${listener.port}/`, {}, body)
    late.resolve(['127.0.0.1'])
    await nextTurn()

    expect(result).toMatchObject({
      kind: 'timeout',
      phase: 'name',
      reason: 'the host name was not resolved within 0.1 s',
    })
    expect(connects).not.toHaveBeenCalled()
  })
})

test('an allowed network lets the same request through', async () => {
  const listener = await givenListener('127.0.0.1')

  expect(await givenSafeFetch('127.0.0.0/8').post(urlOf('127.0.0.1', listener.port), {}, body)).toMatchObject({
    kind: 'response',
    status: 200,
  })
  expect(listener.connections()).toBe(1)
})

test('a connection that nothing answers is a timeout', async () => {
  connects.mockImplementationOnce(function (this: net.Socket) {
    return this // the first packet is lost
  })

  expect(await givenSafeFetch('127.0.0.0/8').post('http://127.0.0.1:8/', {}, body)).toMatchObject({
    kind: 'timeout',
    phase: 'connect',
    reason: 'the connection was not established within 0.3 s',
  })
})
