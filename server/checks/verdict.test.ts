import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CnameChain, Outcome, QuestionType } from '../dns/outcome.ts'
import { type Expectation, fingerprint, judge } from './verdict.ts'

const EXPECTATION: Expectation = {
  recordType: 'A',
  expectedValues: ['192.0.2.1'],
  isExactMatch: true,
  owner: 'www.example.com',
}

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
      'www.example.com answers 192.0.2.7; 203.0.113.5 was expected.',
    ],
    [
      { expectedValues: ['192.0.2.1', '192.0.2.3'] },
      answer('A', ['192.0.2.2', '192.0.2.1']),
      'MISMATCH',
      ['192.0.2.1', '192.0.2.2'],
      'www.example.com answers 192.0.2.1 and 192.0.2.2; 192.0.2.3 was expected, and 192.0.2.2 was not expected.',
    ],
    [
      {},
      answer('A', ['192.0.2.1', '192.0.2.2', '192.0.2.3']),
      'MISMATCH',
      ['192.0.2.1', '192.0.2.2', '192.0.2.3'],
      'www.example.com answers 192.0.2.1, 192.0.2.2 and 192.0.2.3; 192.0.2.2 and 192.0.2.3 were not expected.',
    ],
    [
      { recordType: 'CNAME', expectedValues: ['pop7.cdn.example'], isExactMatch: false },
      { ...answer('CNAME', ['edge.cdn.example']), chain: ALIASES.slice(1) },
      'VALID',
      ['edge.cdn.example'],
      'www.example.com answers edge.cdn.example, as expected.',
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
      { recordType: 'CNAME', expectedValues: ['edge.cdn.example'] },
      { kind: 'nodata', chain: [] },
      'NO_DATA',
      [],
      'www.example.com exists but has no CNAME record.',
    ],
    [
      { recordType: 'SPF', expectedValues: ['v=spf1 -all'] },
      answer('TXT', ['token=1']),
      'NO_DATA',
      [],
      'www.example.com exists but has no SPF record among its TXT records.',
    ],
    [
      { recordType: 'SPF', expectedValues: ['v=spf1 -all'] },
      answer('TXT', ['v=spf1 -all', 'V=SPF1 mx -all']),
      'BAD_SETUP',
      undefined,
      'www.example.com has 2 SPF records; only one is allowed.',
    ],
    [
      {},
      { kind: 'endless_alias', chain: [...ALIASES, { name: 'pop7.cdn.example', target: 'edge.cdn.example', ttl: 1 }] },
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
      'www.example.com cannot be resolved: no name server of the zone can be reached (SERVFAIL, EDE 7: signature expired, EDE 22).',
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
    const verdict = judge({ ...EXPECTATION, ...expectation }, outcome)
    expect(verdict).toStrictEqual(values === undefined ? { state, reason } : { state, values, reason })
  })
})

test('a long chain is told apart from a loop', () => {
  const chain = Array.from({ length: 17 }, (_, index) => ({
    name: `a${index}.test`,
    target: `a${index + 1}.test`,
    ttl: 1,
  }))
  const { reason } = judge({ ...EXPECTATION, owner: 'a0.test' }, { kind: 'endless_alias', chain })
  expect(reason).toBe('The CNAME chain of a0.test is too long (a0.test → a1.test → a2.test → a3.test → a4.test → …).')
})

test('the sentence about many long texts stays short', () => {
  const texts = Array.from({ length: 40 }, (_, index) => `${index} ${'x'.repeat(5000)}`)
  const { reason } = judge({ ...EXPECTATION, recordType: 'TXT' }, answer('TXT', texts))
  expect(reason.length).toBeLessThan(1000)
  expect(reason).toMatch(/…" and 35 more; 192\.0\.2\.1 was expected\.$/)
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
  fc.record({ kind: fc.constantFrom('nodata' as const, 'nxdomain' as const, 'endless_alias' as const), chain }),
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
      const [first, second] = [judge(expectation, one), judge(expectation, other)]
      expect([first.state, first.values]).toEqual([second.state, second.values])
      // A reason may tell details, and only where no values were found.
      if (first.values?.length) expect(first.reason).toBe(second.reason)
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
    { kind: 'endless_alias', chain: ALIASES },
    { kind: 'lame', zone: 'example.com', nameServers: [], reason: '' },
    { kind: 'failure', rcode: 'SERVFAIL', ede: [] },
    { kind: 'timeout' },
  ]
  const prints = outcomes.map(fingerprint)
  expect(new Set(prints).size).toBe(outcomes.length)
  expect(prints.every((print) => Number.isSafeInteger(print) && print >= 0)).toBe(true)
})

test("an answer of the zone's own name servers names them", () => {
  const reasonOf = (servers: string[]) => judge(EXPECTATION, answer('A', ['192.0.2.7']), servers).reason
  expect(reasonOf(['ns1.example.com'])).toBe(
    "The zone's name server ns1.example.com answers 192.0.2.7; 192.0.2.1 was expected.",
  )
  expect(reasonOf(['ns1.example.com', 'ns2.example.com'])).toBe(
    "The zone's name servers ns1.example.com and ns2.example.com answer 192.0.2.7; 192.0.2.1 was expected.",
  )
})

test('what fails validation is said to, and a lame zone is BAD_SETUP', () => {
  const bogus: Outcome = { kind: 'failure', rcode: 'SERVFAIL', ede: [{ code: 6, text: '' }], bogus: true }
  expect(judge(EXPECTATION, bogus)).toEqual({
    state: 'INVALID',
    reason: 'www.example.com fails DNSSEC validation (SERVFAIL, EDE 6).',
  })
  const lame: Outcome = { kind: 'lame', zone: 'example.com', nameServers: [], reason: 'nobody serves it' }
  expect(judge(EXPECTATION, lame)).toEqual({
    state: 'BAD_SETUP',
    reason: 'www.example.com cannot be resolved: nobody serves it.',
  })
})

function answer(type: QuestionType, values: string[], ttl = 60) {
  return { kind: 'answer' as const, rrset: { name: 'www.example.com', type, ttl, values }, chain: [] }
}
