import { type Answer, encode, type Packet } from 'dns-packet'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RDATA_FORMATS } from '../record-types/record-types.ts'
import { decodeResponse, encodeQuery } from './messages.ts'
import { createRdataTypes } from './rdata.ts'

const TYPES = createRdataTypes(RDATA_FORMATS)
const question = { name: 'www.example.com', type: 'A' } as const
const address: Answer = { type: 'A', name: 'www.example.com', ttl: 300, data: '192.0.2.1' }

function response(packet: Partial<Packet> = {}): Buffer {
  return encode({ type: 'response', id: 7, flags: 0x0180, questions: [question], ...packet })
}

function reasonOf(packet: Buffer): string {
  const decoded = decodeResponse(packet, question, TYPES)
  return decoded.ok ? 'it was read' : decoded.reason
}

// A response to `question` with one record, whose owner and everything after it are given in octets.
function withRecord(...octets: number[]): Buffer {
  const packet = Buffer.concat([response(), Buffer.from(octets)])
  packet.writeUInt16BE(1, 6)
  return packet
}

test('a response is read with its flags, records and extended errors', () => {
  const ede = { code: 15, data: Buffer.from('\u0000\u0016no reachable authority\u0000') }
  const opt = { type: 'OPT', name: '.', udpPayloadSize: 1232, extendedRcode: 0, flags: 0, options: [ede] }
  const soa: Answer = {
    type: 'SOA',
    name: 'example.com',
    ttl: 60,
    data: { mname: 'ns.example.com', rname: 'a.example.com' },
  }
  const packet = response({
    flags: 0x05b0,
    questions: [{ name: 'WWW.eXample.com', type: 'A' }],
    answers: [address],
    authorities: [soa],
    additionals: [opt as unknown as Answer], // the types know no EDE
  })
  expect(decodeResponse(packet, question, TYPES)).toEqual({
    ok: true,
    message: {
      rcode: 'NOERROR',
      flags: ['aa', 'rd', 'ra', 'ad', 'cd'],
      ede: [{ code: 22, text: 'no reachable authority' }],
      answer: [{ name: 'www.example.com', type: 'A', ttl: 300, value: '192.0.2.1' }],
      authority: [{ name: 'example.com', type: 'SOA', ttl: 60, value: 'ns.example.com a.example.com 0 0 0 0 0' }],
      additional: [],
    },
  })
})

test('a query is what another implementation understands', async () => {
  const { decode } = await import('dns-packet')
  const packet = encodeQuery(
    { name: '_x.example.com', type: 'CAA' },
    { edns: true, recursionDesired: true, checkingDisabled: false },
    TYPES,
  )
  const read = decode(packet)
  expect(read.questions).toEqual([{ name: '_x.example.com', type: 'CAA', class: 'IN' }])
  expect(read).toMatchObject({ type: 'query', flag_rd: true, flag_cd: false })
  expect(read.additionals).toMatchObject([
    { type: 'OPT', name: '.', udpPayloadSize: 1232, ednsVersion: 0, flag_do: false },
  ])
})

test('a query can go without EDNS, without RD and with CD', () => {
  const packet = encodeQuery(
    { name: '', type: 'NS' },
    { edns: false, recursionDesired: false, checkingDisabled: true },
    TYPES,
  )
  expect(packet.toString('hex')).toBe('0000001000010000000000000000020001')
})

test('a name on the wire is not confused with another that looks like it', () => {
  // One label `a.b`, then one with the octets of `ü`: not `a.b` and not a character.
  const packet = withRecord(3, 97, 46, 98, 2, 0xc3, 0xbc, 0, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 192, 0, 2, 1)
  const decoded = decodeResponse(packet, question, TYPES)
  expect(decoded.ok && decoded.message.answer[0]!.name).toBe('a\\046b.\\195\\188')
})

test('an escaped name is asked for as its octets', () => {
  const asked = { name: 'a\\046b.example', type: 'A' as const }
  const query = encodeQuery(asked, { edns: false, recursionDesired: true, checkingDisabled: false }, TYPES)
  expect(query.subarray(12, 16)).toEqual(Buffer.from([3, 97, 46, 98]))
  query.writeUInt16BE(0x8180, 2)
  expect(decodeResponse(query, asked, TYPES).ok).toBe(true)
})

test.each([
  ['', 'a'],
  ['\\046', '\\092046'], // one octet, and the four that its text is made of
])('an answer about another name than "%s" is refused', (name, other) => {
  const packet = encodeQuery(
    { name: other, type: 'NS' },
    { edns: false, recursionDesired: true, checkingDisabled: false },
    TYPES,
  )
  packet.writeUInt16BE(0x8180, 2)
  expect(decodeResponse(packet, { name, type: 'NS' }, TYPES)).toMatchObject({
    reason: 'the answer is for another question',
  })
  expect(decodeResponse(packet, { name: other, type: 'NS' }, TYPES).ok).toBe(true)
})

test('of a truncated response only the header is read', () => {
  const packet = response({ flags: 0x0380, answers: [address] })
  const decoded = decodeResponse(packet.subarray(0, packet.length - 3), question, TYPES)
  expect(decoded).toMatchObject({ ok: true, message: { flags: ['tc', 'rd', 'ra'], answer: [] } })
})

test('FORMERR needs neither question nor readable records', () => {
  const packet = Buffer.from('000781810001000000000001', 'hex')
  expect(decodeResponse(packet, question, TYPES)).toMatchObject({ ok: true, message: { rcode: 'FORMERR' } })
})

test.each(['81', '84'])('FORMERR and NOTIMP for another question are refused (%s)', (flags) => {
  const packet = Buffer.from(`00078${flags === '81' ? '181' : '184'}000100000000000001620000010001`, 'hex')
  expect(decodeResponse(packet, question, TYPES)).toMatchObject({
    ok: false,
    reason: 'the answer is for another question',
  })
})

test('a TTL with its first bit set counts as zero', () => {
  const decoded = decodeResponse(response({ answers: [{ ...address, ttl: 0x80000000 } as Answer] }), question, TYPES)
  expect(decoded.ok && decoded.message.answer[0]!.ttl).toBe(0)
})

test('an extended response code is put singleFlight from both its parts', () => {
  const opt = { type: 'OPT', name: '.', udpPayloadSize: 1232, extendedRcode: 1, flags: 0, options: [] }
  const decoded = decodeResponse(response({ additionals: [opt as unknown as Answer] }), question, TYPES)
  expect(decoded).toMatchObject({ ok: true, message: { rcode: 'BADVERS' } })
})

describe('what is no answer to the question is malformed', () => {
  const owner = [0xc0, 12]
  const rest = [0, 1, 0, 1, 0, 0, 0, 9]
  test.each<[string, Buffer, RegExp]>([
    ['nothing', Buffer.alloc(0), /shorter than a DNS header/],
    ['eleven octets', response().subarray(0, 11), /shorter than a DNS header/],
    ['the query itself', encode({ type: 'query', id: 7, questions: [question] }), /a query, not a response/],
    ['another opcode', response({ flags: 0x2180 }), /another opcode/],
    ['another name', response({ questions: [{ name: 'www.example.org', type: 'A' }] }), /another question/],
    ['another type', response({ questions: [{ name: 'www.example.com', type: 'AAAA' }] }), /another question/],
    ['another class', response({ questions: [{ ...question, class: 'CH' }] }), /another question/],
    ['no question', response({ questions: [] }), /exactly one question/],
    ['two questions', response({ questions: [question, question] }), /exactly one question/],
    ['has another class', response({ answers: [{ ...address, class: 'CH' } as Answer] }), /another class/],
    ['octets after the last record', Buffer.concat([response(), Buffer.from([0])]), /octets follow/],
    ['fewer records than it counts', withRecord(), /ends too early/],
    ['a pointer to itself', withRecord(0xc0, 33, ...rest, 0, 0), /pointer is invalid/],
    ['a pointer ahead', withRecord(0xc0, 40, ...rest, 0, 0), /pointer is invalid/],
    ['a pointer into the header', withRecord(0xc0, 2, ...rest, 0, 0), /pointer is invalid/],
    ['half a pointer', withRecord(0xc0), /ends too early/],
    ['a label of an unknown kind', withRecord(0x41, 0, ...rest, 0, 0), /unknown kind/],
    ['a label that reaches beyond the end', withRecord(63, 97), /ends too early/],
    ['rdata that reaches beyond the end', withRecord(...owner, ...rest, 0, 5, 192, 0, 2, 1), /beyond the end/],
    ['an address of three octets', withRecord(...owner, ...rest, 0, 3, 192, 0, 2), /wrong length/],
    ['two OPT records', response({ additionals: [opt(), opt()] }), /OPT record is misplaced/],
    ['OPT among the answers', response({ answers: [opt()] }), /OPT record is misplaced/],
  ])('%s', (_, packet, reason) => {
    expect(reasonOf(packet)).toMatch(reason)
  })

  test('a name longer than 255 octets', () => {
    const long = Array.from({ length: 5 }, () => [63, ...new Array<number>(63).fill(97)]).flat()
    expect(reasonOf(withRecord(...long, 0, ...rest, 0, 4, 192, 0, 2, 1))).toMatch(/longer than 255/)
  })
})

function opt(): Answer {
  return { type: 'OPT', name: '.', udpPayloadSize: 1232, extendedRcode: 0, flags: 0, options: [] } as unknown as Answer
}

test('a ladder of pointers is not climbed', () => {
  // Each step leads to the one before it: thousands of steps for every name that starts at its top.
  const head = withRecord(0, 0, 99, 0, 1, 0, 0, 0, 9, 0x20, 0)
  const ladder = Buffer.alloc(0x2000)
  for (let at = 0; at < ladder.length; at += 2) {
    ladder.writeUInt16BE(0xc000 | (at === 0 ? 12 : head.length + at - 2), at)
  }
  const top = head.length + ladder.length - 2
  const record = Buffer.from([0xc0 | (top >> 8), top & 255, 0, 99, 0, 1, 0, 0, 0, 9, 0, 0])
  const packet = Buffer.concat([head, ladder, record])
  packet.writeUInt16BE(2, 6)
  expect(reasonOf(packet)).toMatch(/too many compression pointers/)
})

describe('whatever comes, decoding returns', () => {
  test('random octets', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 600 }),
        (octets) => void decodeResponse(Buffer.from(octets), question, TYPES),
      ),
    )
  })

  test('a valid packet with some octets changed or cut off', () => {
    const answers: Answer[] = [
      { type: 'CNAME', name: 'www.example.com', ttl: 1, data: 'a.example.com' },
      { type: 'MX', name: 'a.example.com', ttl: 1, data: { preference: 1, exchange: 'b.example.com' } },
      { type: 'TXT', name: 'a.example.com', ttl: 1, data: ['one', 'two'] },
      { type: 'CAA', name: 'a.example.com', ttl: 1, data: { flags: 0, tag: 'issue', value: 'ca.example' } },
      { type: 'SOA', name: 'a.example.com', ttl: 1, data: { mname: 'm.example.com', rname: 'r.example.com' } },
      { type: 'AAAA', name: 'a.example.com', ttl: 1, data: '2001:db8::1' },
    ]
    const valid = response({ answers, additionals: [opt()] })
    const change = fc.tuple(fc.nat({ max: valid.length - 1 }), fc.oneof(fc.nat({ max: 255 }), fc.constant(0xc0)))
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), fc.nat({ max: valid.length }), (changes, length) => {
        const packet = Buffer.from(valid)
        for (const [at, octet] of changes) if (at > 3) packet[at] = octet
        decodeResponse(packet, question, TYPES)
        decodeResponse(packet.subarray(0, length), question, TYPES)
      }),
      { numRuns: 2_000 },
    )
  })
})
