import fc from 'fast-check'
import { testRecordType } from '../testing/record-type-suite.ts'

const SHA_256 = 'a87f1b687ac0e57d2a081a2f282672334d90ed316d2b818ca9580ea384d92401' // RFC 7479
const SHA_1 = '123456789abcdef67890123456789abcdef67890' // RFC 4255 section 3.2

testRecordType('SSHFP', {
  record: fc
    .tuple(fc.constantFrom(1, 3, 4), fc.uint8Array({ minLength: 32, maxLength: 32 }))
    .map(([algorithm, digest]) => `${algorithm} 2 ${Buffer.from(digest).toString('hex')}`),
  rdata: [
    [`0402${SHA_256}`, `4 2 ${SHA_256}`],
    [`0201${SHA_1}`, `2 1 ${SHA_1}`],
  ],
  malformed: ['', '04', '0402'],
  stored: [
    [`4 2 ${SHA_256.toUpperCase()}`, `4 2 ${SHA_256}`],
    [`4 2 ${SHA_256.replace(/.{4}/g, '$& ')}`, `4 2 ${SHA_256}`],
  ],
  refused: [
    [SHA_256, 'is not a valid SSHFP record. Use the format "algorithm fingerprint-type fingerprint", as in 4 2'],
    [`4 1 ${SHA_256}`, 'The fingerprint has 32 octets. Type 1 has 20.'],
    [`4 SHA256 ${SHA_256}`, 'The fingerprint type "SHA256" is invalid. It must be a number from 0 to 255.'],
  ],
  flexible: [
    [`4 2 ${SHA_256}`, [`2 1 ${SHA_1}`, `4 2 ${SHA_256}`], true],
    ['1 * *', [`4 2 ${SHA_256}`], false],
  ],
  zone: [`@ SSHFP 4 2 ${SHA_256.toUpperCase()}`, `4 2 ${SHA_256}`],
  monitored: {
    name: 'host.example.com',
    expected: `4 2 ${SHA_256.toUpperCase()}`,
    found: `4 2 ${SHA_256}`,
    other: `2 1 ${SHA_1}`,
  },
})
