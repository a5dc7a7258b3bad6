import { type CauseReason, causeReason } from '#contract/causes.ts'
import type { MonitorState } from '#contract/monitors.ts'

/** `owner` and `recordType` of the one where `count` is 1; the lists are there where all of them have the same. */
export type Fault = {
  state: MonitorState
  domain: string
  count: number
  owner: string
  recordType: string
  current?: readonly string[]
  expected?: readonly string[]
  /** The reason of the check, for a single one. */
  reason?: CauseReason
}

/** What is wrong, as a code with parameters and in one sentence. Pure. */
export function reasonOf(fault: Fault): CauseReason {
  const { state, count, owner, recordType, domain, current = [], expected = [] } = fault
  const one = count === 1
  const params = { name: owner, record_type: recordType, count, domain, observed: current, expected }
  switch (state) {
    case 'MISMATCH':
      if (!isBrief(current)) return causeReason(one ? 'answers_differ' : 'records_differ', params)
      if (!isBrief(expected)) return causeReason(one ? 'answers_unexpected' : 'records_answer_unexpected', params)
      return causeReason(one ? 'answers_instead' : 'records_answer_instead', params)
    case 'NOT_FOUND':
      return fault.reason ?? causeReason(one ? 'name_not_found' : 'names_not_found', params)
    case 'NO_DATA':
      return fault.reason ?? causeReason(one ? 'record_missing' : 'records_missing', params)
    case 'TIMEOUT':
      return causeReason(one ? 'record_times_out' : 'records_time_out', params)
    case 'INVALID':
      return fault.reason ?? causeReason(one ? 'lookup_fails' : 'lookups_fail', params)
    case 'BAD_SETUP':
      return fault.reason ?? causeReason(one ? 'name_misconfigured' : 'names_misconfigured', params)
    case 'UNSET':
    case 'VALID':
      throw new Error(`${state} is no failure.`)
  }
}

const MOST_VALUES = 3
const MOST_CHARACTERS = 60

/** Where the texts are too long for a sentence, what differs is on the monitor's own page. */
function isBrief(values: readonly string[]): boolean {
  if (values.length === 0 || values.length > MOST_VALUES) return false
  return values.every((value) => value.length <= MOST_CHARACTERS && value.trim() !== '')
}
