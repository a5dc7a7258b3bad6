import type { Updateable } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import type { JobCode } from '#contract/job-codes.ts'
import {
  MAX_BULK_MONITORS,
  type MonitorChange,
  type NewMonitor,
  type NewMonitors,
  type Notify,
  type Resolution,
} from '#contract/monitors.ts'
import { type MonitorRecordType, RECORD_TYPES } from '#contract/record-types.ts'
import type { MonitorsTable } from '../database/schema.ts'
import { type LabelInput, labelColumnsOf, metadataKeyErrors } from '../groups/labels.ts'
import { INVALID_GROUP_NAME, isGroupName } from '../groups/resolve.ts'
import type { FieldErrors } from '../problem.ts'
import { MAX_EXPECTED_VALUES, parseExpectedValues, recordTypeOf } from '../record-types/record-types.ts'
import { yieldToEventLoop } from '../yield.ts'
import { isFailing } from './incident-membership.ts'
import type { MonitorRow } from './monitor.ts'
import { parseMonitorName } from './names.ts'

/** A valid, normalized monitor that is not stored yet. `group`: the id or slug in the request, null for the default group. */
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
  resolution: Resolution
  group: string | null
  labels: LabelInput
  /** Set if the monitor waits for its records. `key`: of its setup page, null for a page of its own. */
  waiting?: { key: string | null }
}

export type MonitorInput = Omit<NewMonitor, keyof LabelInput> & LabelInput

/**
 * Validates what the schema cannot: the name, the expected values of the type, the group. Skips fields of a wrong type:
 * the schema reports them, and the response then names all wrong fields at once.
 */
export function parseMonitor(
  input: MonitorInput,
): { ok: true; draft: MonitorDraft } | { ok: false; errors: FieldErrors } {
  const recordType = RECORD_TYPES.find((type) => type === input.record_type)
  const isExactMatch = input.is_exact_match ?? true
  // An unknown type is reported by the schema. PTR accepts the most names.
  const name = hasTextName(input) ? parseMonitorName(input, recordType ?? 'PTR') : undefined
  const values = input.expected_value
  const expected = recordType && isTexts(values) ? parseExpectedValues(values, recordType, isExactMatch) : undefined
  const group = input.group ?? null
  const errors: FieldErrors = metadataKeyErrors(input.metadata)
  if (name && !name.ok) Object.assign(errors, name.errors)
  if (expected && !expected.ok) Object.assign(errors, expected.errors)
  if (typeof group === 'string' && !isGroupName(group)) errors.group = INVALID_GROUP_NAME
  if (input.setup_page !== undefined && input.until === undefined) errors.setup_page = fieldError('needs_until')
  if (!name?.ok || !recordType || !expected?.ok || Object.keys(errors).length > 0) return { ok: false, errors }
  return {
    ok: true,
    draft: {
      ...name.name,
      recordType,
      expectedValues: expected.values,
      isExactMatch,
      isActive: input.is_active ?? true,
      notify: input.notify ?? 'immediately',
      frequency: input.frequency ?? 5,
      resolution: input.resolution ?? 'auto',
      group,
      labels: { external_id: input.external_id, tags: input.tags, metadata: input.metadata },
      ...(input.until && { waiting: { key: input.setup_page ?? null } }),
    },
  }
}

const isText = (value: unknown) => typeof value === 'string'
const isTexts = (value: unknown) => isText(value) || (Array.isArray(value) && value.every(isText))
const hasTextName = ({ domain, subdomain, full_domain }: MonitorInput) =>
  [domain, subdomain, full_domain].every((part) => part === undefined || isText(part))

/** Items parsed before the event loop is yielded. */
const BATCH_SIZE = 100

/**
 * Parses the items of a bulk request. `errors`: at `monitors.<i>.<field>`; if there are any, `drafts` is incomplete. Skips
 * what is not an object: the schema reports it.
 */
export async function parseMonitors(request: NewMonitors): Promise<{ drafts: MonitorDraft[]; errors: FieldErrors }> {
  const drafts: MonitorDraft[] = []
  const errors: FieldErrors = {}
  for (const [index, item] of itemsOf(request).entries()) {
    if (index % BATCH_SIZE === BATCH_SIZE - 1) await yieldToEventLoop()
    if (typeof item !== 'object' || item === null || Array.isArray(item)) continue
    const parsed = parseMonitor(bulkItem(request, index))
    if (request.on_conflict === 'update' && item.external_id == null) {
      errors[bulkField(request, index, 'external_id')] = fieldError('required')
    }
    if (parsed.ok) drafts.push(parsed.draft)
    else for (const [field, error] of Object.entries(parsed.errors)) errors[bulkField(request, index, field)] = error
  }
  return { drafts, errors }
}

/** An item with the defaults of the request. */
export function bulkItem({ monitors, group, notify, frequency, resolution }: NewMonitors, index: number): NewMonitor {
  const defaults = Object.entries({ group, notify, frequency, resolution }).filter(([, value]) => value !== undefined)
  return { ...Object.fromEntries(defaults), ...monitors[index]! }
}

/** Every group in the request, by its field. */
export function bulkGroups(request: NewMonitors): Record<string, unknown> {
  const groups = itemsOf(request).map((item, index) => [`monitors.${index}.group`, item?.group])
  return Object.fromEntries([['group', request.group], ...groups])
}

/** Stops at the limit: the schema has refused a longer list, but its body may have a very long one. */
function itemsOf({ monitors }: NewMonitors): (NewMonitor | null)[] {
  return Array.isArray(monitors) ? monitors.slice(0, MAX_BULK_MONITORS) : []
}

/** The path of an item's field; `group` for an item that uses the default group of the request. */
export function bulkField({ monitors }: NewMonitors, index: number, field: string): string {
  const isDefault = field === 'group' && (monitors[index] as NewMonitor).group === undefined
  return isDefault ? 'group' : `monitors.${index}.${field}`
}

/** The effect of a change on a monitor. */
export type ParsedChange = {
  /** The columns of `monitors` that differ. */
  columns: Partial<Updateable<MonitorsTable>>
  /** The record or its expectation changes: the state becomes UNSET, and a check in progress is discarded. */
  resetsState: boolean
  isActiveChanged: boolean
  /** Enabled again, and failing when it was disabled: the next check decides whether it still fails. */
  isReenabledFailing: boolean
  isFrequencyChanged: boolean
  /** The id or slug of the group to move to. */
  group: string | null
}

/** Parses the changed monitor as a new one: the stored expected values must suit a new type or mode too. Pure. */
export function parseChange(
  row: MonitorRow,
  { until, setup_page, ...change }: MonitorChange,
): { ok: true; changed: ParsedChange } | { ok: false; errors: FieldErrors } {
  const parsed = parseMonitor({
    domain: row.domain,
    is_exact_match: row.is_exact_match === 1,
    is_active: row.is_active === 1,
    notify: row.notify as Notify,
    frequency: row.frequency,
    resolution: row.resolution as Resolution,
    record_type: row.record_type as MonitorRecordType,
    expected_value: JSON.parse(row.expected_values),
    external_id: row.external_id,
    tags: JSON.parse(row.tags),
    metadata: JSON.parse(row.metadata),
    ...change,
    subdomain: change.subdomain === undefined ? row.subdomain : (change.subdomain ?? ''),
  })
  const lacksUntil = setup_page !== undefined && !until
  if (parsed.ok && !lacksUntil) return { ok: true, changed: newChange(row, parsed.draft) }
  return {
    ok: false,
    errors: { ...(parsed.ok ? {} : parsed.errors), ...(lacksUntil && { setup_page: fieldError('needs_until') }) },
  }
}

function newChange(row: MonitorRow, draft: MonitorDraft): ParsedChange {
  const isRecordChanged = draft.owner !== row.owner || draft.recordType !== row.record_type
  const isExpectationChanged =
    !isSameSet(JSON.parse(row.expected_values), draft.expectedValues) ||
    draft.isExactMatch !== (row.is_exact_match === 1)
  const resetsState = isRecordChanged || isExpectationChanged || draft.resolution !== row.resolution
  const next: ParsedChange['columns'] = {
    domain: draft.domain,
    subdomain: draft.subdomain,
    owner: draft.owner,
    record_type: draft.recordType,
    expected_values: JSON.stringify(draft.expectedValues),
    is_exact_match: draft.isExactMatch ? 1 : 0,
    is_active: draft.isActive ? 1 : 0,
    notify: draft.notify,
    frequency: draft.frequency,
    resolution: draft.resolution,
    ...labelColumnsOf(draft.labels),
    ...(resetsState && { state: 'UNSET', diagnosis: null }),
    ...(resetsState && row.state === 'VALID' && { was_valid: 1 as const }),
    ...(isRecordChanged && { current_values: null, rotation: null }),
  }
  return changeOf(row, next, { resetsState, group: draft.group })
}

/** The effect of these values of columns on the stored ones. */
export function changeOf(
  row: MonitorRow,
  next: ParsedChange['columns'],
  { resetsState, group }: Pick<ParsedChange, 'resetsState' | 'group'>,
): ParsedChange {
  // Each written column also writes its index.
  const columns: ParsedChange['columns'] = Object.fromEntries(
    Object.entries(next).filter(([column, value]) => row[column as keyof MonitorRow] !== value),
  )
  return {
    columns,
    resetsState,
    isActiveChanged: 'is_active' in columns,
    isReenabledFailing: columns.is_active === 1 && !resetsState && isFailing(row.state),
    isFrequencyChanged: 'frequency' in columns,
    group,
  }
}

/** Neither list has duplicates. */
export function isSameSet(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && new Set([...left, ...right]).size === left.length
}

/** The change after which the monitor expects its current values, or why that is impossible. Pure. */
export function acceptCurrentValues(
  row: MonitorRow,
): { ok: true; change: MonitorChange } | { ok: false; code: JobCode; reason: string } {
  const refuse = (code: JobCode, reason: string) => ({ ok: false as const, code, reason })
  if (row.current_values === null && row.state === 'UNSET') {
    return refuse('no_result_yet', 'This record has no result yet. Wait for its first check.')
  }
  if (row.current_values === null) {
    return refuse(
      'lookup_failed',
      'No values are known, because the lookup failed. Wait for a lookup that succeeds, or enter the values.',
    )
  }
  const current: string[] = JSON.parse(row.current_values)
  if (current.length === 0) {
    return refuse('no_values', 'There are no records to accept. A monitor needs at least one expected value.')
  }
  if (current.length > MAX_EXPECTED_VALUES) {
    return refuse(
      'too_many_values',
      `The record has ${current.length} values. A monitor can have at most ${MAX_EXPECTED_VALUES} expected values.`,
    )
  }
  const { asExpected = (value: string) => value } = recordTypeOf(row.record_type as MonitorRecordType)
  return { ok: true, change: { expected_value: current.map((value) => asExpected(value, row.is_exact_match === 1)) } }
}
