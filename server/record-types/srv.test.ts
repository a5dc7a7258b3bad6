import fc from 'fast-check'
import { testRecordType } from '../testing/record-type-suite.ts'

const uint16 = fc.nat(65_535)

testRecordType('SRV', {
  record: fc
    .tuple(uint16, uint16, uint16, fc.constantFrom('sip.example.com', '_x.a.example', '.'))
    .map((fields) => fields.join(' ')),
  rdata: [
    ['000a000513c403536970074578616d706c6503636f6d00', '10 5 5060 sip.example.com'],
    ['00000000000000', '0 0 0 .'],
    ['000a000513c4c00c', '10 5 5060 a.example'], // a compressed target
  ],
  malformed: ['', '000a000513', '000a000513c4', '000a000513c4036162', '000a000513c40000', '000a000513c4c0ff'],
  stored: [
    ['10  05 5060 SIP.Example.com.', '10 5 5060 sip.example.com'],
    ['( 10 5\n 5060 sip.example.com )', '10 5 5060 sip.example.com'],
    ['10 5 5060 john\\.doe.example.com', '10 5 5060 john\\046doe.example.com'],
  ],
  refused: [
    [
      'sip.example.com',
      '"sip.example.com" is not a valid SRV record. Use the format "priority weight port target", as in',
    ],
    ['10 5 5060 sip.example.com 1', 'is not a valid SRV record'],
    ['10 5 65536 sip.example.com', 'The port "65536" is invalid. It must be a number from 0 to 65535.'],
    ['1e1 5 1 sip.example.com', 'The priority "1e1" is invalid'],
    ['10 5 5060 *.', '"*." is not a host name'],
    ['10 5 5060 192.0.2.1', 'is an IP address. Use a host name'],
    [
      '* 5 5060 sip.example.com',
      'A field with * needs is_exact_match false. Use the complete record, or set is_exact_match to false.',
    ],
    ['10 5 5060 "sip', 'is not a valid SRV record'],
  ],
  flexible: [
    ['* * 5060 sip.example.com', ['10 5 5060 sip.example.com', '20 0 5060 backup.example.com'], true],
    ['* * 5061 sip.example.com', ['10 5 5060 sip.example.com'], false],
    ['* * * .', ['0 0 0 .'], true],
  ],
  zone: ['@ 300 IN SRV 10 5 5060 sip', '10 5 5060 sip.example.com'],
  monitored: {
    name: '_sip._tcp.example.com',
    expected: '10 5 5060 SIP.example.com.',
    found: '10 5 5060 sip.example.com',
    other: '0 0 0 .',
  },
})
