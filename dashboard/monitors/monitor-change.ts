import type { MonitorChange, Notify } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { type Fields, isSame, sameSet } from '../edit/rebase.ts'
import { nameOf } from '../events/event-change.tsx'
import type { MonitorDetails } from './monitor-queries.ts'
import { NOTIFY_CHOICES } from './new-words.ts'

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

const filled = (values: readonly string[]) => values.filter((value) => value.trim() !== '')

export const FIELDS: Fields<Draft> = {
  name: { label: 'Name', text: (name) => name, same: (one, other) => one.trim() === other.trim() },
  record_type: { label: 'Type', text: (type) => type },
  expected_value: {
    label: 'Expected values',
    text: (values) => filled(values).join(', '),
    same: (one, other) => sameSet(filled(one), filled(other)),
  },
  is_exact_match: { label: 'Match', text: (isExact) => (isExact ? 'Exact' : 'Flexible') },
  notify: {
    label: 'Webhook notifications',
    text: (notify) => NOTIFY_CHOICES.find(({ value }) => value === notify)!.label,
  },
  frequency: { label: 'Check interval in minutes', text: (minutes) => minutes },
  group: { label: 'Group', text: (slug) => slug },
}

/** Lines left empty say nothing. One stays, so that there is a field to write in. */
export const tidied = (values: readonly string[]): string[] => {
  const kept = filled(values)
  return kept.length > 0 ? kept : ['']
}

/** Only what differs is sent: what another person changed meanwhile stays. */
export function changeOf(monitor: MonitorDetails, draft: Draft): MonitorChange {
  const was = draftOf(monitor)
  const differs = (name: keyof Draft) => !isSame(FIELDS, name, was, draft)
  return {
    ...(differs('name') ? { full_domain: draft.name.trim() } : {}),
    ...(differs('record_type') ? { record_type: draft.record_type } : {}),
    ...(differs('expected_value') ? { expected_value: filled(draft.expected_value) } : {}),
    ...(differs('is_exact_match') ? { is_exact_match: draft.is_exact_match } : {}),
    ...(differs('notify') ? { notify: draft.notify } : {}),
    ...(differs('frequency') ? { frequency: Number(draft.frequency) } : {}),
    ...(differs('group') ? { group: draft.group } : {}),
  }
}

/** Whether the state starts over: another record, or another expectation. */
export const isNewQuestion = ({ full_domain, record_type, expected_value, is_exact_match }: MonitorChange): boolean =>
  [full_domain, record_type, expected_value, is_exact_match].some((field) => field !== undefined)
