import {
  type Answer,
  AUTHORITATIVE_ANSWER,
  type DecodedPacket,
  decode,
  encode,
  type Packet,
  RECURSION_AVAILABLE,
  TRUNCATED_RESPONSE,
} from 'dns-packet'
import { rcodeName } from '../dns/messages.ts'
import type { ExtendedError } from '../dns/outcome.ts'
import { findZoneType } from '../monitors/record-types/record-types.ts'
import type { Found } from './dns-server-zone.ts'

export type Query = { packet: DecodedPacket; name: string; type: string; edns: boolean; udpPayload: number }

export type Reply = {
  authoritative: boolean
  found: Found | { rcode: string }
  ede?: ExtendedError
  payloadLimit: number
}

const KEPT_FLAGS = 0x0110 // RD and CD come back as they were

/** Undefined for what is not a query with a question. */
export function readQuery(octets: Buffer): Query | undefined {
  try {
    const packet = decode(octets)
    const question = packet.questions?.[0]
    if (!question) return undefined
    const opt = packet.additionals?.find((record) => record.type === 'OPT')
    const udpPayload = opt?.type === 'OPT' ? Math.max(512, opt.udpPayloadSize) : 512
    const type = findZoneType(question.type.replace('UNKNOWN_', 'TYPE'))?.type ?? question.type
    return { packet, name: question.name.toLowerCase(), type, edns: opt !== undefined, udpPayload }
  } catch {
    return undefined
  }
}

/** The answer's packet; only a truncated header where it needs more than `payloadLimit` octets. */
export function encodeReply(query: Query, { authoritative, found, ede, payloadLimit }: Reply): Buffer {
  const { answers = [], authorities = [], additionals = [], isReferral = false } = found as Partial<Found> // a mere rcode has none
  const mode = authoritative ? AUTHORITATIVE_ANSWER : isReferral ? 0 : RECURSION_AVAILABLE
  const flags = ((query.packet.flags ?? 0) & KEPT_FLAGS) | mode | rcodeNumber(found.rcode)
  const reply: Packet = {
    type: 'response',
    id: query.packet.id ?? 0,
    flags,
    questions: query.packet.questions ?? [],
    additionals: [...additionals, ...(query.edns ? [optRecord(ede)] : [])],
  }
  const packet = encode({ ...reply, answers, authorities })
  return packet.length <= payloadLimit ? packet : encode({ ...reply, flags: flags | TRUNCATED_RESPONSE })
}

function optRecord(ede: ExtendedError | undefined): Answer {
  const octets = ede ? Buffer.concat([Buffer.from([ede.code >> 8, ede.code & 255]), Buffer.from(ede.text)]) : undefined
  const options = octets ? [{ code: 15, data: octets }] : []
  const opt = { type: 'OPT', name: '.', udpPayloadSize: 1232, extendedRcode: 0, ednsVersion: 0, flags: 0, options }
  return opt as unknown as Answer // the types know no EDE, the encoder takes any code
}

function rcodeNumber(name: string): number {
  const number = Array.from({ length: 16 }, (_, rcode) => rcodeName(rcode)).indexOf(name)
  if (number < 0) throw new Error(`Not a response code of four bits: ${name}`)
  return number
}
