import type { ImportPlan, ImportRequest, ImportRow } from '#contract/dashboard.ts'
import { fieldError } from '#contract/field-errors.ts'
import type { ImportReason } from '#contract/import-codes.ts'
import { MAX_TAGS, TAG } from '#contract/labels.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { Tenant } from '../../context.ts'
import type { Deps } from '../../deps.ts'
import { externalIdErrors, metadataKeyErrors } from '../../groups/labels.ts'
import { findGroups } from '../../groups/resolve.ts'
import { frequencyLimiter } from '../../organization/quota.ts'
import { type FieldErrors, fieldTexts, invalid, Problem } from '../../problem.ts'
import { MAX_EXPECTED_VALUES } from '../../record-types/record-types.ts'
import { truncate } from '../../text.ts'
import { yieldToEventLoop } from '../../yield.ts'
import { type DuplicateFields, duplicateKey, type ExistingMonitors, findExisting, recordKey } from '../insert.ts'
import { type MonitorDraft, parseMonitor } from '../parse-monitor.ts'
import { readCsv } from './csv.ts'
import { discover } from './discovery.ts'
import { withPublishedRows } from './published-rows.ts'
import { type InputRow, joinRows } from './rows.ts'
import {
  findByExternalId,
  findGroupIds,
  findMissingMonitors,
  hasOtherLabels,
  isEqualExceptGroup,
  type MonitorRow,
} from './store.ts'
import { readZone } from './zone-file.ts'

/** Rows between two yields to the event loop. */
const BATCH_SIZE = 20

/** Characters shown of each text in a row that is not imported. */
const MAX_SHOWN_LENGTH = 1_000

/** `group`: the one in the row. `draft`: undefined if no monitor can be created from it. */
type PlannedRow = { row: ImportRow; draft?: MonitorDraft; group?: string | undefined }

/** What an import would do with each row. Writes nothing. Throws a 400 for an input that cannot be read at all. */
export async function planImport(deps: Deps, tenant: Tenant, input: ImportRequest): Promise<ImportPlan> {
  const { organizationId } = tenant
  const rows = await rowsOf(deps, input)
  const limitFrequency = await frequencyLimiter(deps, tenant)
  const planned: PlannedRow[] = []
  for (const [index, row] of rows.entries()) {
    if (index % BATCH_SIZE === BATCH_SIZE - 1) await yieldToEventLoop()
    planned.push(planRow(row, input.group, limitFrequency))
  }
  await matchByExternalId(deps, tenant, planned)
  await matchByRecord(deps, organizationId, planned)
  const importRows = planned.map(({ row }) => row)
  const missing = input.compare === undefined ? null : await findMissingMonitors(deps.db, tenant, input, importRows)
  return {
    rows: importRows.map((row) => (row.result === 'reject' || row.result === 'skip' ? shortened(row) : row)),
    missing,
  }
}

/** A refused row can have any length. The beginning is enough to find it in the file. */
function shortened(row: ImportRow): ImportRow {
  const cut = (text: string) => truncate(text, MAX_SHOWN_LENGTH)
  return {
    ...row,
    full_domain: cut(row.full_domain),
    record_type: cut(row.record_type),
    expected_value: row.expected_value.map(cut),
    group: row.group === null ? null : cut(row.group),
    notify: row.notify === null ? null : cut(row.notify),
    reason: cut(row.reason),
  }
}

async function rowsOf(deps: Deps, { zone, csv, domain, origin }: ImportRequest): Promise<readonly InputRow[]> {
  if ([zone, csv, domain].filter((source) => source !== undefined).length !== 1) {
    throw invalid({ body: fieldError('exactly_one_required', { fields: 'zone, csv, domain' }) })
  }
  if (domain !== undefined) return await discover(deps, domain)
  if (csv !== undefined) return await joinRows(readCsv(csv, origin), 'csv')
  return await withPublishedRows(deps, await joinRows(readZone(zone!, origin), 'zone'))
}

function planRow(
  input: InputRow,
  defaultGroup: string | undefined,
  limitFrequency: (requested?: number) => number,
): PlannedRow {
  const group = input.group ?? defaultGroup ?? null
  const row: ImportRow = {
    line: input.line,
    full_domain: input.name.replace(/(?<!\\)\.$/, '') || input.name,
    record_type: input.type,
    expected_value: input.values.slice(0, MAX_EXPECTED_VALUES + 1),
    is_exact_match: input.isExact,
    group,
    notify: input.notify ?? null,
    frequency: input.frequency ?? null,
    external_id: input.externalId ?? null,
    tags: input.tags ?? null,
    metadata: input.metadata ?? null,
    result: input.result ?? 'create',
    monitor: null,
    reason: input.reason ?? '',
    code: input.code ?? null,
  }
  if (input.result !== undefined) return { row }
  const refuse = (code: ImportReason, reason: string): PlannedRow => ({
    row: { ...row, result: 'reject', code, reason },
  })
  if (input.values.length === 0) return refuse('required', 'The value is empty.')
  if (input.values.length > MAX_EXPECTED_VALUES) {
    return refuse(
      'too_many',
      `The record has ${input.values.length} values. A monitor can have at most ${MAX_EXPECTED_VALUES}. Create a flexible monitor with the values that matter.`,
    )
  }
  const parsed = parseMonitor({
    full_domain: input.name,
    record_type: input.type as MonitorRecordType,
    expected_value: input.values,
    is_exact_match: input.isExact,
    ...(group === null ? {} : { group }),
  })
  if (!parsed.ok) {
    const [first] = Object.values(parsed.errors)
    return refuse(first!.code, Object.values(fieldTexts(parsed.errors)).slice(0, 3).join(' '))
  }
  const [labelError] = Object.entries(labelErrors(row))
  if (labelError) return refuse(labelError[1].code, `${labelError[0]} ${labelError[1].text}`)
  try {
    limitFrequency(input.frequency)
  } catch (error) {
    if (error instanceof Problem) return refuse('plan_limit', error.message)
    throw error
  }
  const { owner, expectedValues } = parsed.draft
  return {
    row: { ...row, full_domain: owner || '.', expected_value: expectedValues },
    draft: parsed.draft,
    group: input.group,
  }
}

function labelErrors({ external_id, tags, metadata }: ImportRow): FieldErrors {
  const isTag = (tag: string) => tag.length <= MAX_TAG_LENGTH && new RegExp(TAG, 'u').test(tag)
  const wrongTag = tags?.find((tag) => !isTag(tag))
  return {
    ...(external_id === null ? {} : externalIdErrors(external_id, undefined)),
    ...(wrongTag === undefined
      ? {}
      : { tags: fieldError('invalid_format', { format: TAG_FORMAT, given: wrongTag.slice(0, 60) }) }),
    ...((tags?.length ?? 0) > MAX_TAGS ? { tags: fieldError('too_many', { max: MAX_TAGS }) } : {}),
    ...metadataKeyErrors(metadata),
  }
}
const MAX_TAG_LENGTH = 50
const TAG_FORMAT = '1 to 50 characters without spaces, commas and quotation marks'

/** A row with the external id of a monitor is for that monitor. Refuses a second row with the same external id. */
async function matchByExternalId({ db }: Deps, tenant: Tenant, planned: PlannedRow[]): Promise<void> {
  const rowsById = new Map<string, ImportRow>()
  for (const plannedRow of planned) {
    const { row, draft } = plannedRow
    if (!draft || row.external_id === null) continue
    const earlier = rowsById.get(row.external_id)
    if (!earlier) rowsById.set(row.external_id, row)
    else {
      const reason = `Line ${earlier.line} has the same external id.`
      Object.assign(row, { result: 'reject', code: 'duplicate_external_id', reason })
      delete plannedRow.draft
    }
  }
  const monitors = await findByExternalId(db, tenant, [...rowsById.keys()])
  const groups = await findGroups(db, tenant, [...new Set([...monitors.values()].map(({ group_id }) => group_id))])
  for (const plannedRow of planned) {
    const { row, draft, group } = plannedRow
    const monitor = draft && row.external_id !== null ? monitors.get(row.external_id) : undefined
    if (!monitor) continue
    const slug = groups.get(monitor.group_id)?.slug ?? ''
    const isMoved = group !== undefined && group !== slug && group !== monitor.group_id
    const isRelabeled = hasOtherLabels(monitor, row)
    const isEqual = isEqualExceptGroup(monitor, toDuplicateFields(draft!, monitor.group_id)) && !isMoved && !isRelabeled
    markDifferent(row, monitor, slug)
    if (isEqual) Object.assign(row, { result: 'unchanged', reason: 'The monitor with this external id is identical.' })
    if (isMoved) row.reason += ` It moves to the group ${group}.`
    if (isRelabeled) row.reason += ' Its tags or metadata change.'
    // `matchByRecord` skips rows without a draft.
    delete plannedRow.draft
  }
}

/** Compares rows with existing monitors by group, name, type, mode and the set of values, as `ignore` of a bulk request does. */
async function matchByRecord({ db }: Deps, organizationId: string, planned: readonly PlannedRow[]): Promise<void> {
  const drafts = planned.flatMap(({ draft }) => (draft ? [draft] : []))
  const groupIds = await findGroupIds(db, { organizationId }, new Set(drafts.map(({ group }) => group)))
  const duplicateFields = new Map(drafts.map((draft) => [draft, toDuplicateFields(draft, groupIds.get(draft.group))]))
  const existing = await findExisting(db, { organizationId }, [...duplicateFields.values()])
  const firstRows = new Map<string, ImportRow>()
  for (const { row, draft } of planned) {
    if (!draft) continue
    const key = duplicateKey(duplicateFields.get(draft)!)
    const earlier = firstRows.get(key)
    if (existing.same.has(key))
      Object.assign(row, { result: 'unchanged', reason: 'An identical monitor already exists.' })
    else if (earlier)
      Object.assign(row, { result: 'skip', code: 'duplicate', reason: `Duplicate of line ${earlier.line}.` })
    else firstRows.set(key, row)
  }
  const newRows = planned.flatMap(({ row, draft }) => (draft && row.result === 'create' ? [{ row, draft }] : []))
  const differing = pairWithExisting(
    newRows.map(({ row, draft }) => ({ row, fields: duplicateFields.get(draft)! })),
    existing.others,
  )
  const inOtherGroups = newRows.flatMap(({ row, draft }) => {
    const fields = duplicateFields.get(draft)!
    const equal = existing.others.get(recordKey(fields))?.find((monitor) => isEqualExceptGroup(monitor, fields))
    return equal ? [{ row, monitor: equal }] : []
  })
  const shownIds = new Set([...differing, ...inOtherGroups].map(({ monitor }) => monitor.group_id))
  const groups = await findGroups(db, { organizationId }, [...shownIds])
  const slugOf = ({ group_id }: MonitorRow) => groups.get(group_id)?.slug ?? ''
  for (const { row, monitor } of inOtherGroups) row.reason = `An identical monitor exists in group ${slugOf(monitor)}.`
  for (const { row, monitor } of differing) markDifferent(row, monitor, slugOf(monitor))
}

/**
 * Pairs each row with an existing monitor of the same record that expects something else: first one in the row's group, then an
 * exact one. Each monitor is in at most one pair. If another group has an equal monitor, only monitors of the row's group count.
 */
function pairWithExisting(
  rows: readonly { row: ImportRow; fields: DuplicateFields }[],
  others: ExistingMonitors['others'],
) {
  const pairedIds = new Set<string>()
  return rows.flatMap(({ row, fields }): { row: ImportRow; monitor: MonitorRow }[] => {
    const isInGroup = ({ group_id }: MonitorRow) => group_id === fields.group_id
    const rank = (monitor: MonitorRow) => (isInGroup(monitor) ? 2 : 0) + monitor.is_exact_match
    const monitors = others.get(recordKey(fields)) ?? []
    const differing = monitors.filter((monitor) => !isEqualExceptGroup(monitor, fields))
    const [monitor] = differing.filter(({ id }) => !pairedIds.has(id)).sort((a, b) => rank(b) - rank(a))
    if (!monitor || (!isInGroup(monitor) && differing.length < monitors.length)) return []
    pairedIds.add(monitor.id)
    return [{ row, monitor }]
  })
}

function markDifferent(row: ImportRow, monitor: MonitorRow, group: string): void {
  const expected_value: string[] = JSON.parse(monitor.expected_values)
  const is_exact_match = monitor.is_exact_match === 1
  const values = expected_value.join(', ')
  const isSameRecord = row.full_domain === monitor.owner && row.record_type === monitor.record_type
  const subject = isSameRecord ? `A monitor in group ${group}` : `The monitor ${monitor.owner} ${monitor.record_type}`
  const reason = `${subject} expects ${is_exact_match ? 'exactly' : 'at least'} ${values}.`
  Object.assign(row, { result: 'update', reason, monitor: { id: monitor.id, expected_value, is_exact_match, group } })
}

/** A group that does not exist yet has no id, so its name identifies it. */
function toDuplicateFields(draft: MonitorDraft, groupId: string | undefined): DuplicateFields {
  return {
    group_id: groupId ?? `new ${draft.group}`,
    owner: draft.owner,
    record_type: draft.recordType,
    is_exact_match: draft.isExactMatch ? 1 : 0,
    expected_values: JSON.stringify(draft.expectedValues),
  }
}
