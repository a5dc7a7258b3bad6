import type { MonitorChange, MonitorRecordType, Notify } from '#contract/monitors.ts'
import { nameOf } from '../events/event-change.tsx'
import type { MonitorDetails } from './monitor-queries.ts'

/** A monitor as its form holds it. */
export type Draft = {
  name: string
  record_type: MonitorRecordType
  expected_value: string[]
  is_exact_match: boolean
  notify: Notify
  frequency: string
  group: string
}

export const draftOf = (monitor: MonitorDetails): Draft => ({
  name: nameOf(monitor),
  record_type: monitor.record_type,
  expected_value: monitor.expected_value,
  is_exact_match: monitor.is_exact_match,
  notify: monitor.notify,
  frequency: String(monitor.frequency ?? 5),
  group: monitor.group ?? '',
})

/** Lines left empty say nothing. One stays, so that there is a field to write in. */
export const tidied = (values: readonly string[]): string[] => {
  const filled = values.filter((value) => value.trim() !== '')
  return filled.length > 0 ? filled : ['']
}

/** Only what differs is sent: what another person changed meanwhile stays. */
export function changeOf(monitor: MonitorDetails, draft: Draft): MonitorChange {
  const was = draftOf(monitor)
  const expected = draft.expected_value.filter((value) => value.trim() !== '')
  return {
    ...(draft.name.trim() === was.name ? {} : { full_domain: draft.name.trim() }),
    ...(draft.record_type === was.record_type ? {} : { record_type: draft.record_type }),
    ...(isSameSet(expected, was.expected_value) ? {} : { expected_value: expected }),
    ...(draft.is_exact_match === was.is_exact_match ? {} : { is_exact_match: draft.is_exact_match }),
    ...(draft.notify === was.notify ? {} : { notify: draft.notify }),
    ...(draft.frequency === was.frequency ? {} : { frequency: Number(draft.frequency) }),
    ...(draft.group === was.group ? {} : { group: draft.group }),
  }
}

/** Whether the state begins anew: another record, or another expectation. */
export const isNewQuestion = ({ full_domain, record_type, expected_value, is_exact_match }: MonitorChange): boolean =>
  [full_domain, record_type, expected_value, is_exact_match].some((field) => field !== undefined)

function isSameSet(some: readonly string[], others: readonly string[]): boolean {
  return new Set(some).size === new Set(others).size && new Set([...some, ...others]).size === new Set(others).size
}
