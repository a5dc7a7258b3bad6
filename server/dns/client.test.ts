import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { type DnsServer, startDnsServer } from '../testing/dns-server.ts'
import { createDnsClient, type DnsClient, type DnsClientOptions } from './client.ts'
import type { QuestionType, ServerAddress } from './outcome.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const part of open.splice(0).reverse()) await part.close()
})

async function givenServer(options: Parameters<typeof startDnsServer>[0] = {}): Promise<DnsServer> {
  const dns = await startDnsServer(options)
  open.push(dns)
  return dns
}

function givenClient(servers: (DnsServer | ServerAddress)[], options: Partial<DnsClientOptions> = {}): DnsClient {
  const addresses = servers.map((server) => ('address' in server ? server.address : server))
  const client = createDnsClient({ clock: systemClock, timeoutMs: 2_000, tries: 3, ...options, servers: addresses })
  open.push(client)
  return client
}

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
  const dns = await givenServer()
  dns.set('www.example.com', type, [...values].reverse(), { ttl: 60 })
  const { outcome } = await givenClient([dns]).ask({ name: 'www.example.com', type })
  const sorted = [...values].sort()
  expect(outcome).toEqual({
    kind: 'answer',
    rrset: { name: 'www.example.com', type, ttl: 60, values: sorted },
    chain: [],
  })
})

test('the evidence says what went over the wire', async () => {
  const dns = await givenServer()
  dns.fail('www.example.com', 'SERVFAIL', { code: 22, text: 'no reachable authority' })
  const { evidence, outcome } = await givenClient([dns]).ask(www)
  const ede = [{ code: 22, text: 'no reachable authority' }]
  expect(outcome).toEqual({ kind: 'failure', rcode: 'SERVFAIL', ede })
  const server = `127.0.0.1:${dns.address.port}`
  const ms = expect.any(Number)
  expect(evidence).toEqual([{ server, transport: 'udp', rcode: 'SERVFAIL', flags: ['rd', 'ra'], ede, ms, outcome }])
})

test('NXDOMAIN and NODATA are told apart, each with its chain', async () => {
  const dns = await givenServer()
  dns.set('www.example.com', 'CNAME', ['gone.example.net'])
  dns.set('mail.example.com', 'CNAME', ['host.example.net'])
  dns.set('host.example.net', 'TXT', ['here'])
  const client = givenClient([dns])
  expect((await client.ask(www)).outcome).toMatchObject({ kind: 'nxdomain', chain: [{ target: 'gone.example.net' }] })
  const { outcome } = await client.ask({ name: 'mail.example.com', type: 'A' })
  expect(outcome).toMatchObject({ kind: 'nodata', chain: [{ target: 'host.example.net' }] })
})

test('a truncated answer is asked for again over TCP', async () => {
  const dns = await givenServer()
  const values = Array.from({ length: 200 }, (_, at) => `192.0.2.${at}`).sort()
  dns.set('www.example.com', 'A', values)
  const { outcome, evidence } = await givenClient([dns]).ask(www)
  expect(outcome).toMatchObject({ kind: 'answer', rrset: { values } })
  expect(evidence).toMatchObject([
    { transport: 'udp', flags: ['tc', 'rd', 'ra'], outcome: null },
    { transport: 'tcp', flags: ['rd', 'ra'], outcome: { kind: 'answer' } },
  ])
})

describe('EDNS', () => {
  test('is left out only for a server that cannot read it', async () => {
    const dns = await givenServer()
    dns.set('www.example.com', 'A', ['192.0.2.1'])
    const client = givenClient([dns])
    await client.ask(www)
    expect(dns.asked.log.map((asked) => asked.edns)).toEqual([true])
    dns.refuseEdns()
    const { outcome, evidence } = await client.ask(www)
    expect(outcome.kind).toBe('answer')
    expect(evidence.map((one) => one.rcode)).toEqual(['FORMERR', 'NOERROR'])
    expect(dns.asked.log.map((asked) => asked.edns)).toEqual([true, true, false])
  })

  test('is left out once, not for ever', async () => {
    const dns = await givenServer()
    dns.fail('www.example.com', 'NOTIMP')
    const { outcome, evidence } = await givenClient([dns]).ask(www)
    expect(outcome).toMatchObject({ kind: 'failure', rcode: 'NOTIMP' })
    expect(evidence).toHaveLength(2)
  })

  test('is kept when the server fails for another reason', async () => {
    const dns = await givenServer()
    dns.fail('www.example.com', 'SERVFAIL')
    await givenClient([dns]).ask(www)
    expect(dns.asked.log.map((asked) => asked.edns)).toEqual([true])
  })
})

describe('a server that fails', () => {
  test.each(['SERVFAIL', 'REFUSED'])('with %s is followed by the next', async (rcode) => {
    const [bad, good] = [await givenServer(), await givenServer()]
    bad.fail('*', rcode)
    good.set('www.example.com', 'A', ['192.0.2.1'])
    const { outcome, evidence } = await givenClient([bad, good]).ask(www)
    expect(outcome.kind).toBe('answer')
    expect(evidence.map((one) => one.rcode)).toEqual([rcode, 'NOERROR'])
  })

  test('by silence is followed by the next', async () => {
    const [bad, good] = [await givenServer(), await givenServer()]
    bad.drop('*')
    good.set('www.example.com', 'A', ['192.0.2.1'])
    const { outcome, evidence } = await givenClient([bad, good], { timeoutMs: 150 }).ask(www)
    expect(outcome.kind).toBe('answer')
    expect(evidence.map((one) => one.outcome?.kind)).toEqual(['timeout', 'answer'])
  })

  test('by not being there is followed by the next', async () => {
    const good = await givenServer()
    good.set('www.example.com', 'A', ['192.0.2.1'])
    const { outcome, evidence } = await givenClient([await givenClosedPort(), good]).ask(www)
    expect(outcome.kind).toBe('answer')
    expect(evidence[0]!.outcome).toEqual({ kind: 'unreachable', reason: 'ECONNREFUSED' })
  })

  test('by a referral is followed by the next', async () => {
    const [bad, good] = [await givenServer({ authoritative: true }), await givenServer()]
    bad.respond('*', (query) => {
      const reply = Buffer.concat([query.subarray(0, -11), Buffer.from('c01000020001000000090005026e73c010', 'hex')])
      reply.writeUInt16BE(0x8000, 2)
      reply.writeUInt16BE(1, 8)
      reply.writeUInt16BE(0, 10)
      return reply
    })
    good.set('www.example.com', 'A', ['192.0.2.1'])
    const client = givenClient([bad, good])
    const { evidence } = await client.ask(www)
    expect(evidence.map((one) => one.outcome?.kind)).toEqual(['referral', 'answer'])
    const { outcome } = await client.ask(www, { servers: [bad.address], recursionDesired: false })
    expect(outcome).toMatchObject({ kind: 'referral', zone: 'example.com', nameServers: ['ns.example.com'] })
  })

  test('is told by the most telling way in which one did', async () => {
    const [silent, failing] = [await givenServer(), await givenServer()]
    silent.drop('*')
    failing.fail('*', 'REFUSED')
    const { outcome, evidence } = await givenClient([silent, failing, await givenClosedPort()], { timeoutMs: 150 }).ask(
      www,
    )
    expect(evidence.map((one) => one.outcome?.kind)).toEqual(['timeout', 'failure', 'unreachable'])
    expect(outcome).toMatchObject({ kind: 'failure', rcode: 'REFUSED' })
  })
})

test('a single silent server is asked again, and the whole keeps within its time', async () => {
  const dns = await givenServer()
  dns.drop('*')
  const before = systemClock.elapsed()
  const { outcome, evidence } = await givenClient([dns], { timeoutMs: 50 }).ask(www)
  const elapsed = systemClock.elapsed() - before
  expect(outcome).toEqual({ kind: 'timeout' })
  expect(evidence).toHaveLength(3)
  expect(elapsed).toBeGreaterThanOrEqual(140) // and no upper bound: the machine may be busy
  expect(evidence.reduce((sum, one) => sum + one.ms, 0)).toBeGreaterThanOrEqual(140)
})

test('a lost packet costs one try', async () => {
  const dns = await givenServer()
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  dns.drop('www.example.com')
  const asking = givenClient([dns], { timeoutMs: 200 }).ask(www)
  await expect.poll(() => dns.asked.total).toBe(1)
  dns.recover('www.example.com')
  expect((await asking).outcome.kind).toBe('answer')
})

test('each question begins at another server', async () => {
  const servers = [await givenServer(), await givenServer(), await givenServer()]
  for (const dns of servers) dns.set('www.example.com', 'A', ['192.0.2.1'])
  const client = givenClient(servers)
  for (let asked = 0; asked < 6; asked++) await client.ask(www)
  expect(servers.map((dns) => dns.asked.total)).toEqual([2, 2, 2])
})

test('a server that has long been silent is asked last', async () => {
  const [silent, good] = [await givenServer(), await givenServer()]
  silent.drop('*')
  good.set('www.example.com', 'A', ['192.0.2.1'])
  const client = givenClient([silent, good], { timeoutMs: 20 })
  await Promise.all(Array.from({ length: 16 }, () => client.ask(www)))
  const before = silent.asked.total
  for (let asked = 0; asked < 20; asked++) await client.ask(www)
  expect(silent.asked.total - before).toBeLessThanOrEqual(1) // one may find out whether it is back
})

test('IPv6 servers are asked', async () => {
  const dns = await givenServer({ ip: '::1' })
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  dns.truncate('www.example.com')
  const { outcome, evidence } = await givenClient([dns]).ask(www)
  expect(outcome.kind).toBe('answer')
  expect(evidence.map((one) => one.server)).toEqual(Array(2).fill(`[::1]:${dns.address.port}`))
})

describe('an alias chain over several answers', () => {
  test('is put together', async () => {
    const dns = await givenServer()
    dns.set('www.example.com', 'CNAME', ['a.example.net'], { ttl: 10 })
    dns.set('a.example.net', 'CNAME', ['b.example.org'], { ttl: 20 })
    dns.set('b.example.org', 'A', ['192.0.2.1'], { ttl: 30 })
    dns.leaveAliases()
    const { outcome, evidence } = await givenClient([dns]).ask(www)
    expect(outcome).toEqual({
      kind: 'answer',
      rrset: { name: 'b.example.org', type: 'A', ttl: 30, values: ['192.0.2.1'] },
      chain: [
        { name: 'www.example.com', target: 'a.example.net', ttl: 10 },
        { name: 'a.example.net', target: 'b.example.org', ttl: 20 },
      ],
    })
    expect(evidence).toHaveLength(3)
  })

  test('ends when it comes back to itself', async () => {
    const dns = await givenServer()
    dns.set('www.example.com', 'CNAME', ['a.example.net'])
    dns.set('a.example.net', 'CNAME', ['www.example.com'])
    dns.leaveAliases()
    const { outcome } = await givenClient([dns]).ask(www)
    expect(outcome).toMatchObject({ kind: 'endless_alias', chain: { length: 2 } })
  })

  test('ends after 16 aliases', async () => {
    const dns = await givenServer()
    for (let at = 0; at < 40; at++) dns.set(`n${at}.example.com`, 'CNAME', [`n${at + 1}.example.com`])
    dns.leaveAliases()
    const { outcome, evidence } = await givenClient([dns]).ask({ name: 'n0.example.com', type: 'A' })
    expect(outcome).toMatchObject({ kind: 'endless_alias', chain: { length: 17 } })
    expect(evidence).toHaveLength(17)
  })

  test('is left to the asker who wants no recursion', async () => {
    const dns = await givenServer({ authoritative: true })
    dns.set('www.example.com', 'CNAME', ['a.example.net'])
    const { outcome, evidence } = await givenClient([dns]).ask(www, { recursionDesired: false })
    expect(outcome).toMatchObject({ kind: 'referral', chain: [{ target: 'a.example.net' }] })
    expect(evidence).toMatchObject([{ flags: ['aa'] }])
  })
})

test('2,000 questions at once pass through the cap, none lost', async () => {
  const dns = await givenServer()
  for (let at = 0; at < 2_000; at++) dns.set(`n${at}.example.com`, 'TXT', [`text ${at}`])
  const client = givenClient([dns], { inFlightPerServer: 64, timeoutMs: 2_000 })
  const replies = await Promise.all(
    Array.from({ length: 2_000 }, (_, at) => client.ask({ name: `n${at}.example.com`, type: 'TXT' })),
  )
  const values = replies.map(({ outcome }) => (outcome.kind === 'answer' ? outcome.rrset.values[0] : outcome.kind))
  expect(values).toEqual(Array.from({ length: 2_000 }, (_, at) => `text ${at}`))
  expect(dns.asked.total).toBe(2_000)
})

test('no more than the cap are in flight, and waiting for a place costs no time of the question', async () => {
  const dns = await givenServer()
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  dns.delay('www.example.com', 60)
  const client = givenClient([dns], { inFlightPerServer: 2, timeoutMs: 300, tries: 1 })
  const asking = Array.from({ length: 14 }, () => client.ask(www))
  await systemClock.sleep(40)
  expect(dns.asked.total).toBe(2)
  const kinds = (await Promise.all(asking)).map(({ outcome }) => outcome.kind)
  expect(kinds).toEqual(Array(14).fill('answer'))
})

describe('giving up', () => {
  test.each(['at once', 'in flight'])(
    'a question aborted %s rejects with the reason and leaves its place',
    async (when) => {
      const dns = await givenServer()
      dns.drop('gone.example.com')
      dns.set('www.example.com', 'A', ['192.0.2.1'])
      const client = givenClient([dns], { inFlightPerServer: 1, timeoutMs: 60_000 })
      const leaving = new AbortController()
      const left = client.ask({ name: 'gone.example.com', type: 'A' }, { signal: leaving.signal })
      const next = client.ask(www)
      if (when === 'in flight') await expect.poll(() => dns.asked.total).toBe(1)
      leaving.abort(new Error('enough'))
      await expect(left).rejects.toThrow('enough')
      expect((await next).outcome.kind).toBe('answer')
    },
  )

  test('closing the client ends what is in flight, what waits and what comes later', async () => {
    const dns = await givenServer()
    dns.drop('*')
    const client = givenClient([dns], { inFlightPerServer: 1, timeoutMs: 60_000 })
    const asking = [client.ask(www), client.ask(www)].map((one) => expect(one).rejects.toThrow('closed'))
    await expect.poll(() => dns.asked.total).toBe(1)
    await client.close()
    await Promise.all(asking)
    await expect(client.ask(www)).rejects.toThrow('closed')
  })

  test('without a server there is nothing to ask', async () => {
    const { outcome, evidence } = await givenClient([]).ask(www)
    expect(outcome).toEqual({ kind: 'unreachable', reason: 'there is no name server to ask' })
    expect(evidence).toEqual([])
  })
})
