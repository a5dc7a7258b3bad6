import type { MonitorState } from '#contract/monitors.ts'
import type { VerdictReason } from '#contract/reasons.ts'
import type { CnameChain, ExtendedError, Outcome } from '../dns/outcome.ts'
import { type Difference, isMatch } from '../record-types/compare.ts'
import type { Answer, MonitoredType } from '../record-types/record-type.ts'
import type { Check, Recorded, Step } from './check-state.ts'
import { fingerprint } from './fingerprint.ts'
import { areSameValues, isAnswer } from './outcomes.ts'
import { differenceDuring, type StartedChange } from './planned-change-match.ts'
import type { Confirmation } from './reasons.ts'

/**
 * What a monitor expects. `expectedValues` come from `parseExpectedValues` for the same type and mode. With a planned `change`
 * they are its old and new values, or after its end the new ones.
 */
export type Expectation = {
  recordType: MonitoredType
  expectedValues: readonly string[]
  isExactMatch: boolean
  owner: string
  change?: StartedChange | undefined
}

export type VerdictState = 'VALID' | 'INVALID' | 'TIMEOUT' | 'MISMATCH' | 'NOT_FOUND' | 'NO_DATA' | 'BAD_SETUP'

/** `values`: sorted; absent after a failure. */
export type Verdict = { state: VerdictState; values?: string[]; reason: VerdictReason }

/** The verdict on an outcome. Pure. */
export function evaluate(expectation: Expectation, outcome: Outcome): Verdict {
  const name = expectation.owner || '.'
  switch (outcome.kind) {
    case 'answer':
      return evaluateAnswer(expectation, name, outcome)
    case 'nodata':
      return noData(expectation, name, outcome.chain)
    case 'nxdomain': {
      const params = missingRecordParams(expectation, name, outcome.chain)
      const target = outcome.chain.at(-1)?.target
      return {
        state: 'NOT_FOUND',
        values: [],
        reason:
          target === undefined
            ? { code: 'no_such_name', params }
            : { code: 'no_such_target', params: { ...params, target: target || '.' } },
      }
    }
    case 'cname_loop':
      return { state: 'BAD_SETUP', reason: cnameLoopReason(name, outcome.chain) }
    case 'lame': {
      const { zone, nameServers, reason: detail } = outcome
      const params = { name, zone: zone || '.', name_servers: nameServers, detail }
      return { state: 'BAD_SETUP', reason: { code: 'lame_delegation', params } }
    }
    case 'failure': {
      const params = { name, rcode: outcome.rcode, extended_errors: outcome.ede }
      return { state: 'INVALID', reason: { code: outcome.bogus ? 'dnssec_failed' : failureCode(outcome), params } }
    }
    case 'referral':
      return { state: 'INVALID', reason: { code: 'referral', params: { name } } }
    case 'malformed':
      return { state: 'INVALID', reason: { code: 'malformed_answer', params: { name, detail: outcome.reason } } }
    case 'timeout':
      return { state: 'TIMEOUT', reason: { code: 'no_answer', params: { name } } }
    case 'unreachable': {
      const code = outcome.isTruncated ? 'no_answer_over_tcp' : 'unreachable'
      return { state: 'TIMEOUT', reason: { code, params: { name, detail: outcome.reason } } }
    }
  }
}

export function evaluateWithDifference({ recorded }: Check, outcome: Outcome) {
  const { state, values = [] } = evaluate(recorded, outcome)
  const difference = isAnswer(outcome) ? findDifference(recorded, outcome) : { missing: [], extra: [] }
  return { state, values, ...difference }
}

/** Before the first verdict, what was seen is compared with the whole of the expected values, also in flexible mode. */
export function evaluateAtFirst(check: Check, answer: Answer) {
  if (check.recorded.fingerprint !== null) return undefined
  return evaluateWithDifference({ ...check, recorded: { ...check.recorded, isExactMatch: true } }, answer)
}

/** What a verdict changes. `event`: absent if state and values are unchanged. */
export type Conclusion = {
  verdict: Verdict
  recorded: Recorded
  event?: {
    oldState: MonitorState
    newState: VerdictState
    previous: readonly string[] | null
    current: string[] | undefined
  }
}

/** Whether the resolvers decided because they see another zone than the public one. */
export const isOfOwnView = (confirmation: Confirmation): boolean =>
  confirmation.some(({ code }) => code === 'split_horizon' || code === 'split_horizon_possible')

/** An outcome with another state or other values than recorded causes exactly one event. Pure. */
export function conclude(recorded: Recorded, step: Extract<Step, { kind: 'verdict' }>): Conclusion {
  const { outcome, rotation } = step
  const verdict = evaluate(recorded, outcome)
  const isSameValues = verdict.values === undefined || areSameValues(verdict.values, recorded.values)
  const after: Recorded = {
    ...recorded,
    state: verdict.state,
    values: verdict.values ?? recorded.values,
    fingerprint: fingerprint(outcome),
    isRotating: isAnswer(outcome) && outcome.pool !== undefined,
    rotation,
    inconclusiveCount: 0,
    hasOwnView: isOfOwnView(step.confirmation) || (recorded.hasOwnView === true && step.servers.length === 0),
  }
  if (verdict.state === recorded.state && isSameValues) return { verdict, recorded: after }
  const previous = recorded.state === 'UNSET' ? null : recorded.values
  const event = { oldState: recorded.state, newState: verdict.state, previous, current: verdict.values }
  return { verdict, recorded: after, event }
}

/** The expected values that are missing and, in exact mode, the records that are not expected. */
function findDifference(
  { recordType, expectedValues, isExactMatch, change }: Omit<Expectation, 'owner'>,
  answer: Answer,
): Difference {
  const observed = recordType.observe(answer)
  const compare = (expected: readonly string[]) => recordType.difference(expected, observed, isExactMatch, answer.chain)
  return change && !change.isOver ? differenceDuring(change, compare) : compare(expectedValues)
}

function evaluateAnswer(expectation: Expectation, name: string, answer: Answer): Verdict {
  const { recordType } = expectation
  const observed = recordType.observe(answer)
  if (observed.length === 0) return noData(expectation, name, answer.chain)
  const difference = findDifference(expectation, answer)
  const conflict = recordType.conflict?.(expectation.expectedValues, observed, expectation.isExactMatch)
  if (conflict) {
    const { code, values } = conflict
    const params = valueParams(expectation, name, answer, values, {
      ...difference,
      extra: redundant(expectation, values),
    })
    return { state: 'BAD_SETUP', reason: { code, params } }
  }
  const params = valueParams(expectation, name, answer, observed, difference)
  const state = isMatch(difference) ? 'VALID' : 'MISMATCH'
  if (expectation.change) return { state, values: observed, reason: reasonOfChange(expectation.change, state, params) }
  if (state === 'VALID') return { state, values: observed, reason: { code: 'as_expected', params } }
  return { state, values: observed, reason: { code: mismatchCode(difference), params } }
}

/** Of records of which only one may exist, those to remove: all but the first that matches. */
function redundant({ recordType, expectedValues, isExactMatch }: Expectation, values: readonly string[]): string[] {
  const isWanted = (value: string) =>
    recordType.difference(expectedValues, [value], isExactMatch, []).missing.length < expectedValues.length
  const kept = values.findIndex(isWanted)
  return values.filter((_, index) => index !== kept)
}

function reasonOfChange(
  { oldValues, newValues, isOver }: StartedChange,
  state: 'VALID' | 'MISMATCH',
  params: ValueParams,
): VerdictReason {
  const planned = { ...params, old_value: [...oldValues], new_value: [...newValues] }
  if (!isOver) return { code: state === 'VALID' ? 'change_in_progress' : 'unexpected_during_change', params: planned }
  return state === 'VALID' ? { code: 'as_expected', params } : { code: 'change_not_arrived', params: planned }
}

function mismatchCode({ missing, extra }: Difference) {
  if (missing.length === 0) return 'extra_values'
  return extra.length === 0 ? 'missing_values' : 'unexpected_values'
}

type ValueParams = Extract<VerdictReason, { code: 'as_expected' }>['params']

function valueParams(
  expectation: Expectation,
  name: string,
  answer: Answer,
  observed: string[],
  { missing, extra: unexpected }: Difference,
): ValueParams {
  const { recordType, expectedValues, change } = expectation
  // Values that may be missing during a planned change do not count as matched.
  const unmatched = change ? findDifference({ ...expectation, change: undefined }, answer).missing : missing
  const matched = expectedValues.filter((value) => !unmatched.includes(value))
  const { rrset } = answer
  return {
    name,
    record_type: recordType.name,
    observed,
    matched,
    missing,
    unexpected,
    counts: {
      observed: observed.length,
      matched: matched.length,
      missing: missing.length,
      unexpected: unexpected.length,
    },
    record: { name: rrset.name || '.', type: rrset.type },
  }
}

function noData(expectation: Expectation, name: string, chain: CnameChain): Verdict {
  const params = missingRecordParams(expectation, name, chain)
  const target = chain.at(-1)?.target
  const reason: VerdictReason =
    target === undefined
      ? { code: 'no_records', params }
      : { code: 'no_records_at_target', params: { ...params, target: target || '.' } }
  return { state: 'NO_DATA', values: [], reason }
}

/** `record.name`: the last name of the chain, where the record is missing. RFC 2308 section 2.1. */
function missingRecordParams({ recordType, expectedValues }: Expectation, name: string, chain: CnameChain) {
  const end = chain.at(-1)?.target ?? name
  const record = { name: end || '.', type: recordType.queryType }
  return { name, record_type: recordType.name, missing: [...expectedValues], record }
}

function cnameLoopReason(name: string, links: CnameChain): VerdictReason {
  const chain = [name, ...links.map(({ target }) => target || '.')]
  const isLoop = new Set(chain).size < chain.length
  return { code: isLoop ? 'cname_loop' : 'cname_chain_too_long', params: { name, chain } }
}

const NO_REACHABLE_AUTHORITY = 22 // RFC 8914 section 4.23

function failureCode({ rcode, ede }: { rcode: string; ede: ExtendedError[] }) {
  if (ede.some(({ code }) => code === NO_REACHABLE_AUTHORITY)) return 'name_servers_unreachable'
  return rcode === 'REFUSED' ? 'query_refused' : 'query_failed'
}
