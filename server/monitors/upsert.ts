import type { MonitorUpsert } from '#contract/monitors.ts'
import { type AuditRecord, recordAudits } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import { type Match, stale } from '../database/versions.ts'
import { externalIdTaken, findIdsByExternalId } from '../groups/labels.ts'
import { findGroups, resolveGroups, UNKNOWN_GROUP } from '../groups/resolve.ts'
import type { Quota } from '../organization/quota.ts'
import { type FieldErrors, invalid, Problem } from '../problem.ts'
import type { WaitSettings } from '../waits/waits.ts'
import { insertMonitors } from './insert.ts'
import { auditOf, type MonitorRow, monitorLabel } from './monitor.ts'
import { type MonitorDraft, parseChange } from './parse-monitor.ts'
import type { MonitorUpdate } from './schedule.ts'
import { auditActionOf, lockMonitors, updateMonitor, updateMonitors } from './update.ts'

/** `change`: the request, for an existing monitor. `draft`: the same as a new monitor. */
type UpsertItem = { externalId: string; change: MonitorUpsert; draft: MonitorDraft }
type UpsertOptions = { quota: Quota | undefined; waits: WaitSettings }

/**
 * Creates the monitor, or updates the one with the external id. Of two requests at the same time, one creates it. Throws a 412 if
 * `match` names another version, or if there is no monitor.
 */
export async function upsertMonitor(
  db: Database,
  context: RequestContext,
  { externalId, change, draft, quota, waits }: UpsertItem & UpsertOptions,
  match: Match,
): Promise<{ id: string; isNew: boolean }> {
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, context.organizationId)
    const id = (await findIdsByExternalId(transaction, context, 'monitors', [externalId])).get(externalId)
    if (id !== undefined) {
      await updateMonitor(transaction, context, id, change, { match, waits, keepsWait: true })
      return { id, isNew: false }
    }
    if (match !== undefined) throw stale()
    const labels = { ...draft.labels, external_id: externalId }
    const [created] = await insertMonitors(transaction, context, [{ ...draft, labels }], { quota, waits })
    return { id: created!.id, isNew: true }
  })
}

/** `fieldAt`: the path of an item's field. */
type Upserts = { items: readonly UpsertItem[]; fieldAt: (index: number, field: string) => string } & UpsertOptions

/**
 * Upserts all items or none. Returns the ids in the order of the items, and how many are new. Throws a 400 for changes that are
 * not possible, and a 409 for a repeated external id.
 */
export async function upsertMonitors(
  db: Database,
  context: RequestContext,
  upserts: Upserts,
): Promise<{ ids: string[]; created: number }> {
  const { items, fieldAt, quota, waits } = upserts
  const indexes = Map.groupBy(items.keys(), (index) => items[index]!.externalId)
  const repeated = [...indexes.values()].flatMap(([, ...others]) => others)
  if (repeated.length > 0) throw externalIdTaken(repeated.map((index) => fieldAt(index, 'external_id')))
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, context.organizationId)
    const taken = await findIdsByExternalId(transaction, context, 'monitors', [...indexes.keys()])
    // A monitor can be deleted before it is locked; it is then created again.
    const rows = await lockMonitors(transaction, context, [...taken.values()])
    const existing = new Map(rows.map((row) => [row.external_id!, row]))
    await updateExisting(transaction, context, upserts, existing)
    const added = [...items.entries()].filter(([, { externalId }]) => !existing.has(externalId))
    const drafts = added.map(([, { draft }]) => draft)
    const groupFields = added.map(([index]) => fieldAt(index, 'group'))
    const created =
      drafts.length === 0 ? [] : await insertMonitors(transaction, context, drafts, { groupFields, quota, waits })
    const ids = new Map([...rows, ...created].map(({ external_id, id }) => [external_id!, id]))
    return { ids: items.map(({ externalId }) => ids.get(externalId)!), created: created.length }
  })
}

async function updateExisting(
  db: Database,
  context: RequestContext,
  { items, fieldAt, waits }: Upserts,
  rows: ReadonlyMap<string, MonitorRow>,
): Promise<void> {
  const { now } = context
  const existing = [...items.entries()].filter(([, { externalId }]) => rows.has(externalId))
  const groups = await resolveGroups(db, context, new Set(existing.flatMap(([, { change }]) => change.group ?? [])))
  const errors: FieldErrors = {}
  const addErrors = (index: number, itemErrors: FieldErrors) => {
    for (const [field, error] of Object.entries(itemErrors)) errors[fieldAt(index, field)] = error
  }
  const updates: MonitorUpdate[] = []
  const waiting: { index: number; id: string; change: MonitorUpsert }[] = []
  for (const [index, { externalId, change }] of existing) {
    const row = rows.get(externalId)!
    const parsed = parseChange(row, change)
    const group = change.group == null ? undefined : groups.get(change.group)
    if (change.group != null && !group) addErrors(index, { group: UNKNOWN_GROUP })
    if (!parsed.ok) {
      addErrors(index, parsed.errors)
      continue
    }
    // A wait also needs a setup page, so these monitors are updated one by one.
    if (change.until !== undefined) {
      waiting.push({ index, id: row.id, change })
      continue
    }
    const groupId = group && group.id !== row.group_id ? group.id : undefined
    if (Object.keys(parsed.changed.columns).length === 0 && groupId === undefined) continue
    updates.push({ row, changed: parsed.changed, groupId, checkAt: now })
  }
  if (Object.keys(errors).length > 0) throw invalid(errors)
  for (const { index, id, change } of waiting) {
    await updateMonitor(db, context, id, change, { waits, keepsWait: true }).catch((error) => {
      if (!(error instanceof Problem && error.errors)) throw error
      addErrors(index, error.errors)
      throw new Problem(error.status, error.message, errors, error.code)
    })
  }
  if (updates.length === 0) return
  await updateMonitors(db, context, updates, now)
  await recordUpdates(db, context, updates)
}

/** One entry for each monitor: a synchronization changes different fields of each. */
async function recordUpdates(db: Database, context: RequestContext, updates: readonly MonitorUpdate[]): Promise<void> {
  const groupIds = updates.flatMap(({ row, groupId }) => (groupId === undefined ? [] : [row.group_id, groupId]))
  const groups = await findGroups(db, context, [...new Set(groupIds)])
  const audited = updates.map(({ row, changed: { columns }, groupId }): AuditRecord => {
    const [from, to] = groupId === undefined ? [] : [groups.get(row.group_id)?.slug, groups.get(groupId)?.slug]
    const after = auditOf({ ...row, ...columns } as MonitorRow, to)
    const action = auditActionOf([...Object.keys(columns), ...(groupId ? ['group_id'] : [])], after.is_active)
    return { action, object: { id: row.id, label: monitorLabel(row) }, before: auditOf(row, from), after }
  })
  await recordAudits(db, context, audited)
}
