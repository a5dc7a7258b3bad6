import { expect, test } from 'vitest'
import { nameToWire } from '../names.ts'
import { parseNsec } from './dnssec-records.ts'
import { decodeSignedMessage, TYPE } from './wire-records.ts'

/** A response for `Example.COM` with one record; its rdata may point to the question's name at offset 12. */
function recordOf(type: number, rdata: Buffer) {
  const header = Buffer.from('000084000001000100000000', 'hex')
  const question = Buffer.concat([Buffer.from('\x07Example\x03COM\0', 'latin1'), Buffer.from([0, type, 0, 1])])
  const fixed = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 1, 0, 0, rdata.length])
  return decodeSignedMessage(Buffer.concat([header, question, fixed, rdata]))?.answer[0]
}

const text = (value: string) => Buffer.from(value, 'latin1')
const POINTER = Buffer.from([0xc0, 12])
const MAIL = nameToWire('mail.example.com')

// RFC 4034 section 6.2.
test.each([
  ['NS', [text('\x04MAIL'), POINTER], [MAIL]],
  ['CNAME', [text('\x04MAIL'), POINTER], [MAIL]],
  ['MX', [text('\0\x0a\x04Mail'), POINTER], [text('\0\x0a'), MAIL]],
  ['SRV', [text('\0\x01\0\x02\0\x03\x04mail\x07eXAMPLE\x03Com\0')], [text('\0\x01\0\x02\0\x03'), MAIL]],
  [
    'NAPTR',
    [text('\0\x01\0\x02\x01U\x03Sip\x01!\x04MAIL\x07example\x03com\0')],
    [text('\0\x01\0\x02\x01U\x03Sip\x01!'), MAIL],
  ],
  [
    'SOA',
    [POINTER, text('\x04MAIL'), POINTER, Buffer.alloc(20, 1)],
    [nameToWire('example.com'), MAIL, Buffer.alloc(20, 1)],
  ],
] as const)('names in the rdata of %s are in lower case and uncompressed', (type, rdata, canonical) => {
  expect(recordOf(TYPE[type], Buffer.concat(rdata))).toEqual({
    name: 'example.com',
    type: TYPE[type],
    rdata: Buffer.concat(canonical),
  })
})

// RFC 6840 section 5.1.
test('the next name of an NSEC record keeps its case for the signature, and is compared in lower case', () => {
  const rdata = text('\x04MAIL\x07Example\x03COM\0\0\x01\x40')
  const record = recordOf(TYPE.NSEC, rdata)!
  expect(record.rdata).toEqual(rdata)
  expect(parseNsec(record)).toMatchObject({ owner: 'example.com', next: 'mail.example.com' })
})

// RFC 4034 section 4.1.2.
test.each([
  ['in ascending order', '\0\x01\x40\x01\x01\x40', true],
  ['repeated', '\0\x01\x40\0\x01\x40', false],
  ['in descending order', '\x01\x01\x40\0\x01\x40', false],
  ['empty', '\0\0', false],
  ['too long', `\0\x21${'\x01'.repeat(33)}`, false],
  ['cut', '\0\x02\x40', false],
])('windows of a type bitmap that are %s', (_, bitmap, isValid) => {
  const record = { name: 'example.com', type: TYPE.NSEC, rdata: text(`\x04mail\x07example\x03com\0${bitmap}`) }
  expect(parseNsec(record) !== undefined).toBe(isValid)
})
