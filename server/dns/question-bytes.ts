import { randomFillSync } from 'node:crypto'

const HEADER_LENGTH = 12
const QR_AND_OPCODE = 0xf8
const RESPONSE_TO_QUERY = 0x80
const FORMERR = 1
const NXDOMAIN = 3
const NOTIMP = 4

const random = Buffer.alloc(4_096)
let used = random.length

/**
 * Gives each letter of the query's name a random case: what an answer must repeat and a forger must guess. Returns whether the
 * name now holds capitals.
 */
export function mixCase(query: Buffer): boolean {
  if (used + 4 > random.length) {
    randomFillSync(random)
    used = 0
  }
  const bits = random.readUInt32LE(used)
  used += 4
  let letter = 0
  let hasCapitals = false
  for (let at = HEADER_LENGTH + 1; query[at - 1] !== 0; at++) {
    const end = at + query[at - 1]! // of the label
    for (; at < end; at++) {
      if (!isLower(query[at]!) || ((bits >>> (letter++ & 31)) & 1) === 0) continue
      query[at]! -= 0x20
      hasCapitals = true
    }
  }
  return hasCapitals
}

/**
 * Whether a packet with the query's id is the response to it. RFC 5452 section 9.1. `otherCase`: but for the case of letters.
 * A failure may leave the question out, and a server that cannot read EDNS may send anything along.
 */
export function compareQuestion(query: Buffer, packet: Buffer): 'same' | 'otherCase' | 'other' {
  if (packet.length < HEADER_LENGTH || (packet[2]! & QR_AND_OPCODE) !== RESPONSE_TO_QUERY) return 'other'
  const rcode = packet[3]! & 0x0f
  if (rcode === FORMERR || rcode === NOTIMP) return 'same'
  if (packet.readUInt16BE(4) === 0) return rcode === 0 || rcode === NXDOMAIN ? 'other' : 'same'
  let found: 'same' | 'otherCase' = 'same'
  const end = endOfQuestion(query)
  if (packet.length < end || packet.readUInt16BE(4) !== 1) return 'other'
  for (let at = HEADER_LENGTH; at < end; at++) {
    const asked = query[at]!
    const answered = packet[at]!
    if (asked === answered) continue
    // The length of a label is no letter, so that only the case of letters can differ so.
    if ((asked ^ answered) !== 0x20 || !isLower(asked | 0x20) || at >= end - 4) return 'other'
    found = 'otherCase'
  }
  return found
}

function endOfQuestion(query: Buffer): number {
  let at = HEADER_LENGTH
  while (query[at] !== 0) at += query[at]! + 1
  return at + 5
}

const isLower = (octet: number): boolean => octet >= 0x61 && octet <= 0x7a
