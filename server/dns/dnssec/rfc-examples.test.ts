import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  packetOf,
  parseZone,
  type Response,
  readZone,
  signedRrset,
  type ZoneRecord,
} from '../../testing/signed-zone.ts'
import { nameToWire } from '../names.ts'
import { matchesDs } from './algorithms.ts'
import { type Dnskey, parseDnskey, parseDsText } from './dnssec-records.ts'
import { nsec3Hash } from './nsec3.ts'
import { serialToInstant, toRrsets, verifyRrset } from './signatures.ts'
import { validateResponse } from './validate.ts'
import { RESPONSE_STEPS, ValidationWork } from './validation-work.ts'
import { decodeSignedMessage, TYPE } from './wire-records.ts'

const fixture = (name: string) => readZone(`server/testing/fixtures/dnssec/${name}-example.zone`)

function keysOf(zone: readonly ZoneRecord[], name: string): Dnskey[] {
  const records = zone.filter((each) => each.name === name && each.type === 'DNSKEY').map(({ wire }) => wire)
  const { answer } = decodeSignedMessage(packetOf({ question: [name, 'DNSKEY'], answer: records }))!
  return answer.map(({ rdata }) => parseDnskey(rdata)!)
}

/** The responses of appendix B, with a DS record for the key signing key, which the RFCs leave to the parent zone. */
function responder(zone: readonly ZoneRecord[], validAt: string, keyTag: number) {
  const key = keysOf(zone, 'example').find((each) => each.keyTag === keyTag)!
  const digest = createHash('sha256').update(nameToWire('example')).update(key.rdata).digest()
  const trust = {
    zone: 'example',
    ds: [{ keyTag, algorithm: key.algorithm, digestType: 2, digest }],
    keyResponse: packetOf({ question: ['example', 'DNSKEY'], answer: signedRrset(zone, 'example', 'DNSKEY') }),
    now: Date.parse(validAt),
  }
  const rrset = (name: string, type: string, owner?: string) => signedRrset(zone, name, type, owner)
  return {
    rrset,
    validate(response: Response) {
      const [name, type] = response.question
      const question = { name, type: TYPE[type as keyof typeof TYPE] }
      return validateResponse({ ...trust, response: packetOf(response), question })
    },
  }
}

const NXDOMAIN = 3

const rfc4035 = responder(fixture('rfc4035'), '2004-04-20T00:00:00Z', 9465)
const nsec = (...owners: string[]) => [
  ...rfc4035.rrset('example', 'SOA'),
  ...owners.flatMap((owner) => rfc4035.rrset(owner, 'NSEC')),
]

const SECURE_4035 = { kind: 'secure', expiresAt: Date.parse('2004-05-09T18:36:19Z') }

test.each<[string, Response]>([
  ['B.1 answer', { question: ['x.w.example', 'MX'], answer: rfc4035.rrset('x.w.example', 'MX') }],
  ['B.2 name error', { question: ['ml.example', 'A'], rcode: NXDOMAIN, authority: nsec('b.example', 'example') }],
  ['B.3 no data', { question: ['ns1.example', 'MX'], authority: nsec('ns1.example') }],
  [
    'B.6 wildcard expansion',
    {
      question: ['a.z.w.example', 'MX'],
      answer: rfc4035.rrset('*.w.example', 'MX', 'a.z.w.example'),
      authority: nsec('x.y.w.example'),
    },
  ],
  ['B.7 wildcard no data', { question: ['a.z.w.example', 'AAAA'], authority: nsec('x.y.w.example', '*.w.example') }],
  ['B.8 DS child zone no data', { question: ['example', 'DS'], authority: nsec('example') }],
])('RFC 4035 appendix %s is secure', (_, response) => {
  expect(rfc4035.validate(response)).toEqual(SECURE_4035)
})

test.each<[string, Response]>([
  ['B.4 and B.5 referrals', { question: ['mc.b.example', 'MX'], authority: rfc4035.rrset('b.example', 'NSEC') }],
])('RFC 4035 appendix %s deny nothing below the cut', (_, response) => {
  expect(rfc4035.validate(response)).toMatchObject({ kind: 'bogus', cause: { code: 'bad_denial' } })
})

test.each<[string, Response, string]>([
  [
    'the proof for the wildcard',
    { question: ['ml.example', 'A'], rcode: NXDOMAIN, authority: nsec('b.example') },
    'bad_denial',
  ],
  [
    'the proof for the name',
    { question: ['ml.example', 'A'], rcode: NXDOMAIN, authority: nsec('example') },
    'bad_denial',
  ],
  ['every NSEC record', { question: ['ns1.example', 'MX'], authority: nsec() }, 'missing_denial'],
  ['the type in the bitmap', { question: ['ns1.example', 'A'], authority: nsec('ns1.example') }, 'bad_denial'],
  [
    'the proof that the wildcard applies',
    { question: ['a.z.w.example', 'MX'], answer: rfc4035.rrset('*.w.example', 'MX', 'a.z.w.example') },
    'bad_wildcard',
  ],
  [
    'a proof for this name',
    {
      question: ['a.z.w.example', 'MX'],
      answer: rfc4035.rrset('*.w.example', 'MX', 'a.z.w.example'),
      authority: nsec('b.example'),
    },
    'bad_wildcard',
  ],
  ['the wildcard in no data', { question: ['a.z.w.example', 'AAAA'], authority: nsec('x.y.w.example') }, 'bad_denial'],
  [
    'a signature',
    { question: ['x.w.example', 'MX'], answer: rfc4035.rrset('x.w.example', 'MX').slice(0, 1) },
    'missing_signature',
  ],
  [
    'the records of the signature',
    {
      question: ['x.w.example', 'MX'],
      answer: [
        ...rfc4035.rrset('x.w.example', 'MX').slice(1),
        ...rfc4035.rrset('*.w.example', 'MX', 'x.w.example').slice(0, 1),
      ],
    },
    'invalid_signature',
  ],
])('without %s, an example of RFC 4035 is bogus', (_, response, code) => {
  expect(rfc4035.validate(response)).toMatchObject({ kind: 'bogus', cause: { code } })
})

const rfc5155 = responder(fixture('rfc5155'), '2010-01-01T00:00:00Z', 12708)
const nsec3 = (...hashes: string[]) => [
  ...rfc5155.rrset('example', 'SOA'),
  ...hashes.flatMap((hash) => rfc5155.rrset(`${hash}.example`, 'NSEC3')),
]
const SECURE_5155 = { kind: 'secure', expiresAt: Date.parse('2015-04-20T23:59:59Z') }
const OPT_OUT = { kind: 'unsigned', reason: 'opt_out' }
const APEX = '0p9mhaveqvm6t7vbl5lop2u3t2rp3tom'
const X_W = 'b4um86eghhds6nea196smvmlo4ors995'
const A = '35mthgpgcu1qg68fab165klnsnk3dpvl'
const NS1 = '2t7b4g4vsa5smi47k61mv5bv1a22bojr'
const Y_W = 'ji6neoaepv8b5o6k4ev33abha8ht9fgc'
const W = 'k8udemvp1j2f7eg6jebps17vp3n8i58h'
const NS2 = 'q04jkcevqvmu85r014c7dkba38o0ji5r'
const WILDCARD = 'r53bq7cc2uvmubfu5ocmm6pers9tk9en'

test.each<[string, Response, object]>([
  [
    'B.1 name error, with opt-out',
    { question: ['a.c.x.w.example', 'A'], rcode: NXDOMAIN, authority: nsec3(APEX, X_W, A) },
    OPT_OUT,
  ],
  ['B.2 no data', { question: ['ns1.example', 'MX'], authority: nsec3(NS1) }, SECURE_5155],
  ['B.2.1 no data, empty non-terminal', { question: ['y.w.example', 'A'], authority: nsec3(Y_W) }, SECURE_5155],
  [
    'B.4 wildcard expansion',
    {
      question: ['a.z.w.example', 'MX'],
      answer: rfc5155.rrset('*.w.example', 'MX', 'a.z.w.example'),
      authority: nsec3(NS2),
    },
    OPT_OUT,
  ],
  ['B.5 wildcard no data', { question: ['a.z.w.example', 'AAAA'], authority: nsec3(W, NS2, WILDCARD) }, OPT_OUT],
  ['B.6 DS child zone no data', { question: ['example', 'DS'], authority: nsec3(APEX) }, SECURE_5155],
  ['B.3 DS of an unsigned delegation', { question: ['c.example', 'DS'], authority: nsec3(A, APEX) }, OPT_OUT],
])('RFC 5155 appendix %s', (_, response, verdict) => {
  expect(rfc5155.validate(response)).toEqual(verdict)
})

test.each<[string, Response, string]>([
  [
    'the closest encloser',
    { question: ['a.c.x.w.example', 'A'], rcode: NXDOMAIN, authority: nsec3(APEX, A) },
    'bad_denial',
  ],
  [
    'the next closer name',
    { question: ['a.c.x.w.example', 'A'], rcode: NXDOMAIN, authority: nsec3(X_W, A) },
    'bad_denial',
  ],
  ['the wildcard', { question: ['a.c.x.w.example', 'A'], rcode: NXDOMAIN, authority: nsec3(APEX, X_W) }, 'bad_denial'],
  ['the type in the bitmap', { question: ['ns1.example', 'A'], authority: nsec3(NS1) }, 'bad_denial'],
  [
    'the proof that the wildcard applies',
    {
      question: ['a.z.w.example', 'MX'],
      answer: rfc5155.rrset('*.w.example', 'MX', 'a.z.w.example'),
      authority: nsec3(NS1),
    },
    'bad_wildcard',
  ],
])('without %s, an example of RFC 5155 is bogus', (_, response, code) => {
  expect(rfc5155.validate(response)).toMatchObject({ kind: 'bogus', cause: { code } })
})

test.each([
  ['example', APEX],
  ['a.example', A],
  ['ns1.example', NS1],
  ['*.w.example', WILDCARD],
  ['xx.example', 't644ebqk9bibcna874givr6joj62mlhv'],
])('the NSEC3 hash of %s is that of RFC 5155 appendix A', (name, text) => {
  const digits = [...text].map((digit) => Number.parseInt(digit, 32).toString(2).padStart(5, '0'))
  const octets = digits
    .join('')
    .match(/.{8}/g)!
    .map((bits) => Number.parseInt(bits, 2))
  expect(nsec3Hash(name, Buffer.from('aabbccdd', 'hex'), 12)).toEqual(Buffer.from(octets))
})

/** RFC 5702 section 6, RFC 6605 section 6, RFC 8080 section 6 with the signatures of erratum 4935. */
const EXAMPLES = [
  [
    'RSASHA256',
    '2010-08-20T00:00:00Z',
    undefined,
    `example.net. 3600 IN DNSKEY 256 3 8 AwEAAcFcGsaxxdgiuuGmCkVImy4h99CqT7jwY3pexPGcnUFtR2Fh36BponcwtkZ4cAgtvd4Qs8PkxUdp6p/DlUmObdk=
     www.example.net. 3600 IN A 192.0.2.91
     www.example.net. 3600 IN RRSIG A 8 3 3600 20300101000000 20000101000000 9033 example.net. kRCOH6u7l0QGy9qpC9l1sLncJcOKFLJ7GhiUOibu4teYp5VE9RncriShZNz85mwlMgNEacFYK/lPtPiVYP4bwg==`,
  ],
  [
    'RSASHA512',
    '2010-08-20T00:00:00Z',
    undefined,
    `example.net. 3600 IN DNSKEY 256 3 10 AwEAAdHoNTOW+et86KuJOWRDp1pndvwb6Y83nSVXXyLA3DLroROUkN6X0O6pnWnjJQujX/AyhqFDxj13tOnD9u/1kTg7cV6rklMrZDtJCQ5PCl/D7QNPsgVsMu1J2Q8gpMpztNFLpPBz1bWXjDtaR7ZQBlZ3PFY12ZTSncorffcGmhOL
     www.example.net. 3600 IN A 192.0.2.91
     www.example.net. 3600 IN RRSIG A 10 3 3600 20300101000000 20000101000000 3740 example.net. tsb4wnjRUDnB1BUi+t6TMTXThjVnG+eCkWqjvvjhzQL1d0YRoOe0CbxrVDYd0xDtsuJRaeUw1ep94PzEWzr0iGYgZBWm/zpq+9fOuagYJRfDqfReKBzMweOLDiNa8iP5g9vMhpuv6OPlvpXwm9Sa9ZXIbNl1MBGk0fthPgxdDLw=`,
  ],
  [
    'ECDSAP256SHA256',
    '2010-08-20T00:00:00Z',
    '55648 13 2 b4c8c1fe2e7477127b27115656ad6256f424625bf5c1e2770ce6d6e37df61d17',
    `example.net. 3600 IN DNSKEY 257 3 13 GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==
     www.example.net. 3600 IN A 192.0.2.1
     www.example.net. 3600 IN RRSIG A 13 3 3600 20100909100439 20100812100439 55648 example.net. qx6wLYqmh+l9oCKTN6qIc+bw6ya+KJ8oMz0YP107epXAyGmt+3SNruPFKG7tZoLBLlUzGGus7ZwmwWep666VCw==`,
  ],
  [
    'ECDSAP384SHA384',
    '2010-08-20T00:00:00Z',
    '10771 14 4 72d7b62976ce06438e9c0bf319013cf801f09ecc84b8d7e9495f27e305c6a9b0563a9b5f4d288405c3008a946df983d6',
    `example.net. 3600 IN DNSKEY 257 3 14 xKYaNhWdGOfJ+nPrL8/arkwf2EY3MDJ+SErKivBVSum1w/egsXvSADtNJhyem5RCOpgQ6K8X1DRSEkrbYQ+OB+v8/uX45NBwY8rp65F6Glur8I/mlVNgF6W/qTI37m40
     www.example.net. 3600 IN A 192.0.2.1
     www.example.net. 3600 IN RRSIG A 14 3 3600 20100909102025 20100812102025 10771 example.net. /L5hDKIvGDyI1fcARX3z65qrmPsVz73QD1Mr5CEqOiLP95hxQouuroGCeZOvzFaxsT8Glr74hbavRKayJNuydCuzWTSSPdz7wnqXL5bdcJzusdnI0RSMROxxwGipWcJm`,
  ],
  [
    'ED25519',
    '2015-08-05T00:00:00Z',
    '3613 15 2 3aa5ab37efce57f737fc1627013fee07bdf241bd10f3b1964ab55c78e79a304b',
    `example.com. 3600 IN DNSKEY 257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=
     example.com. 3600 IN MX 10 mail.example.com.
     example.com. 3600 IN RRSIG MX 15 2 3600 20150819220000 20150729220000 3613 example.com. oL9krJun7xfBOIWcGHi7mag5/hdZrKWw15jPGrHpjQeRAvTdszaPD+QLs3fx8A4M3e23mRZ9VrbpMngwcrqNAg==`,
  ],
  [
    'ED448',
    '2015-08-05T00:00:00Z',
    '9713 16 2 6ccf18d5bc5d7fc2fceb1d59d17321402f2aa8d368048db93dd811f5cb2b19c7',
    `example.com. 3600 IN DNSKEY 257 3 16 3kgROaDjrh0H2iuixWBrc8g2EpBBLCdGzHmn+G2MpTPhpj/OiBVHHSfPodx1FYYUcJKm1MDpJtIA
     example.com. 3600 IN MX 10 mail.example.com.
     example.com. 3600 IN RRSIG MX 16 2 3600 20150819220000 20150729220000 9713 example.com. 3cPAHkmlnxcDHMyg7vFC34l0blBhuG1qpwLmjInI8w1CMB29FkEAIJUA0amxWndkmnBZ6SKiwZSAxGILn/NBtOXft0+Gj7FSvOKxE/07+4RQvE581N3Aj/JtIyaiYVdnYtyMWbSNyGEY2213WKsJlwEA`,
  ],
] as const

describe.each(EXAMPLES)('%s', (_, validAt, ds, text) => {
  const records = parseZone(text)
  const [key, record] = records as [ZoneRecord, ZoneRecord]
  const keys = keysOf(records, key.name)
  const verify = (changed: readonly ZoneRecord[], now = Date.parse(validAt)) => {
    const { type } = record
    const packet = packetOf({ question: [record.name, type], answer: signedRrset(changed, record.name, type) })
    const [rrset] = toRrsets(decodeSignedMessage(packet)!.answer)
    return verifyRrset(rrset!, { zone: key.name, keys, now, work: new ValidationWork(RESPONSE_STEPS) })
  }

  test('the DS record of the RFC, if it has one, matches the key', () => {
    expect(ds === undefined || matchesDs(parseDsText(ds)!, key.name, keys[0]!)).toBe(true)
  })

  test('the signature of the RFC is valid', () => {
    expect(verify(records)).toMatchObject({ kind: 'secure' })
  })

  test('it is invalid for other data', () => {
    const others = records.map((each) => (each === record ? { ...each, wire: withLastOctet(each.wire, 9) } : each))
    expect(verify(others)).toMatchObject({ kind: 'bogus', cause: { code: 'invalid_signature' } })
  })
})

function withLastOctet(octets: Buffer, octet: number): Buffer {
  const copy = Buffer.from(octets)
  copy[copy.length - 2] = octet
  return copy
}

test.each([
  ['one second before its inception', '2010-08-12T10:04:38Z', 'signature_not_yet_valid'],
  ['at its inception', '2010-08-12T10:04:39Z', 'secure'],
  ['in the second of its expiration', '2010-09-09T10:04:39.999Z', 'secure'],
  ['one second after its expiration', '2010-09-09T10:04:40Z', 'signature_expired'],
])('a signature %s', (_, now, expected) => {
  const records = parseZone(EXAMPLES[2][3])
  const packet = packetOf({ question: ['www.example.net', 'A'], answer: signedRrset(records, 'www.example.net', 'A') })
  const [rrset] = toRrsets(decodeSignedMessage(packet)!.answer)
  const signing = {
    zone: 'example.net',
    keys: keysOf(records, 'example.net'),
    now: Date.parse(now),
    work: new ValidationWork(RESPONSE_STEPS),
  }
  const result = verifyRrset(rrset!, signing)
  expect(result.kind === 'bogus' ? result.cause.code : result.kind).toBe(expected)
})

// RFC 4034 section 3.1.5: the times of signatures begin again in 2106.
test.each([
  [0, '2106-02-07T06:28:16Z', '2106-02-07T06:28:16Z'],
  [100, '2106-02-07T06:28:15Z', '2106-02-07T06:29:56Z'],
  [0xffffffff, '2106-02-07T06:28:17Z', '2106-02-07T06:28:15Z'],
  [1_284_026_679, '2026-01-01T00:00:00Z', '2010-09-09T10:04:39Z'],
])('second %i, read at %s, is %s', (seconds, now, instant) => {
  expect(serialToInstant(seconds, Date.parse(now))).toBe(Date.parse(instant))
})
