import { CLASS_IN, TYPE } from './codes.ts'
import { nameLabels } from './names.ts'
import type { Question } from './outcome.ts'

/** `edns`: with an OPT record. `recursionDesired` and `checkingDisabled`: the header's RD and CD bits (RFC 4035 section 3.2.2). */
export type QueryOptions = { edns: boolean; recursionDesired: boolean; checkingDisabled: boolean }

/** Octets of a UDP answer that pass every common path unfragmented (the DNS flag day of 2020). */
const UDP_PAYLOAD = 1232

const RD = 0x0100
const CD = 0x0010

// An OPT record without options: root name, type, payload size as class, zero TTL, no rdata. RFC 6891 section 6.1.2.
const OPT = Buffer.from([0, 0, TYPE.OPT, UDP_PAYLOAD >> 8, UDP_PAYLOAD & 255, 0, 0, 0, 0, 0, 0])

/** The packet that asks one question, its id still 0: the transport draws one. RFC 1035 section 4.1. */
export function encodeQuery(question: Question, options: QueryOptions): Buffer {
  const labels = nameLabels(question.name)
  const nameLength = labels.reduce((sum, label) => sum + label.length + 1, 1)
  const packet = Buffer.alloc(12 + nameLength + 4 + (options.edns ? OPT.length : 0))
  packet.writeUInt16BE((options.recursionDesired ? RD : 0) | (options.checkingDisabled ? CD : 0), 2)
  packet.writeUInt16BE(1, 4)
  packet.writeUInt16BE(options.edns ? 1 : 0, 10)
  let at = 12
  for (const label of labels) {
    packet[at++] = label.length
    packet.set(label, at)
    at += label.length
  }
  packet.writeUInt16BE(TYPE[question.type], at + 1)
  packet.writeUInt16BE(CLASS_IN, at + 3)
  if (options.edns) OPT.copy(packet, at + 5)
  return packet
}
