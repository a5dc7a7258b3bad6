import { describe, expect, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { givenDnsClient, givenDnsServer } from '../testing/dns.ts'
import type { Question } from './outcome.ts'

/** Of a TXT record for the name of the question, up to its TTL. */
const RECORD_HEADER = Buffer.from([0xc0, 12, 0, 16, 0, 1, 0, 0, 1, 0])

const www = { name: 'www.example.com', type: 'A' } as const

test('a single silent server is asked again, and the whole keeps within its time', async () => {
  const dns = await givenDnsServer()
  dns.drop('*')
  const before = systemClock.elapsed()
  const { outcome, evidence } = await givenDnsClient([dns], { timeoutMs: 50 }).query(www)
  const elapsed = systemClock.elapsed() - before
  expect(outcome).toEqual({ kind: 'timeout' })
  expect(evidence).toHaveLength(3)
  expect(elapsed).toBeGreaterThanOrEqual(140) // and no upper bound: the machine may be busy
  expect(evidence.reduce((sum, one) => sum + one.ms, 0)).toBeGreaterThanOrEqual(140)
})

test('queries that nobody answers delay the others for a moment only', async () => {
  const dns = await givenDnsServer()
  dns.set('*.example.com', 'A', ['192.0.2.1'])
  for (let at = 0; at < 16; at++) dns.drop(`silent${at}.example.com`)
  const client = givenDnsClient([dns], { maxInFlightPerServer: 4, timeoutMs: 60_000, attempts: 1 })
  const leaving = new AbortController()
  const silent = Array.from({ length: 16 }, async (_, at) => {
    const { signal } = leaving
    return await client.query({ name: `silent${at}.example.com`, type: 'A' }, { signal }).catch(() => 'given up')
  })
  expect((await client.query(www)).outcome.kind).toBe('answer')
  expect(dns.queries.total).toBe(17)
  leaving.abort()
  expect(new Set(await Promise.all(silent))).toEqual(new Set(['given up']))
})

test('the time that a fallback uses is missing for the next exchange', async () => {
  const dns = await givenDnsServer()
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  dns.refuseEdns()
  dns.delay('www.example.com', 250)
  const { evidence } = await givenDnsClient([dns], { timeoutMs: 400, attempts: 1 }).query(www)
  expect(evidence.map((one) => one.outcome?.kind)).toEqual(['failure', 'timeout'])
})

test('2,000 questions at once pass through the cap, none lost', async () => {
  const dns = await givenDnsServer()
  for (let at = 0; at < 2_000; at++) dns.set(`n${at}.example.com`, 'TXT', [`text ${at}`])
  const client = givenDnsClient([dns], { maxInFlightPerServer: 64, timeoutMs: 2_000 })
  const replies = await Promise.all(
    Array.from({ length: 2_000 }, (_, at) => client.query({ name: `n${at}.example.com`, type: 'TXT' })),
  )
  const values = replies.map(({ outcome }) => (outcome.kind === 'answer' ? outcome.rrset.values[0] : outcome.kind))
  expect(values).toEqual(Array.from({ length: 2_000 }, (_, at) => `text ${at}`))
  expect(dns.queries.total).toBe(2_000)
})

test('an answer over UDP that is larger than any server should send is read over TCP', async () => {
  const dns = await givenDnsServer()
  const values = Array.from({ length: 40 }, (_, at) => `${at} `.padEnd(200, 'x'))
  dns.set('www.example.com', 'TXT', values)
  const query: Question = { name: 'www.example.com', type: 'TXT' }
  let packet: Buffer | undefined
  dns.respond('www.example.com', (asked, transport) => {
    if (transport === 'tcp') return 'zone'
    const records = values.map((text) => Buffer.concat([RECORD_HEADER, Buffer.from([0, 201, 200]), Buffer.from(text)]))
    packet = Buffer.concat([asked.subarray(0, asked.indexOf(0, 12) + 5), ...records])
    packet.writeUInt16BE(0x8180, 2)
    packet.writeUInt16BE(values.length, 6)
    packet.writeUInt16BE(0, 10)
    return packet
  })

  const { outcome, evidence } = await givenDnsClient([dns]).query(query)

  expect(packet!.length).toBeGreaterThan(4_096)
  expect(evidence.map(({ transport, outcome }) => [transport, outcome?.kind])).toEqual([
    ['udp', undefined],
    ['tcp', 'answer'],
  ])
  expect(outcome).toMatchObject({ rrset: { values: [...values].sort() } })
})

test('the same question in flight is asked once, and the next one again', async () => {
  const dns = await givenDnsServer()
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  dns.delay('www.example.com', 30)
  const client = givenDnsClient([dns])
  const others = [
    client.query({ ...www, type: 'AAAA' }),
    client.query(www, { servers: [dns.address] }),
    client.query(www, { checkingDisabled: true }),
    client.query(www, { recursionDesired: false }),
    client.query(www, { timeoutMs: 1_000 }),
    client.query(www, { attempts: 1 }),
    client.query(www, { totalTimeoutMs: 1_000 }),
    client.query(www, { maxWaitMs: 1_000 }),
  ]
  const replies = await Promise.all(Array.from({ length: 1_000 }, () => client.query(www)))
  await Promise.all(others)
  expect(new Set(replies.map(({ outcome }) => outcome.kind))).toEqual(new Set(['answer']))
  expect(dns.queries.total).toBe(1 + others.length)
  await client.query(www)
  expect(dns.queries.total).toBe(2 + others.length)
})

test('who gives up does not break off the same question of another', async () => {
  const dns = await givenDnsServer()
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  dns.delay('www.example.com', 60)
  const client = givenDnsClient([dns])
  const leaving = new AbortController()
  const left = client.query(www, { signal: leaving.signal })
  const stayed = client.query(www)
  leaving.abort(new Error('enough'))
  await expect(left).rejects.toThrow('enough')
  expect((await stayed).outcome.kind).toBe('answer')
})

test('no more than the cap are in flight, and waiting for a place costs no time of the question', async () => {
  const dns = await givenDnsServer()
  dns.set('*.example.com', 'A', ['192.0.2.1'])
  dns.delay('*', 60)
  const client = givenDnsClient([dns], { maxInFlightPerServer: 2, timeoutMs: 300, attempts: 1 })
  const asking = Array.from({ length: 14 }, (_, at) => client.query({ name: `n${at}.example.com`, type: 'A' }))
  await systemClock.sleep(40)
  expect(dns.queries.total).toBe(2)
  const kinds = (await Promise.all(asking)).map(({ outcome }) => outcome.kind)
  expect(kinds).toEqual(Array(14).fill('answer'))
})

describe('giving up', () => {
  test.each(['at once', 'in flight'])(
    'a question aborted %s rejects with the reason and leaves its place',
    async (when) => {
      const dns = await givenDnsServer()
      dns.drop('gone.example.com')
      dns.set('www.example.com', 'A', ['192.0.2.1'])
      const client = givenDnsClient([dns], { maxInFlightPerServer: 1, timeoutMs: 60_000 })
      const leaving = new AbortController()
      const left = client.query({ name: 'gone.example.com', type: 'A' }, { signal: leaving.signal })
      const next = client.query(www)
      if (when === 'in flight') await expect.poll(() => dns.queries.total).toBe(1)
      leaving.abort(new Error('enough'))
      await expect(left).rejects.toThrow('enough')
      expect((await next).outcome.kind).toBe('answer')
    },
  )

  test('closing the client ends what is in flight, what waits and what comes later', async () => {
    const dns = await givenDnsServer()
    dns.drop('*')
    const client = givenDnsClient([dns], { maxInFlightPerServer: 1, timeoutMs: 60_000 })
    const other = { name: 'other.example.com', type: 'A' } as const
    const asking = [client.query(www), client.query(other)].map((one) => expect(one).rejects.toThrow('closed'))
    await expect.poll(() => dns.queries.total).toBe(1)
    await client.close()
    await Promise.all(asking)
    await expect(client.query(www)).rejects.toThrow('closed')
  })

  test('without a server there is nothing to ask', async () => {
    const { outcome, evidence } = await givenDnsClient([]).query(www)
    expect(outcome).toEqual({ kind: 'unreachable', reason: 'no name server is configured' })
    expect(evidence).toEqual([])
  })
})
