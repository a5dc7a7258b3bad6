import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { givenDnsClient, givenDnsServer } from '../testing/dns.ts'
import type { DnsServer } from '../testing/dns-server.ts'
import type { DnsClient } from './client.ts'

const www = { name: 'www.example.com', type: 'A' } as const
const RECORD = Buffer.from('c00c000100010000003c0004c0000201', 'hex') // the question's name, A 192.0.2.1
const FORGED = Buffer.from('c00c000100010000003c0004c6336401', 'hex') // A 198.51.100.1

async function givenServerAndClient(timeoutMs = 2_000): Promise<{ dns: DnsServer; client: DnsClient }> {
  const dns = await givenDnsServer()
  return { dns, client: givenDnsClient([dns], { timeoutMs, attempts: 1 }) }
}

function answerTo(query: Buffer, record: Buffer): Buffer {
  const reply = Buffer.concat([query.subarray(0, -11), record]) // without the OPT record
  reply.writeUInt16BE(0x8180, 2)
  reply.writeUInt16BE(1, 6)
  reply.writeUInt16BE(0, 10)
  return reply
}

function withId(packet: Buffer, id: number): Buffer {
  const copy = Buffer.from(packet)
  copy.writeUInt16BE(id & 0xffff)
  return copy
}

test('packets with another id are ignored, however many', async () => {
  const { dns, client } = await givenServerAndClient()
  dns.respond('*', (query) => {
    const forged = answerTo(query, FORGED)
    const ids = Array.from({ length: 200 }, (_, at) => withId(forged, query.readUInt16BE() + at + 1))
    return [...ids, Buffer.alloc(1), answerTo(query, RECORD)]
  })
  const { outcome, evidence } = await client.query(www)
  expect(outcome).toMatchObject({ kind: 'answer', rrset: { values: ['192.0.2.1'] } })
  expect(evidence).toHaveLength(1)
})

test('a packet from another port of the same address is ignored', async () => {
  const { dns, client } = await givenServerAndClient(150)
  const forger = createSocket('udp4')
  onTestFinished(() => void forger.close())
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  dns.respond('*', (query) => {
    forger.send(answerTo(query, FORGED), dns.queries.log.at(-1)!.port, '127.0.0.1')
    return null
  })
  expect((await client.query(www)).outcome).toEqual({ kind: 'timeout' })
})

test('ids and ports are not to be guessed from those before', async () => {
  const dns = await givenDnsServer()
  let passed = 0
  const clock = { ...systemClock, elapsed: () => systemClock.elapsed() + passed }
  const client = givenDnsClient([dns], { clock })
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  for (let asked = 0; asked < 1_000; asked++) {
    await client.query(www)
    passed += 15
  }
  const { log } = dns.queries
  // Of 65,536 ids, 1,000 draws meet about 8 twice; a counter or a constant would show far from it.
  expect(new Set(log.map((asked) => asked.id)).size).toBeGreaterThan(950)
  const steps = new Set(log.slice(1).map((asked, at) => (asked.id - log[at]!.id) & 0xffff))
  expect(steps.size).toBeGreaterThan(900)
  expect(new Set(log.map((asked) => asked.port)).size).toBeGreaterThanOrEqual(200)
})

const otherName = (query: Buffer) =>
  Buffer.from(answerTo(query, FORGED).toString('latin1').replace(/www/i, 'wwx'), 'latin1')
const otherType = (query: Buffer) => {
  const reply = answerTo(query, FORGED)
  reply.writeUInt16BE(28, query.length - 11 - 4) // AAAA
  return reply
}
const MISMATCHES: [string, (query: Buffer) => Buffer][] = [
  ['an answer for another name', otherName],
  ['an answer for another type', otherType],
  ['the query sent back', (query) => query],
  [
    'an answer without the question',
    (query) => Buffer.concat([query.subarray(0, 2), Buffer.from('81800000000000000000', 'hex')]),
  ],
  ['an id and nothing more', (query) => query.subarray(0, 2)],
  ['garbage', (query) => Buffer.concat([query.subarray(0, 2), Buffer.alloc(200, 0xff)])],
]

describe('a packet with the right id that answers something else', () => {
  test.each(MISMATCHES)('is ignored: %s', async (_, mismatched) => {
    const { dns, client } = await givenServerAndClient()
    dns.respond('*', (query) => [mismatched(query), mismatched(query), answerTo(query, RECORD)])
    const { outcome, evidence } = await client.query(www)
    expect(outcome).toMatchObject({ kind: 'answer', rrset: { values: ['192.0.2.1'] } })
    expect(evidence).toHaveLength(1)
  })

  test.each(MISMATCHES)('is the outcome where nothing else comes, each time: %s', async (_, mismatched) => {
    const dns = await givenDnsServer()
    dns.respond('*', (query) => mismatched(query))
    const { outcome, evidence } = await givenDnsClient([dns], { timeoutMs: 100, attempts: 2 }).query(www)
    expect([outcome.kind, evidence.length]).toEqual(['malformed', 2])
  })

  test('is silence where it came once', async () => {
    const dns = await givenDnsServer()
    const replies = [otherName]
    dns.respond('*', (query) => replies.shift()?.(query) ?? null)
    const { outcome, evidence } = await givenDnsClient([dns], { timeoutMs: 100, attempts: 3 }).query(www)
    expect(outcome).toEqual({ kind: 'timeout' })
    expect(evidence.map((one) => one.outcome?.kind)).toEqual(['malformed', 'timeout', 'timeout'])
  })
})

describe('the case of letters', () => {
  const nameIn = (query: Buffer) => query.toString('latin1', 12, query.indexOf(0, 12))
  const lowerCase = (packet: Buffer) =>
    Buffer.from(
      packet.toString('latin1').replace(/(?<=^.{12}.*)[A-Z]/gs, (letter) => letter.toLowerCase()),
      'latin1',
    )
  const lookUpAll = async (client: DnsClient, count: number) => {
    const outcomes: string[] = []
    for (let at = 0; at < count; at++) {
      const { outcome } = await client.query(www)
      outcomes.push(outcome.kind === 'answer' ? outcome.rrset.values.join() : outcome.kind)
    }
    return outcomes
  }

  test('is mixed at random in the first query, and in lower case towards servers that are named', async () => {
    const { dns, client } = await givenServerAndClient()
    const names: string[] = []
    dns.respond('*', (query) => {
      names.push(nameIn(query))
      return answerTo(query, RECORD)
    })
    await lookUpAll(client, 50)
    expect(new Set(names).size).toBeGreaterThan(40)
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(1)
    names.length = 0
    await client.query(www, { servers: [dns.address] })
    expect(names).toEqual([names[0]!.toLowerCase()])
  })

  test('tells a forged answer from the true one, once the server is known to repeat it', async () => {
    const { dns, client } = await givenServerAndClient()
    dns.respond('*', (query) => answerTo(query, RECORD))
    await lookUpAll(client, 1)
    dns.respond('*', (query) => [lowerCase(answerTo(query, FORGED)), answerTo(query, RECORD)])
    expect(new Set(await lookUpAll(client, 20))).toEqual(new Set(['192.0.2.1']))
  })

  test('costs nothing towards a server that sends back lower case', async () => {
    const { dns, client } = await givenServerAndClient()
    const names: string[] = []
    dns.respond('*', (query) => {
      names.push(nameIn(query))
      return lowerCase(answerTo(query, RECORD))
    })
    expect(await lookUpAll(client, 5)).toEqual(new Array(5).fill('192.0.2.1'))
    expect(new Set(names.slice(1))).toEqual(new Set([names[0]!.toLowerCase()]))
  })

  test('changes no outcome where a server repeats it at times only, or does not answer mixed case', async () => {
    const { dns, client } = await givenServerAndClient(100)
    dns.respond('*', (query) => answerTo(query, RECORD))
    await lookUpAll(client, 1)
    dns.respond('*', (query) => lowerCase(answerTo(query, RECORD)))
    expect(await lookUpAll(client, 3)).toEqual(new Array(3).fill('192.0.2.1'))
    const silent = await givenDnsServer()
    silent.respond('*', (query) => (nameIn(query) === nameIn(query).toLowerCase() ? answerTo(query, RECORD) : null))
    expect(await lookUpAll(givenDnsClient([silent], { timeoutMs: 100, attempts: 2 }), 3)).toEqual(
      new Array(3).fill('192.0.2.1'),
    )
    expect(silent.queries.total).toBe(4)
  })
})

describe('a packet with the right id is malformed when', () => {
  test.each<[string, (query: Buffer) => Buffer]>([
    ['it is cut off', (query) => answerTo(query, RECORD).subarray(0, -1)],
    ['it has octets too many', (query) => Buffer.concat([answerTo(query, RECORD), Buffer.alloc(1)])],
    ['a name in it is a loop', (query) => answerTo(query, Buffer.from('c021000100010000003c0004c0000201', 'hex'))],
  ])('%s', async (_, respond) => {
    const { dns, client } = await givenServerAndClient()
    dns.respond('*', respond)
    const { outcome } = await client.query(www)
    expect(outcome.kind).toBe('malformed')
  })
})

describe('over TCP', () => {
  /** Truncates over UDP, and hands every TCP connection that has sent its query to `act`. */
  async function givenTcp(act: (socket: Socket, query: Buffer) => void, timeoutMs = 2_000): Promise<DnsClient> {
    const tcp = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', (chunk) => act(socket, (chunk as Buffer).subarray(2))) // no encoding is set
    })
    const udp = createSocket('udp4')
    udp.on('message', (query, from) => {
      const reply = Buffer.from(query)
      reply.writeUInt16BE(0x8380, 2)
      udp.send(reply, from.port, from.address)
    })
    const port = await bindBoth(tcp, udp)
    onTestFinished(() => {
      tcp.close()
      udp.close()
    })
    return givenDnsClient([{ ip: '127.0.0.1', port }], { timeoutMs, attempts: 1 })
  }

  /** Binds both to one port: a free one of TCP that is free for UDP too. */
  async function bindBoth(tcp: Server, udp: UdpSocket): Promise<number> {
    for (;;) {
      await once(tcp.listen(0, '127.0.0.1'), 'listening')
      const { port } = tcp.address() as AddressInfo // it listens on TCP
      const isBound = await new Promise<boolean>((resolve) => {
        udp.once('error', () => resolve(false)).bind(port, '127.0.0.1', () => resolve(true))
      })
      if (isBound) return port
      await once(tcp.close(), 'close')
    }
  }

  const framed = (packet: Buffer, length = packet.length) =>
    Buffer.concat([Buffer.from([length >> 8, length & 255]), packet])

  test('an answer in many pieces is put singleFlight', async () => {
    const client = await givenTcp(async (socket, query) => {
      for (const octet of framed(answerTo(query, RECORD))) {
        socket.write(Buffer.from([octet]))
        await new Promise(setImmediate)
      }
    })
    expect((await client.query(www)).outcome).toMatchObject({ kind: 'answer', rrset: { values: ['192.0.2.1'] } })
  })

  test.each<[string, string, (socket: Socket, query: Buffer) => void]>([
    ['a connection closed at once', 'unreachable', (socket) => socket.destroy()],
    ['a connection reset', 'unreachable', (socket) => socket.resetAndDestroy()],
    ['a connection closed inside the answer', 'malformed', (socket, query) => socket.end(framed(query, 500))],
    ['a length longer than what comes', 'unreachable', (socket, query) => socket.write(framed(query, 500))],
    [
      'a length shorter than the answer',
      'malformed',
      (socket, query) => socket.write(framed(answerTo(query, RECORD), 30)),
    ],
    ['an answer for another name', 'malformed', (socket, query) => socket.write(framed(otherName(query)))],
    ['a length of nothing', 'malformed', (socket) => socket.write(Buffer.alloc(2))],
    [
      'another id',
      'malformed',
      (socket, query) => socket.write(framed(withId(answerTo(query, RECORD), query.readUInt16BE() + 1))),
    ],
    ['silence', 'unreachable', () => {}],
  ])('%s is %s', async (name, kind, act) => {
    const isSilent = name === 'silence' || name.startsWith('a length longer')
    const client = await givenTcp((socket, query) => void act(socket, query), isSilent ? 200 : 2_000)
    const { outcome, evidence } = await client.query(www)
    // What a server answers over UDP does not fit, so it is no server that cannot be reached.
    expect(outcome).toMatchObject(kind === 'unreachable' ? { kind, isTruncated: true } : { kind })
    expect(evidence.map((one) => one.transport)).toEqual(['udp', 'tcp'])
  })

  test.each(['answered', 'silent'])('no connection stays open to a server that was %s', async (kind) => {
    const connections: Socket[] = []
    const client = await givenTcp((socket, query) => {
      connections.push(socket)
      if (kind === 'answered') socket.write(framed(answerTo(query, RECORD)))
    }, 200)
    await client.query(www)
    await expect.poll(() => connections.map((socket) => socket.destroyed)).toEqual([true])
  })

  test('an answer that is truncated there too is malformed', async () => {
    const { dns, client } = await givenServerAndClient()
    dns.respond('*', (query) => {
      const reply = Buffer.from(query)
      reply.writeUInt16BE(0x8380, 2)
      return reply
    })
    expect((await client.query(www)).outcome).toEqual({ kind: 'malformed', reason: 'truncated over TCP' })
  })
})
