import type { MonitorChange, Notify, Resolution } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { recordName } from '#contract/wording.ts'
import { type Fields, sameSet } from '../../edit/rebase.ts'
import type { MonitorDetails } from '../queries.ts'
import { NOTIFY_CHOICES, RESOLUTION_CHOICES } from '../text.ts'

/** The values of the form. */
export type Draft = {
  name: string
  record_type: MonitorRecordType
  expected_value: string[]
  is_exact_match: boolean
  notify: Notify
  frequency: string
  resolution: Resolution
  group: string
}

export const draftOf = (monitor: MonitorDetails): Draft => ({
  name: recordName(monitor),
  record_type: monitor.record_type,
  expected_value: monitor.expected_value,
  is_exact_match: monitor.is_exact_match,
  notify: monitor.notify,
  frequency: String(monitor.frequency ?? 5),
  resolution: monitor.resolution ?? 'auto',
  group: monitor.group ?? '',
})

const withoutEmpty = (values: readonly string[]) => values.filter((value) => value.trim() !== '')

export const FIELDS: Fields<Draft, MonitorChange> = {
  name: {
    label: 'Name',
    text: (name) => name,
    same: (one, other) => one.trim() === other.trim(),
    change: ({ name }) => ({ full_domain: name.trim() }),
  },
  record_type: { label: 'Type', text: (type) => type },
  expected_value: {
    label: 'Expected values',
    text: (values) => withoutEmpty(values).join(', '),
    same: (one, other) => sameSet(withoutEmpty(one), withoutEmpty(other)),
    change: ({ expected_value }) => ({ expected_value: withoutEmpty(expected_value) }),
  },
  is_exact_match: { label: 'Match', text: (isExact) => (isExact ? 'Exact' : 'Flexible') },
  notify: {
    label: 'Webhook notifications',
    text: (notify) => NOTIFY_CHOICES.find(({ value }) => value === notify)!.label,
  },
  frequency: {
    label: 'Check interval in minutes',
    text: (minutes) => minutes,
    change: ({ frequency }) => ({ frequency: Number(frequency) }),
  },
  resolution: {
    label: 'Answers that count',
    text: (resolution) => RESOLUTION_CHOICES.find(({ value }) => value === resolution)!.label,
  },
  group: { label: 'Group', text: (slug) => slug },
}

/** Removes empty lines, but keeps one input. */
export const withoutEmptyLines = (values: readonly string[]): string[] => {
  const nonEmpty = withoutEmpty(values)
  return nonEmpty.length > 0 ? nonEmpty : ['']
}

/** Whether the change resets the state, because the query or the expected values change. */
export const resetsState = ({
  full_domain,
  record_type,
  expected_value,
  is_exact_match,
  resolution,
}: MonitorChange): boolean =>
  [full_domain, record_type, expected_value, is_exact_match, resolution].some((field) => field !== undefined)
