import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { decode, encode } from 'dns-packet'
import { askHost, type Host } from '../../../simulator/dns/host.ts'
import type { RecordType } from '../../../simulator/dns/message.ts'
import type { Random } from '../../../simulator/random.ts'
import { encodeResponse, optRecord } from '../../../simulator/wire-format.ts'

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
    return reply && encodeResponse(query.id ?? 0, question, reply, { hasEdns, isRecursive: false })
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
  const id = 1 + Math.floor(Math.random() * 65_000)
  const packet = encode({
    type: 'query',
    id,
    flags: 256,
    questions: [{ name, type }],
    additionals: [optRecord()],
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
