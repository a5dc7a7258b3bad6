import { expect, test } from 'vitest'
import type { Response } from '../../testing/signed-zone.ts'
import { givenSignedZone } from '../../testing/zone-signer.ts'
import { nameToWire } from '../names.ts'
import { parseNsec3 } from './dnssec-records.ts'
import { Nsec3Chain, nsec3Hash } from './nsec3.ts'
import { ValidationWork } from './validation-work.ts'
import { TYPE } from './wire-records.ts'

const { zone: ZONE, signer, wires, soa: SOA, validate } = givenSignedZone()
const { signRrset } = signer
const SECURE = { kind: 'secure', expiresAt: Date.parse('2040-01-01T00:00:00Z') }

const base32 = (octets: Buffer) =>
  [...octets]
    .map((octet) => octet.toString(2).padStart(8, '0'))
    .join('')
    .match(/.{5}/g)!
    .map((bits) => Number.parseInt(bits, 2).toString(32))
    .join('')

/** An NSEC3 record that covers every hash but that of the zone, whose types it has. */
function nsec3(iterations: number, optOut = 0): Buffer[] {
  const own = base32(nsec3Hash(ZONE, Buffer.alloc(0), iterations))
  return wires(signRrset(`${own}.${ZONE}. 300 IN NSEC3 1 ${optOut} ${iterations} - ${own} SOA NS DNSKEY RRSIG`))
}

test.each([
  [0, SECURE],
  [150, SECURE],
  [151, { kind: 'unsigned', reason: 'nsec3_iterations' }],
  [65_535, { kind: 'unsigned', reason: 'nsec3_iterations' }],
])('NSEC3 records with %i iterations', (iterations, verdict) => {
  const response = { question: ['x.example.com', 'A'], rcode: 3, authority: [...SOA, ...nsec3(iterations)] } as const
  expect(validate(response)).toEqual(verdict)
})

test('a name of many labels can cause only a bounded number of hashes (CVE-2023-50868)', () => {
  const response = (labels: number): Response => ({
    question: [`${'x.'.repeat(labels)}example.com`, 'A'],
    rcode: 3,
    authority: [...SOA, ...nsec3(150)],
  })
  expect(validate(response(17))).toEqual(SECURE)
  expect(validate(response(20))).toEqual({ kind: 'unknown', reason: 'too_much_work' })
})

test('hashing ends when the work is done', () => {
  const work = new ValidationWork(300)
  const salt = Buffer.alloc(0)
  const rdata = Buffer.from([1, 0, 0, 150, 0, 20, ...nsec3Hash(ZONE, salt, 150)])
  const record = parseNsec3({ name: `${base32(nsec3Hash(ZONE, salt, 150))}.${ZONE}`, type: TYPE.NSEC3, rdata })!
  expect(new Nsec3Chain([record], ZONE, work).proveNxdomain(`${'x.'.repeat(100)}${ZONE}`)).toBe('too_much_work')
  expect(work.left).toBe(0)
})

/** A chain of NSEC3 records without opt-out: names with their types. */
function nsec3Chain(names: Record<string, string>): Buffer[] {
  const hashes = Object.keys(names).map((name) => ({ name, hash: base32(nsec3Hash(name, Buffer.alloc(0), 0)) }))
  hashes.sort((one, other) => (one.hash < other.hash ? -1 : 1))
  return hashes.flatMap(({ name, hash }, index) => {
    const next = hashes[(index + 1) % hashes.length]!.hash
    return wires(signRrset(`${hash}.${ZONE}. 300 IN NSEC3 1 0 0 - ${next} ${names[name]}`))
  })
}

const APEX = { [ZONE]: 'SOA NS DNSKEY RRSIG' }

test.each<[string, Response, string]>([
  [
    'a name without NSEC3 record has no data',
    { question: ['x.example.com', 'A'], authority: [...SOA, ...nsec3(0)] },
    'bad_denial',
  ],
  [
    'a name below a delegation does not exist',
    {
      question: ['x.d.example.com', 'A'],
      rcode: 3,
      authority: [...SOA, ...nsec3Chain({ ...APEX, 'd.example.com': 'NS' })],
    },
    'bad_denial',
  ],
  [
    'a name below a DNAME record does not exist',
    {
      question: ['x.d.example.com', 'A'],
      rcode: 3,
      authority: [...SOA, ...nsec3Chain({ ...APEX, 'd.example.com': 'DNAME RRSIG' })],
    },
    'bad_denial',
  ],
  [
    'a record with unknown flags counts',
    { question: ['x.example.com', 'A'], rcode: 3, authority: [...SOA, ...nsec3(0, 2)] },
    'bad_denial',
  ],
])('NSEC3 records do not prove that %s', (_, response, code) => {
  expect(validate(response)).toMatchObject({ kind: 'bogus', cause: { code } })
})

test('with opt-out, a name that does not exist may be an unsigned delegation', () => {
  const response = { question: ['x.example.com', 'A'], rcode: 3, authority: [...SOA, ...nsec3(0, 1)] } as const
  expect(validate(response)).toEqual({ kind: 'unsigned', reason: 'opt_out' })
})

const secureDenial = (text: string, types = 'A RRSIG NSEC') => wires(signRrset(`${text} ${types}`))

test.each<[string, Buffer[], object]>([
  ['an NSEC record of the name', secureDenial('b.example.com. 300 IN NSEC c.example.com.', 'TXT'), SECURE],
  [
    'an NSEC record of the name with the type',
    secureDenial('b.example.com. 300 IN NSEC c.example.com.'),
    { cause: { code: 'bad_denial' } },
  ],
  [
    'one with CNAME',
    secureDenial('b.example.com. 300 IN NSEC c.example.com.', 'CNAME'),
    { cause: { code: 'bad_denial' } },
  ],
  [
    'one of a delegation',
    secureDenial('b.example.com. 300 IN NSEC c.example.com.', 'NS'),
    { cause: { code: 'bad_denial' } },
  ],
  ['one before a name below it', secureDenial('a.example.com. 300 IN NSEC x.b.example.com.'), SECURE],
  [
    'one whose signature expired',
    wires(
      signRrset('b.example.com. 300 IN NSEC c.example.com. TXT', { from: '20200101000000', until: '20210101000000' }),
    ),
    { cause: { code: 'signature_expired' } },
  ],
  ['none', [], { cause: { code: 'missing_denial' } }],
])('no data with %s', (_, records, verdict) => {
  expect(validate({ question: ['b.example.com', 'A'], authority: [...SOA, ...records] })).toMatchObject(verdict)
})

const denied = (name: string, ...records: Buffer[][]): Response => ({
  question: [name, 'A'],
  rcode: 3,
  authority: [...SOA, ...records.flat()],
})
const apexNsec = wires(signRrset('example.com. 300 IN NSEC b.example.com. SOA NS RRSIG NSEC DNSKEY'))
const lastNsec = secureDenial('b.example.com. 300 IN NSEC example.com.', 'TXT')

test.each<[string, Response, object]>([
  ['a name after the last one', denied('z.example.com', apexNsec, lastNsec), SECURE],
  [
    'a name below a delegation',
    denied('z.b.example.com', secureDenial('b.example.com. 300 IN NSEC c.example.com.', 'NS')),
    { cause: { code: 'bad_denial' } },
  ],
  [
    'a name below a DNAME record',
    denied('z.b.example.com', secureDenial('b.example.com. 300 IN NSEC c.example.com.', 'DNAME')),
    { cause: { code: 'bad_denial' } },
  ],
  [
    'a name above another one',
    denied('b.example.com', apexNsec, secureDenial('a.example.com. 300 IN NSEC x.b.example.com.')),
    { cause: { code: 'bad_denial' } },
  ],
])('the denial of %s', (_, response, verdict) => {
  expect(validate(response)).toMatchObject(verdict)
})

test('a wildcard does not answer for names below one that exists', () => {
  const answer = wires(signRrset('*.example.com. 300 IN A 192.0.2.1')).map((wire) =>
    Buffer.concat([nameToWire('z.b.example.com'), wire.subarray(nameToWire('*.example.com').length)]),
  )
  const response: Response = { question: ['z.b.example.com', 'A'], answer, authority: lastNsec }
  expect(validate(response)).toMatchObject({ cause: { code: 'bad_wildcard' } })
})
