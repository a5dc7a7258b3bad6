import { isUtf8 } from 'node:buffer'
import { ipv6Text } from './addresses.ts'
import { TYPE } from './codes.ts'
import { MalformedPacket, type Packet, readName, readUint8, readUint16, readUint32 } from './wire.ts'

/**
 * The canonical text of the rdata between `at` and `end`, or undefined for a type that Zonewatch does not read.
 * Host names are canonical names, the root a single dot. Throws `MalformedPacket`.
 */
export function rdataText(type: number, packet: Packet, at: number, end: number): string | undefined {
  switch (type) {
    case TYPE.A:
      return ipv4Text(octets(packet, at, end, 4))
    case TYPE.AAAA:
      return ipv6Text(octets(packet, at, end, 16))
    case TYPE.CNAME:
    case TYPE.NS:
    case TYPE.PTR:
      return host(packet, at, end)
    case TYPE.MX:
      return `${readUint16(packet, at, end)} ${host(packet, at + 2, end)}`
    case TYPE.TXT:
      return txtText(packet, at, end)
    case TYPE.CAA:
      return caaText(packet, at, end)
    case TYPE.SOA:
      return soaText(packet, at, end)
    default:
      return undefined
  }
}

/** Octets as UTF-8 where they are, as `\DDD` where not; also NUL, which no database takes as text. */
export function utf8Text(text: Buffer): string {
  if (isUtf8(text) && !text.includes(0)) return text.toString('utf8')
  const parts: string[] = []
  for (let at = 0; at < text.length; ) {
    const length = utf8Length(text, at)
    parts.push(length === 0 ? escaped(text[at]!) : text.toString('utf8', at, at + length))
    at += length || 1
  }
  return parts.join('')
}

function octets(packet: Packet, at: number, end: number, length: number): Buffer {
  if (end - at !== length) throw new MalformedPacket('an address has the wrong length')
  return packet.octets.subarray(at, end)
}

function ipv4Text([a, b, c, d]: Buffer): string {
  return `${a}.${b}.${c}.${d}`
}

function host(packet: Packet, at: number, end: number): string {
  const { name, next } = readName(packet, at, end)
  if (next !== end) throw new MalformedPacket('rdata does not end where its name does')
  return name === '' ? '.' : name
}

// The strings mean one text: RFC 7208 section 3.3, RFC 6376 section 3.6.2.2.
function txtText(packet: Packet, at: number, end: number): string {
  if (at === end) throw new MalformedPacket('a TXT record has no string')
  const strings: Buffer[] = []
  for (let cursor = at; cursor < end; ) {
    const next = cursor + 1 + packet.octets[cursor]!
    if (next > end) throw new MalformedPacket('a TXT string reaches past its record')
    strings.push(packet.octets.subarray(cursor + 1, next))
    cursor = next
  }
  return utf8Text(strings.length === 1 ? strings[0]! : Buffer.concat(strings))
}

// RFC 8659 section 4.1.1. The tag is matched without letter case, the value is not.
function caaText(packet: Packet, at: number, end: number): string {
  const flags = readUint8(packet, at, end)
  const valueAt = at + 2 + readUint8(packet, at + 1, end)
  if (valueAt > end) throw new MalformedPacket('a CAA tag reaches past its record')
  const tag = packet.octets.toString('latin1', at + 2, valueAt).toLowerCase()
  if (!/^[a-z0-9]+$/.test(tag)) throw new MalformedPacket('a CAA tag is not made of letters and digits')
  const value = Array.from(packet.octets.subarray(valueAt, end), quotedOctet).join('')
  return `${flags} ${tag} "${value}"`
}

function soaText(packet: Packet, at: number, end: number): string {
  const primary = readName(packet, at, end)
  const mailbox = readName(packet, primary.next, end)
  if (end - mailbox.next !== 20) throw new MalformedPacket('a SOA record has the wrong length')
  const numbers = [0, 4, 8, 12, 16].map((offset) => readUint32(packet, mailbox.next + offset, end))
  return [primary.name || '.', mailbox.name || '.', ...numbers].join(' ')
}

function quotedOctet(octet: number): string {
  if (octet < 0x20 || octet > 0x7e) return escaped(octet)
  const character = String.fromCharCode(octet)
  return character === '"' || character === '\\' ? `\\${character}` : character
}

// Of the character that begins there; 0 where none does, and for NUL.
function utf8Length(text: Buffer, at: number): number {
  const octet = text[at]!
  if (octet < 0x80) return octet === 0 ? 0 : 1
  if (octet < 0xc2 || octet > 0xf4 || ((text[at + 1] ?? 0) & 0xc0) !== 0x80) return 0
  const length = octet < 0xe0 ? 2 : octet < 0xf0 ? 3 : 4
  return at + length <= text.length && isUtf8(text.subarray(at, at + length)) ? length : 0
}

function escaped(octet: number): string {
  return `\\${String(octet).padStart(3, '0')}`
}
