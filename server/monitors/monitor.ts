import type { Selectable } from 'kysely'
import type { MonitorAnswer, MonitorRecordType, MonitorState, NewMonitor, Notify } from '#contract/monitors.ts'
import type { MonitorsTable } from '../database/schema.ts'
import { isoOf, isoOrNull } from '../http/times.ts'
import type { FieldErrors } from '../problem.ts'
import { parseExpectedValues } from './matching/expected-values.ts'
import { parseMonitorName } from './names.ts'

export type MonitorRow = Selectable<MonitorsTable> & { last_checked_at: number | null }

/** A monitor to make: checked and normalised. `group` is as the caller named it. */
export type MonitorDraft = {
  domain: string
  subdomain: string
  owner: string
  recordType: MonitorRecordType
  expectedValues: string[]
  isExactMatch: boolean
  isActive: boolean
  notify: Notify
  frequency: number
  group: string | null
}

/** Checks what the schema cannot: the name, and each expected value for its type. All fields at fault are reported. */
export function parseMonitor(
  given: NewMonitor,
): { ok: true; draft: MonitorDraft } | { ok: false; errors: FieldErrors } {
  const isExactMatch = given.is_exact_match ?? true
  const name = parseMonitorName(given, given.record_type)
  const expected = parseExpectedValues(given.expected_value, given.record_type, isExactMatch)
  if (!name.ok || !expected.ok) {
    return { ok: false, errors: { ...(name.ok ? {} : name.problems), ...(expected.ok ? {} : expected.problems) } }
  }
  return {
    ok: true,
    draft: {
      ...name.name,
      recordType: given.record_type,
      expectedValues: expected.values,
      isExactMatch,
      isActive: given.is_active ?? true,
      notify: given.notify ?? 'immediately',
      frequency: given.frequency ?? 5,
      group: given.group ?? null,
    },
  }
}

export type Inclusion = { frequency: boolean; group: boolean; diagnosis: boolean }

/** The representation of the specification, with exactly its keys, and those that the caller asked to include. */
export function toMonitor(row: MonitorRow & { group_slug?: string }, include: Inclusion): MonitorAnswer {
  return {
    id: row.id,
    created: isoOf(row.created_at),
    domain: row.domain,
    subdomain: row.subdomain,
    record_type: row.record_type as MonitorRecordType,
    expected_value: JSON.parse(row.expected_values),
    current_value: row.current_values === null ? null : JSON.parse(row.current_values),
    is_exact_match: row.is_exact_match === 1,
    state: row.state as MonitorState,
    incidence_count: row.incidence_count,
    last_checked: isoOrNull(row.last_checked_at),
    is_active: row.is_active === 1,
    notify: row.notify as Notify,
    ...(include.frequency ? { frequency: row.frequency } : {}),
    ...(include.group && row.group_slug !== undefined ? { group: row.group_slug } : {}),
    ...(include.diagnosis ? { diagnosis: row.diagnosis === null ? null : JSON.parse(row.diagnosis) } : {}),
  }
}
