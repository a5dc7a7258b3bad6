import type { MonitorUpsert } from '#contract/monitors.ts'
import { type Audited, recordAudits } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import { type Match, stale } from '../database/versions.ts'
import { externalIdTaken, findIdsByExternalId } from '../groups/labels.ts'
import { findGroups, resolveGroups } from '../groups/resolve.ts'
import { UNKNOWN_GROUP } from '../groups/slug.ts'
import type { Quota } from '../organization/quota.ts'
import { type FieldErrors, invalid, Problem } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { lockMonitors, type MonitorUpdate, updateMonitors } from './change-many.ts'
import { insertMonitors } from './insert.ts'
import { auditOf, type MonitorRow, monitorLabel } from './monitor.ts'
import { parseChange } from './parse-change.ts'
import type { MonitorDraft } from './parse-monitor.ts'
import { actionOf, updateMonitor } from './update.ts'

/** `given`: what was sent. `draft`: the same as a monitor to make. */
export type Upsert = {
  externalId: string
  given: MonitorUpsert
  draft: MonitorDraft
  quota: Quota | undefined
  seal: Seal
}

/**
 * Makes the monitor, or changes the one that has the external id: of two requests at the same time one makes it. Throws a 412
 * for a version that it does not have, also where there is none.
 */
export async function upsertMonitor(
  db: Database,
  context: RequestContext,
  { externalId, given, draft, quota, seal }: Upsert,
  match: Match,
): Promise<{ id: string; isNew: boolean }> {
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, context.organizationId)
    const id = (await findIdsByExternalId(transaction, context, 'monitors', [externalId])).get(externalId)
    if (id !== undefined) {
      await updateMonitor(transaction, context, id, given, { match, seal })
      return { id, isNew: false }
    }
    if (match !== undefined) throw stale()
    const labels = { ...draft.labels, external_id: externalId }
    const [made] = await insertMonitors(transaction, context, [{ ...draft, labels }], { quota, seal })
    return { id: made!.id, isNew: true }
  })
}

/** `fieldAt`: the path of an item's field. */
export type Upserts = {
  items: readonly Pick<Upsert, 'externalId' | 'given' | 'draft'>[]
  fieldAt: (place: number, field: string) => string
} & Pick<Upsert, 'quota' | 'seal'>

/**
 * The same for many, all or none. Returns the ids in the order of the items, and how many are new. Throws a 400 with what cannot be
 * changed so, and a 409 for an external id that is there twice.
 */
export async function upsertMonitors(
  db: Database,
  context: RequestContext,
  { items, fieldAt, quota, seal }: Upserts,
): Promise<{ ids: string[]; created: number }> {
  const places = Map.groupBy(items.keys(), (place) => items[place]!.externalId)
  const repeated = [...places.values()].flatMap(([, ...others]) => others)
  if (repeated.length > 0) throw externalIdTaken(repeated.map((place) => fieldAt(place, 'external_id')))
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, context.organizationId)
    const taken = await findIdsByExternalId(transaction, context, 'monitors', [...places.keys()])
    // One that was deleted meanwhile is made again.
    const rows = await lockMonitors(transaction, context, [...taken.values()])
    const known = new Map(rows.map((row) => [row.external_id!, row]))
    await changeKnown(transaction, context, { items, fieldAt, quota, seal }, known)
    const added = [...items.entries()].filter(([, { externalId }]) => !known.has(externalId))
    const drafts = added.map(([, { draft }]) => draft)
    const groupFields = added.map(([place]) => fieldAt(place, 'group'))
    const made =
      drafts.length === 0 ? [] : await insertMonitors(transaction, context, drafts, { groupFields, quota, seal })
    const ids = new Map([...known.values(), ...made].map(({ external_id, id }) => [external_id!, id]))
    return { ids: items.map(({ externalId }) => ids.get(externalId)!), created: made.length }
  })
}

async function changeKnown(
  db: Database,
  context: RequestContext,
  { items, fieldAt, seal }: Upserts,
  rows: ReadonlyMap<string, MonitorRow>,
): Promise<void> {
  const { now } = context
  const changing = [...items.entries()].filter(([, { externalId }]) => rows.has(externalId))
  const named = changing.flatMap(([, { given }]) => given.group ?? [])
  const groups = await resolveGroups(db, context, new Set(named))
  const errors: FieldErrors = {}
  const changes: MonitorUpdate[] = []
  const waiting: { place: number; id: string; given: MonitorUpsert }[] = []
  for (const [place, { externalId, given }] of changing) {
    const row = rows.get(externalId)!
    const parsed = parseChange(row, given)
    const group = given.group == null ? undefined : groups.get(given.group)
    if (given.group != null && !group) errors[fieldAt(place, 'group')] = UNKNOWN_GROUP
    if (!parsed.ok) {
      for (const [field, error] of Object.entries(parsed.errors)) errors[fieldAt(place, field)] = error
      continue
    }
    // Who waits has a link too, which is made one by one.
    if (given.until !== undefined) {
      waiting.push({ place, id: row.id, given })
      continue
    }
    const groupId = group && group.id !== row.group_id ? group.id : undefined
    if (Object.keys(parsed.changed.columns).length === 0 && groupId === undefined) continue
    changes.push({ row, changed: parsed.changed, groupId, checkAt: now })
  }
  if (Object.keys(errors).length > 0) throw invalid(errors)
  for (const { place, id, given } of waiting) {
    await updateMonitor(db, context, id, given, { seal }).catch((error) => {
      if (!(error instanceof Problem && error.errors)) throw error
      throw invalid(Object.fromEntries(Object.entries(error.errors).map(([field, of]) => [fieldAt(place, field), of])))
    })
  }
  if (changes.length === 0) return
  await updateMonitors(db, context, changes, now)
  await recordChanges(db, context, changes)
}

/** Each monitor has its own entry: what a synchronization changes differs from monitor to monitor. */
async function recordChanges(db: Database, context: RequestContext, changes: readonly MonitorUpdate[]): Promise<void> {
  const moves = changes.flatMap(({ row, groupId }) => (groupId === undefined ? [] : [row.group_id, groupId]))
  const groups = await findGroups(db, context, [...new Set(moves)])
  const audited = changes.map(({ row, changed: { columns }, groupId }): Audited => {
    const [from, to] = groupId === undefined ? [] : [groups.get(row.group_id)?.slug, groups.get(groupId)?.slug]
    const after = auditOf({ ...row, ...columns } as MonitorRow, to)
    const action = actionOf([...Object.keys(columns), ...(groupId ? ['group_id'] : [])], after.is_active)
    return { action, object: { id: row.id, label: monitorLabel(row) }, before: auditOf(row, from), after }
  })
  await recordAudits(db, context, audited)
}
