import {
  type Answer,
  AUTHENTIC_DATA,
  AUTHORITATIVE_ANSWER,
  type DecodedPacket,
  decode,
  encode,
  type Packet,
  RECURSION_AVAILABLE,
  TRUNCATED_RESPONSE,
} from 'dns-packet'
import type { ExtendedError } from '../dns/outcome.ts'
import { rcodeName } from '../dns/wire.ts'
import { findZoneType } from '../record-types/record-types.ts'
import type { LookupResult } from './dns-server-zone.ts'

export type Query = { packet: DecodedPacket; name: string; type: string; edns: boolean; udpPayload: number }

export type Reply = {
  authoritative: boolean
  isAuthentic?: boolean
  result: LookupResult | { rcode: string }
  ede?: ExtendedError
  payloadLimit: number
}

const ECHOED_FLAGS = 0x0110 // RD and CD

/** Undefined if the packet is not a query with a question. */
export function readQuery(bytes: Buffer): Query | undefined {
  try {
    const packet = decode(bytes)
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

/** The response packet. If it is longer than `payloadLimit` bytes, it has TC and no records. */
export function encodeReply(query: Query, { authoritative, isAuthentic, result, ede, payloadLimit }: Reply): Buffer {
  const { answers = [], authorities = [], additionals = [], isReferral = false } = result as Partial<LookupResult> // absent if there is only an rcode
  const mode = authoritative ? AUTHORITATIVE_ANSWER : isReferral ? 0 : RECURSION_AVAILABLE
  const authentic = isAuthentic ? AUTHENTIC_DATA : 0
  const flags = ((query.packet.flags ?? 0) & ECHOED_FLAGS) | mode | authentic | rcodeNumber(result.rcode)
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
  const data = ede ? Buffer.concat([Buffer.from([ede.code >> 8, ede.code & 255]), Buffer.from(ede.text)]) : undefined
  const options = data ? [{ code: 15, data }] : []
  const opt = { type: 'OPT', name: '.', udpPayloadSize: 1232, extendedRcode: 0, ednsVersion: 0, flags: 0, options }
  return opt as unknown as Answer // the types lack EDE, but the encoder accepts any option code
}

function rcodeNumber(name: string): number {
  const number = Array.from({ length: 16 }, (_, rcode) => rcodeName(rcode)).indexOf(name)
  if (number < 0) throw new Error(`Not a response code of four bits: ${name}`)
  return number
}
