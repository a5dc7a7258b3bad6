import { MAX_LABEL, OCTET_TEXT } from './names.ts'

/** A packet that cannot be read. Thrown while decoding only; `decodeResponse` makes a value of it. */
export class MalformedPacket extends Error {}

const HEADER_LENGTH = 12
const MAX_WIRE_NAME = 255 // RFC 1035 section 2.3.4
const MAX_POINTERS = 127 // as many as a name can have labels: keeps the cost of a name bounded

export function readUint8(packet: Buffer, at: number, end: number): number {
  need(at + 1, end)
  return packet[at]!
}

export function readUint16(packet: Buffer, at: number, end: number): number {
  need(at + 2, end)
  return packet.readUInt16BE(at)
}

export function readUint32(packet: Buffer, at: number, end: number): number {
  need(at + 4, end)
  return packet.readUInt32BE(at)
}

/**
 * The canonical text of the name at `at`, and where the octets after it begin; the name itself must not reach past
 * `end`. A pointer leads to what stands before it, so reading always ends. RFC 1035 section 4.1.4.
 */
export function readName(packet: Buffer, at: number, end: number): { name: string; next: number } {
  let name = ''
  let octets = 1
  let pointers = 0
  let next: number | undefined
  let segment = at
  let limit = end
  for (let cursor = at; ; ) {
    const length = readUint8(packet, cursor, limit)
    if (length >= 0xc0) {
      const target = readUint16(packet, cursor, limit) & 0x3fff
      next ??= cursor + 2
      if (target >= segment || target < HEADER_LENGTH) throw new MalformedPacket('a compression pointer leads nowhere')
      if (++pointers > MAX_POINTERS) throw new MalformedPacket('a name has too many compression pointers')
      limit = segment // what is pointed to must itself stand before the pointer
      cursor = target
      segment = target
      continue
    }
    if (length > MAX_LABEL) throw new MalformedPacket('a name has a label of an unknown kind')
    cursor++
    if (length === 0) return { name, next: next ?? cursor }
    need(cursor + length, limit)
    octets += length + 1
    if (octets > MAX_WIRE_NAME) throw new MalformedPacket('a name is longer than 255 octets')
    if (name !== '') name += '.'
    for (const labelEnd = cursor + length; cursor < labelEnd; cursor++) name += OCTET_TEXT[packet[cursor]!]
  }
}

function need(upTo: number, end: number): void {
  if (upTo > end) throw new MalformedPacket('it ends too early')
}
