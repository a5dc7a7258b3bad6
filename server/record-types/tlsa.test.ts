import fc from 'fast-check'
import { testRecordType } from '../testing/record-type-suite.ts'

const SHA_256 = '0c72ac70b745ac19998811b131d662c9ac69dbdbe7cb23e5b514b56664c5d3d6'
const OTHER = 'ab'.repeat(32)

testRecordType('TLSA', {
  record: fc
    .tuple(fc.nat(3), fc.nat(1), fc.uint8Array({ minLength: 32, maxLength: 32 }))
    .map(([usage, selector, digest]) => `${usage} ${selector} 1 ${Buffer.from(digest).toString('hex')}`),
  rdata: [
    [`030101${SHA_256}`, `3 1 1 ${SHA_256}`],
    [`030101${OTHER}`, `3 1 1 ${OTHER}`],
    ['03000030', '3 0 0 30'],
  ],
  malformed: ['', '0301', '030101'],
  stored: [
    [`3 1 1 ${SHA_256.toUpperCase().replace(/.{8}/g, '$& ')}`, `3 1 1 ${SHA_256}`],
    [`DANE-EE spki SHA2-256 ${SHA_256}`, `3 1 1 ${SHA_256}`],
    [`3 1 1 (\n  ${SHA_256.slice(0, 32)}\n  ${SHA_256.slice(32)} )`, `3 1 1 ${SHA_256}`],
    ['0 0 0 308202', '0 0 0 308202'],
    [`\\# 35 030101${SHA_256}`, `3 1 1 ${SHA_256}`],
  ],
  refused: [
    ['3 1 1', 'is not a valid TLSA record. Use the format "usage selector matching-type data", as in'],
    ['3 1 1 0c72', 'The digest has 2 octets. Type 1 has 32.'],
    [`3 1 2 ${SHA_256}`, 'The digest has 32 octets. Type 2 has 64.'],
    ['3 1 0 0c7', 'The data "0c7" is not hexadecimal'],
    ['3 1 0 xy', 'The data "xy" is not hexadecimal'],
    [`256 1 1 ${SHA_256}`, 'The usage "256" is invalid. It must be a number from 0 to 255.'],
  ],
  flexible: [
    [`3 1 1 ${SHA_256}`, [`3 1 1 ${SHA_256}`, `3 1 1 ${OTHER}`], true],
    [`* * * ${SHA_256}`, [`2 1 1 ${SHA_256}`], true],
    ['3 1 1 *', [`2 1 1 ${SHA_256}`], false],
    ['3 1 1 *', [`3 1 1 ${OTHER}`], true],
  ],
  zone: [`@ TLSA 3 1 1 ( ${SHA_256.slice(0, 30)}\n ${SHA_256.slice(30).toUpperCase()} )`, `3 1 1 ${SHA_256}`],
  monitored: {
    name: '_443._tcp.www.example.com',
    expected: `DANE-EE SPKI SHA2-256 ${SHA_256.toUpperCase()}`,
    found: `3 1 1 ${SHA_256}`,
    other: `3 1 1 ${OTHER}`,
  },
})
