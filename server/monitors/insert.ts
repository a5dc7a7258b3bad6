import { recordAudit } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { insertAtOnce } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import { externalIdTaken, findIdsByExternalId, insertLabels, labelColumnsOf, MONITOR_LABELS } from '../groups/labels.ts'
import { type GroupReference, getDefaultGroup, resolveGroups } from '../groups/resolve.ts'
import { UNKNOWN_GROUP } from '../groups/slug.ts'
import { adjustMonitorCounts } from '../groups/store.ts'
import { newId } from '../ids.ts'
import { type Quota, within } from '../organization/quota.ts'
import { invalid } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { withoutKnown } from './duplicates.ts'
import { auditOf, type MonitorResponseRow, type MonitorRow, monitorLabel } from './monitor.ts'
import type { MonitorDraft } from './parse-monitor.ts'
import { slotOf } from './schedule.ts'
import { countsOf, insertDueChecks, MONITOR } from './store.ts'
import { startWaits, type WaitRequest, waitDeadline } from './waits.ts'

export type CreatedMonitor = MonitorRow & MonitorResponseRow & Pick<MonitorDraft, 'waiting'>
export type InsertOptions = {
  /** Passes over what is there already. */
  ignore?: boolean
  /** Filled with the id of each draft's monitor, where some are passed over that of the one which is there already. */
  ids?: string[]
  /** The field that names the group of the draft at each place, where that is not `group`. */
  groupFields?: readonly string[]
  /** The field that holds the list of the drafts, where there is one. */
  itemFields?: string
  /** By the plan; without it there is no limit. */
  quota?: Quota | undefined
  /** For the links of monitors that wait. */
  seal?: Seal
}

/**
 * Makes all of them or none, in their order. Groups are made where a slug is unknown. Their first checks are due at once.
 * Throws a 400 for the ids of groups that do not exist, and a 402 where the plan has no quota.
 */
export async function insertMonitors(
  db: Database,
  context: RequestContext,
  drafts: readonly MonitorDraft[],
  options: InsertOptions = {},
): Promise<CreatedMonitor[]> {
  const { quota } = options
  return await inTransaction(db, async (transaction) => {
    const insert = () => insertAll(transaction, { context, drafts, ...options })
    return quota ? await within(transaction, context, quota, insert) : await insert()
  })
}

type Inserting = { context: RequestContext; drafts: readonly MonitorDraft[] } & InsertOptions

async function insertAll(db: Database, inserting: Inserting): Promise<CreatedMonitor[]> {
  const { context, drafts } = inserting
  const { organizationId, now } = context
  // Two that take one external id wait for each other: before groups, in the same order as a change of an external id.
  if (drafts.some(({ labels }) => labels.external_id)) await lockOrganization(db, organizationId)
  const groups = await groupsOf(db, inserting)
  const given = drafts.map((draft, place) => newRow(organizationId, draft, groups[place]!, now))
  const existing = new Map<string, string>()
  const free = await withFreeExternalIds(db, inserting, given, existing)
  const rows = inserting.ignore ? await withoutKnown(db, context, free, existing) : free
  const idOf = (id: string): string => (existing.has(id) ? idOf(existing.get(id)!) : id)
  inserting.ids?.push(...given.map(({ id }) => idOf(id)))
  await insertDueChecks(db, rows, now)
  await insertAtOnce(db, 'monitors', MONITOR, rows)
  await insertLabels(db, MONITOR_LABELS, rows)
  await adjustMonitorCounts(db, context, countsOf(rows, 1))
  await waitFor(db, inserting, rows)
  await recordCreated(db, context, rows)
  return rows
}

async function waitFor(
  db: Database,
  { context, drafts, seal, groupFields }: Inserting,
  rows: readonly CreatedMonitor[],
) {
  const waiting = rows.flatMap(({ id, waiting }): WaitRequest[] =>
    waiting ? [{ monitorId: id, key: waiting.key }] : [],
  )
  if (waiting.length === 0) return
  if (!seal) throw new Error('Monitors that wait need a seal for their links.')
  const isBulk = groupFields !== undefined || drafts.length > 1
  await startWaits(db, seal, context, waiting, isBulk ? { until: 'monitors', setup_page: 'monitors' } : undefined)
}

/** Throws 409 with the fields of those that are taken or repeated; with `ignore` they are passed over. */
async function withFreeExternalIds(
  db: Database,
  inserting: Inserting,
  rows: CreatedMonitor[],
  existing: Map<string, string>,
): Promise<CreatedMonitor[]> {
  const { context, ignore, itemFields } = inserting
  const ids = rows.flatMap(({ external_id }) => external_id ?? [])
  if (ids.length === 0) return rows
  const taken = await findIdsByExternalId(db, context, 'monitors', ids)
  const fields: string[] = []
  const free = rows.filter(({ id, external_id }, place) => {
    if (external_id === null) return true
    if (!taken.has(external_id)) return taken.set(external_id, id)
    existing.set(id, taken.get(external_id)!)
    fields.push(itemFields ? `${itemFields}.${place}.external_id` : 'external_id')
    return false
  })
  if (fields.length > 0 && !ignore) throw externalIdTaken(fields)
  return free
}

async function recordCreated(db: Database, context: RequestContext, rows: readonly CreatedMonitor[]): Promise<void> {
  const action = 'monitor.created'
  const [first, second] = rows
  if (!first) return
  if (second) return await recordAudit(db, context, { action, object: {}, ids: rows.map(({ id }) => id) })
  const object = { id: first.id, label: monitorLabel(first) }
  const { waiting } = first
  const wait = waiting && {
    ...{ until: 'valid', deadline: waitDeadline(context.now), setup_page: waiting.key ?? undefined },
  }
  await recordAudit(db, context, { action, object, after: auditOf(first, first.group_slug, wait) })
}

async function groupsOf(db: Database, { context, drafts, groupFields }: Inserting): Promise<GroupReference[]> {
  const named = new Set(drafts.flatMap(({ group }) => (group === null ? [] : [group])))
  const groups = await resolveGroups(db, context, named)
  const isPreset = drafts.some(({ group }) => group === null)
  const preset = isPreset ? await getDefaultGroup(db, context) : undefined
  const found = drafts.map(({ group }) => (group === null ? preset : groups.get(group)))
  const unknown = found.flatMap((group, place) => (group ? [] : [[groupFields?.[place] ?? 'group', UNKNOWN_GROUP]]))
  if (unknown.length > 0) throw invalid(Object.fromEntries(unknown))
  return found as GroupReference[]
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
    state: 'UNSET',
    current_values: null,
    incidence_count: 0,
    diagnosis: null,
    rotation: null,
    slot: slotOf(id),
    last_checked_at: null,
    version: 1,
    ...labelColumnsOf(draft.labels),
    group_slug: group.slug,
    ...(draft.waiting && { waiting: draft.waiting }),
  }
}
