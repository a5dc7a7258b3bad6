import { sql } from 'kysely'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { insertAtOnce, isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import type { Deps } from '../deps.ts'
import { externalIdTaken, findIdsByExternalId, insertLabels, labelColumnsOf, MONITOR_LABELS } from '../groups/labels.ts'
import {
  adjustMonitorCounts,
  type GroupReference,
  getDefaultGroup,
  lockGroups,
  resolveGroups,
  UNKNOWN_GROUP,
  unknownGroupErrors,
} from '../groups/resolve.ts'
import { newId } from '../ids.ts'
import { enforceQuota, findQuota, frequencyLimiter, type Quota } from '../organization/quota.ts'
import { type FieldErrors, invalid } from '../problem.ts'
import { startWaits, type WaitRequest, type WaitSettings, waitDeadline } from '../waits/waits.ts'
import { yieldToEventLoop } from '../yield.ts'
import { auditOf, COLUMN_TYPES, type MonitorResponseRow, type MonitorRow, monitorLabel } from './monitor.ts'
import { type MonitorDraft, type MonitorInput, parseMonitor } from './parse-monitor.ts'
import { insertDueChecks } from './schedule.ts'
import { slotOf } from './slots.ts'

export type CreatedMonitor = MonitorRow & MonitorResponseRow & Pick<MonitorDraft, 'waiting'>
export type InsertOptions = {
  /** The field that names the group of each draft, if it is not `group`. */
  groupFields?: readonly string[]
  /** The field with the list of drafts, if there is one. */
  itemFields?: string
  /** Undefined for no limit. */
  quota?: Quota | undefined
  /** Required for monitors that wait. */
  waits?: WaitSettings
}

/**
 * What `insertMonitors` takes for one monitor. Throws a 400 that names every wrong field together with `errors`, and a 402 for a
 * frequency that the plan does not allow.
 */
export async function prepareMonitor(
  deps: Pick<Deps, 'db' | 'clock' | 'config'>,
  tenant: Tenant,
  input: MonitorInput,
  errors: FieldErrors = {},
): Promise<{ draft: MonitorDraft; quota: Quota | undefined }> {
  const parsed = parseMonitor(input)
  if (!parsed.ok || Object.keys(errors).length > 0) {
    const groupErrors = await unknownGroupErrors(deps.db, tenant, { group: input.group })
    throw invalid({ ...(parsed.ok ? {} : parsed.errors), ...groupErrors, ...errors })
  }
  const pace = await frequencyLimiter(deps, tenant)
  const draft = { ...parsed.draft, frequency: pace(input.frequency) }
  return { draft, quota: await findQuota(deps, tenant, 'monitors') }
}

/**
 * Creates all monitors or none, in their order, and the groups of unknown slugs. The first checks are due immediately.
 * Throws a 400 for unknown group ids, a 402 if the plan has no quota left, and a 409 for external ids that are taken.
 */
export async function insertMonitors(
  db: Database,
  context: RequestContext,
  drafts: readonly MonitorDraft[],
  options: InsertOptions = {},
): Promise<CreatedMonitor[]> {
  const { created } = await insertWithinQuota(db, { ...options, context, drafts, skipsExisting: false })
  return created
}

/** `ids`: of each draft's monitor; for a skipped draft, of the existing monitor. */
type InsertResult = { created: CreatedMonitor[]; ids: string[] }

/** Like `insertMonitors`, but skips drafts of existing monitors: with the same external id, or a duplicate. */
export async function insertMissingMonitors(
  db: Database,
  context: RequestContext,
  drafts: readonly MonitorDraft[],
  options: InsertOptions,
): Promise<InsertResult> {
  return await insertWithinQuota(db, { ...options, context, drafts, skipsExisting: true })
}

type Insert = { context: RequestContext; drafts: readonly MonitorDraft[]; skipsExisting: boolean } & InsertOptions

async function insertWithinQuota(db: Database, insert: Insert): Promise<InsertResult> {
  const { context, quota } = insert
  return await inTransaction(db, async (transaction) => {
    const insertAll = () => insertDrafts(transaction, insert)
    return quota ? await enforceQuota(transaction, context, quota, insertAll) : await insertAll()
  })
}

async function insertDrafts(db: Database, insert: Insert): Promise<InsertResult> {
  const { context, drafts, skipsExisting } = insert
  const { organizationId, now } = context
  // Requests that use the same external id wait for each other. Updates also lock the organization before groups.
  if (drafts.some(({ labels }) => labels.external_id)) await lockOrganization(db, organizationId)
  const groups = await groupsOf(db, insert)
  const requested = drafts.map((draft, index) => newRow(organizationId, draft, groups[index]!, now))
  const free = await skipTakenExternalIds(db, insert, requested)
  const { rows, existingIds } = skipsExisting ? await skipDuplicates(db, context, free) : free
  await insertDueChecks(db, rows, now)
  await insertAtOnce(db, 'monitors', COLUMN_TYPES, rows)
  await insertLabels(db, MONITOR_LABELS, rows)
  await adjustMonitorCounts(
    db,
    context,
    rows.map(({ group_id }) => [group_id, 1]),
  )
  await startWaitsOf(db, insert, rows)
  await recordCreated(db, context, rows)
  const idOf = (id: string): string => (existingIds.has(id) ? idOf(existingIds.get(id)!) : id)
  return { created: rows, ids: requested.map(({ id }) => idOf(id)) }
}

async function groupsOf(db: Database, { context, drafts, groupFields }: Insert): Promise<GroupReference[]> {
  const names = new Set(drafts.flatMap(({ group }) => group ?? []))
  const named = await resolveGroups(db, context, names)
  const needsDefault = drafts.some(({ group }) => group === null)
  const defaultGroup = needsDefault ? await getDefaultGroup(db, context) : undefined
  const groups = drafts.map(({ group }) => (group === null ? defaultGroup : named.get(group)))
  const unknown = groups.flatMap((group, index) => (group ? [] : [[groupFields?.[index] ?? 'group', UNKNOWN_GROUP]]))
  if (unknown.length > 0) throw invalid(Object.fromEntries(unknown))
  return groups as GroupReference[]
}

function newRow(organizationId: string, draft: MonitorDraft, group: GroupReference, now: number): CreatedMonitor {
  const id = newId('mon', now)
  return {
    id,
    organization_id: organizationId,
    group_id: group.id,
    created_at: now,
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
    state: 'UNSET',
    current_values: null,
    incidence_count: 0,
    diagnosis: null,
    rotation: null,
    was_valid: 0,
    slot: slotOf(id),
    last_checked_at: null,
    version: 1,
    ...labelColumnsOf(draft.labels),
    group_slug: group.slug,
    ...(draft.waiting && { waiting: draft.waiting }),
  }
}

/** The rows to insert. `existingIds`: the id of the existing monitor, or of an earlier row, by the id of each skipped row. */
type Remaining = { rows: CreatedMonitor[]; existingIds: ReadonlyMap<string, string> }

/** With `skipsExisting`, skips the rows whose external id is taken or repeated; otherwise throws a 409 with their fields. */
async function skipTakenExternalIds(
  db: Database,
  { context, skipsExisting, itemFields }: Insert,
  rows: CreatedMonitor[],
): Promise<Remaining> {
  const existingIds = new Map<string, string>()
  const externalIds = rows.flatMap(({ external_id }) => external_id ?? [])
  if (externalIds.length === 0) return { rows, existingIds }
  const taken = await findIdsByExternalId(db, context, 'monitors', externalIds)
  const fields: string[] = []
  const free = rows.filter(({ id, external_id }, index) => {
    if (external_id === null) return true
    if (!taken.has(external_id)) return taken.set(external_id, id)
    existingIds.set(id, taken.get(external_id)!)
    fields.push(itemFields ? `${itemFields}.${index}.external_id` : 'external_id')
    return false
  })
  if (fields.length > 0 && !skipsExisting) throw externalIdTaken(fields)
  return { rows: free, existingIds }
}

async function startWaitsOf(
  db: Database,
  { context, drafts, waits, groupFields }: Insert,
  rows: readonly CreatedMonitor[],
) {
  const waiting = rows.flatMap(({ id, waiting }): WaitRequest[] =>
    waiting ? [{ monitorId: id, key: waiting.key }] : [],
  )
  if (waiting.length === 0) return
  if (!waits) throw new Error('Monitors that wait need a keyring for their links.')
  const isBulk = groupFields !== undefined || drafts.length > 1
  await startWaits(db, waits, context, waiting, isBulk ? { until: 'monitors', setup_page: 'monitors' } : undefined)
}

async function recordCreated(db: Database, context: RequestContext, rows: readonly CreatedMonitor[]): Promise<void> {
  const action = 'monitor.created'
  const [first, second] = rows
  if (!first) return
  if (second) return await recordAudit(db, context, { action, object: {}, ids: rows.map(({ id }) => id) })
  const { waiting } = first
  const wait = waiting && {
    until: 'valid',
    deadline: waitDeadline(context.now),
    setup_page: waiting.key ?? undefined,
  }
  const object = { id: first.id, label: monitorLabel(first) }
  await recordAudit(db, context, { action, object, after: auditOf(first, first.group_slug, wait) })
}

/** Two monitors are duplicates if they have the same group, name, type, mode and set of expected values. */
export type DuplicateFields = Pick<
  MonitorRow,
  'group_id' | 'owner' | 'record_type' | 'is_exact_match' | 'expected_values'
>
type DuplicateRow = DuplicateFields & { id: string }

/** The same text for duplicates. */
export function duplicateKey({
  group_id,
  owner,
  record_type,
  is_exact_match,
  expected_values,
}: DuplicateFields): string {
  return JSON.stringify([group_id, owner, record_type, is_exact_match, JSON.parse(expected_values).sort()])
}

/** Skips rows that duplicate another one, stored or in the list. Requests that do this in the same group wait for each other. */
async function skipDuplicates(db: Database, tenant: Tenant, { rows, existingIds }: Remaining): Promise<Remaining> {
  await lockGroups(db, tenant, [...new Set(rows.map(({ group_id }) => group_id))])
  const firstIds = new Map<string, string>()
  const firstIdOf = (row: DuplicateRow) => {
    const key = duplicateKey(row)
    if (!firstIds.has(key)) firstIds.set(key, row.id)
    return firstIds.get(key)!
  }
  for await (const row of monitorsOfOwners(db, tenant, rows)) firstIdOf(row)
  const duplicates = rows.map((row) => [row.id, firstIdOf(row)] as const).filter(([id, firstId]) => id !== firstId)
  const allIds = new Map([...existingIds, ...duplicates])
  return { rows: rows.filter(({ id }) => !allIds.has(id)), existingIds: allIds }
}

/** `same`: the keys of duplicates. `others`: by `recordKey`, the oldest other monitors of the same name and type. */
export type ExistingMonitors = {
  same: ReadonlySet<string>
  others: ReadonlyMap<string, readonly DuplicateRow[]>
}

export const recordKey = ({ owner, record_type }: Pick<DuplicateFields, 'owner' | 'record_type'>) =>
  `${owner} ${record_type}`
const MAX_OTHERS_OF_RECORD = 10

/** The monitors that the organization already has of the rows' names. Takes no lock. */
export async function findExisting(
  db: Database,
  tenant: Tenant,
  rows: readonly DuplicateFields[],
): Promise<ExistingMonitors> {
  const keys = new Set(rows.map(duplicateKey))
  const records = new Set(rows.map(recordKey))
  const same = new Set<string>()
  const others = new Map<string, DuplicateRow[]>()
  for await (const row of monitorsOfOwners(db, tenant, rows)) {
    const key = duplicateKey(row)
    if (keys.has(key)) same.add(key)
    const record = recordKey(row)
    const known = others.get(record) ?? []
    if (keys.has(key) || !records.has(record) || known.length === MAX_OTHERS_OF_RECORD) continue
    others.set(record, [...known, row])
  }
  return { same, others }
}

const BATCH_SIZE = 500

/** The monitors with the rows' owner names, the oldest of a name first, in batches: nothing limits how many there are. */
async function* monitorsOfOwners(
  db: Database,
  { organizationId }: Tenant,
  rows: readonly Pick<DuplicateFields, 'owner'>[],
): AsyncGenerator<DuplicateRow> {
  const owners = [...new Set(rows.map(({ owner }) => owner))].sort()
  for (let start = 0; start < owners.length; start += BATCH_SIZE) {
    const names = owners.slice(start, start + BATCH_SIZE)
    for (let last = { owner: '', id: '' }; ; ) {
      const batch: DuplicateRow[] = await db
        .selectFrom('monitors')
        .select(['id', 'group_id', 'owner', 'record_type', 'is_exact_match', 'expected_values'])
        .where('organization_id', '=', organizationId)
        .where(isOneOf(db, 'owner', names))
        .where(sql<boolean>`(owner, id) > (${last.owner}, ${last.id})`)
        .orderBy('owner')
        .orderBy('id')
        .limit(BATCH_SIZE)
        .execute()
      yield* batch
      if (batch.length < BATCH_SIZE) break
      last = batch.at(-1)!
      await yieldToEventLoop()
    }
  }
}
