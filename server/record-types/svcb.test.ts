import fc from 'fast-check'
import { testRecordType } from '../testing/record-type-suite.ts'

// Of RFC 9460 appendix D, without the owner.
const FOO = '03666f6f076578616d706c6503636f6d00'
const FOO_ORG = '03666f6f076578616d706c65036f726700'
const ECH = 'AEX+DQBB'

const params = fc
  .tuple(
    fc.subarray(['h2', 'h3', 'http/1.1'], { minLength: 1 }),
    fc.option(fc.nat(65_535)),
    fc.option(fc.ipV4()),
    fc.option(fc.stringMatching(/^[a-z0-9/?{}=]{1,20}$/)),
  )
  .map(([alpn, port, ip, path]) =>
    [
      `alpn=${alpn.sort().join(',')}`,
      ...(port === null ? [] : [`port=${port}`]),
      ...(ip === null ? [] : [`ipv4hint=${ip}`]),
      ...(path === null ? [] : [`dohpath=${path}`]),
    ].join(' '),
  )

for (const [type, name] of [
  ['SVCB', '_dns.resolver.example'],
  ['HTTPS', 'www.example.com'],
] as const) {
  testRecordType(type, {
    record: fc.tuple(fc.integer({ min: 1, max: 65_535 }), params).map(([priority, all]) => `${priority} . ${all}`),
    rdata: [
      [`0001${FOO}00010006026832026833000300020035`, '1 foo.example.com alpn=h2,h3 port=53'],
      [`0000${FOO}`, '0 foo.example.com'],
      ['000100', '1 .'],
      [`0010${FOO}000300020035`, '16 foo.example.com port=53'],
      [`0001${FOO}029b000568656c6c6f`, '1 foo.example.com key667=hello'],
      [`0001${FOO}029b000968656c6c6fd2716f6f`, '1 foo.example.com key667="hello\\210qoo"'],
      [
        `0001${FOO}0006002020010db800000000000000000053000120010db8000000000000000000000001`,
        '1 foo.example.com ipv6hint=2001:db8::1,2001:db8::53:1',
      ],
      [
        `0010${FOO_ORG}000000040001000400010009026832 0568332d3139 00040004c0000201`.replaceAll(' ', ''),
        '16 foo.example.org mandatory=alpn,ipv4hint alpn=h2,h3-19 ipv4hint=192.0.2.1',
      ],
      [`0010${FOO_ORG}0001000c08665c6f6f2c626172026832`, '16 foo.example.org alpn="f\\\\\\\\oo\\\\,bar,h2"'],
      [`0001000001000302683200020000${'00050006'}0045fe0d0041`, `1 . alpn=h2 no-default-alpn ech=${ECH}`],
      // In AliasMode parameters are ignored.
      [`0000${FOO}000300020035`, '0 foo.example.com'],
      ['000100ffdc0000', '1 . key65500'],
    ],
    malformed: [
      '',
      '0001',
      '00010003000200', // cut off
      '0001000003', // without a length
      '000100000300020035000300020035', // a key twice
      '00010000030002003500010003026832', // out of order
      '00010000030001ff', // a port of one octet
      '0001000001000003', // a length past the end
      '000100000100020368', // a protocol past its list
      '0001000001000100', // an empty protocol
      '00010000010000', // no protocol
      '0001000002000100', // no-default-alpn with a value
      '00010000040003c00002', // an address of three octets
      '00010000040000', // no address
      '00010000000002000000030002003500', // mandatory names itself
      '00010000000004000300030003000200350', // mandatory names a key twice
    ],
    stored: [
      ['1 . port=53 ALPN="h3,h2"', '1 . alpn=h2,h3 port=53'],
      ['1 Foo.Example.com. ipv4hint=192.0.2.2,192.0.2.1', '1 foo.example.com ipv4hint=192.0.2.1,192.0.2.2'],
      ['1 . ipv6hint="2001:db8:122:344::192.0.2.33"', '1 . ipv6hint=2001:db8:122:344::c000:221'],
      [
        '16 foo.example.org. alpn=h2,h3-19 mandatory=ipv4hint,alpn ipv4hint=192.0.2.1',
        '16 foo.example.org mandatory=alpn,ipv4hint alpn=h2,h3-19 ipv4hint=192.0.2.1',
      ],
      ['16 . alpn="f\\\\\\\\oo\\\\,bar,h2"', '16 . alpn="f\\\\\\\\oo\\\\,bar,h2"'],
      ['16 . alpn=f\\\\\\092oo\\092,bar,h2', '16 . alpn="f\\\\\\\\oo\\\\,bar,h2"'],
      ['1 . key1=\\002h2', '1 . alpn="\\002h2"'],
      ['1 . key667="a b"', '1 . key667="a b"'],
      ['1 . key667', '1 . key667'],
      ['1 . key667=""', '1 . key667'],
      ['1 . no-default-alpn alpn=h2', '1 . alpn=h2 no-default-alpn'],
      [`1 . alpn=h2 ech="${ECH}"`, `1 . alpn=h2 ech=${ECH}`],
      ['1 . dohpath="/dns-query{?dns}"', '1 . dohpath=/dns-query{?dns}'],
      ['0 svc.example.net.', '0 svc.example.net'],
    ],
    refused: [
      [
        'svc.example.net',
        `is not a valid ${type} record. Use the format "priority target key=value…", as in 1 . alpn=h2,h3.`,
      ],
      ['1 . key123=abc key123=def', 'The parameter key123 appears twice. Remove one.'],
      ['1 . mandatory', 'The value "" of mandatory is not a list of other parameters'],
      ['1 . alpn', 'The value "" of alpn is not a list of protocols'],
      ['1 . port=65536', 'The value "65536" of port is not a number from 0 to 65535.'],
      ['1 . ipv4hint=2001:db8::1', 'is not a list of IPv4 addresses'],
      ['1 . ipv6hint', 'is not a list of IPv6 addresses'],
      ['1 . alpn=h2 no-default-alpn=abc', 'The parameter no-default-alpn takes no value.'],
      ['1 . no-default-alpn', 'no-default-alpn needs alpn'],
      ['1 . mandatory=key123', 'mandatory names key123, which is not among the parameters'],
      ['1 . mandatory=mandatory', 'is not a list of other parameters'],
      ['1 . mandatory=key123,key123 key123=abc', 'is not a list of other parameters'],
      ['1 . ech=$', 'is not in Base64'],
      ['1 . foo=bar', '"foo" is not a parameter. Use one like alpn, port or key65400.'],
      ['1 . key65535=bar', '"key65535" is not a parameter'],
      ['0 svc.example.net port=53', 'A record with priority 0 is an alias and has no parameters'],
      ['* . alpn=h2', 'needs is_exact_match false'],
    ],
    flexible: [
      ['1 . alpn=h2', ['1 . alpn=h2,h3 port=53', '2 other.example'], true],
      ['* * alpn=h3,h2', ['1 . alpn=h2,h3'], true],
      ['1 . alpn=h4', ['1 . alpn=h2,h3'], false],
      ['2 . alpn=h2', ['1 . alpn=h2'], false],
      ['1 other.example', ['1 . alpn=h2'], false],
      ['* . mandatory=port', ['1 . mandatory=alpn,port alpn=h2 port=53'], true],
      ['* . ech=AEX+DQBB', ['1 . alpn=h2'], false],
      ['* . ipv4hint=192.0.2.1', ['1 . ipv4hint=192.0.2.1,192.0.2.2'], true],
    ],
    zone: [`@ ${type} 1 foo port=53 alpn="h3,h2"`, '1 foo.example.com alpn=h2,h3 port=53'],
    monitored: {
      name,
      expected: '1 foo.example.com. port=53 alpn="h3,h2"',
      found: '1 foo.example.com alpn=h2,h3 port=53',
      other: '0 foo.example.com',
    },
  })
}
