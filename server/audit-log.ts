import type { Insertable, Selectable } from 'kysely'
import {
  AUDIT_OBJECTS,
  type AuditAction,
  type AuditEntry,
  type AuditLogQuery,
  type AuditObject,
  MAX_OBJECT_IDS,
} from '#contract/audit-log.ts'
import type { Actor, Origin, RequestContext, Tenant } from './context.ts'
import { insertEach } from './database/bulk.ts'
import { type Database, forUpdate } from './database/database.ts'
import { narrowestIndex, withIndex } from './database/index-hints.ts'
import { listPage, type Page } from './database/pagination.ts'
import type { AuditLogTable } from './database/schema-people.ts'
import { lowestIdAt, newId } from './ids.ts'
import type { Seal } from './seal.ts'
import { parseTimes, toIso } from './times.ts'

type Fields = Readonly<Record<string, unknown>>

export type AuditRecord = {
  action: AuditAction
  /** Where it is another type than the action begins with, `type`. */
  object: { type?: AuditObject; id?: string | null; label?: string | null }
  /** Where one call creates or changes several objects. */
  ids?: readonly string[]
  /** Of an entry to which work in the background adds the objects that it changes: made by `newAuditId`. */
  id?: string
  /** How many objects there are, where that is not what `ids` says. */
  count?: number
  /** The object before and after, as far as it matters. Absent: it is not there. Only what differs is kept. */
  before?: Fields
  after?: Fields
}

/** What is kept of a field: all of it, or what the function leaves. */
type Kept = true | ((value: unknown) => unknown)

const ACCESS = { name: true, role: true } as const

/**
 * The fields that are kept of each type of object: only such as the API shows to everybody who may read the object. Secrets,
 * values of headers, hashes and tokens are not among them.
 */
const KEPT: Record<AuditObject, Record<string, Kept>> = {
  monitor: {
    ...{ domain: true, subdomain: true, record_type: true, expected_value: true, is_exact_match: true },
    ...{ is_active: true, notify: true, frequency: true, group: true },
    ...{ until: true, deadline: true, setup_page: true },
    ...{ external_id: true, tags: true, metadata: true },
  },
  group: {
    ...{ name: true, slug: true, webhooks: true, is_active: true, notify: true, frequency: true },
    ...{ external_id: true, tags: true, metadata: true },
  },
  webhook: {
    ...{ url: true, groups: true, is_active: true, headers: (headers) => Object.keys(headers ?? {}) },
    ...{ payload_includes: true, all_groups: true, batch: true },
    ...{ grace_hours: true, request_id: true, since: true, until: true, status: true },
  },
  channel: { name: true, type: true, is_active: true, settings: (settings) => Object.keys(settings ?? {}) },
  alert_rule: {
    ...{ name: true, is_active: true, groups: true, name_pattern: true, record_types: true, states: true },
    ...{ delay: true, notify_recovery: true, channels: true, first_results: true, repeat_every: true, digest: true },
    ...{ escalate_after: true, escalation_channel: true, quiet_hours: true, timezone: true },
  },
  job: { action: true, dry_run: true, filter: true, requests: true, change: true, monitors: true },
  setup_page: { key: true, expires: true },
  incident: { acknowledged: true, assignee: true, snoozed_until: true, note: true },
  planned_change: { monitor_id: true, old_value: true, new_value: true, from: true, to: true },
  maintenance_window: {
    ...{ name: true, monitors: true, groups: true, name_pattern: true },
    ...{ from: true, to: true, rrule: true, timezone: true },
  },
  view: { name: true, filter: true, order_by: true, order_way: true, columns: true },
  api_key: { ...ACCESS, expires: true, limits: true, previous_expires: true },
  agent: { ...ACCESS, email: true, notification_email: true },
  invitation: { email: true, role: true },
  organization: { name: true, slug: true, timezone: true, event_retention_days: true, alert_emails: true, logo: true },
  billing: {
    ...{ name: true, email: true, line1: true, line2: true, zipcode: true, city: true, state: true, country: true },
    ...{ vat: true, currency: true },
  },
  subscription: { plan: true, status: true, quantity: true, cancel_at: true },
}

/**
 * Records what is done, in the transaction that does it. One entry for each call, also where it changes many objects in
 * the same way. A change after which every field is as before records nothing.
 */
export async function recordAudit(db: Database, context: RequestContext, audited: AuditRecord): Promise<void> {
  await recordAudits(db, context, [audited])
}

/** An entry for each, where one call gives several objects different values. */
export async function recordAudits(
  db: Database,
  context: RequestContext,
  audited: readonly AuditRecord[],
): Promise<void> {
  const rows = audited.flatMap((each) => newRow(context, each, each.id ?? newId('aud', context.now)) ?? [])
  await insertEach(db, 'audit_log', COLUMNS, rows)
}

/**
 * The same for work in several transactions, each of which adds the objects that it changed. `id`: of the entry, made by
 * `newAuditId` before the first of them.
 */
export async function appendToAudit(
  db: Database,
  context: RequestContext,
  id: string,
  audited: AuditRecord,
): Promise<void> {
  const ids = audited.ids ?? []
  if (ids.length === 0) return
  const entry = () =>
    db.selectFrom('audit_log').where('organization_id', '=', context.organizationId).where('id', '=', id)
  const known = await entry().select(['object_count', 'object_ids']).modifyEnd(forUpdate(db)).executeTakeFirst()
  if (!known) {
    const row = newRow(context, audited, id)
    if (row) await insertEach(db, 'audit_log', COLUMNS, [row])
    return
  }
  const all = [...(JSON.parse(known.object_ids) as string[]), ...ids].slice(0, MAX_OBJECT_IDS)
  await db
    .updateTable('audit_log')
    .set({ object_count: known.object_count + ids.length, object_ids: JSON.stringify(all) })
    .where('organization_id', '=', context.organizationId)
    .where('id', '=', id)
    .execute()
}

export const newAuditId = ({ now }: Origin): string => newId('aud', now)

/** Somebody may belong to many organizations. Those beyond this many get no entry about the account. */
const MAX_MEMBERSHIPS = 1_000

/** Records what is done with a person's account, for each organization that the person belongs to. `actor`: the person, if left out. */
export async function recordAccountAudit(
  db: Database,
  origin: Origin,
  userId: string,
  {
    action,
    before,
    after,
    actor,
  }: Pick<AuditRecord, 'before' | 'after'> & {
    action: AuditAction & `agent.${string}`
    actor?: Actor
  },
): Promise<void> {
  const memberships = await db
    .selectFrom('agents')
    .select(['id', 'organization_id', 'name', 'role'])
    .where('person_id', '=', userId)
    .orderBy('id')
    .limit(MAX_MEMBERSHIPS)
    .execute()
  const rows = memberships.flatMap(({ id, organization_id: organizationId, name: label, role }) => {
    const context: RequestContext = { ...origin, organizationId, role, actor: actor ?? { type: 'person', id, label } }
    const audited = { action, object: { id, label }, ...(before && { before }), ...(after && { after }) }
    return newRow(context, audited, newId('aud', origin.now)) ?? []
  })
  await insertEach(db, 'audit_log', COLUMNS, rows)
}

const COLUMNS = {
  organization_id: 'text',
  id: 'text',
  occurred_at: 'bigint',
  actor_type: 'text',
  actor_id: 'text',
  actor_label: 'text',
  action: 'text',
  object_type: 'text',
  object_id: 'text',
  object_label: 'text',
  object_count: 'bigint',
  object_ids: 'text',
  changed_from: 'text',
  changed_to: 'text',
  address: 'text',
  request_id: 'text',
} as const

/** Undefined where nothing changed. */
function newRow(context: RequestContext, audited: AuditRecord, id: string): Insertable<AuditLogTable> | undefined {
  const { action, object, ids = [], before, after } = audited
  const type = action.split('.')[0] as AuditObject
  const kept = KEPT[type]
  const names = Object.keys(kept).filter((name) => JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]))
  if (before && after && names.length === 0) return undefined
  return {
    organization_id: context.organizationId,
    id,
    occurred_at: context.now,
    actor_type: context.actor.type,
    actor_id: context.actor.id,
    actor_label: context.actor.label,
    action,
    object_type: object.type ?? type,
    object_id: object.id ?? null,
    object_label: object.label == null ? null : bounded(object.label),
    object_count: audited.count ?? Math.max(1, ids.length),
    object_ids: JSON.stringify(ids.slice(0, MAX_OBJECT_IDS)),
    changed_from: textOf(before, kept, names),
    changed_to: textOf(after, kept, names),
    address: context.address,
    request_id: context.requestId,
  }
}

function textOf(fields: Fields | undefined, kept: Record<string, Kept>, names: readonly string[]): string | null {
  if (!fields) return null
  const given = names.flatMap((name) => {
    const value = fields[name]
    const keep = kept[name]!
    return value === undefined ? [] : [[name, bounded(keep === true ? value : keep(value))]]
  })
  return JSON.stringify(Object.fromEntries(given))
}

const MAX_CHARACTERS = 1_000
const MAX_ITEMS = 100

/** A value as it is kept: long texts and lists are cut. */
function bounded<T>(value: T): T
function bounded(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(bounded)
  if (typeof value !== 'string' || value.length <= MAX_CHARACTERS) return value
  return `${value.slice(0, MAX_CHARACTERS).toWellFormed()}…`
}

/** An id carries at most this much later a time than its entry: see `newId`. */
const ID_AHEAD_MS = 1_000

export async function listAuditLog(
  db: Database,
  seal: Seal,
  { organizationId }: Tenant,
  query: AuditLogQuery,
): Promise<Page<AuditEntry>> {
  const { actor, action, object } = query
  const { occurred_after: above, occurred_before: below } = parseTimes(query, ['occurred_after', 'occurred_before'])
  const isType = object !== undefined && (AUDIT_OBJECTS as readonly string[]).includes(object)
  const filters = [
    ...(actor === undefined ? [] : [filterBy('audit_log_by_actor', 'actor_id', organizationId, actor)]),
    ...(action === undefined ? [] : [filterBy('audit_log_by_action', 'action', organizationId, action)]),
    ...(object === undefined || isType ? [] : [filterBy('audit_log_by_object', 'object_id', organizationId, object)]),
    ...(isType ? [filterBy('audit_log_by_object_type', 'object_type', organizationId, object)] : []),
  ]
  const index = (await narrowestIndex(db, 'audit_log', filters))?.filter
  const table = index ? (withIndex('audit_log', index) as never as 'audit_log') : 'audit_log'
  let rows = db.selectFrom(table).selectAll('audit_log').where('audit_log.organization_id', '=', organizationId)
  for (const { columns, values } of filters) rows = rows.where(columns[1], '=', values[1])
  // By the id only entries of that time are read.
  if (above !== undefined) rows = rows.where('occurred_at', '>', above).where('id', '>=', lowestIdAt('aud', above))
  if (below !== undefined) {
    rows = rows.where('occurred_at', '<', below).where('id', '<', lowestIdAt('aud', below + ID_AHEAD_MS))
  }
  const page = await listPage<Selectable<AuditLogTable>>(rows as never, {
    seal,
    query,
    id: 'audit_log.id',
    orders: { occurred: { column: 'audit_log.id' } },
    scope: ['audit log', organizationId, actor, action, object, above, below],
  })
  return { ...page, data: page.data.map(toAuditEntry) }
}

type FilterColumn = 'actor_id' | 'action' | 'object_type' | 'object_id'

const filterBy = (index: string, column: FilterColumn, organizationId: string, value: string) => ({
  index,
  columns: ['organization_id', column] as const,
  values: [organizationId, value] as const,
})

function toAuditEntry(row: Selectable<AuditLogTable>): AuditEntry {
  return {
    id: row.id,
    occurred: toIso(row.occurred_at),
    actor: { type: row.actor_type, id: row.actor_id, label: row.actor_label },
    action: row.action as AuditAction,
    object: { type: row.object_type as AuditObject, id: row.object_id, label: row.object_label },
    object_count: row.object_count,
    object_ids: JSON.parse(row.object_ids),
    before: row.changed_from === null ? null : JSON.parse(row.changed_from),
    after: row.changed_to === null ? null : JSON.parse(row.changed_to),
    address: row.address,
    request_id: row.request_id,
  }
}
