import type { Transport } from '#server/testing/dns-server-sockets.ts'
import { NAME } from './lab.ts'

/** Responses to `www.example.test A` that no server library would send, byte by byte. */
export type RawResponse = (query: Buffer, flags: number, transport: Transport) => Buffer | Buffer[] | null

/** The end of the question for `www.example.test`. */
const QUESTION_END = 12 + 'www.example.test'.length + 2 + 4
/** A record of the queried name: A, IN, TTL 60, 203.0.113.66. */
export const FORGED = Buffer.from('c00c000100010000003c0004cb007142', 'hex')
export const CORRECT = Buffer.from('c00c000100010000003c0004c0000201', 'hex')

/** A response with only these records. */
export function encodeResponse(query: Buffer, flags: number, records: Buffer[], rcode = 0): Buffer {
  const header = Buffer.from(query.subarray(0, 12))
  header.writeUInt16BE(flags | rcode, 2)
  header.writeUInt16BE(records.length, 6)
  header.writeUInt16BE(0, 8)
  header.writeUInt16BE(0, 10)
  return Buffer.concat([header, query.subarray(12, QUESTION_END), ...records])
}

export function withId(packet: Buffer, id: number): Buffer {
  const copy = Buffer.from(packet)
  copy.writeUInt16BE(id & 0xffff)
  return copy
}

export const MALFORMED_RESPONSES: Readonly<Record<string, RawResponse>> = {
  garbage: (query) => Buffer.concat([query.subarray(0, 2), Buffer.alloc(300, 0xff)]),
  'only an id': (query) => Buffer.from(query.subarray(0, 2)),
  'only a header': (query, flags) => encodeResponse(query, flags, []).subarray(0, 12),
  'a truncated packet': (query, flags) => encodeResponse(query, flags, [FORGED]).subarray(0, -2),
  'bytes after the last record': (query, flags) =>
    Buffer.concat([encodeResponse(query, flags, [FORGED]), Buffer.alloc(3)]),
  'the query sent back': (query) => Buffer.from(query),
  'another question': (query, flags) =>
    Buffer.from(encodeResponse(query, flags, [FORGED]).toString('latin1').replace('www', 'wwx'), 'latin1'),
  'another id': (query, flags) =>
    Array.from({ length: 50 }, (_, index) =>
      withId(encodeResponse(query, flags, [FORGED]), query.readUInt16BE() + index + 1),
    ),
  'a compression loop': (query, flags) =>
    encodeResponse(query, flags, [Buffer.from('c022000100010000003c0004cb007142', 'hex')]),
  'a compression bomb': (query, flags) => encodeResponse(query, flags, bomb()),
  'NXDOMAIN with an answer': (query, flags) => encodeResponse(query, flags, [FORGED], 3),
  'records of another class': (query, flags) =>
    encodeResponse(query, flags, [Buffer.from('c00c000100030000003c0004cb007142', 'hex')]),
  'an address of three bytes': (query, flags) =>
    encodeResponse(query, flags, [Buffer.from('c00c000100010000003c0003cb0071', 'hex')]),
  'fewer records than announced': (query, flags) => {
    const packet = encodeResponse(query, flags, [FORGED])
    packet.writeUInt16BE(500, 6)
    return packet
  },
  'two CNAMEs of one name': (query, flags) =>
    encodeResponse(
      query,
      flags,
      ['0161', '0162'].map((label) => Buffer.from(`c00c000500010000003c0004${label}c010`, 'hex')),
    ),
  'SERVFAIL with an answer': (query, flags) => encodeResponse(query, flags, [FORGED], 2),
  'an unknown response code': (query, flags) => encodeResponse(query, flags, [FORGED], 11),
  'truncation, and REFUSED over TCP': (query, flags, transport) =>
    transport === 'udp' ? encodeResponse(query, flags | 0x0200, []) : encodeResponse(query, flags, [], 5),
  'a response with another opcode': (query, flags) => encodeResponse(query, flags | 0x2000, [FORGED]),
  'truncation, and no response over TCP': (query, flags, transport) =>
    transport === 'udp' ? encodeResponse(query, flags | 0x0200, []) : null,
  'truncation, and garbage over TCP': (query, flags, transport) =>
    transport === 'udp' ? encodeResponse(query, flags | 0x0200, []) : Buffer.alloc(40, 0xff),
  'truncation, over TCP too': (query, flags) => encodeResponse(query, flags | 0x0200, []),
}

/** Correct responses in an unusual form. */
export const UNUSUAL_RESPONSES: Readonly<Record<string, RawResponse>> = {
  'mixed letter case': (query, flags) =>
    Buffer.from(encodeResponse(query, flags, [CORRECT]).toString('latin1').replace('www', 'wWW'), 'latin1'),
  'unrelated records': (query, flags) =>
    encodeResponse(query, flags, [Buffer.from('c010000100010000003c0004cb007142', 'hex'), CORRECT]),
  'the same record twice': (query, flags) => encodeResponse(query, flags, [CORRECT, CORRECT]),
  'a TTL of zero': (query, flags) =>
    encodeResponse(query, flags, [Buffer.from('c00c00010001000000000004c0000201', 'hex')]),
  'a TTL of 136 years': (query, flags) =>
    encodeResponse(query, flags, [Buffer.from('c00c00010001ffffffff0004c0000201', 'hex')]),
  'another address in the additional section': (query, flags) => {
    const packet = encodeResponse(query, flags, [CORRECT, FORGED])
    packet.writeUInt16BE(1, 6)
    packet.writeUInt16BE(1, 10)
    return packet
  },
}

/** The response of a captive portal: every name has the same address and no other records. */
export function captive(query: Buffer, flags: number): Buffer {
  const end = questionEnd(query)
  const isAddress = query.readUInt16BE(end - 4) === 1
  const header = Buffer.from(query.subarray(0, 12))
  header.writeUInt16BE(flags, 2)
  header.writeUInt16BE(isAddress ? 1 : 0, 6)
  header.writeUInt16BE(0, 10)
  return Buffer.concat([header, query.subarray(12, end), ...(isAddress ? [FORGED] : [])])
}

/** The correct answer, marked as stale by an extended error. RFC 8914 section 4.4. */
export function stale(query: Buffer, flags: number): Buffer {
  const packet = encodeResponse(query, flags, [CORRECT, Buffer.from('00002904d0000000000006000f00020003', 'hex')])
  packet.writeUInt16BE(1, 6)
  packet.writeUInt16BE(1, 10)
  return packet
}

function questionEnd(query: Buffer): number {
  let offset = 12
  while (query[offset]! > 0) offset += query[offset]! + 1
  return offset + 5
}

/** A DNAME from `example.test` to `other.test`, the synthesized CNAME, and the address. RFC 6672. */
export function renamed(query: Buffer, flags: number): Buffer {
  const other = '056f746865720474657374 00'.replace(' ', '')
  const dname = Buffer.from(`c010002700010000003c000c${other}`, 'hex')
  const alias = Buffer.from(`c00c000500010000003c001003777777${other}`, 'hex')
  const address = Buffer.from(`03777777${other}000100010000003c0004cb007142`, 'hex')
  return encodeResponse(query, flags, [dname, alias, address])
}

/** Hundreds of names, each a compression pointer to the previous one. */
function bomb(): Buffer[] {
  let previous = 12
  let offset = QUESTION_END
  return Array.from({ length: 400 }, () => {
    const owner = Buffer.from([1, 0x61, 0xc0 | (previous >> 8), previous & 255])
    const record = Buffer.concat([owner, FORGED.subarray(2)])
    previous = offset
    offset += record.length
    return record
  })
}

/** Whether the query is for A records of the monitored name. */
export const isAddressQuery = (query: Buffer): boolean => query.readUInt16BE(12 + NAME.length + 2) === 1
