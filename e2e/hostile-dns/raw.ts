import type { Transport } from '#server/testing/dns-server-sockets.ts'

/** Raw answers, octet by octet, for what no server library would send. All to a question for `www.example.test A`. */
export type Raw = (query: Buffer, flags: number, transport: Transport) => Buffer | Buffer[] | null

/** Of a question for `www.example.test`. */
const QUESTION_END = 12 + 'www.example.test'.length + 2 + 4
/** The question's name by pointer, A, IN, a minute, 203.0.113.66. */
export const FORGED = Buffer.from('c00c000100010000003c0004cb007142', 'hex')
export const TRUE = Buffer.from('c00c000100010000003c0004c0000201', 'hex')

/** An answer with the given records and nothing beside. */
export function answerWith(query: Buffer, flags: number, records: Buffer[], rcode = 0): Buffer {
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

export const RAW: Readonly<Record<string, Raw>> = {
  garbage: (query) => Buffer.concat([query.subarray(0, 2), Buffer.alloc(300, 0xff)]),
  'an id and nothing more': (query) => Buffer.from(query.subarray(0, 2)),
  'a header and nothing more': (query, flags) => answerWith(query, flags, []).subarray(0, 12),
  'a packet cut off': (query, flags) => answerWith(query, flags, [FORGED]).subarray(0, -2),
  'octets after the last record': (query, flags) =>
    Buffer.concat([answerWith(query, flags, [FORGED]), Buffer.alloc(3)]),
  'the query sent back': (query) => Buffer.from(query),
  'another question': (query, flags) =>
    Buffer.from(answerWith(query, flags, [FORGED]).toString('latin1').replace('www', 'wwx'), 'latin1'),
  'another id': (query, flags) =>
    Array.from({ length: 50 }, (_, at) => withId(answerWith(query, flags, [FORGED]), query.readUInt16BE() + at + 1)),
  'a name that is a loop': (query, flags) =>
    answerWith(query, flags, [Buffer.from('c022000100010000003c0004cb007142', 'hex')]),
  'a compression bomb': (query, flags) => answerWith(query, flags, bomb()),
  'NXDOMAIN with an answer': (query, flags) => answerWith(query, flags, [FORGED], 3),
  'records of another class': (query, flags) =>
    answerWith(query, flags, [Buffer.from('c00c000100030000003c0004cb007142', 'hex')]),
  'an address of three octets': (query, flags) =>
    answerWith(query, flags, [Buffer.from('c00c000100010000003c0003cb0071', 'hex')]),
  'more records announced than sent': (query, flags) => {
    const packet = answerWith(query, flags, [FORGED])
    packet.writeUInt16BE(500, 6)
    return packet
  },
  'two aliases of one name': (query, flags) =>
    answerWith(
      query,
      flags,
      ['0161', '0162'].map((label) => Buffer.from(`c00c000500010000003c0004${label}c010`, 'hex')),
    ),
  'SERVFAIL with an answer': (query, flags) => answerWith(query, flags, [FORGED], 2),
  'a response code that nobody knows': (query, flags) => answerWith(query, flags, [FORGED], 11),
  'truncation, and REFUSED over TCP': (query, flags, transport) =>
    transport === 'udp' ? answerWith(query, flags | 0x0200, []) : answerWith(query, flags, [], 5),
  'a refusal of the kind of request': (query, flags) => answerWith(query, flags | 0x2000, [FORGED]),
  'truncation, and silence over TCP': (query, flags, transport) =>
    transport === 'udp' ? answerWith(query, flags | 0x0200, []) : null,
  'truncation, and garbage over TCP': (query, flags, transport) =>
    transport === 'udp' ? answerWith(query, flags | 0x0200, []) : Buffer.alloc(40, 0xff),
  'truncation, over TCP too': (query, flags) => answerWith(query, flags | 0x0200, []),
}

/** The right answer, oddly put. */
export const ODD: Readonly<Record<string, Raw>> = {
  'mixed letter case': (query, flags) =>
    Buffer.from(answerWith(query, flags, [TRUE]).toString('latin1').replace('www', 'wWW'), 'latin1'),
  'records that nobody asked for': (query, flags) =>
    answerWith(query, flags, [Buffer.from('c010000100010000003c0004cb007142', 'hex'), TRUE]),
  'the same record twice': (query, flags) => answerWith(query, flags, [TRUE, TRUE]),
  'a TTL of zero': (query, flags) => answerWith(query, flags, [Buffer.from('c00c00010001000000000004c0000201', 'hex')]),
  'a TTL of 136 years': (query, flags) =>
    answerWith(query, flags, [Buffer.from('c00c00010001ffffffff0004c0000201', 'hex')]),
  'another address in the additional section': (query, flags) => {
    const packet = answerWith(query, flags, [TRUE, FORGED])
    packet.writeUInt16BE(1, 6)
    packet.writeUInt16BE(1, 10)
    return packet
  },
}

/** Every name has one address, as where a network asks for money or consent first; no other records. Whatever the question. */
export function captive(query: Buffer, flags: number): Buffer {
  const end = questionEnd(query)
  const isAddress = query.readUInt16BE(end - 4) === 1
  const header = Buffer.from(query.subarray(0, 12))
  header.writeUInt16BE(flags, 2)
  header.writeUInt16BE(isAddress ? 1 : 0, 6)
  header.writeUInt16BE(0, 10)
  return Buffer.concat([header, query.subarray(12, end), ...(isAddress ? [FORGED] : [])])
}

/** The right answer, and in an OPT record that it is out of date. RFC 8914 section 4.4. */
export function stale(query: Buffer, flags: number): Buffer {
  const packet = answerWith(query, flags, [TRUE, Buffer.from('00002904d0000000000006000f00020003', 'hex')])
  packet.writeUInt16BE(1, 6)
  packet.writeUInt16BE(1, 10)
  return packet
}

function questionEnd(query: Buffer): number {
  let at = 12
  while (query[at]! > 0) at += query[at]! + 1
  return at + 5
}

/** The whole of `example.test` stands for `other.test`: DNAME, the alias made from it, and the address. RFC 6672. */
export function renamed(query: Buffer, flags: number): Buffer {
  const other = '056f746865720474657374 00'.replace(' ', '')
  const dname = Buffer.from(`c010002700010000003c000c${other}`, 'hex')
  const alias = Buffer.from(`c00c000500010000003c001003777777${other}`, 'hex')
  const address = Buffer.from(`03777777${other}000100010000003c0004cb007142`, 'hex')
  return answerWith(query, flags, [dname, alias, address])
}

/** Hundreds of names that each lead to the one before. */
function bomb(): Buffer[] {
  let last = 12
  let at = QUESTION_END
  return Array.from({ length: 400 }, () => {
    const owner = Buffer.from([1, 0x61, 0xc0 | (last >> 8), last & 255])
    const record = Buffer.concat([owner, FORGED.subarray(2)])
    last = at
    at += record.length
    return record
  })
}
