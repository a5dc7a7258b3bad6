import { CLASS_IN, TYPE_OPT } from './codes.ts'
import { wireLength, writeName } from './names.ts'
import type { Question } from './outcome.ts'
import type { RdataTypes } from './rdata.ts'

/** `edns`: with an OPT record. `recursionDesired` and `checkingDisabled`: the header's RD and CD bits (RFC 4035 section 3.2.2). */
export type QueryOptions = { edns: boolean; recursionDesired: boolean; checkingDisabled: boolean }

/** Octets of a UDP answer that pass every common path unfragmented (the DNS flag day of 2020). */
const UDP_PAYLOAD = 1232

const RD = 0x0100
const CD = 0x0010

// An OPT record without options: root name, type, payload size as class, zero TTL, no rdata. RFC 6891 section 6.1.2.
const OPT = Buffer.from([0, 0, TYPE_OPT, UDP_PAYLOAD >> 8, UDP_PAYLOAD & 255, 0, 0, 0, 0, 0, 0])

/** The packet that asks one question, its id still 0: the transport draws one. RFC 1035 section 4.1. */
export function encodeQuery(question: Question, options: QueryOptions, types: RdataTypes): Buffer {
  const length = 12 + wireLength(question.name) + 4 + (options.edns ? OPT.length : 0)
  const packet = Buffer.allocUnsafe(length) // every octet is written below
  packet.writeUInt16BE(0, 0)
  packet.writeUInt16BE((options.recursionDesired ? RD : 0) | (options.checkingDisabled ? CD : 0), 2)
  packet.writeUInt32BE(0x0001_0000, 4) // one question, no answers
  packet.writeUInt32BE(options.edns ? 1 : 0, 8)
  const at = writeName(packet, 12, question.name)
  packet.writeUInt16BE(types.codeOf(question.type), at)
  packet.writeUInt16BE(CLASS_IN, at + 2)
  if (options.edns) OPT.copy(packet, at + 4)
  return packet
}
