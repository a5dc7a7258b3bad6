import type { Updateable } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import type { MonitorChange } from '#contract/monitors.ts'
import type { MonitorsTable } from '../database/schema.ts'
import { labelColumnsOf } from '../groups/labels.ts'
import type { FieldErrors } from '../problem.ts'
import { isFailing } from './left-incidents.ts'
import type { MonitorRow } from './monitor.ts'
import { type MonitorDraft, parseMonitor } from './parse-monitor.ts'

/** Of `monitors`; what never changes is not among them. */
type Columns = Partial<Updateable<MonitorsTable>>

/** The effect of a change. `columns`: of `monitors`, only those that differ. */
export type ParsedChange = {
  columns: Columns
  /** The place in the schedule starts over: what is in progress is discarded, and the monitor is due at once. */
  resetsState: boolean
  isActiveChanged: boolean
  /** Enabled, and it failed when it was disabled: the next check says whether it still does. */
  isReenabledFailing: boolean
  isFrequencyChanged: boolean
  /** The group to move to, as the caller named it. */
  group: string | null
}

/** Judges a change as if the monitor were made again: stored expected values must suit a new type or mode too. Pure. */
export function parseChange(
  row: MonitorRow,
  { until, setup_page, ...given }: MonitorChange,
): { ok: true; changed: ParsedChange } | { ok: false; errors: FieldErrors } {
  const parsed = parseMonitor({
    domain: row.domain,
    is_exact_match: row.is_exact_match === 1,
    is_active: row.is_active === 1,
    notify: row.notify as MonitorDraft['notify'],
    frequency: row.frequency,
    record_type: row.record_type as MonitorDraft['recordType'],
    expected_value: JSON.parse(row.expected_values),
    external_id: row.external_id,
    tags: JSON.parse(row.tags),
    metadata: JSON.parse(row.metadata),
    ...given,
    subdomain: given.subdomain === undefined ? row.subdomain : (given.subdomain ?? ''),
  })
  const isKeyAlone = setup_page !== undefined && !until
  const errors: FieldErrors = isKeyAlone ? { setup_page: fieldError('needs_until') } : {}
  if (!parsed.ok || isKeyAlone) return { ok: false, errors: { ...(parsed.ok ? {} : parsed.errors), ...errors } }
  return { ok: true, changed: differences(row, parsed.draft) }
}

function differences(row: MonitorRow, draft: MonitorDraft): ParsedChange {
  const stored: string[] = JSON.parse(row.expected_values)
  const isOtherRecord = draft.owner !== row.owner || draft.recordType !== row.record_type
  const isOtherExpectation =
    !isSameSet(stored, draft.expectedValues) || draft.isExactMatch !== (row.is_exact_match === 1)
  const resetsState = isOtherRecord || isOtherExpectation
  const wanted: Columns = {
    domain: draft.domain,
    subdomain: draft.subdomain,
    owner: draft.owner,
    record_type: draft.recordType,
    expected_values: JSON.stringify(draft.expectedValues),
    is_exact_match: draft.isExactMatch ? 1 : 0,
    is_active: draft.isActive ? 1 : 0,
    notify: draft.notify,
    frequency: draft.frequency,
    ...labelColumnsOf(draft.labels),
    ...(resetsState ? { state: 'UNSET', diagnosis: null } : {}),
    ...(isOtherRecord ? { current_values: null, rotation: null } : {}),
  }
  // Every column that is written costs its index.
  const columns = Object.fromEntries(
    Object.entries(wanted).filter(([column, value]) => row[column as keyof MonitorRow] !== value),
  )
  return {
    columns,
    resetsState,
    isActiveChanged: 'is_active' in columns,
    isReenabledFailing: columns.is_active === 1 && !resetsState && isFailing(row.state),
    isFrequencyChanged: 'frequency' in columns,
    group: draft.group,
  }
}

/** Each without duplicates. */
export function isSameSet(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && new Set([...some, ...others]).size === some.length
}
