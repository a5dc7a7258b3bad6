import { createSocket } from 'node:dgram'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { DnsServer } from '../testing/dns-server.ts'
import { givenDnsClient, givenDnsServer } from '../testing/dns-world.ts'
import type { DnsClient } from './client.ts'

const www = { name: 'www.example.com', type: 'A' } as const
const RECORD = Buffer.from('c00c000100010000003c0004c0000201', 'hex') // the question's name, A 192.0.2.1
const FORGED = Buffer.from('c00c000100010000003c0004c6336401', 'hex') // A 198.51.100.1

async function givenServerAndClient(timeoutMs = 2_000): Promise<{ dns: DnsServer; client: DnsClient }> {
  const dns = await givenDnsServer()
  return { dns, client: givenDnsClient([dns], { timeoutMs, tries: 1 }) }
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
  const { outcome, evidence } = await client.ask(www)
  expect(outcome).toMatchObject({ kind: 'answer', rrset: { values: ['192.0.2.1'] } })
  expect(evidence).toHaveLength(1)
})

test('a packet from another port of the same address is ignored', async () => {
  const { dns, client } = await givenServerAndClient(150)
  const forger = createSocket('udp4')
  onTestFinished(() => void forger.close())
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  dns.respond('*', (query) => {
    forger.send(answerTo(query, FORGED), dns.asked.log.at(-1)!.port, '127.0.0.1')
    return null
  })
  expect((await client.ask(www)).outcome).toEqual({ kind: 'timeout' })
})

test('ids and ports are not to be guessed from those before', async () => {
  const { dns, client } = await givenServerAndClient()
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  for (let asked = 0; asked < 1_000; asked++) await client.ask(www)
  const { log } = dns.asked
  // Of 65,536 ids, 1,000 draws meet about 8 twice; a counter or a constant would show far from it.
  expect(new Set(log.map((asked) => asked.id)).size).toBeGreaterThan(950)
  const steps = new Set(log.slice(1).map((asked, at) => (asked.id - log[at]!.id) & 0xffff))
  expect(steps.size).toBeGreaterThan(900)
  expect(new Set(log.map((asked) => asked.port)).size).toBeGreaterThanOrEqual(10)
})

describe('a packet with the right id is malformed when', () => {
  test.each<[string, (query: Buffer) => Buffer]>([
    [
      'it answers another name',
      (query) => Buffer.from(answerTo(query, RECORD).toString('latin1').replace('www', 'wwx'), 'latin1'),
    ],
    ['it is the query sent back', (query) => query],
    ['it is cut off', (query) => answerTo(query, RECORD).subarray(0, -1)],
    ['it has octets too many', (query) => Buffer.concat([answerTo(query, RECORD), Buffer.alloc(1)])],
    ['it is an id and nothing more', (query) => query.subarray(0, 2)],
    ['it is garbage', (query) => Buffer.concat([query.subarray(0, 2), Buffer.alloc(200, 0xff)])],
    ['a name in it is a loop', (query) => answerTo(query, Buffer.from('c021000100010000003c0004c0000201', 'hex'))],
  ])('%s', async (_, respond) => {
    const { dns, client } = await givenServerAndClient()
    dns.respond('*', respond)
    const { outcome } = await client.ask(www)
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
    await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve))
    const { port } = tcp.address() as AddressInfo // it listens on TCP
    const udp = createSocket('udp4')
    udp.on('message', (query, from) => {
      const reply = Buffer.from(query)
      reply.writeUInt16BE(0x8380, 2)
      udp.send(reply, from.port, from.address)
    })
    await new Promise<void>((resolve) => udp.bind(port, '127.0.0.1', resolve))
    onTestFinished(() => {
      tcp.close()
      udp.close()
    })
    return givenDnsClient([{ ip: '127.0.0.1', port }], { timeoutMs, tries: 1 })
  }

  const framed = (packet: Buffer, length = packet.length) =>
    Buffer.concat([Buffer.from([length >> 8, length & 255]), packet])

  test('an answer in many pieces is put together', async () => {
    const client = await givenTcp(async (socket, query) => {
      for (const octet of framed(answerTo(query, RECORD))) {
        socket.write(Buffer.from([octet]))
        await new Promise(setImmediate)
      }
    })
    expect((await client.ask(www)).outcome).toMatchObject({ kind: 'answer', rrset: { values: ['192.0.2.1'] } })
  })

  test.each<[string, string, (socket: Socket, query: Buffer) => void]>([
    ['a connection closed at once', 'unreachable', (socket) => socket.destroy()],
    ['a connection reset', 'unreachable', (socket) => socket.resetAndDestroy()],
    ['a connection closed inside the answer', 'malformed', (socket, query) => socket.end(framed(query, 500))],
    ['a length longer than what comes', 'timeout', (socket, query) => socket.write(framed(query, 500))],
    [
      'a length shorter than the answer',
      'malformed',
      (socket, query) => socket.write(framed(answerTo(query, RECORD), 30)),
    ],
    ['a length of nothing', 'malformed', (socket) => socket.write(Buffer.alloc(2))],
    [
      'another id',
      'malformed',
      (socket, query) => socket.write(framed(withId(answerTo(query, RECORD), query.readUInt16BE() + 1))),
    ],
    ['silence', 'timeout', () => {}],
  ])('%s is %s', async (_, kind, act) => {
    const client = await givenTcp((socket, query) => void act(socket, query), kind === 'timeout' ? 200 : 2_000)
    const { outcome, evidence } = await client.ask(www)
    expect(outcome.kind).toBe(kind)
    expect(evidence.map((one) => one.transport)).toEqual(['udp', 'tcp'])
  })

  test.each(['answered', 'silent'])('no connection stays open to a server that was %s', async (kind) => {
    const connections: Socket[] = []
    const client = await givenTcp((socket, query) => {
      connections.push(socket)
      if (kind === 'answered') socket.write(framed(answerTo(query, RECORD)))
    }, 200)
    await client.ask(www)
    await expect.poll(() => connections.map((socket) => socket.destroyed)).toEqual([true])
  })

  test('an answer that is truncated there too is malformed', async () => {
    const { dns, client } = await givenServerAndClient()
    dns.respond('*', (query) => {
      const reply = Buffer.from(query)
      reply.writeUInt16BE(0x8380, 2)
      return reply
    })
    expect((await client.ask(www)).outcome).toEqual({ kind: 'malformed', reason: 'truncated over TCP' })
  })
})
