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
import type { Database } from './database/database.ts'
import { forUpdate } from './database/dialect.ts'
import { fromIndex, narrowestIndex } from './database/index-hints.ts'
import { listPage, type Page } from './database/pagination.ts'
import type { AuditLogTable } from './database/schema-people.ts'
import { lowestIdAt, newId } from './ids.ts'
import type { Keyring } from './keyring.ts'
import { truncate } from './text.ts'
import { parseTimes, toIso } from './times.ts'

type Fields = Readonly<Record<string, unknown>>

export type AuditRecord = {
  /** A new one is a verb in `VERBS` of contract/audit-log.ts. */
  action: AuditAction
  /** `type`: by default the first part of the action. */
  object: { type?: AuditObject; id?: string | null; label?: string | null }
  /** The objects, if one call changes several. */
  ids?: readonly string[]
  /** From `newAuditId`, for an entry to which `appendToAudit` adds objects. */
  id?: string
  /** The number of objects, if it differs from the number of `ids`. */
  count?: number
  /** Absent: the object did not exist. Only the fields that differ are stored. */
  before?: Fields
  /** Absent: the object no longer exists. */
  after?: Fields
}

/**
 * The stored fields of each object type. Only fields that the API shows to everyone who may read the object: no secrets, header
 * values, hashes or tokens.
 */
const STORED_FIELDS: Record<AuditObject, readonly string[]> = {
  monitor: [
    ...[
      'domain',
      'subdomain',
      'record_type',
      'expected_value',
      'is_exact_match',
      'is_active',
      'notify',
      'frequency',
      'resolution',
    ],
    ...['group', 'until', 'deadline', 'setup_page', 'external_id', 'tags', 'metadata'],
  ],
  group: ['name', 'slug', 'webhooks', 'is_active', 'notify', 'frequency', 'external_id', 'tags', 'metadata'],
  webhook: [
    ...['url', 'groups', 'is_active', 'headers', 'payload_includes', 'all_groups', 'batch'],
    ...['grace_hours', 'request_id', 'since', 'until', 'status'],
  ],
  channel: ['name', 'type', 'is_active', 'settings'],
  alert_rule: [
    ...['name', 'is_active', 'groups', 'name_pattern', 'record_types', 'states', 'delay', 'notify_recovery'],
    ...['channels', 'first_results', 'repeat_every', 'digest', 'escalate_after', 'escalation_channel'],
    ...['quiet_hours', 'timezone'],
  ],
  job: ['action', 'dry_run', 'filter', 'requests', 'change', 'monitors'],
  setup_page: ['key', 'expires'],
  incident: ['acknowledged', 'assignee', 'snoozed_until', 'note'],
  planned_change: ['monitor_id', 'old_value', 'new_value', 'from', 'to'],
  maintenance_window: ['name', 'monitors', 'groups', 'name_pattern', 'from', 'to', 'rrule', 'timezone'],
  zone: ['name', 'expected_name_servers', 'ignored'],
  view: ['name', 'filter', 'order_by', 'order_way', 'columns'],
  api_key: ['name', 'role', 'expires', 'limits', 'previous_expires'],
  agent: ['name', 'role', 'email', 'notification_email', 'provider'],
  invitation: ['email', 'role'],
  organization: ['name', 'slug', 'timezone', 'event_retention_days', 'alert_emails', 'logo', 'deletes'],
  billing: ['name', 'email', 'line1', 'line2', 'zipcode', 'city', 'state', 'country', 'vat', 'currency'],
  subscription: ['plan', 'status', 'quantity', 'cancel_at'],
}

/** Of the headers of a webhook and the settings of a channel, only the names are stored. */
const STORED_AS_NAMES: ReadonlySet<string> = new Set(['headers', 'settings'])

/**
 * Records a change, in the transaction of the change. One call makes one entry, even if it changes many objects. If no field
 * differs, it makes none.
 */
export async function recordAudit(db: Database, context: RequestContext, record: AuditRecord): Promise<void> {
  await recordAudits(db, context, [record])
}

/** For a call that gives several objects different values: an entry for each object. */
export async function recordAudits(
  db: Database,
  context: RequestContext,
  records: readonly AuditRecord[],
): Promise<void> {
  const rows = records.flatMap((record) => newRow(context, record) ?? [])
  await insertEach(db, 'audit_log', COLUMNS, rows)
}

/** For work in several transactions: each one adds the objects that it changed to the entry with this id, from `newAuditId`. */
export async function appendToAudit(
  db: Database,
  context: RequestContext,
  id: string,
  record: AuditRecord,
): Promise<void> {
  const ids = record.ids ?? []
  if (ids.length === 0) return
  const entry = await db
    .selectFrom('audit_log')
    .select(['object_count', 'object_ids'])
    .where('organization_id', '=', context.organizationId)
    .where('id', '=', id)
    .modifyEnd(forUpdate(db))
    .executeTakeFirst()
  if (!entry) return await recordAudit(db, context, { ...record, id })
  const allIds = [...(JSON.parse(entry.object_ids) as string[]), ...ids].slice(0, MAX_OBJECT_IDS)
  await db
    .updateTable('audit_log')
    .set({ object_count: entry.object_count + ids.length, object_ids: JSON.stringify(allIds) })
    .where('organization_id', '=', context.organizationId)
    .where('id', '=', id)
    .execute()
}

export const newAuditId = ({ now }: Origin): string => newId('aud', now)

/** Further organizations of the user get no entry. */
const MAX_MEMBERSHIPS = 1_000

type AccountRecord = Pick<AuditRecord, 'before' | 'after'> & {
  action: AuditAction & `agent.${string}`
  /** By default the user. */
  actor?: Actor
}

/** Records a change of a user's account, in every organization of the user. */
export async function recordAccountAudit(
  db: Database,
  origin: Origin,
  userId: string,
  { action, actor, ...change }: AccountRecord,
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
    return newRow(context, { action, object: { id, label }, ...change }) ?? []
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

/** Undefined if no field differs. */
function newRow(context: RequestContext, record: AuditRecord): Insertable<AuditLogTable> | undefined {
  const { action, object, ids = [], before, after } = record
  const type = action.split('.')[0] as AuditObject
  const names = STORED_FIELDS[type].filter((name) => JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]))
  if (before && after && names.length === 0) return undefined
  return {
    organization_id: context.organizationId,
    id: record.id ?? newAuditId(context),
    occurred_at: context.now,
    actor_type: context.actor.type,
    actor_id: context.actor.id,
    actor_label: context.actor.label,
    action,
    object_type: object.type ?? type,
    object_id: object.id ?? null,
    object_label: object.label == null ? null : shortened(object.label),
    object_count: record.count ?? Math.max(1, ids.length),
    object_ids: JSON.stringify(ids.slice(0, MAX_OBJECT_IDS)),
    changed_from: serialize(before, names),
    changed_to: serialize(after, names),
    address: context.address,
    request_id: context.requestId,
  }
}

function serialize(fields: Fields | undefined, names: readonly string[]): string | null {
  if (!fields) return null
  const entries = names.flatMap((name) => {
    const value = fields[name]
    return value === undefined ? [] : [[name, shortened(STORED_AS_NAMES.has(name) ? Object.keys(value ?? {}) : value)]]
  })
  return JSON.stringify(Object.fromEntries(entries))
}

const MAX_CHARACTERS = 1_000
const MAX_ITEMS = 100

/** Cuts long texts and lists. */
function shortened<T>(value: T): T
function shortened(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(shortened)
  return typeof value === 'string' ? truncate(value, MAX_CHARACTERS) : value
}

/** The time in an id can be this much later than `occurred_at`: see `newId`. */
const MAX_ID_AHEAD_MS = 1_000

export async function listAuditLog(
  db: Database,
  keyring: Keyring,
  { organizationId }: Tenant,
  query: AuditLogQuery,
): Promise<Page<AuditEntry>> {
  const { actor, action, object } = query
  const { occurred_after: after, occurred_before: before } = parseTimes(query, ['occurred_after', 'occurred_before'])
  const isType = object !== undefined && (AUDIT_OBJECTS as readonly string[]).includes(object)
  const filters = [
    ...(actor === undefined ? [] : [indexFilter('audit_log_by_actor', 'actor_id', organizationId, actor)]),
    ...(action === undefined ? [] : [indexFilter('audit_log_by_action', 'action', organizationId, action)]),
    ...(object === undefined || isType
      ? []
      : [indexFilter('audit_log_by_object', 'object_id', organizationId, object)]),
    ...(isType ? [indexFilter('audit_log_by_object_type', 'object_type', organizationId, object)] : []),
  ]
  const index = (await narrowestIndex(db, 'audit_log', filters))?.filter.index
  const table = fromIndex(db, 'audit_log', index)
  let rows = db.selectFrom(table).selectAll('audit_log').where('audit_log.organization_id', '=', organizationId)
  for (const { columns, values } of filters) rows = rows.where(columns[1], '=', values[1])
  // The conditions on the id limit the rows that the index reads.
  if (after !== undefined) rows = rows.where('occurred_at', '>', after).where('id', '>=', lowestIdAt('aud', after))
  if (before !== undefined) {
    rows = rows.where('occurred_at', '<', before).where('id', '<', lowestIdAt('aud', before + MAX_ID_AHEAD_MS))
  }
  const page = await listPage<Selectable<AuditLogTable>>(rows, {
    keyring,
    query,
    id: 'audit_log.id',
    orders: { occurred: { column: 'audit_log.id' } },
    scope: ['audit log', organizationId, actor, action, object, after, before],
  })
  return { ...page, data: page.data.map(toAuditEntry) }
}

type FilterColumn = 'actor_id' | 'action' | 'object_type' | 'object_id'

const indexFilter = (index: string, column: FilterColumn, organizationId: string, value: string) => ({
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
