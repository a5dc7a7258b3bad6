import net from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { createManualClock } from '../testing/manual-clock.ts'
import { parseNetworks } from './address-policy.ts'
import { createSafeFetch, type SafeFetchOptions } from './safe-fetch.ts'

const body = Buffer.from('{}')

const ok = (headers = '') => `HTTP/1.1 200 OK\r\n${headers}content-length: 0\r\n\r\n`

/** A receiver that answers every request so and never closes; it tells which of its connections are open. */
async function givenReceiver(answer: string) {
  const sockets = new Set<net.Socket>()
  let connections = 0
  const server = net.createServer((socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', () => socket.write(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as net.AddressInfo
  return { url: `http://127.0.0.1:${port}/`, connections: () => connections, alive: () => sockets.size }
}

function givenSafeFetch(options: Partial<SafeFetchOptions> = {}) {
  const loopback = parseNetworks('127.0.0.0/8')
  const allowedNetworks = loopback.ok ? loopback.networks : []
  const safeFetch = createSafeFetch({ clock: systemClock, lookup: async () => [], allowedNetworks, ...options })
  onTestFinished(safeFetch.close)
  return safeFetch
}

test('a connection is kept for 4 seconds of silence, or for 2 seconds less than Keep-Alive says', async () => {
  const silent = await givenReceiver(ok())
  const long = await givenReceiver(ok('keep-alive: timeout=20\r\n'))
  const short = await givenReceiver(ok('keep-alive: timeout=2\r\n'))
  const safeFetch = givenSafeFetch()
  for (const { url } of [silent, long, short]) await safeFetch.post(url, {}, body)

  const posted = systemClock.elapsed()
  await expect.poll(short.alive).toBe(0)
  await expect.poll(silent.alive).toBe(0)
  expect(systemClock.elapsed() - posted).toBeGreaterThan(2_500)
  expect(long.alive()).toBe(1)
})

test('a connection is used for a minute, however busy and whatever Keep-Alive says', async () => {
  const { url, connections } = await givenReceiver(ok('keep-alive: timeout=1000\r\n'))
  const clock = createManualClock()
  const safeFetch = givenSafeFetch({ clock })
  const start = clock.now()

  for (const second of [0, 30, 60]) {
    clock.moveTo(start + second * 1_000)
    await safeFetch.post(url, {}, body)
    expect(connections()).toBe(1)
  }
  clock.moveTo(start + 60_001)
  await safeFetch.post(url, {}, body)
  expect(connections()).toBe(2)
})

test.each([
  ['10 seconds for the name', 'lookup', 10_000, { reason: 'the host name was not resolved within 10 s' }],
  ['30 seconds for the answer', '', 30_000, { reason: 'no response arrived within 30 s' }],
  ['5 seconds for its body', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\npart', 5_000, { excerpt: 'part' }],
])('there are %s', async (_what, answer, ms, expected) => {
  const receiver = await givenReceiver(answer)
  const clock = createManualClock()
  const safeFetch = givenSafeFetch({ clock, lookup: () => new Promise(() => {}) })
  const start = clock.now()
  const result = safeFetch.post(answer === 'lookup' ? 'http://silent.test/' : receiver.url, {}, body)
  const isOver = () => Promise.race([result.then(() => true), systemClock.sleep(100).then(() => false)])

  await isOver()
  clock.moveTo(start + ms - 1)
  expect(await isOver()).toBe(false)
  clock.moveTo(start + ms)
  expect(await isOver()).toBe(true)
  expect(await result).toMatchObject(expected)
})
