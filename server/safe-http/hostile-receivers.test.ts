import net from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { patientClock } from '../testing/patient-clock.ts'
import { parseNetworks } from './address-policy.ts'
import { createSafeFetch, type SafeFetchOptions } from './safe-fetch.ts'

const body = Buffer.from('{}')
const open: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

/** A server below HTTP: `behave` gets each connection, with its number from 1, when its request has come. */
async function givenServer(behave: (socket: net.Socket, connection: number, request: number) => void) {
  const sockets = new Set<net.Socket>()
  let connections = 0
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    const connection = ++connections
    let request = 0
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('end', () => socket.end())
    socket.on('data', (octets) => {
      if (octets.includes('\r\n\r\n')) behave(socket, connection, ++request)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as net.AddressInfo).port}/`
  return { url, connections: () => connections, alive: () => sockets.size }
}

function givenSafeFetch(options: Partial<SafeFetchOptions> = {}) {
  const loopback = parseNetworks('127.0.0.0/8')
  const safeFetch = createSafeFetch({
    clock: patientClock,
    lookup: async () => [],
    allowedNetworks: loopback.ok ? loopback.networks : [],
    timeoutMs: 300,
    bodyMs: 200,
    ...options,
  })
  open.push(safeFetch.close)
  return safeFetch
}

/** Writes something every few milliseconds until the other side is gone. */
function drip(socket: net.Socket, text: string, ms: number): void {
  const timer = setInterval(() => socket.write(text), ms)
  socket.once('close', () => clearInterval(timer))
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'

test.each([
  ['one', [CONTINUE + OK]],
  ['two, with a header', [`${CONTINUE}HTTP/1.1 100 Continue\r\nx-step: 1\r\n\r\n${OK}`]],
  ['one in pieces', ['HTTP/1.', '1 100 Con', 'tinue\r\n', '\r\n', OK]],
])('ignores 100 Continue responses that it did not ask for: %s', async (_, parts) => {
  const { url, connections } = await givenServer(async (socket) => {
    for (const part of parts) {
      socket.write(part)
      await nextTurn()
    }
  })
  const safeFetch = givenSafeFetch()
  for (let request = 0; request < 2; request++) {
    const result = await safeFetch.post(url, {}, body)
    expect(result).toMatchObject({ kind: 'response', status: 200 })
  }
  expect(connections()).toBe(1)
})

test('100 Continue without a final response is a timeout', async () => {
  const { url } = await givenServer((socket) => socket.write(CONTINUE))
  expect(await givenSafeFetch().post(url, {}, body)).toMatchObject({ kind: 'timeout' })
})

describe('a receiver that', () => {
  test('never answers is a timeout', async () => {
    const { url } = await givenServer(() => {})

    expect(await givenSafeFetch().post(url, {}, body)).toMatchObject({
      kind: 'timeout',
      phase: 'answer',
      reason: 'no response arrived within 0.3 s',
    })
  })

  test('sends its headers letter by letter is a timeout, and its connection is dropped', async () => {
    const { url, alive } = await givenServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx: ')
      drip(socket, 'a', 10)
    })

    const result = await givenSafeFetch().post(url, {}, body)

    expect(result).toMatchObject({ kind: 'timeout', phase: 'answer' })
    await expect.poll(alive).toBe(0)
  })

  test('sends its body letter by letter has answered, and its connection is dropped', async () => {
    const { url, alive } = await givenServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n')
      drip(socket, 'a', 10)
    })

    const result = await givenSafeFetch().post(url, {}, body)

    expect(result).toMatchObject({ kind: 'response', status: 200, excerpt: expect.stringMatching(/^a+$/) })
    await expect.poll(alive).toBe(0)
  })

  test('sends a body without end is read up to 64 KiB', async () => {
    let sent = 0
    const { url, alive } = await givenServer((socket) => {
      const chunk = 'a'.repeat(16_384)
      const flood = () => {
        while (!socket.destroyed && socket.write(`4000\r\n${chunk}\r\n`)) sent += chunk.length
      }
      socket.write('HTTP/1.1 500 Oops\r\ntransfer-encoding: chunked\r\n\r\n')
      socket.on('drain', flood)
      flood()
    })

    const result = await givenSafeFetch({ bodyMs: 10_000 }).post(url, {}, body)

    expect(result).toMatchObject({ kind: 'response', status: 500, excerpt: 'a'.repeat(4000) })
    await expect.poll(alive).toBe(0)
    expect(sent).toBeLessThan(20_000_000) // what fits into the kernel's buffers, not 10 s of flood
  })

  test.each([
    ['trailers', '1\r\na\r\n0\r\n', 'x: y\r\n'],
    ['an extension of a chunk', '1;', 'x'.repeat(1_000)],
  ])('sends %s without end has answered, and its connection is dropped', async (_what, first, more) => {
    const { url, alive } = await givenServer((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${first}`)
      drip(socket, more, 1)
    })

    expect(await givenSafeFetch().post(url, {}, body)).toMatchObject({ kind: 'response', status: 200 })
    await expect.poll(alive).toBe(0)
  })

  test('breaks its body off has answered', async () => {
    const { url } = await givenServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart'))

    expect(await givenSafeFetch().post(url, {}, body)).toMatchObject({ kind: 'response', status: 200, excerpt: 'part' })
  })

  test.each([
    ['does not speak HTTP', 'SSH-2.0-OpenSSH_9.2\r\n', 'the response is not valid HTTP'],
    ['sends octets without meaning', '\0\xff\x17garbage\r\n\r\n', 'the response is not valid HTTP'],
    [
      'disagrees with itself about the length',
      `HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab`,
      'contradicting lengths',
    ],
    ['answers with chunks that are none', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzzz\r\n', undefined],
    ['sends 20 KiB of headers', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`, 'larger than 16 KiB'],
    ['sends 10,000 headers', `HTTP/1.1 200 OK\r\n${'x: a\r\n'.repeat(10_000)}\r\n`, 'larger than 16 KiB'],
    ['sends 100 Continue without end', CONTINUE.repeat(1000), 'more than 16 interim responses'],
    [
      'wants another protocol',
      'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      '101 Switching Protocols',
    ],
    ['sends a status below 100', 'HTTP/1.1 099 X\r\ncontent-length: 0\r\n\r\n', 'the response is not valid HTTP'],
    ['sends 101 without a protocol', 'HTTP/1.1 101 X\r\n\r\n', 'the response is not valid HTTP'],
    ['sends 1xx without end', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1000), 'more than 16 interim responses'],
  ])('%s fails', async (_what, octets, reason) => {
    const { url, alive } = await givenServer((socket) => socket.write(octets, 'latin1'))

    const result = await givenSafeFetch().post(url, {}, body)

    if (reason === undefined) expect(result).toMatchObject({ kind: 'response', status: 200, excerpt: '' })
    else expect(result).toMatchObject({ kind: 'failed', reason: expect.stringContaining(reason) })
    await expect.poll(alive).toBe(0)
  })

  test('sends a few 1xx before its answer has answered', async () => {
    const { url } = await givenServer((socket) =>
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(3) + OK),
    )

    expect(await givenSafeFetch().post(url, {}, body)).toMatchObject({ status: 200, excerpt: 'ok' })
  })

  test('drips 1xx is a timeout', async () => {
    const { url } = await givenServer((socket) => drip(socket, 'HTTP/1.1 102 Processing\r\n\r\n', 50))

    expect(await givenSafeFetch().post(url, {}, body)).toMatchObject({ kind: 'timeout', phase: 'answer' })
  })

  test('closes its half without an answer fails', async () => {
    const { url } = await givenServer((socket) => socket.end())

    expect(await givenSafeFetch().post(url, {}, body)).toMatchObject({
      kind: 'failed',
      reason: 'the connection was closed before a response arrived',
    })
  })

  test('closes within its headers fails', async () => {
    const { url } = await givenServer((socket) => socket.end('HTTP/1.1 200 OK\r\nx: '))

    expect(await givenSafeFetch().post(url, {}, body)).toMatchObject({
      kind: 'failed',
      reason: expect.stringContaining('closed'),
    })
  })

  test('resets the connection fails', async () => {
    const { url } = await givenServer((socket) => socket.resetAndDestroy())

    expect(await givenSafeFetch().post(url, {}, body)).toMatchObject({
      kind: 'failed',
      reason: 'the connection was reset before a response arrived',
    })
  })

  test('is not there refuses the connection', async () => {
    const { url } = await givenServer(() => {})
    await open.pop()?.()

    expect(await givenSafeFetch().post(url, {}, body)).toMatchObject({
      kind: 'failed',
      reason: 'the connection was refused',
    })
  })
})

/** undici looks at a connection for one turn before it uses it again. */
const becomesIdle = () => nextTurn()

describe('a kept connection that the receiver closes', () => {
  test('as the request is written leads to one more try, on a new connection', async () => {
    const { url, connections } = await givenServer((socket, connection, request) => {
      if (connection === 1 && request === 2) socket.resetAndDestroy()
      else socket.write(OK)
    })
    const safeFetch = givenSafeFetch()
    await safeFetch.post(url, {}, body)
    await becomesIdle()

    expect(await safeFetch.post(url, {}, body)).toMatchObject({ kind: 'response', status: 200 })
    expect(connections()).toBe(2)
  })

  test('and the new one too fails', async () => {
    const { url, connections } = await givenServer((socket, connection, request) => {
      if (connection === 1 && request === 1) socket.write(OK)
      else socket.end()
    })
    const safeFetch = givenSafeFetch()
    await safeFetch.post(url, {}, body)
    await becomesIdle()

    expect(await safeFetch.post(url, {}, body)).toMatchObject({ kind: 'failed' })
    expect(connections()).toBe(2)
  })

  test('after an interim answer is not tried again', async () => {
    const { url, connections } = await givenServer((socket, connection, request) => {
      if (connection === 1 && request === 2) socket.end('HTTP/1.1 103 Early Hints\r\n\r\n')
      else socket.write(OK)
    })
    const safeFetch = givenSafeFetch()
    await safeFetch.post(url, {}, body)
    await becomesIdle()

    expect(await safeFetch.post(url, {}, body)).toMatchObject({ kind: 'failed' })
    expect(connections()).toBe(1)
  })

  test('while nothing is sent is simply replaced', async () => {
    const { url, connections, alive } = await givenServer((socket) => {
      socket.write(OK)
      setTimeout(() => socket.end(), 20)
    })
    const safeFetch = givenSafeFetch()
    await safeFetch.post(url, {}, body)
    await expect.poll(alive).toBe(0)

    expect(await safeFetch.post(url, {}, body)).toMatchObject({ status: 200 })
    expect(connections()).toBe(2)
  })

  test('with rubbish sent into the silence does not spoil the next request', async () => {
    const { url } = await givenServer((socket, connection) => {
      socket.write(connection === 1 ? `${OK}HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged` : OK)
    })
    const safeFetch = givenSafeFetch()
    await safeFetch.post(url, {}, body)
    await becomesIdle()

    expect(await safeFetch.post(url, {}, body)).toMatchObject({ status: 200, excerpt: 'ok' })
  })
})
