import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { type Receiver, startReceiver } from '../testing/receiver.ts'
import { parseNetworks } from './address-policy.ts'
import { createSafeFetch, type SafeFetch, type SafeFetchOptions } from './safe-fetch.ts'

const body = Buffer.from('{"a":"ü"}')
const open: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

async function givenReceiver(): Promise<Receiver> {
  const receiver = await startReceiver()
  open.push(receiver.close)
  return receiver
}

function givenSafeFetch(options: Partial<SafeFetchOptions> = {}): SafeFetch {
  const loopback = parseNetworks('127.0.0.0/8')
  const safeFetch = createSafeFetch({
    clock: systemClock,
    lookup: async (name) => {
      throw new Error(`unexpected lookup of ${name}`)
    },
    allowedNetworks: loopback.ok ? loopback.networks : [],
    ...options,
  })
  open.push(safeFetch.close)
  return safeFetch
}

describe('a request', () => {
  test('arrives with its octets, its headers and its path', async () => {
    const receiver = await givenReceiver()

    await givenSafeFetch().post(`${receiver.url}/hook?a=1&b=%20`, { 'X-Team': 'dns' }, body)

    expect(receiver.received).toMatchObject([{ method: 'POST', path: '/hook?a=1&b=%20', body }])
    expect(receiver.received[0]?.headers).toMatchObject({
      host: `127.0.0.1:${receiver.port}`,
      'x-team': 'dns',
      'content-length': String(body.length),
    })
  })

  test('to a name goes to its address and keeps the name in Host', async () => {
    const receiver = await givenReceiver()
    const names: string[] = []
    const safeFetch = givenSafeFetch({
      lookup: async (name) => {
        names.push(name)
        return ['127.0.0.1']
      },
    })

    const result = await safeFetch.post(`http://Receiver.Test.:${receiver.port}/`, {}, body)

    expect(result).toMatchObject({ kind: 'response', status: 200, timings: { nameMs: expect.any(Number) } })
    expect(names).toEqual(['receiver.test'])
    expect(receiver.received[0]?.headers.host).toBe(`receiver.test.:${receiver.port}`)
  })

  test('goes to the next address when the first refuses the connection', async () => {
    const receiver = await givenReceiver()
    const safeFetch = givenSafeFetch({ lookup: async () => ['127.0.0.9', '127.0.0.1'] })

    expect(await safeFetch.post(`http://receiver.test:${receiver.port}/`, {}, body)).toMatchObject({ status: 200 })
  })

  test('reuses the connection of the previous one, and its timings show it', async () => {
    const receiver = await givenReceiver()
    const safeFetch = givenSafeFetch()

    const first = await safeFetch.post(receiver.url, {}, body)
    await nextTurn() // undici looks at a connection for one turn before it uses it again
    const second = await safeFetch.post(receiver.url, {}, body)

    expect(receiver.connections()).toBe(1)
    expect(first.timings).toEqual({
      connectMs: expect.any(Number),
      firstByteMs: expect.any(Number),
      totalMs: expect.any(Number),
    })
    expect(second.timings).toEqual({ firstByteMs: expect.any(Number), totalMs: expect.any(Number) })
  })

  test('does not wait for another to the same receiver', async () => {
    const receiver = await givenReceiver()
    const safeFetch = givenSafeFetch({ timeoutMs: 300 })
    receiver.answers(({ path }) => (path === '/slow' ? { status: 200 } : 204))
    receiver.hang()
    const slow = safeFetch.post(`${receiver.url}/slow`, {}, body)
    await receiver.waitFor(1)
    receiver.answers(204)

    expect(await safeFetch.post(`${receiver.url}/fast`, {}, body)).toMatchObject({ status: 204 })
    expect(await slow).toMatchObject({ kind: 'timeout' })
  })
})

describe('an answer', () => {
  test.each([200, 201, 204, 302, 304, 400, 410, 429, 500, 503])('of status %i is reported as it is', async (status) => {
    const receiver = await givenReceiver()
    const elsewhere = await givenReceiver()
    receiver.answers({ status, headers: { location: elsewhere.url, 'retry-after': '7' } })

    const result = await givenSafeFetch().post(receiver.url, {}, body)

    expect(result).toMatchObject({ kind: 'response', status, retryAfter: '7' })
    expect(elsewhere.connections()).toBe(0)
  })

  test('is kept to its first 4,000 characters, never half of one', async () => {
    const receiver = await givenReceiver()
    receiver.answers({ status: 200, body: `${'a'.repeat(3999)}😀${'b'.repeat(100)}` })

    expect(await givenSafeFetch().post(receiver.url, {}, body)).toMatchObject({ excerpt: 'a'.repeat(3999) })
  })

  test('is kept as text that every database can hold', async () => {
    const receiver = await givenReceiver()
    receiver.answers({ status: 200, body: Buffer.from([0x61, 0x00, 0xff, 0x62]) })

    expect(await givenSafeFetch().post(receiver.url, {}, body)).toMatchObject({ excerpt: 'a\ufffd\ufffdb' })
  })

  test('is not decompressed', async () => {
    const receiver = await givenReceiver()
    receiver.answers({ status: 200, headers: { 'content-encoding': 'gzip' }, body: 'not gzip at all' })

    expect(await givenSafeFetch().post(receiver.url, {}, body)).toMatchObject({ excerpt: 'not gzip at all' })
  })
})

describe('giving up', () => {
  test('by the caller ends an attempt at once', async () => {
    const receiver = await givenReceiver()
    receiver.hang()
    const stop = new AbortController()

    const result = givenSafeFetch().post(receiver.url, {}, body, stop.signal)
    await receiver.waitFor(1)
    stop.abort()

    expect(await result).toMatchObject({ kind: 'failed', reason: expect.stringContaining('stopping') })
  })

  test('before the start sends nothing', async () => {
    const receiver = await givenReceiver()

    await givenSafeFetch().post(receiver.url, {}, body, AbortSignal.abort())

    expect(receiver.connections()).toBe(0)
  })

  test('by closing ends what is in progress and what comes later', async () => {
    const receiver = await givenReceiver()
    receiver.hang()
    const safeFetch = givenSafeFetch()
    const result = safeFetch.post(receiver.url, {}, body)
    await receiver.waitFor(1)

    await safeFetch.close()

    expect(await result).toMatchObject({ kind: 'failed', reason: expect.stringContaining('stopping') })
    expect(await safeFetch.post(receiver.url, {}, body)).toMatchObject({ kind: 'failed' })
  })
})
