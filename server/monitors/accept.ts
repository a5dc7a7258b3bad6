import type { JobCode } from '#contract/job-codes.ts'
import type { MonitorChange } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { MonitorRow } from './monitor.ts'
import { MAX_EXPECTED_VALUES, recordTypeOf } from './record-types/record-types.ts'

type Refused = { ok: false; code: JobCode; reason: string }

/** The change after which a monitor expects what is there now, in the same mode; or why there is none. Pure. */
export function acceptCurrentValues(row: MonitorRow): { ok: true; change: MonitorChange } | Refused {
  if (row.current_values === null && row.state === 'UNSET') {
    return { ok: false, code: 'no_result_yet', reason: 'This record has no result yet. Wait for its first check.' }
  }
  if (row.current_values === null) {
    const reason =
      'No values are known, because the lookup failed. Wait for a lookup that succeeds, or enter the values.'
    return { ok: false, code: 'lookup_failed', reason }
  }
  const current: string[] = JSON.parse(row.current_values)
  if (current.length === 0) {
    return {
      ok: false,
      code: 'no_values',
      reason: 'There are no records to accept. A monitor needs at least one expected value.',
    }
  }
  if (current.length > MAX_EXPECTED_VALUES) {
    const reason = `The record has ${current.length} values. A monitor can have at most ${MAX_EXPECTED_VALUES} expected values.`
    return { ok: false, code: 'too_many_values', reason }
  }
  const { asExpected = (value: string) => value } = recordTypeOf(row.record_type as MonitorRecordType)
  return { ok: true, change: { expected_value: current.map((value) => asExpected(value, row.is_exact_match === 1)) } }
}
