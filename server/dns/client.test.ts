import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { givenDnsClient, givenDnsServer } from '../testing/dns.ts'
import type { QuestionType, ServerAddress } from './outcome.ts'

// A port that nothing listens on: it was free a moment ago.
async function givenClosedPort(): Promise<ServerAddress> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  await new Promise<void>((resolve) => socket.close(resolve))
  return { ip: '127.0.0.1', port }
}

const www = { name: 'www.example.com', type: 'A' } as const

test.each<[QuestionType, string[]]>([
  ['A', ['192.0.2.1', '192.0.2.2']],
  ['AAAA', ['2001:db8::1']],
  ['CNAME', ['target.example.net']],
  ['MX', ['10 mail.example.com', '20 backup.example.com']],
  ['TXT', ['v=spf1 -all', `long ${'x'.repeat(600)}`]],
  ['NS', ['ns1.example.com', 'ns2.example.com']],
  ['PTR', ['host.example.com']],
  ['CAA', ['0 issue "ca.example"', '128 iodef "mailto:a\\"b@example.com"']],
  ['SOA', ['ns.example.com hostmaster.example.com 2026010101 7200 3600 1209600 300']],
])('%s records are asked for and answered', async (type, values) => {
  const dns = await givenDnsServer()
  dns.set('www.example.com', type, [...values].reverse(), { ttl: 60 })
  const { outcome } = await givenDnsClient([dns]).query({ name: 'www.example.com', type })
  const sorted = [...values].sort()
  expect(outcome).toEqual({
    kind: 'answer',
    rrset: { name: 'www.example.com', type, ttl: 60, values: sorted },
    chain: [],
  })
})

test('the evidence says what went over the wire', async () => {
  const dns = await givenDnsServer()
  dns.fail('www.example.com', 'SERVFAIL', { code: 22, text: 'no reachable authority' })
  const { evidence, outcome } = await givenDnsClient([dns]).query(www)
  const ede = [{ code: 22, text: 'no reachable authority' }]
  expect(outcome).toEqual({ kind: 'failure', rcode: 'SERVFAIL', ede })
  const server = `127.0.0.1:${dns.address.port}`
  const ms = expect.any(Number)
  expect(evidence).toEqual([
    { server, transport: 'udp', question: www, rcode: 'SERVFAIL', flags: ['rd', 'ra'], ede, ms, outcome },
  ])
})

test('NXDOMAIN and NODATA are different outcomes, each with its chain', async () => {
  const dns = await givenDnsServer()
  dns.set('www.example.com', 'CNAME', ['gone.example.net'])
  dns.set('mail.example.com', 'CNAME', ['host.example.net'])
  dns.set('host.example.net', 'TXT', ['here'])
  const client = givenDnsClient([dns])
  expect((await client.query(www)).outcome).toMatchObject({ kind: 'nxdomain', chain: [{ target: 'gone.example.net' }] })
  const { outcome } = await client.query({ name: 'mail.example.com', type: 'A' })
  expect(outcome).toMatchObject({ kind: 'nodata', chain: [{ target: 'host.example.net' }] })
})

test('a truncated answer is asked for again over TCP', async () => {
  const dns = await givenDnsServer()
  const values = Array.from({ length: 200 }, (_, at) => `192.0.2.${at}`).sort()
  dns.set('www.example.com', 'A', values)
  const { outcome, evidence } = await givenDnsClient([dns]).query(www)
  expect(outcome).toMatchObject({ kind: 'answer', rrset: { values } })
  expect(evidence).toMatchObject([
    { transport: 'udp', flags: ['tc', 'rd', 'ra'], outcome: null },
    { transport: 'tcp', flags: ['rd', 'ra'], outcome: { kind: 'answer' } },
  ])
})

describe('EDNS', () => {
  test('is left out only for a server that cannot read it', async () => {
    const dns = await givenDnsServer()
    dns.set('www.example.com', 'A', ['192.0.2.1'])
    const client = givenDnsClient([dns])
    await client.query(www)
    expect(dns.queries.log.map((query) => query.edns)).toEqual([true])
    dns.refuseEdns()
    const { outcome, evidence } = await client.query(www)
    expect(outcome.kind).toBe('answer')
    expect(evidence.map((one) => one.rcode)).toEqual(['FORMERR', 'NOERROR'])
    expect(dns.queries.log.map((query) => query.edns)).toEqual([true, true, false])
  })

  test('is left out once, not for ever', async () => {
    const dns = await givenDnsServer()
    dns.fail('www.example.com', 'NOTIMP')
    const { outcome, evidence } = await givenDnsClient([dns]).query(www)
    expect(outcome).toMatchObject({ kind: 'failure', rcode: 'NOTIMP' })
    expect(evidence).toHaveLength(2)
  })

  test('is kept when the server fails for another reason', async () => {
    const dns = await givenDnsServer()
    dns.fail('www.example.com', 'SERVFAIL')
    await givenDnsClient([dns]).query(www)
    expect(dns.queries.log.map((query) => query.edns)).toEqual([true])
  })
})

describe('a server that fails', () => {
  test.each(['SERVFAIL', 'REFUSED'])('with %s is followed by the next', async (rcode) => {
    const [bad, good] = [await givenDnsServer(), await givenDnsServer()]
    bad.fail('*', rcode)
    good.set('www.example.com', 'A', ['192.0.2.1'])
    const { outcome, evidence } = await givenDnsClient([bad, good]).query(www)
    expect(outcome.kind).toBe('answer')
    expect(evidence.map((one) => one.rcode)).toEqual([rcode, 'NOERROR'])
  })

  test('by silence is followed by the next', async () => {
    const [bad, good] = [await givenDnsServer(), await givenDnsServer()]
    bad.drop('*')
    good.set('www.example.com', 'A', ['192.0.2.1'])
    const { outcome, evidence } = await givenDnsClient([bad, good], { timeoutMs: 150 }).query(www)
    expect(outcome.kind).toBe('answer')
    expect(evidence.map((one) => one.outcome?.kind)).toEqual(['timeout', 'answer'])
  })

  test('by not being there is followed by the next', async () => {
    const good = await givenDnsServer()
    good.set('www.example.com', 'A', ['192.0.2.1'])
    const { outcome, evidence } = await givenDnsClient([await givenClosedPort(), good]).query(www)
    expect(outcome.kind).toBe('answer')
    expect(evidence[0]!.outcome).toEqual({ kind: 'unreachable', reason: 'ECONNREFUSED' })
  })

  test('by a referral is followed by the next', async () => {
    const [bad, good] = [await givenDnsServer({ authoritative: true }), await givenDnsServer()]
    bad.respond('*', (query) => {
      const reply = Buffer.concat([query.subarray(0, -11), Buffer.from('c01000020001000000090005026e73c010', 'hex')])
      reply.writeUInt16BE(0x8000, 2)
      reply.writeUInt16BE(1, 8)
      reply.writeUInt16BE(0, 10)
      return reply
    })
    good.set('www.example.com', 'A', ['192.0.2.1'])
    const client = givenDnsClient([bad, good])
    const { evidence } = await client.query(www)
    expect(evidence.map((one) => one.outcome?.kind)).toEqual(['referral', 'answer'])
    const { outcome } = await client.query(www, { servers: [bad.address], recursionDesired: false })
    expect(outcome).toMatchObject({ kind: 'referral', zone: 'example.com', nameServers: ['ns.example.com'] })
  })

  test('is reported by the most informative failure', async () => {
    const [silent, failing] = [await givenDnsServer(), await givenDnsServer()]
    silent.drop('*')
    failing.fail('*', 'REFUSED')
    const { outcome, evidence } = await givenDnsClient([silent, failing, await givenClosedPort()], {
      timeoutMs: 150,
    }).query(www)
    expect(evidence.map((one) => one.outcome?.kind)).toEqual(['timeout', 'failure', 'unreachable'])
    expect(outcome).toMatchObject({ kind: 'failure', rcode: 'REFUSED' })
  })
})

test('a lost packet costs one try', async () => {
  const dns = await givenDnsServer()
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  dns.drop('www.example.com')
  const asking = givenDnsClient([dns], { timeoutMs: 200 }).query(www)
  await expect.poll(() => dns.queries.total).toBe(1)
  dns.recover('www.example.com')
  expect((await asking).outcome.kind).toBe('answer')
})

test('each question begins at another server', async () => {
  const servers = [await givenDnsServer(), await givenDnsServer(), await givenDnsServer()]
  for (const dns of servers) dns.set('www.example.com', 'A', ['192.0.2.1'])
  const client = givenDnsClient(servers)
  for (let asked = 0; asked < 6; asked++) await client.query(www)
  expect(servers.map((dns) => dns.queries.total)).toEqual([2, 2, 2])
})

test('a server that has long been silent is asked last', async () => {
  const [silent, good] = [await givenDnsServer(), await givenDnsServer()]
  silent.drop('*')
  good.set('www.example.com', 'A', ['192.0.2.1'])
  const client = givenDnsClient([silent, good], { timeoutMs: 100 })
  await Promise.all(Array.from({ length: 16 }, (_, at) => client.query({ name: `n${at}.example.com`, type: 'A' })))
  const before = silent.queries.total
  for (let asked = 0; asked < 20; asked++) await client.query(www)
  expect(silent.queries.total - before).toBeLessThanOrEqual(1) // one may find out whether it is back
})

test('a server that is broken for one type is asked last for it, and in its turn for the others', async () => {
  const [broken, good] = [await givenDnsServer(), await givenDnsServer()]
  for (const dns of [broken, good]) dns.set('www.example.com', 'A', ['192.0.2.1'])
  good.set('www.example.com', 'AAAA', ['2001:db8::1'])
  broken.failType('AAAA', 'SERVFAIL')
  const client = givenDnsClient([broken, good])
  const ask = async (type: 'A' | 'AAAA', times: number) => {
    for (let asked = 0; asked < times; asked++) await client.query({ name: 'www.example.com', type })
  }
  await ask('AAAA', 16)
  const before = broken.queries.count('www.example.com', 'AAAA')
  await ask('AAAA', 20)
  expect(broken.queries.count('www.example.com', 'AAAA') - before).toBeLessThanOrEqual(1)
  await ask('A', 20)
  expect(broken.queries.count('www.example.com', 'A')).toBe(10)
})

test('a flood of questions to one server is paced, none lost', async () => {
  const dns = await givenDnsServer()
  dns.set('*.example.com', 'A', ['192.0.2.1'])
  const client = givenDnsClient([dns], { queriesPerSecond: 20 })
  const before = systemClock.elapsed()
  const names = Array.from({ length: 30 }, (_, at) => `n${at}.example.com`)
  const replies = await Promise.all(names.map((name) => client.query({ name, type: 'A' })))
  expect(systemClock.elapsed() - before).toBeGreaterThanOrEqual(490)
  expect(replies.map(({ outcome }) => outcome.kind)).toEqual(Array(30).fill('answer'))
})

test('what does not do is followed by the next server', async () => {
  const [one, other] = [await givenDnsServer(), await givenDnsServer()]
  for (const dns of [one, other]) dns.set('www.example.com', 'A', [`192.0.2.${dns === one ? 1 : 2}`])
  const { outcome } = await givenDnsClient([]).query(www, {
    servers: [one.address, other.address],
    accept: ({ server }) => server.endsWith(`:${other.address.port}`),
  })
  expect(outcome).toMatchObject({ rrset: { values: ['192.0.2.2'] } })
})

test('IPv6 servers are asked', async () => {
  const dns = await givenDnsServer({ ip: '::1' })
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  dns.truncate('www.example.com')
  const { outcome, evidence } = await givenDnsClient([dns]).query(www)
  expect(outcome.kind).toBe('answer')
  expect(evidence.map((one) => one.server)).toEqual(Array(2).fill(`[::1]:${dns.address.port}`))
})
