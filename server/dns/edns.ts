import type { ExtendedError } from './outcome.ts'
import { MalformedPacket, type Packet, readUint16 } from './wire.ts'

/** `rcodeHigh`: the upper eight bits of the extended response code. RFC 6891 section 6.1.3. */
export type Edns = { rcodeHigh: number; ede: ExtendedError[] }

const EDE_OPTION = 15 // RFC 8914 section 2
const MAX_ERRORS = 8
const MAX_TEXT = 500

/** Reads an OPT record; its TTL field carries the extended code and the version. Throws `MalformedPacket`. */
export function readEdns(packet: Packet, ttl: number, at: number, end: number): Edns {
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

// It goes into logs and pages, and some servers end it with a NUL.
function readableText(octets: Buffer): string {
  return octets
    .toString('utf8')
    .replace(/\p{Cc}/gu, '')
    .slice(0, MAX_TEXT)
    .toWellFormed()
}
