import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { type Answer, AUTHORITATIVE_ANSWER, decode, encode, type Question } from 'dns-packet'
import { askHost, type Host } from '../../../simulator/dns/host.ts'
import type { RecordType, Response, RRset } from '../../../simulator/dns/message.ts'
import type { Random } from '../../../simulator/random.ts'

const RCODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const

/** Serves the hosts of a simulated DNS on their own addresses, port 53, in real time. `now`: milliseconds of the timeline. */
export async function serveHosts(hosts: readonly Host[], random: Random, now: () => number) {
  const servers = await Promise.all(hosts.map((host) => serveHost(host, random, now)))
  return { close: () => Promise.all(servers.map((close) => close())) }
}

async function serveHost(host: Host, random: Random, now: () => number): Promise<() => void> {
  const respond = (bytes: Buffer): Buffer | undefined => {
    const query = decode(bytes)
    const [question] = query.questions ?? []
    if (!question) return undefined
    const name = question.name.toLowerCase()
    const asked = { name: name === '.' ? '' : name, type: question.type as RecordType, client: '' }
    const reply = askHost(host, asked, now(), random)
    const hasEdns = query.additionals?.some(({ type }) => type === 'OPT') ?? false
    return reply && encodeReply(query.id ?? 0, question, reply, hasEdns)
  }
  const socket: Socket = createSocket('udp4')
  socket.on('message', (bytes, { port, address }) => {
    const reply = respond(bytes)
    if (reply) socket.send(reply, port, address)
  })
  socket.bind(53, host.ip)
  await once(socket, 'listening')
  const server = createServer((connection) => {
    connection.on('error', () => connection.destroy())
    connection.on('data', (chunk: Buffer) => {
      const reply = respond(chunk.subarray(2))
      if (reply) connection.write(Buffer.concat([Buffer.from([reply.length >> 8, reply.length & 255]), reply]))
    })
  })
  server.listen(53, host.ip)
  await once(server, 'listening')
  return () => {
    socket.close()
    server.close()
  }
}

function encodeReply(id: number, question: Question, reply: Response, hasEdns: boolean): Buffer {
  const opt = {
    type: 'OPT',
    name: '.',
    udpPayloadSize: 1232,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
    options: [],
  }
  return encode({
    type: 'response',
    id,
    flags: (reply.aa ? AUTHORITATIVE_ANSWER : 0) | RCODES[reply.rcode],
    questions: [question],
    answers: reply.answer.flatMap(toRecords),
    authorities: reply.authority.flatMap(toRecords),
    additionals: [...reply.additional.flatMap(toRecords), ...(hasEdns ? [opt as unknown as Answer] : [])],
  })
}

function toRecords({ name, type, ttl, values, minimum }: RRset): Answer[] {
  const owner = name || '.'
  return values.map((value): Answer => {
    if (type === 'SOA') {
      const [mname, rname, serial] = value.split(' ')
      const data = {
        mname: mname!,
        rname: rname!,
        serial: Number(serial),
        refresh: 3600,
        retry: 600,
        expire: 86_400,
        minimum: minimum!,
      }
      return { name: owner, type, ttl, data }
    }
    if (type === 'MX') return { name: owner, type, ttl, data: { preference: 10, exchange: value } }
    return { name: owner, type, ttl, data: value } as Answer
  })
}

export type RealAnswer = {
  rcode: string
  answer: { name: string; type: string; ttl: number; value: string }[]
  ede: number[]
}

/** Sends one query to a resolver. Undefined if no response comes within the time. */
export async function queryResolver(
  ip: string,
  name: string,
  type: RecordType,
  waitMs: number,
): Promise<RealAnswer | undefined> {
  const socket = createSocket('udp4')
  const opt = {
    type: 'OPT',
    name: '.',
    udpPayloadSize: 1232,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
    options: [],
  }
  const id = 1 + Math.floor(Math.random() * 65_000)
  const packet = encode({
    type: 'query',
    id,
    flags: 256,
    questions: [{ name, type }],
    additionals: [opt as unknown as Answer],
  })
  socket.send(packet, 53, ip)
  try {
    const [bytes] = (await once(socket, 'message', { signal: AbortSignal.timeout(waitMs) })) as [Buffer]
    const reply = decode(bytes)
    const { rcode } = reply as unknown as { rcode: string }
    const answer = (reply.answers ?? []).map((record) => {
      const { name, type, ttl = 0, data } = record as { name: string; type: string; ttl?: number; data: unknown }
      return { name: name.toLowerCase(), type, ttl, value: String(data) }
    })
    const options = (reply.additionals ?? []).flatMap(
      (record) => (record as { options?: { code: number; data: Buffer }[] }).options ?? [],
    )
    const ede = options.filter(({ code }) => code === 15).map(({ data }) => data.readUInt16BE(0))
    return { rcode, answer, ede }
  } catch {
    return undefined
  } finally {
    socket.close()
  }
}
