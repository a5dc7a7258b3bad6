import fc from 'fast-check'
import { testRecordType } from '../testing/record-type-suite.ts'
import { quoteOctets } from './presentation.ts'

const SIP = '100 10 "U" "E2U+sip" "!^.*$!sip:info@example.com!" .'
const HTTP = '100 50 "S" "http+N2L+N2C+N2R" "" www.example.com' // RFC 3403 section 6.2

testRecordType('NAPTR', {
  record: fc
    .tuple(fc.nat(65_535), fc.nat(65_535), fc.constantFrom('"U"', '"S"', '""'), fc.uint8Array({ maxLength: 255 }))
    .map(
      ([order, preference, flags, text]) => `${order} ${preference} ${flags} "x" ${quoteOctets(Buffer.from(text))} .`,
    ),
  rdata: [
    ['0064000a0175074532552b7369701b215e2e2a24217369703a696e666f406578616d706c652e636f6d2100', SIP],
    ['00640032017310687474702b4e324c2b4e32432b4e32520003777777076578616d706c6503636f6d00', HTTP],
    ['00010001000561225c07ff0378207900', '1 1 "" "a\\"\\\\\\007\\255" "x y" .'],
  ],
  malformed: ['', '0064', '0064000a', '0064000a0275', '0064000a00000000ff', '0064000a000000'],
  stored: [
    ['100 10 u E2U+sip "!^.*$!sip:info@example.com!" .', SIP],
    ['100 50 "s" "http+N2L+N2C+N2R" "" WWW.example.com.', HTTP],
    ['1 1 "" "a\\"\\\\\\007\\255" "x\\032y" .', '1 1 "" "a\\"\\\\\\007\\255" "x y" .'],
    ['1 1 "" "ü" "" .', '1 1 "" "\\195\\188" "" .'],
  ],
  refused: [
    [
      '100 10 "u" "E2U+sip" .',
      'is not a valid NAPTR record. Use the format "order preference flags services expression replacement", as in',
    ],
    [`100 10 "u" "${'x'.repeat(256)}" "" .`, 'The services have 256 octets. At most 255 are allowed.'],
    ['100 10 "u" "E2U+sip" "!^.*$! .', 'is not a valid NAPTR record'],
  ],
  flexible: [
    ['* * "U" "E2U+sip" * .', [SIP, HTTP], true],
    ['* * "U" "*" * .', [SIP], false],
    ['* * * "e2u+sip" * .', [SIP], false],
  ],
  zone: ['@ NAPTR 100 50 "s" "http+N2L+N2C+N2R" "" www', HTTP],
  monitored: { name: '4.3.2.1.e164.arpa', expected: SIP, found: SIP, other: HTTP },
})
