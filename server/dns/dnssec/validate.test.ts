import { expect, test } from 'vitest'
import { packetOf, type Response } from '../../testing/signed-zone.ts'
import { createZoneSigner, givenSignedZone } from '../../testing/zone-signer.ts'
import { nameToWire } from '../names.ts'
import { parseDsText } from './dnssec-records.ts'

const { zone: ZONE, signer, wires, soa: SOA, validate } = givenSignedZone()
const { signRrset } = signer
const END = Date.parse('2040-01-01T00:00:00Z')
const WWW = wires(signRrset('www.example.com. 300 IN A 192.0.2.2\nwww.example.com. 300 IN A 192.0.2.1'))

const QUESTION = { question: ['www.example.com', 'A'] } as const
const SECURE = { kind: 'secure', expiresAt: END }
const www = { ...QUESTION, answer: WWW }

test('records in any order, and more than once, are secure', () => {
  expect(validate(www)).toEqual(SECURE)
  expect(validate({ ...QUESTION, answer: [WWW[2]!, WWW[1]!, WWW[0]!, WWW[1]!] })).toEqual(SECURE)
})

test('`expiresAt` is that of the signature that expires first, of those that are valid longest', () => {
  const times = { from: '20250101000000', until: '20270101000000' }
  const keys = packetOf({ question: [ZONE, 'DNSKEY'], answer: wires(signer.keys(times)) })
  expect(validate(www, { keyResponse: keys })).toEqual({ kind: 'secure', expiresAt: Date.parse('2027-01-01') })
  const both = packetOf({ question: [ZONE, 'DNSKEY'], answer: [...wires(signer.keys(times)), signer.keys()[1]!.wire] })
  expect(validate(www, { keyResponse: both })).toEqual(SECURE)
})

test('one valid signature is enough, whatever the others are', () => {
  const expired = signRrset('www.example.com. 300 IN A 192.0.2.1', { from: '20200101000000', until: '20210101000000' })
  const valid = signRrset('www.example.com. 300 IN A 192.0.2.1')
  const foreign = createZoneSigner(ZONE).signRrset('www.example.com. 300 IN A 192.0.2.1')
  const answer = wires([valid[0]!, expired[1]!, foreign[1]!, valid[1]!])
  expect(validate({ ...QUESTION, answer })).toEqual(SECURE)
  expect(validate({ ...QUESTION, answer: answer.slice(0, 3) })).toMatchObject({
    kind: 'bogus',
    cause: {
      code: 'signature_expired',
      params: { name: 'www.example.com', type: 'A', at: '2021-01-01T00:00:00.000Z' },
    },
  })
})

test('a signature of the future is not valid yet', () => {
  const answer = wires(
    signRrset('www.example.com. 300 IN A 192.0.2.1', { from: '20270101000000', until: '20280101000000' }),
  )
  expect(validate({ ...QUESTION, answer })).toMatchObject({
    kind: 'bogus',
    cause: { code: 'signature_not_yet_valid', params: { at: '2027-01-01T00:00:00.000Z' } },
  })
})

test('a signature by a key that the zone does not publish is bogus', () => {
  const answer = wires(createZoneSigner(ZONE).signRrset('www.example.com. 300 IN A 192.0.2.1'))
  expect(validate({ ...QUESTION, answer })).toMatchObject({ kind: 'bogus', cause: { code: 'no_key_for_signature' } })
})

test.each([
  ['no DS records', [], { kind: 'unsigned', reason: 'no_ds' }],
  ['only an unsupported algorithm', ['1 12 2 00'], { kind: 'unsigned', reason: 'unsupported_algorithms' }],
  ['only an unsupported digest', ['1 13 3 00'], { kind: 'unsigned', reason: 'unsupported_algorithms' }],
  ['another key', ['1 15 2 00'], { kind: 'bogus', cause: { code: 'no_key_for_ds', params: { key_tags: [1] } } }],
  ['an old key beside this one', ['1 15 2 00', signer.ds], SECURE],
  ['an unsupported algorithm beside this one', ['1 12 2 00', signer.ds], SECURE],
])('with %s at the parent', (_, ds, verdict) => {
  expect(validate(www, { ds: ds.map((text) => parseDsText(text)!) })).toMatchObject(verdict)
})

test('SHA-1 digests are ignored beside stronger ones (RFC 4509 section 3)', () => {
  const ds = [parseDsText(`${signer.keyTag} 15 2 ${'00'.repeat(32)}`)!, parseDsText(`1 15 1 00`)!]
  expect(validate(www, { ds })).toMatchObject({
    cause: { code: 'no_key_for_ds', params: { key_tags: [signer.keyTag] } },
  })
})

test.each<[string, Buffer, object]>([
  ['without keys', packetOf({ question: [ZONE, 'DNSKEY'] }), { cause: { code: 'no_keys' } }],
  [
    'with unsigned keys',
    packetOf({ question: [ZONE, 'DNSKEY'], answer: wires(signer.keys()).slice(0, 1) }),
    { cause: { code: 'keys_unsigned' } },
  ],
  [
    'with expired signatures of its keys',
    packetOf({
      question: [ZONE, 'DNSKEY'],
      answer: wires(signer.keys({ from: '20200101000000', until: '20210101000000' })),
    }),
    { cause: { code: 'signature_expired', params: { name: ZONE, type: 'DNSKEY' } } },
  ],
  ['that refuses', packetOf({ question: [ZONE, 'DNSKEY'], rcode: 5 }), { kind: 'unknown', reason: 'no_answer' }],
  ['that sends nonsense', Buffer.from([1, 2, 3]), { kind: 'unknown', reason: 'malformed' }],
])('a server %s', (_, packet, verdict) => {
  expect(validate(www, { keyResponse: packet })).toMatchObject(verdict)
})

const ALIAS = wires(signRrset('a.example.com. 300 IN CNAME www.example.com.'))
const OUTSIDE = wires(signRrset('a.example.com. 300 IN CNAME www.example.net.'))
const NSEC = wires(signRrset('www.example.com. 300 IN NSEC example.com. A RRSIG NSEC'))
const CNAME_QUESTION = { question: ['a.example.com', 'A'] } as const

test.each<[string, Response, object]>([
  ['a CNAME chain', { ...CNAME_QUESTION, answer: [...ALIAS, ...WWW] }, SECURE],
  ['a CNAME record to another zone', { ...CNAME_QUESTION, answer: OUTSIDE }, SECURE],
  ['a CNAME chain that the server does not follow', { ...CNAME_QUESTION, answer: ALIAS }, SECURE],
  [
    'a CNAME chain whose end has no such record',
    { question: ['a.example.com', 'AAAA'], answer: ALIAS, authority: [...SOA, ...NSEC] },
    SECURE,
  ],
  [
    'a CNAME chain whose end is denied without proof',
    { question: ['a.example.com', 'AAAA'], answer: ALIAS, authority: SOA },
    { cause: { code: 'missing_denial', params: { name: 'www.example.com', type: 'AAAA' } } },
  ],
  [
    'a CNAME chain with an unsigned end',
    { ...CNAME_QUESTION, answer: [...ALIAS, WWW[0]!] },
    { cause: { code: 'missing_signature', params: { name: 'www.example.com', type: 'A' } } },
  ],
  [
    'an unsigned CNAME record',
    { ...CNAME_QUESTION, answer: [ALIAS[0]!, ...WWW] },
    { cause: { code: 'missing_signature', params: { name: 'a.example.com', type: 'CNAME' } } },
  ],
])('%s', (_, response, verdict) => {
  expect(validate(response)).toMatchObject(verdict)
})

const DNAME = wires(signRrset('d.example.com. 300 IN DNAME e.example.com.'))
const unsigned = (text: string) => signRrset(text)[0]!.wire
const TARGET = wires(signRrset('x.e.example.com. 300 IN A 192.0.2.1'))

test.each<[string, Response, object]>([
  [
    'the CNAME record that follows from a DNAME record needs no signature',
    {
      question: ['x.d.example.com', 'A'],
      answer: [...DNAME, unsigned('x.d.example.com. 300 IN CNAME x.e.example.com.'), ...TARGET],
    },
    SECURE,
  ],
  [
    'so does an answer to a query for it',
    {
      question: ['x.d.example.com', 'CNAME'],
      answer: [...DNAME, unsigned('x.d.example.com. 300 IN CNAME x.e.example.com.')],
    },
    SECURE,
  ],
  [
    'another target than the DNAME record gives is bogus',
    {
      question: ['x.d.example.com', 'A'],
      answer: [...DNAME, unsigned('x.d.example.com. 300 IN CNAME www.example.com.'), ...WWW],
    },
    { cause: { code: 'bad_dname', params: { name: 'x.d.example.com' } } },
  ],
  [
    'a DNAME record without signature is bogus',
    { question: ['x.d.example.com', 'A'], answer: [DNAME[0]!, ...TARGET] },
    { cause: { code: 'missing_signature', params: { name: 'd.example.com', type: 'DNAME' } } },
  ],
])('%s', (_, response, verdict) => {
  expect(validate(response)).toMatchObject(verdict)
})

test.each<[string, Response]>([
  [
    'signed by the zone below',
    {
      question: ['www.sub.example.com', 'A'],
      answer: wires(createZoneSigner('sub.example.com').signRrset('www.sub.example.com. 300 IN A 192.0.2.1')),
    },
  ],
  [
    'denied by the zone below',
    { question: ['www.sub.example.com', 'A'], authority: [unsigned('sub.example.com. 300 IN SOA . . 1 2 3 4 5')] },
  ],
  [
    'referred to the zone below',
    { question: ['www.sub.example.com', 'A'], authority: [unsigned('sub.example.com. 300 IN NS ns.example.net.')] },
  ],
])('what is %s is not judged by the keys of this one', (_, response) => {
  expect(validate(response)).toEqual({ kind: 'unknown', reason: 'other_zone' })
})

test('a signature with fewer labels than its zone has is not used', () => {
  const [record, signature] = wires(signRrset('*.com. 300 IN A 192.0.2.1'))
  const answer = [record!, signature!].map((wire) => Buffer.concat([nameToWire('x.example.com'), wire.subarray(7)]))
  expect(validate({ question: ['x.example.com', 'A'], answer })).toMatchObject({ cause: { code: 'missing_signature' } })
})

test('a signature in the name of another zone is not used, even if it is by the key of this one', () => {
  const answer = wires(signRrset('www.example.com. 300 IN A 192.0.2.1', undefined, 'com'))
  expect(validate({ ...QUESTION, answer })).toMatchObject({ cause: { code: 'missing_signature' } })
})

test.each([
  ['that is none of the zone', '1 3'],
  ['that is revoked (RFC 5011 section 2.1)', '385 3'],
  ['for another protocol', '257 4'],
])('a key %s is not used', (_, flags) => {
  const other = createZoneSigner(ZONE, flags)
  const keys = packetOf({ question: [ZONE, 'DNSKEY'], answer: wires(other.keys()) })
  const answer = wires(other.signRrset('www.example.com. 300 IN A 192.0.2.1'))
  const verdict = validate({ ...QUESTION, answer }, { keyResponse: keys, ds: [parseDsText(other.ds)!] })
  expect(verdict).toMatchObject({ cause: { code: 'no_key_for_ds' } })
})

test.each(['1 15 2', `${signer.keyTag} 13 2`])(
  'a DS record that begins with %s does not match, whatever its digest is',
  (head) => {
    const ds = [parseDsText(signer.ds.replace(/^\d+ 15 2/, head))!]
    expect(validate(www, { ds })).toMatchObject({ cause: { code: 'no_key_for_ds' } })
  },
)

test('a response can cause only a bounded number of signature checks (CVE-2023-50387)', () => {
  const valid = signRrset('www.example.com. 300 IN A 192.0.2.1')
  const forged = Array.from({ length: 200 }, (_, index) => {
    const wire = Buffer.from(valid[1]!.wire)
    wire.writeUInt16BE(index, wire.length - 2)
    return wire
  })
  const answer = [valid[0]!.wire, ...forged, valid[1]!.wire]
  expect(validate({ ...QUESTION, answer })).toEqual({ kind: 'unknown', reason: 'too_much_work' })
})

test('the DNSKEY records must be signed by the key of the DS record, not only by another one', () => {
  const other = createZoneSigner(ZONE)
  const keys = packetOf({ question: [ZONE, 'DNSKEY'], answer: wires(other.signRrset(`${signer.key}\n${other.key}`)) })
  expect(validate(www, { keyResponse: keys })).toMatchObject({ cause: { code: 'keys_unsigned' } })
})

test('records in a response that denies the name are not read', () => {
  expect(validate({ ...www, rcode: 3 })).toEqual({ kind: 'unknown', reason: 'malformed' })
})
