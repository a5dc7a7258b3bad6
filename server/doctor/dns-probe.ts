import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import type { Clock } from '../clock.ts'
import { wireLength, writeName } from '../dns/names.ts'
import type { ServerAddress } from '../dns/outcome.ts'
import { formatServer } from '../dns/server-address.ts'
import { tcpTo } from '../dns/tcp.ts'
import { CLASS_IN, MalformedPacket, type Packet, rcodeName, readName, readUint16, TYPE_OPT } from '../dns/wire.ts'

/** `type`: its number. `edns`: the largest UDP response in octets, and whether DNSSEC records are requested. */
export type ProbeQuery = {
  name: string
  type: number
  transport: 'udp' | 'tcp'
  edns?: { payload: number; dnssecOk: boolean }
  recursionDesired?: boolean
  checkingDisabled?: boolean
}

/** The raw response to one query. The DNS client of the checks would hide the faults that it works around. */
export type Probe =
  | {
      kind: 'answer'
      rcode: string
      isTruncated: boolean
      isAuthoritative: boolean
      isRecursive: boolean
      isAuthentic: boolean
      answers: number
      hasEdns: boolean
      octets: number
      ms: number
    }
  | { kind: 'none'; reason: string }

const DNSSEC_OK = 0x8000

export async function probe(server: ServerAddress, query: ProbeQuery, clock: Clock, timeoutMs: number): Promise<Probe> {
  const packet = encode(query)
  const sentAt = clock.elapsed()
  const stop = new AbortController()
  const send = query.transport === 'udp' ? overUdp : overTcp
  const received = await Promise.race([
    send(server, packet, stop.signal),
    clock.sleep(timeoutMs, stop.signal).then(() => `no answer within ${timeoutMs} ms`),
  ])
  stop.abort()
  if (typeof received === 'string') return { kind: 'none', reason: received }
  try {
    return { kind: 'answer', ...decode(received), octets: received.length, ms: Math.round(clock.elapsed() - sentAt) }
  } catch (error) {
    if (!(error instanceof MalformedPacket)) throw error
    return { kind: 'none', reason: `the answer of ${formatServer(server)} cannot be read: ${error.message}` }
  }
}

function encode({ name, type, edns, recursionDesired = true, checkingDisabled = false }: ProbeQuery): Buffer {
  const packet = Buffer.alloc(12 + wireLength(name) + 4 + (edns ? 11 : 0))
  packet.writeUInt16BE(randomInt(0x10000), 0)
  // The AD bit in a query requests it in the response: RFC 6840 section 5.7.
  packet.writeUInt16BE((recursionDesired ? 0x0100 : 0) | (checkingDisabled ? 0x0010 : 0) | 0x0020, 2)
  packet.writeUInt16BE(1, 4)
  packet.writeUInt16BE(edns ? 1 : 0, 10)
  const at = writeName(packet, 12, name)
  packet.writeUInt16BE(type, at)
  packet.writeUInt16BE(CLASS_IN, at + 2)
  if (edns) {
    packet.writeUInt16BE(TYPE_OPT, at + 5)
    packet.writeUInt16BE(edns.payload, at + 7)
    packet.writeUInt16BE(edns.dnssecOk ? DNSSEC_OK : 0, at + 11)
  }
  return packet
}

function decode(octets: Buffer) {
  if (octets.length < 12) throw new MalformedPacket('the message is shorter than a DNS header')
  const packet: Packet = { octets, tails: new Map() }
  const end = octets.length
  const bits = octets.readUInt16BE(2)
  let at = 12
  for (let left = octets.readUInt16BE(4); left > 0; left--) at = readName(packet, at, end).next + 4
  const answers = octets.readUInt16BE(6)
  let hasEdns = false
  for (let left = answers + octets.readUInt16BE(8) + octets.readUInt16BE(10); left > 0; left--) {
    const { next } = readName(packet, at, end)
    if (readUint16(packet, next, end) === TYPE_OPT) hasEdns = true
    at = next + 10 + readUint16(packet, next + 8, end)
  }
  return {
    rcode: rcodeName(bits & 15),
    isAuthoritative: (bits & 0x0400) !== 0,
    isTruncated: (bits & 0x0200) !== 0,
    isRecursive: (bits & 0x0080) !== 0,
    isAuthentic: (bits & 0x0020) !== 0,
    answers,
    hasEdns,
  }
}

/** The response packet, or why there is none. */
type Received = Promise<Buffer | string>

function overUdp({ ip, port }: ServerAddress, packet: Buffer, stop: AbortSignal): Received {
  return new Promise((resolve) => {
    const socket = createSocket(ip.includes(':') ? 'udp6' : 'udp4')
    const close = () => {
      stop.removeEventListener('abort', close)
      socket.close()
    }
    stop.addEventListener('abort', close)
    socket.on('error', (error) => resolve(error.message))
    socket.on('message', (message) => {
      if (message.length >= 2 && message.readUInt16BE(0) === packet.readUInt16BE(0)) resolve(message)
    })
    // Not in the callback of `connect`, which is also called with an error.
    socket.on('connect', () => socket.send(packet))
    socket.connect(port, ip)
  })
}

function overTcp(server: ServerAddress, packet: Buffer, stop: AbortSignal): Received {
  return new Promise((resolve) => {
    const giveUp = tcpTo(server)(packet, (received) =>
      resolve(received.kind === 'packet' ? received.packet : received.reason),
    )
    stop.addEventListener('abort', () => void giveUp(), { once: true })
  })
}
