import { BACKSLASH, DOT, MAX_LABEL, OCTET_TEXT } from './names.ts'

/** Thrown only while a packet is decoded. `decodeResponse` returns it as a value. */
export class MalformedPacket extends Error {}

const HEADER_LENGTH = 12
const MAX_WIRE_NAME = 255 // RFC 1035 section 2.3.4
const MAX_POINTERS = 127 // as many as a name can have labels; limits the cost of a name

/** `tails`: names that are already decoded, by offset, so that many compression pointers to one name are decoded once. */
export type Packet = { octets: Buffer; tails: Map<number, Tail> }

type Tail = { name: string; octets: number }

export function readUint8({ octets }: Packet, at: number, end: number): number {
  need(at + 1, end)
  return octets[at]!
}

export function readUint16({ octets }: Packet, at: number, end: number): number {
  need(at + 2, end)
  return octets.readUInt16BE(at)
}

export function readUint32({ octets }: Packet, at: number, end: number): number {
  need(at + 4, end)
  return octets.readUInt32BE(at)
}

/**
 * The canonical text of the name at `at`, and the offset after it. The name must end before `end`. Compression pointers must
 * point backwards, so decoding always ends. RFC 1035 section 4.1.4.
 */
export function readName(packet: Packet, at: number, end: number): { name: string; next: number } {
  return readLabels(packet, at, end, 0)
}

/** As `readName`, for the question's name. Faster if it is `expected` in any letter case, as in nearly every response. */
export function readQuestionName(packet: Packet, expected: string): { name: string; next: number } {
  const next = endIfEqual(packet.octets, expected)
  if (next === undefined) return readName(packet, HEADER_LENGTH, packet.octets.length)
  packet.tails.set(HEADER_LENGTH, { name: expected, octets: next - HEADER_LENGTH }) // the owner name of most records
  return { name: expected, next }
}

/** The offset after the name if it is `name` in any letter case. Undefined also for names with escapes. */
function endIfEqual(octets: Buffer, name: string): number | undefined {
  if (name === '') return undefined
  let labelAt = HEADER_LENGTH // the offset of the label's length
  let at = HEADER_LENGTH + 1
  for (let index = 0; index < name.length; index++, at++) {
    const code = name.charCodeAt(index)
    if (code === BACKSLASH) return undefined
    if (code === DOT) {
      if (octets[labelAt] !== at - labelAt - 1) return undefined
      labelAt = at
    } else if (octets[at] !== code && !isUpperOf(octets[at]!, code)) return undefined
  }
  return octets[labelAt] === at - labelAt - 1 && octets[at] === 0 ? at + 1 : undefined
}

const isUpperOf = (octet: number, code: number) => octet === code - 0x20 && octet >= 0x41 && octet <= 0x5a

function readLabels(packet: Packet, at: number, end: number, pointers: number): Tail & { next: number } {
  let name = ''
  let octets = 1
  for (let cursor = at; ; ) {
    const length = readUint8(packet, cursor, end)
    if (length === 0) return { name, octets, next: cursor + 1 }
    if (length >= 0xc0) {
      const target = readUint16(packet, cursor, end) & 0x3fff
      if (target >= at || target < HEADER_LENGTH) throw new MalformedPacket('a compression pointer is invalid')
      const tail = tailAt(packet, target, pointers + 1)
      return { name: join(name, tail.name), octets: checkLength(octets + tail.octets - 1), next: cursor + 2 }
    }
    if (length > MAX_LABEL) throw new MalformedPacket('a name has a label of an unknown kind')
    const labelEnd = cursor + 1 + length
    need(labelEnd, end)
    octets = checkLength(octets + length + 1)
    let label = ''
    while (++cursor < labelEnd) label += OCTET_TEXT[packet.octets[cursor]!]
    name = join(name, label)
  }
}

function tailAt(packet: Packet, target: number, pointers: number): Tail {
  const decoded = packet.tails.get(target)
  if (decoded) return decoded
  if (pointers > MAX_POINTERS) throw new MalformedPacket('a name has too many compression pointers')
  const tail = readLabels(packet, target, packet.octets.length, pointers)
  packet.tails.set(target, tail)
  return tail
}

function join(name: string, more: string): string {
  return name === '' || more === '' ? name + more : `${name}.${more}`
}

function checkLength(octets: number): number {
  if (octets > MAX_WIRE_NAME) throw new MalformedPacket('a name is longer than 255 octets')
  return octets
}

function need(upTo: number, end: number): void {
  if (upTo > end) throw new MalformedPacket('the message ends too early')
}

/** Of the OPT pseudo-record. RFC 6891 section 6.1.1. */
export const TYPE_OPT = 41

export const CLASS_IN = 1

const RCODES: Readonly<Record<number, string>> = {
  0: 'NOERROR',
  1: 'FORMERR',
  2: 'SERVFAIL',
  3: 'NXDOMAIN',
  4: 'NOTIMP',
  5: 'REFUSED',
  6: 'YXDOMAIN',
  7: 'YXRRSET',
  8: 'NXRRSET',
  9: 'NOTAUTH',
  10: 'NOTZONE',
  16: 'BADVERS',
  23: 'BADCOOKIE',
}

/** The mnemonic of a response code, including extended ones, or `RCODE<n>`. RFC 6895 section 2.3. */
export function rcodeName(rcode: number): string {
  return RCODES[rcode] ?? `RCODE${rcode}`
}
