import { Ajv } from 'ajv'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { textOf, VerdictReasonAnswer } from '#contract/reasons.ts'
import type { CnameChain, Outcome, QuestionType } from '../dns/outcome.ts'
import { recordTypeOf } from '../record-types/record-types.ts'
import { fingerprint } from './fingerprint.ts'
import { type Expectation, evaluate } from './verdict.ts'

const EXPECTATION: Expectation = {
  recordType: recordTypeOf('A'),
  expectedValues: ['192.0.2.1'],
  isExactMatch: true,
  owner: 'www.example.com',
}

const isReason = new Ajv({ strict: false }).compile(VerdictReasonAnswer)

const ALIASES: CnameChain = [
  { name: 'www.example.com', target: 'edge.cdn.example', ttl: 60 },
  { name: 'edge.cdn.example', target: 'pop7.cdn.example', ttl: 60 },
]

describe('the verdict and its sentence', () => {
  test.each<[Partial<Expectation>, Outcome, string, string[] | undefined, string]>([
    [{}, answer('A', ['192.0.2.1']), 'VALID', ['192.0.2.1'], 'www.example.com answers 192.0.2.1, as expected.'],
    [
      { expectedValues: ['203.0.113.5'] },
      answer('A', ['192.0.2.7']),
      'MISMATCH',
      ['192.0.2.7'],
      'www.example.com answers 192.0.2.7 instead of 203.0.113.5.',
    ],
    [
      { expectedValues: ['192.0.2.1', '192.0.2.3'] },
      answer('A', ['192.0.2.2', '192.0.2.1']),
      'MISMATCH',
      ['192.0.2.1', '192.0.2.2'],
      'www.example.com answers 192.0.2.2 instead of 192.0.2.3.',
    ],
    [
      {},
      answer('A', ['192.0.2.1', '192.0.2.2', '192.0.2.3']),
      'MISMATCH',
      ['192.0.2.1', '192.0.2.2', '192.0.2.3'],
      'www.example.com answers 192.0.2.1, 192.0.2.2 and 192.0.2.3; not expected: 192.0.2.2 and 192.0.2.3.',
    ],
    [
      { recordType: recordTypeOf('CNAME'), expectedValues: ['pop7.cdn.example'], isExactMatch: false },
      { ...answer('CNAME', ['edge.cdn.example']), chain: ALIASES.slice(1) },
      'VALID',
      ['edge.cdn.example'],
      'www.example.com answers edge.cdn.example, as expected.',
    ],
    [
      { expectedValues: ['192.0.2.1', '192.0.2.2'] },
      answer('A', ['192.0.2.1']),
      'MISMATCH',
      ['192.0.2.1'],
      'www.example.com answers 192.0.2.1 without the expected 192.0.2.2.',
    ],
    [{}, { kind: 'nxdomain', chain: [] }, 'NOT_FOUND', [], 'www.example.com does not exist (NXDOMAIN).'],
    [
      {},
      { kind: 'nxdomain', chain: ALIASES },
      'NOT_FOUND',
      [],
      'www.example.com points to pop7.cdn.example (CNAME), which does not exist (NXDOMAIN).',
    ],
    [
      { recordType: recordTypeOf('CNAME'), expectedValues: ['edge.cdn.example'] },
      { kind: 'nodata', chain: [] },
      'NO_DATA',
      [],
      'www.example.com exists but has no CNAME record.',
    ],
    [
      { recordType: recordTypeOf('SPF'), expectedValues: ['v=spf1 -all'] },
      answer('TXT', ['token=1']),
      'NO_DATA',
      [],
      'www.example.com exists but has no SPF record.',
    ],
    [
      { recordType: recordTypeOf('SPF'), expectedValues: ['v=spf1 -all'] },
      answer('TXT', ['v=spf1 -all', 'V=SPF1 mx -all']),
      'BAD_SETUP',
      undefined,
      'www.example.com has 2 SPF records; only one is allowed.',
    ],
    [
      { recordType: recordTypeOf('TXT'), expectedValues: ['v=spf1 mx -all'], isExactMatch: false },
      answer('TXT', ['token=1', 'v=spf1 mx -all', 'v=spf1 -all']),
      'BAD_SETUP',
      undefined,
      'www.example.com has 2 SPF records; only one is allowed.',
    ],
    [
      { recordType: recordTypeOf('TXT'), expectedValues: ['v=DMARC1; p=reject'], isExactMatch: false },
      answer('TXT', ['token=1', 'v=DMARC1; p=none', 'V=DMARC1; p=reject; rua=mailto:a@x.example']),
      'BAD_SETUP',
      undefined,
      'www.example.com has 2 DMARC records; only one is allowed.',
    ],
    [
      { recordType: recordTypeOf('TXT'), expectedValues: ['token=1'], isExactMatch: false },
      answer('TXT', ['token=1', 'v=DMARC1; p=none', 'v=DMARC1; p=reject']),
      'VALID',
      ['token=1', 'v=DMARC1; p=none', 'v=DMARC1; p=reject'],
      'www.example.com answers token=1, "v=DMARC1; p=none" and "v=DMARC1; p=reject", as expected.',
    ],
    [
      {},
      { kind: 'cname_loop', chain: [...ALIASES, { name: 'pop7.cdn.example', target: 'edge.cdn.example', ttl: 1 }] },
      'BAD_SETUP',
      undefined,
      'CNAME loop at www.example.com (www.example.com → edge.cdn.example → pop7.cdn.example → edge.cdn.example).',
    ],
    [
      {},
      {
        kind: 'failure',
        rcode: 'SERVFAIL',
        ede: [
          { code: 7, text: 'signature\nexpired.' },
          { code: 22, text: '' },
        ],
      },
      'INVALID',
      undefined,
      'www.example.com cannot be resolved: no name server of the zone can be reached (SERVFAIL, Signature Expired (EDE 7): signature<U+000A>expired, No Reachable Authority (EDE 22)).',
    ],
    [
      {},
      { kind: 'malformed', reason: 'a name points forward' },
      'INVALID',
      undefined,
      'The answer for www.example.com is malformed: a name points forward.',
    ],
    [
      {},
      { kind: 'referral', chain: [], zone: 'com', nameServers: ['a.gtld.example'], glue: [], ttl: 60 },
      'INVALID',
      undefined,
      'www.example.com cannot be resolved: the name server answered with a referral.',
    ],
    [{}, { kind: 'timeout' }, 'TIMEOUT', undefined, 'www.example.com timed out: no name server answered in time.'],
    [
      {},
      { kind: 'unreachable', reason: 'ECONNREFUSED' },
      'TIMEOUT',
      undefined,
      'www.example.com cannot be resolved: no name server can be reached (ECONNREFUSED).',
    ],
  ])('%o %o is %s', (expectation, outcome, state, values, reason) => {
    const verdict = evaluate({ ...EXPECTATION, ...expectation }, outcome)
    expect([verdict.state, verdict.values, textOf(verdict.reason)]).toEqual([state, values, reason])
    expect([isReason({ ...verdict.reason, text: '' }), isReason.errors]).toEqual([true, null])
  })
})

test('a long chain and a loop have different reasons', () => {
  const chain = Array.from({ length: 17 }, (_, index) => ({
    name: `a${index}.test`,
    target: `a${index + 1}.test`,
    ttl: 1,
  }))
  const { reason } = evaluate({ ...EXPECTATION, owner: 'a0.test' }, { kind: 'cname_loop', chain })
  expect(textOf(reason)).toBe(
    'The CNAME chain of a0.test is too long (a0.test → a1.test → a2.test → a3.test → a4.test → …).',
  )
})

test('the sentence about many long texts stays short', () => {
  const texts = Array.from({ length: 40 }, (_, index) => `${index} ${'x'.repeat(5000)}`)
  const { reason } = evaluate({ ...EXPECTATION, recordType: recordTypeOf('TXT') }, answer('TXT', texts))
  expect(textOf(reason).length).toBeLessThan(1000)
  expect(textOf(reason)).toMatch(/…" and 35 more instead of 192\.0\.2\.1\.$/)
})

const value = fc.constantFrom('192.0.2.1', '192.0.2.2', '192.0.2.3')
const values = fc.array(value, { minLength: 1, maxLength: 4 })
const link = fc.record({
  name: fc.constantFrom('a.test', 'b.test'),
  target: fc.constantFrom('b.test', 'c.test'),
  ttl: fc.nat(9),
})
const chain = fc.array(link, { maxLength: 2 })
const ede = fc.array(fc.record({ code: fc.nat(29), text: fc.string() }), { maxLength: 2 })
const outcomes = fc.oneof(
  fc.record({
    kind: fc.constant('answer' as const),
    rrset: fc.record({ name: fc.constant('a.test'), type: fc.constant('A' as const), ttl: fc.nat(9), values }),
    chain,
  }),
  fc.record({ kind: fc.constantFrom('nodata' as const, 'nxdomain' as const, 'cname_loop' as const), chain }),
  fc.record({ kind: fc.constant('failure' as const), rcode: fc.constantFrom('SERVFAIL', 'REFUSED'), ede }),
  fc.record({ kind: fc.constantFrom('malformed' as const, 'unreachable' as const), reason: fc.string() }),
  fc.constant({ kind: 'timeout' as const }),
)

test('equal fingerprints have the same state and values under every expectation', () => {
  let equal = 0
  fc.assert(
    fc.property(outcomes, outcomes, values, fc.boolean(), (one, other, expectedValues, isExactMatch) => {
      if (fingerprint(one) !== fingerprint(other)) return
      equal++
      const expectation = { ...EXPECTATION, expectedValues, isExactMatch }
      const [first, second] = [evaluate(expectation, one), evaluate(expectation, other)]
      expect([first.state, first.values]).toEqual([second.state, second.values])
      // A reason may tell details, and only where no values were found.
      if (first.values?.length) expect(textOf(first.reason)).toBe(textOf(second.reason))
    }),
    { numRuns: 5000 },
  )
  expect(equal).toBeGreaterThan(100)
})

test('order, duplicates, TTL and what a server says about itself leave the fingerprint as it is', () => {
  const set = answer('A', ['192.0.2.1', '192.0.2.2'])
  const turned = answer('A', ['192.0.2.2', '192.0.2.1', '192.0.2.2'], 5)
  expect(fingerprint(turned)).toBe(fingerprint(set))
  expect(fingerprint({ ...set, chain: ALIASES })).toBe(fingerprint(set))
  const failures: Outcome[] = [
    { kind: 'failure', rcode: 'SERVFAIL', ede: [{ code: 7, text: 'x' }] },
    { kind: 'failure', rcode: 'REFUSED', ede: [] },
    { kind: 'malformed', reason: '' },
  ]
  expect(new Set(failures.map(fingerprint)).size).toBe(1)
  expect(fingerprint({ kind: 'unreachable', reason: '' })).toBe(fingerprint({ kind: 'timeout' }))
})

test('every fact that a judgement rests on changes the fingerprint', () => {
  const outcomes: Outcome[] = [
    answer('A', ['192.0.2.1']),
    answer('A', ['192.0.2.2']),
    answer('TXT', ['a', 'b']),
    answer('TXT', ['a","b']),
    answer('TXT', ['ab']),
    answer('TXT', ['AB']),
    { ...answer('CNAME', ['192.0.2.1']), chain: ALIASES },
    { ...answer('CNAME', ['192.0.2.1']), chain: ALIASES.slice(1) },
    { kind: 'nodata', chain: [] },
    { kind: 'nxdomain', chain: [] },
    { kind: 'cname_loop', chain: ALIASES },
    { kind: 'lame', zone: 'example.com', nameServers: [], reason: '' },
    { kind: 'failure', rcode: 'SERVFAIL', ede: [] },
    { kind: 'timeout' },
  ]
  const prints = outcomes.map(fingerprint)
  expect(new Set(prints).size).toBe(outcomes.length)
  expect(prints.every((print) => Number.isSafeInteger(print) && print >= 0)).toBe(true)
})

test('a mismatch says as data what is missing, unexpected and matched, and which RRset has to change', () => {
  const chain = [{ name: 'www.example.com', target: 'edge.example.net', ttl: 60 }]
  const found = answer('A', ['192.0.2.1', '192.0.2.9'])
  const outcome: Outcome = { ...found, rrset: { ...found.rrset, name: 'edge.example.net' }, chain }
  const { reason } = evaluate({ ...EXPECTATION, expectedValues: ['192.0.2.1', '192.0.2.3'] }, outcome)
  expect(reason).toEqual({
    code: 'unexpected_values',
    params: {
      name: 'www.example.com',
      record_type: 'A',
      observed: ['192.0.2.1', '192.0.2.9'],
      matched: ['192.0.2.1'],
      missing: ['192.0.2.3'],
      unexpected: ['192.0.2.9'],
      counts: { observed: 2, matched: 1, missing: 1, unexpected: 1 },
      record: { name: 'edge.example.net', type: 'A' },
    },
  })
})

test('a record that is absent is named with its expected values', () => {
  const expectation: Expectation = { ...EXPECTATION, recordType: recordTypeOf('SPF'), expectedValues: ['v=spf1 -all'] }
  expect(evaluate(expectation, { kind: 'nodata', chain: ALIASES }).reason).toEqual({
    code: 'no_records_at_target',
    params: {
      name: 'www.example.com',
      record_type: 'SPF',
      missing: ['v=spf1 -all'],
      target: 'pop7.cdn.example',
      record: { name: 'pop7.cdn.example', type: 'TXT' },
    },
  })
})

test('an answer that fails DNSSEC validation is INVALID, and a lame zone is BAD_SETUP', () => {
  const bogus: Outcome = { kind: 'failure', rcode: 'SERVFAIL', ede: [{ code: 6, text: '' }], bogus: true }
  const failed = evaluate(EXPECTATION, bogus)
  expect([failed.state, failed.reason.code]).toEqual(['INVALID', 'dnssec_failed'])
  expect(textOf(failed.reason)).toBe('www.example.com fails DNSSEC validation (SERVFAIL, DNSSEC Bogus (EDE 6)).')
  const lame: Outcome = { kind: 'lame', zone: 'example.com', nameServers: [], reason: 'nobody serves it' }
  const broken = evaluate(EXPECTATION, lame)
  expect([broken.state, broken.reason.code]).toEqual(['BAD_SETUP', 'lame_delegation'])
  expect(textOf(broken.reason)).toBe('www.example.com cannot be resolved: nobody serves it.')
})

function answer(type: QuestionType, values: string[], ttl = 60) {
  return { kind: 'answer' as const, rrset: { name: 'www.example.com', type, ttl, values }, chain: [] }
}

test('of several DMARC records, those that do not match are to be removed', () => {
  const texts = ['v=DMARC1; p=none', 'v=DMARC1; p=reject']
  const expectation = {
    ...EXPECTATION,
    recordType: recordTypeOf('TXT'),
    expectedValues: [texts[1]!],
    isExactMatch: false,
  }
  const { params } = evaluate(expectation, answer('TXT', ['token=1', ...texts])).reason
  expect(params).toMatchObject({ observed: texts, unexpected: [texts[0]], matched: [texts[1]], missing: [] })
})
