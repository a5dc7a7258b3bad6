import { expect, test } from 'vitest'
import { ADVICE, adviceFor, customerStepsOf, stepsOf } from './advice.ts'
import { differenceOf } from './difference.ts'
import { VERDICT_REASONS, type VerdictReason } from './reasons.ts'

const record = { name: 'www.example.com', type: 'A' }
const absent = { name: 'www.example.com', record_type: 'A', missing: ['192.0.2.1'], record }
const values = {
  ...absent,
  ...{ observed: ['198.51.100.7'], matched: [], unexpected: ['198.51.100.7'] },
  counts: { observed: 1, matched: 0, missing: 1, unexpected: 1 },
}
const chain = { name: 'www.example.com', chain: ['www.example.com', 'a.example', 'www.example.com'] }
const failure = { name: 'www.example.com', rcode: 'SERVFAIL', extended_errors: [] }
const detail = { name: 'www.example.com', detail: 'x' }

/** One verdict for each code. A code without a line here fails the last test. */
const VERDICTS: VerdictReason[] = [
  { code: 'unexpected_values', params: values },
  { code: 'missing_values', params: { ...values, unexpected: [] } },
  { code: 'extra_values', params: { ...values, missing: [] } },
  { code: 'unexpected_during_change', params: { ...values, old_value: [], new_value: [] } },
  { code: 'change_not_arrived', params: { ...values, old_value: [], new_value: [] } },
  { code: 'no_such_name', params: absent },
  { code: 'no_such_target', params: { ...absent, target: 'lb.example' } },
  { code: 'no_records', params: absent },
  { code: 'no_records_at_target', params: { ...absent, target: 'lb.example' } },
  { code: 'several_spf_records', params: values },
  { code: 'several_dmarc_records', params: values },
  { code: 'cname_loop', params: chain },
  { code: 'cname_chain_too_long', params: chain },
  { code: 'lame_delegation', params: { ...detail, zone: 'example.com', name_servers: ['ns1.example.net'] } },
  { code: 'dnssec_failed', params: failure },
  { code: 'name_servers_unreachable', params: failure },
  { code: 'query_refused', params: failure },
  { code: 'query_failed', params: failure },
  { code: 'referral', params: { name: 'www.example.com' } },
  { code: 'malformed_answer', params: detail },
  { code: 'no_answer', params: { name: 'www.example.com' } },
  { code: 'no_answer_over_tcp', params: detail },
  { code: 'unreachable', params: detail },
]
const WITHOUT_ADVICE = ['as_expected', 'records_found', 'change_in_progress', 'not_certain', 'unclassified']

const adviceOf = (code: VerdictReason['code']) => adviceFor(VERDICTS.find((verdict) => verdict.code === code)!)!

test.each(VERDICTS.map((verdict) => [verdict.code, verdict] as const))(
  'the advice about %s has all its parameters',
  (_, verdict) => {
    const advice = adviceFor(verdict)!
    expect(advice.text).not.toMatch(/undefined|\[object|,,|\s\s| \./)
    expect(stepsOf(advice).join(' ')).toBe(advice.text)
  },
)

test('advice follows the code of the verdict', () => {
  expect(adviceOf('lame_delegation')).toMatchObject({
    code: 'correct_name_servers',
    text: 'None of the name servers of example.com (ns1.example.net) serves the zone. Set it up there, or enter the name servers of your DNS provider at your registrar.',
  })
  expect(adviceOf('cname_loop').text).toContain('www.example.com → a.example → www.example.com')
  expect(ADVICE[adviceOf('cname_loop').code].title).toBe('Break the CNAME loop')
  expect(adviceOf('unexpected_values').text).toBe(
    'Replace 198.51.100.7 with 192.0.2.1 in the A records of www.example.com at your DNS provider. If the change was intended, accept the current values instead.',
  )
})

test('a wrong CNAME is replaced in flexible mode too, because a name has only one', () => {
  const params = {
    ...values,
    record_type: 'CNAME',
    observed: ['old.example'],
    missing: ['new.example'],
    unexpected: [],
  }
  expect(adviceFor({ code: 'missing_values', params })).toMatchObject({
    code: 'replace_records',
    params: { add: ['new.example'], remove: ['old.example'] },
  })
})

test.each([
  ['TXT', 'v=spf1 include:a.example -all', ['v=spf1 -all', 'site=1'], ['v=spf1 -all']],
  ['SPF', 'v=spf1 include:a.example -all', ['v=spf1 -all'], ['v=spf1 -all']],
  ['TXT', 'v=DMARC1; p=reject', ['V = dmarc1; p=none'], ['V = dmarc1; p=none']],
  ['TXT', 'v=DKIM1; p=K', ['k=rsa; p=O', 'site=1'], ['k=rsa; p=O']],
  ['TXT', 'v=STSv1; id=1', ['site=1'], undefined],
  ['TXT', 'site=2', ['site=1'], undefined],
])('a %s record %s beside %j extends a record of its kind, of which there can be only one', (...row) => {
  const [record_type, expected, observed, extend] = row
  const params = { ...values, record_type, observed, missing: [expected], unexpected: [] }
  const advice = adviceFor({ code: 'missing_values', params })!
  expect(advice.code).toBe(extend ? 'extend_record' : 'add_records')
  expect(advice.params.extend).toEqual(extend)
  expect(customerStepsOf(advice)).toEqual(extend ? [advice.text] : [])
})

test.each([
  ['CNAME', 'new.example', ['old.example'], ['old.example']],
  ['TXT', 'v=spf1 include:a.example -all', ['v=spf1 -all', 'site=1'], ['v=spf1 -all']],
  ['TXT', 'site=2', ['site=1'], []],
])('the changes that make a flexible %s monitor valid remove what would stay beside %s: %j', (...row) => {
  const [record_type, expected, observed, removed] = row
  const params = { ...values, record_type, observed, missing: [expected], unexpected: [] }
  const { changes } = differenceOf({ code: 'missing_values', params })!
  expect(changes.map(({ action, value }) => [action, value])).toEqual([
    ['add', expected],
    ...removed.map((value) => ['remove', value]),
  ])
})

test('at the end of a CNAME chain the advice names the owner of the records', () => {
  const params = { ...values, record: { name: 'edge.example', type: 'A' } }
  expect(adviceFor({ code: 'unexpected_values', params })!.text).toMatch(
    /^The records of www\.example\.com are at edge\.example, the end of its CNAME chain\. Replace .* records of edge\.example /,
  )
})

test('every code of a verdict has advice, or a reason to have none', () => {
  const covered = [...VERDICTS.map(({ code }) => code as string), ...WITHOUT_ADVICE]
  expect(Object.keys(VERDICT_REASONS).filter((code) => !covered.includes(code))).toEqual([])
})
