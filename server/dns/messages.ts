import { wireLength, writeName } from './names.ts'
import type { ExtendedError, Question, QuestionType } from './outcome.ts'
import { type RdataTypes, rdataText } from './rdata.ts'
import {
  CLASS_IN,
  MalformedPacket,
  type Packet,
  rcodeName,
  readName,
  readQuestionName,
  readUint16,
  readUint32,
  TYPE_OPT,
} from './wire.ts'

/** `value`: canonical text. `ttl` in seconds. */
export type ResourceRecord = { name: string; type: QuestionType; ttl: number; value: string }

/** `flags`: those of aa, tc, rd, ra, ad and cd that are set. */
export type Header = { rcode: string; flags: readonly string[] }

/**
 * A response, with only the records of the queried type and those needed to follow CNAME chains and delegations. A truncated
 * response has no records (RFC 2181 section 9).
 */
export type Message = Header & {
  ede: ExtendedError[]
  answer: ResourceRecord[]
  authority: ResourceRecord[]
  additional: ResourceRecord[]
}

/** `header`: undefined if the packet is shorter than one. */
type Decoded = { ok: true; message: Message } | { ok: false; reason: string; header: Header | undefined }

const HEADER_LENGTH = 12
const SECTIONS = [
  ['answer', 6],
  ['authority', 8],
  ['additional', 10],
] as const
const FOLLOWED: ReadonlySet<QuestionType> = new Set(['A', 'AAAA', 'CNAME', 'NS', 'SOA'])
const QR = 0x8000
const OPCODE = 0x7800
const FLAGS_MASK = 0x07b0
const FLAGS: readonly [number, string][] = [
  [0x0400, 'aa'],
  [0x0200, 'tc'],
  [0x0100, 'rd'],
  [0x0080, 'ra'],
  [0x0020, 'ad'],
  [0x0010, 'cd'],
]

/** Decodes the response to `question`. Never throws, and takes time proportional to the length of the packet. */
export function decodeResponse(octets: Buffer, question: Question, types: RdataTypes): Decoded {
  const packet: Packet = { octets, tails: new Map() }
  let header: Header | undefined
  try {
    header = readHeader(packet)
    return { ok: true, message: readMessage(packet, header, question, types) }
  } catch (error) {
    if (error instanceof MalformedPacket) return { ok: false, reason: error.message, header }
    throw error
  }
}

function readHeader({ octets }: Packet): Header {
  if (octets.length < 12) throw new MalformedPacket('the message is shorter than a DNS header')
  const bits = octets.readUInt16BE(2)
  return { rcode: rcodeName(bits & 15), flags: flagsIn(bits & FLAGS_MASK) }
}

const flagsByBits = new Map<number, readonly string[]>() // at most 64 entries

function flagsIn(bits: number): readonly string[] {
  const cached = flagsByBits.get(bits)
  if (cached) return cached
  const flags = FLAGS.filter(([bit]) => bits & bit).map(([, flag]) => flag)
  flagsByBits.set(bits, flags)
  return flags
}

function readMessage(packet: Packet, header: Header, question: Question, types: RdataTypes): Message {
  const bits = packet.octets.readUInt16BE(2)
  if (!(bits & QR)) throw new MalformedPacket('the message is a query, not a response')
  if (bits & OPCODE) throw new MalformedPacket('the message has another opcode')
  const { rcode, flags } = header
  const message: Message = { rcode, flags, ede: [], answer: [], authority: [], additional: [] }
  const isUnread = rcode === 'FORMERR' || rcode === 'NOTIMP'
  if (isUnread && packet.octets.length === HEADER_LENGTH) return message
  let at = readQuestion(packet, header, question, types)
  // A server without EDNS support often returns the rest of the query unchanged.
  if (isUnread) return message
  if (flags.includes('tc')) return message
  const end = packet.octets.length
  let edns: Edns | undefined
  for (const [section, countAt] of SECTIONS) {
    for (let count = packet.octets.readUInt16BE(countAt); count > 0; count--) {
      const { name, next } = readName(packet, at, end)
      const code = readUint16(packet, next, end)
      const recordClass = readUint16(packet, next + 2, end)
      const ttl = readUint32(packet, next + 4, end)
      const from = next + 10
      at = from + readUint16(packet, next + 8, end)
      if (at > end) throw new MalformedPacket('a record extends beyond the end of the message')
      if (code === TYPE_OPT) {
        if (edns || name !== '' || section !== 'additional') throw new MalformedPacket('the OPT record is misplaced')
        edns = readEdns(packet, ttl, from, at)
      } else if (recordClass === CLASS_IN) {
        const recordType = types.find(code)
        if (!recordType || (recordType.type !== question.type && !FOLLOWED.has(recordType.type))) continue
        const value = rdataText(recordType.format, packet, from, at)
        message[section].push({ name, type: recordType.type, ttl: readableTtl(ttl), value })
      } else if (section !== 'additional') throw new MalformedPacket('a record has another class')
    }
  }
  if (at !== end) throw new MalformedPacket('octets follow the last record')
  if (!edns) return message
  message.ede = edns.ede
  message.rcode = rcodeName((edns.rcodeHigh << 4) | (bits & 15))
  return message
}

/** Returns the offset of the first record. Only a failure may omit the question. */
function readQuestion(packet: Packet, header: Header, question: Question, types: RdataTypes): number {
  const questions = packet.octets.readUInt16BE(4)
  const failed = header.rcode !== 'NOERROR' && header.rcode !== 'NXDOMAIN'
  if (questions === 0 && failed) return 12
  if (questions !== 1) throw new MalformedPacket('the question section does not hold exactly one question')
  const { name, next } = readQuestionName(packet, question.name)
  const code = readUint16(packet, next, packet.octets.length)
  const questionClass = readUint16(packet, next + 2, packet.octets.length)
  if (name !== question.name || code !== types.codeOf(question.type) || questionClass !== CLASS_IN) {
    throw new MalformedPacket('the answer is for another question')
  }
  return next + 4
}

// RFC 2181 section 8: with the first bit set, a TTL counts as zero.
function readableTtl(ttl: number): number {
  return ttl > 0x7fffffff ? 0 : ttl
}

/** `rcodeHigh`: the upper eight bits of the extended response code. RFC 6891 section 6.1.3. */
type Edns = { rcodeHigh: number; ede: ExtendedError[] }

const EDE_OPTION = 15 // RFC 8914 section 2
const MAX_ERRORS = 8
const MAX_TEXT = 500

/** Reads an OPT record; its TTL field carries the extended code and the version. Throws `MalformedPacket`. */
function readEdns(packet: Packet, ttl: number, at: number, end: number): Edns {
  const ede: ExtendedError[] = []
  for (let cursor = at; cursor < end; ) {
    const option = readUint16(packet, cursor, end)
    const from = cursor + 4
    cursor = from + readUint16(packet, cursor + 2, end)
    if (cursor > end) throw new MalformedPacket('an EDNS option extends beyond its record')
    if (option !== EDE_OPTION || ede.length === MAX_ERRORS) continue
    ede.push({ code: readUint16(packet, from, cursor), text: readableText(packet.octets.subarray(from + 2, cursor)) })
  }
  return { rcodeHigh: ttl >>> 24, ede }
}

// The text appears in logs and pages, and some servers end it with a NUL.
function readableText(octets: Buffer): string {
  return octets
    .toString('utf8')
    .replace(/\p{Cc}/gu, '')
    .slice(0, MAX_TEXT)
    .toWellFormed()
}

/** `edns`: with an OPT record. `recursionDesired` and `checkingDisabled`: the header's RD and CD bits (RFC 4035 section 3.2.2). */
export type QueryFlags = { edns: boolean; recursionDesired: boolean; checkingDisabled: boolean }

/** In octets. Larger UDP responses may be fragmented (DNS flag day 2020). */
const UDP_PAYLOAD = 1232

const RD = 0x0100
const AD = 0x0020
const CD = 0x0010

// An OPT record without options: root name, type, payload size as class, zero TTL, no rdata. RFC 6891 section 6.1.2.
const OPT = Buffer.from([0, 0, TYPE_OPT, UDP_PAYLOAD >> 8, UDP_PAYLOAD & 255, 0, 0, 0, 0, 0, 0])

/** The id is 0: the transport writes a random one. RFC 1035 section 4.1. */
export function encodeQuery(question: Question, options: QueryFlags, types: RdataTypes): Buffer {
  const length = 12 + wireLength(question.name) + 4 + (options.edns ? OPT.length : 0)
  const packet = Buffer.allocUnsafe(length) // every octet is written below
  packet.writeUInt16BE(0, 0)
  // The AD bit asks a resolver to say whether it validated the answer. RFC 6840 section 5.7.
  packet.writeUInt16BE((options.recursionDesired ? RD | AD : 0) | (options.checkingDisabled ? CD : 0), 2)
  packet.writeUInt32BE(0x0001_0000, 4) // one question, no answers
  packet.writeUInt32BE(options.edns ? 1 : 0, 8)
  const at = writeName(packet, 12, question.name)
  packet.writeUInt16BE(types.codeOf(question.type), at)
  packet.writeUInt16BE(CLASS_IN, at + 2)
  if (options.edns) OPT.copy(packet, at + 4)
  return packet
}
