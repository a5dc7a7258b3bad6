import fc from 'fast-check'
import { testRecordType } from '../testing/record-type-suite.ts'

const SHA_256 = 'd4b7d520e7bb5f0f67674a0cceb1e3e0614b93c4f9e99b8383f6a1e4469da50a' // RFC 4509 section 2.3
const SHA_1 = '2bb183af5f22588179a53b0a98631fad1a292118' // RFC 4034 section 5.4

testRecordType('DS', {
  record: fc
    .tuple(fc.nat(65_535), fc.constantFrom(8, 13, 15), fc.uint8Array({ minLength: 32, maxLength: 32 }))
    .map(([tag, algorithm, digest]) => `${tag} ${algorithm} 2 ${Buffer.from(digest).toString('hex')}`),
  rdata: [
    [`ec450502${SHA_256}`, `60485 5 2 ${SHA_256}`],
    [`ec450501${SHA_1}`, `60485 5 1 ${SHA_1}`],
  ],
  malformed: ['', 'ec45', 'ec450501'],
  stored: [
    [`60485 RSASHA1 SHA-256 ${SHA_256.toUpperCase()}`, `60485 5 2 ${SHA_256}`],
    [`60485 5 1 ( 2BB183AF5F22588179A5\n3B0A98631FAD1A292118 )`, `60485 5 1 ${SHA_1}`],
  ],
  refused: [
    [`60485 5 ${SHA_1}`, 'is not a valid DS record. Use the format "key-tag algorithm digest-type digest", as in'],
    [`60485 5 2 ${SHA_1}`, 'The digest has 20 octets. Type 2 has 32.'],
    [`70000 5 1 ${SHA_1}`, 'The key tag "70000" is invalid. It must be a number from 0 to 65535.'],
  ],
  flexible: [
    [`60485 5 2 ${SHA_256}`, [`60485 5 1 ${SHA_1}`, `60485 5 2 ${SHA_256}`], true],
    ['60485 * * *', [`60485 5 1 ${SHA_1}`], true],
    ['2371 * * *', [`60485 5 1 ${SHA_1}`], false],
  ],
  zone: [`@ DS 60485 5 1 ( 2BB183AF5F22588179A5\n 3B0A98631FAD1A292118 )`, `60485 5 1 ${SHA_1}`],
  monitored: {
    name: 'dskey.example.com',
    expected: `60485 5 2 ${SHA_256.toUpperCase()}`,
    found: `60485 5 2 ${SHA_256}`,
    other: `60485 5 1 ${SHA_1}`,
  },
})
