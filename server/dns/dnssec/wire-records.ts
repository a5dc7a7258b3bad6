import { nameToWire } from '../names.ts'
import {
  CLASS_IN,
  MalformedPacket,
  type Packet,
  rcodeName,
  readName,
  readUint8,
  readUint16,
  TYPE_OPT,
} from '../wire.ts'

/** Codes of record types. RFC 1035, 4034, 5155, 6672. */
export const TYPE = {
  ...{ A: 1, NS: 2, CNAME: 5, SOA: 6, PTR: 12, MX: 15, TXT: 16, AAAA: 28, SRV: 33, NAPTR: 35, DNAME: 39, DS: 43 },
  ...{ SSHFP: 44, RRSIG: 46, NSEC: 47, DNSKEY: 48, NSEC3: 50, TLSA: 52, SVCB: 64, HTTPS: 65, CAA: 257 },
} as const

const NAMES = new Map<number, string>(Object.entries(TYPE).map(([name, code]) => [code, name]))

/** The mnemonic of a type, or `TYPE<n>`. RFC 3597 section 5. */
export const typeName = (code: number): string => NAMES.get(code) ?? `TYPE${code}`

/** `name`: canonical. `rdata`: in canonical form, as signatures cover it. RFC 4034 section 6.2. */
export type WireRecord = { name: string; type: number; rdata: Buffer }

/** The records of class IN of a response, of every type. */
export type SignedMessage = { rcode: string; flags: number; answer: WireRecord[]; authority: WireRecord[] }

export const FLAG_AA = 0x0400

/** Undefined if the packet is malformed. Never throws, and takes time proportional to the length of the packet. */
export function decodeSignedMessage(octets: Buffer): SignedMessage | undefined {
  return parseOrUndefined(() => readMessage({ octets, tails: new Map() }))
}

/** The result of `read`, or undefined if it throws `MalformedPacket`. */
export function parseOrUndefined<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof MalformedPacket) return undefined
    throw error
  }
}

function readMessage(packet: Packet): SignedMessage {
  const end = packet.octets.length
  const flags = readUint16(packet, 2, end)
  const questions = readUint16(packet, 4, end)
  const counts = [readUint16(packet, 6, end), readUint16(packet, 8, end)] as const
  let at = 12
  for (let count = questions; count > 0; count--) at = readName(packet, at, end).next + 4

  function readSection(count: number): WireRecord[] {
    const records: WireRecord[] = []
    for (let left = count; left > 0; left--) {
      const { name, next } = readName(packet, at, end)
      const type = readUint16(packet, next, end)
      const recordClass = readUint16(packet, next + 2, end)
      const from = next + 10
      at = from + readUint16(packet, next + 8, end)
      if (at > end) throw new MalformedPacket('a record extends beyond the end of the message')
      if (recordClass === CLASS_IN && type !== TYPE_OPT) {
        records.push({ name, type, rdata: canonicalRdata(packet, type, from, at) })
      }
    }
    return records
  }

  return { rcode: rcodeName(flags & 15), flags, answer: readSection(counts[0]), authority: readSection(counts[1]) }
}

/** A number: so many octets. `text`: a character-string. The octets after the last part are copied. */
type Part = number | 'name' | 'text'

/** The types whose names are in lower case and uncompressed in the canonical form. RFC 4034 section 6.2, without HINFO and NSEC: RFC 6840 section 5.1. */
const LAYOUTS: Readonly<Record<number, readonly Part[]>> = {
  2: ['name'], // NS
  3: ['name'], // MD
  4: ['name'], // MF
  5: ['name'], // CNAME
  6: ['name', 'name'], // SOA
  7: ['name'], // MB
  8: ['name'], // MG
  9: ['name'], // MR
  12: ['name'], // PTR
  14: ['name', 'name'], // MINFO
  15: [2, 'name'], // MX
  17: ['name', 'name'], // RP
  18: [2, 'name'], // AFSDB
  21: [2, 'name'], // RT
  24: [18, 'name'], // SIG
  26: [2, 'name', 'name'], // PX
  30: ['name'], // NXT
  33: [6, 'name'], // SRV
  35: [4, 'text', 'text', 'text', 'name'], // NAPTR
  36: [2, 'name'], // KX
  39: ['name'], // DNAME
  46: [18, 'name'], // RRSIG
}

function canonicalRdata(packet: Packet, type: number, from: number, end: number): Buffer {
  const layout = LAYOUTS[type]
  if (!layout) return packet.octets.subarray(from, end)
  const parts: Buffer[] = []
  let at = from
  for (const part of layout) {
    if (part === 'name') {
      const { name, next } = readName(packet, at, end)
      parts.push(nameToWire(name))
      at = next
      continue
    }
    const next = at + (part === 'text' ? 1 + readUint8(packet, at, end) : part)
    if (next > end) throw new MalformedPacket('a record has the wrong length')
    parts.push(packet.octets.subarray(at, next))
    at = next
  }
  parts.push(packet.octets.subarray(at, end))
  return Buffer.concat(parts)
}

/** The bitmap of NSEC and NSEC3 records. RFC 4034 section 4.1.2. */
export type TypeBitmap = { has(type: number): boolean }

/**
 * Whether the type is absent at a name with these types. At a cut, the record of the parent zone says something only about DS: RFC 6840
 * section 4.4. A CNAME would have been the answer: RFC 6840 section 4.3.
 */
export function lacksType(types: TypeBitmap, type: number): boolean {
  if (types.has(type) || types.has(TYPE.CNAME)) return false
  return type === TYPE.DS || !isCut(types)
}

/** Whether the name is a delegation: the record is of the parent zone. */
export const isCut = (types: TypeBitmap): boolean => types.has(TYPE.NS) && !types.has(TYPE.SOA)
