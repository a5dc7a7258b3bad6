import type { Selectable } from 'kysely'
import type { MonitorState } from '#contract/monitors.ts'
import type { MonitorsTable } from '../database/schema.ts'
import { wholeCharacters } from '../text.ts'
import type { EventRow } from './store.ts'

/** The id is given when it is inserted. */
export type NewEventRow = Omit<EventRow, 'id'>

/** `previous`, `current`: the values that were found before and now; null if unknown. `diagnosis`: as JSON. */
type Change = {
  at: number
  oldState: MonitorState
  newState: MonitorState
  previous: readonly string[] | null
  current: readonly string[] | null
  incidenceCount: number
  diagnosis: string | null
}

/** The event of a monitor whose state or values changed. Pure. */
export function newEvent(monitor: Selectable<MonitorsTable>, change: Change): NewEventRow {
  const values = boundedValues(change, Buffer.byteLength(monitor.expected_values))
  return {
    organization_id: monitor.organization_id,
    monitor_id: monitor.id,
    group_id: monitor.group_id,
    occurred_at: change.at,
    old_state: change.oldState,
    new_state: change.newState,
    previous_values: values.previous && JSON.stringify(values.previous),
    current_values: values.current && JSON.stringify(values.current),
    truncated: values.isTruncated ? 1 : 0,
    incidence_count: change.incidenceCount,
    domain: monitor.domain,
    subdomain: monitor.subdomain,
    record_type: monitor.record_type,
    expected_values: monitor.expected_values,
    is_exact_match: monitor.is_exact_match,
    diagnosis: change.diagnosis,
  }
}

/** The limit of all values of an event as JSON. */
export const MAX_VALUE_BYTES = 64 * 1024
/** Values are not shortened below this. If that is not enough, the last values are omitted. */
const MIN_CUT_BYTES = 256
const ELLIPSIS = '…'

type ObservedValues = { previous: readonly string[] | null; current: readonly string[] | null }

/**
 * Shortens the observed values so that they and the expected ones take at most `MAX_VALUE_BYTES` of JSON. The longest values
 * are cut to one length and end with an ellipsis. Pure.
 */
export function boundedValues(
  { previous, current }: ObservedValues,
  expectedBytes: number,
): ObservedValues & { isTruncated: boolean } {
  const available = Math.max(0, MAX_VALUE_BYTES - expectedBytes)
  const sizes = [...(previous ?? []), ...(current ?? [])].map(jsonBytes)
  const brackets = 4
  if (sum(sizes) + brackets <= available) return { previous, current, isTruncated: false }
  const maxBytes = maxBytesPerValue(sizes, available - brackets)
  const cut = (values: readonly string[] | null) =>
    values?.map((value) => (jsonBytes(value) <= maxBytes ? value : truncateTo(value, maxBytes)))
  let left = available - brackets
  const fitting = (values: string[] | undefined): string[] | null => {
    if (!values) return null
    const included: string[] = []
    for (const value of values) {
      if (jsonBytes(value) > left) break
      left -= jsonBytes(value)
      included.push(value)
    }
    return included
  }
  // The current values matter more, so they are fitted first.
  const fittedCurrent = fitting(cut(current))
  return { previous: fitting(cut(previous)), current: fittedCurrent, isTruncated: true }
}

/** As JSON, with the comma that follows. */
const jsonBytes = (value: string) => Buffer.byteLength(JSON.stringify(value)) + 1

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)

/** The length that the longest values must be cut to, so that all fit. */
function maxBytesPerValue(sizes: readonly number[], available: number): number {
  let left = available
  const ascending = sizes.toSorted((a, b) => a - b)
  for (const [index, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index))
    if (size > share) return Math.max(share, MIN_CUT_BYTES)
    left -= size
  }
  return Number.POSITIVE_INFINITY
}

/** Cuts between characters, so that the JSON has at most so many bytes. */
function truncateTo(value: string, maxBytes: number): string {
  const within = (length: number) => wholeCharacters(value.slice(0, length)) + ELLIPSIS
  let [fits, tooLong] = [0, value.length]
  while (tooLong - fits > 1) {
    const middle = Math.floor((fits + tooLong) / 2)
    if (jsonBytes(within(middle)) <= maxBytes) fits = middle
    else tooLong = middle
  }
  return within(fits)
}
