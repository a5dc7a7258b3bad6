import { type Selectable, sql } from 'kysely'
import {
  EVENT_DETAILS_INCLUDES,
  EVENT_INCLUDES,
  type Event,
  type EventDetails,
  type EventInclude,
  type EventQuery,
  type ListedEvent,
} from '#contract/events.ts'
import { fieldError } from '#contract/field-errors.ts'
import type { MonitorState, Notify } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { choosesIndexes } from '../database/dialect.ts'
import { fromIndex, type IndexedFilter, narrowestIndex } from '../database/index-hints.ts'
import { listPage, type Page } from '../database/pagination.ts'
import type { EventsTable } from '../database/schema.ts'
import { groupIdOf } from '../groups/resolve.ts'
import { parseIncludedFields } from '../http/included-fields.ts'
import { newIdsAt } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { toDiagnosis, toDifference, toReason } from '../monitors/diagnosis.ts'
import { type FieldErrors, notFound } from '../problem.ts'
import { parseTimes, toIso } from '../times.ts'

/** The events of the organization. `isChange`: without the first results of new monitors and new expected values. */
export async function listEvents(
  db: Database,
  keyring: Keyring,
  { organizationId }: Tenant,
  query: EventQuery,
  { isChange = false }: { isChange?: boolean } = {},
): Promise<Page<ListedEvent>> {
  const order_by = query.order_by ?? (query.after_id === undefined ? 'occurred' : 'recorded')
  const { occurred_after: above, occurred_before: below } = parseTimes(
    query,
    ['occurred_after', 'occurred_before'],
    filterErrors({ ...query, order_by }),
  )
  const filters = await columnFilters(db, organizationId, query)
  const index = await indexFor(db, organizationId, order_by, filters, isChange)
  const included = parseIncludedFields(query.include, EVENT_INCLUDES)
  const needsDiagnosis = included.includes('reason') || included.includes('difference')
  let rows = db
    .selectFrom(fromIndex(db, 'events', index))
    .select(needsDiagnosis ? [...LIST_COLUMNS, 'events.diagnosis'] : LIST_COLUMNS)
    .where('events.organization_id', '=', organizationId)
  for (const [column, value] of Object.entries(filters)) {
    rows = rows.where(sql<boolean>`${sql.ref(`events.${column}`)} = ${value}`)
  }
  if (isChange) rows = rows.where(IS_CHANGE)
  const page = await listPage<ListRow>(rows, {
    keyring,
    query: { ...query, order_by },
    id: 'events.id',
    orders: {
      occurred: { column: 'events.occurred_at', above, below },
      recorded: { column: 'events.id', above: query.after_id },
    },
    scope: ['events', organizationId, Object.entries(filters), above, below, query.after_id, isChange],
  })
  return { ...page, data: await withIncluded(db, { organizationId }, page.data, included) }
}

/** The events with the fields of `?include=`. */
async function withIncluded(
  db: Database,
  tenant: Tenant,
  rows: readonly ListRow[],
  included: readonly EventInclude[],
): Promise<EventDetails[]> {
  const ids = rows.map(({ id }) => id)
  const incidents = included.includes('incident') ? await readIncidentIds(db, tenant, ids) : undefined
  const labels = included.includes('monitor') ? await readLabels(db, tenant, rows) : undefined
  return rows.map((row) => ({
    ...toEvent(row),
    ...includedFields(row, included),
    ...(incidents && { incident_id: incidents.get(row.id) ?? null }),
    ...(labels && { monitor: labels.get(row.monitor_id) ?? null }),
  }))
}

async function readLabels(db: Database, { organizationId }: Tenant, events: readonly { monitor_id: string }[]) {
  const rows = await db
    .selectFrom('monitors')
    .select(['id', 'external_id', 'tags', 'metadata'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', [...new Set(events.map(({ monitor_id }) => monitor_id))]))
    .execute()
  return new Map(
    rows.map(({ id, external_id, tags, metadata }) => [
      id,
      { external_id, tags: JSON.parse(tags), metadata: JSON.parse(metadata) },
    ]),
  )
}

type ListRow = EventColumns & Pick<EventRow, 'diagnosis'>

/** `recorded` cannot be combined with filters: there is an index for all events in that order, and none for filters. */
function filterErrors({ order_by, after_id, ...query }: EventQuery): FieldErrors {
  if (order_by !== 'recorded') {
    return after_id === undefined ? {} : { order_by: fieldError('order_conflict') }
  }
  const filters = FILTERS.filter((name) => query[name] !== undefined)
  return Object.fromEntries(filters.map((name) => [name, fieldError('filter_conflict')]))
}

const FILTERS = ['old_state', 'new_state', 'group', 'monitor_id', 'occurred_after', 'occurred_before'] as const

// The same expression as in the migration, so that the partial index is used.
const IS_CHANGE = sql<boolean>`events.old_state <> 'UNSET'`

/** The partial indexes to use instead of those over all events. */
const CHANGE_INDEXES: Record<string, string> = {
  events_by_organization: 'changes_by_organization',
  events_by_group: 'changes_by_group',
  events_by_new_state: 'changes_by_new_state',
}

type Filters = Partial<Record<'monitor_id' | 'group_id' | 'old_state' | 'new_state', string>>

async function columnFilters(db: Database, organizationId: string, query: EventQuery): Promise<Filters> {
  const { monitor_id, group, old_state, new_state } = query
  const filters: Filters = {}
  if (monitor_id !== undefined) filters.monitor_id = monitor_id
  if (group !== undefined) filters.group_id = await groupIdOf(db, { organizationId }, group)
  if (old_state !== undefined) filters.old_state = old_state
  if (new_state !== undefined) filters.new_state = new_state
  return filters
}

/** The index to use; undefined if the planner decides. */
async function indexFor(
  db: Database,
  organizationId: string,
  order: string,
  filters: Filters,
  isChange: boolean,
): Promise<string | undefined> {
  if (choosesIndexes(db)) return undefined
  if (order === 'recorded') return 'events_by_id'
  const indexed: IndexedFilter[] = Object.entries(filters).map(([column, value]) =>
    column === 'monitor_id' || column === 'group_id'
      ? { index: `events_by_${column.slice(0, -3)}`, columns: [column], values: [value] }
      : { index: `events_by_${column}`, columns: ['organization_id', column], values: [organizationId, value] },
  )
  if (indexed.length < 2) {
    const index = indexed[0]?.index ?? 'events_by_organization'
    return isChange ? (CHANGE_INDEXES[index] ?? index) : index
  }
  return (await narrowestIndex(db, 'events', indexed))?.filter.index
}

const LIST_COLUMNS = [
  'events.id',
  'events.monitor_id',
  'events.occurred_at',
  'events.old_state',
  'events.new_state',
  'events.previous_values',
  'events.current_values',
  'events.truncated',
  'events.timed_out',
  'events.incidence_count',
  'events.domain',
  'events.subdomain',
  'events.record_type',
  'events.expected_values',
  'events.is_exact_match',
] as const

export type EventRow = Omit<Selectable<EventsTable>, 'truncated' | 'timed_out'> & {
  truncated?: 0 | 1
  timed_out?: 0 | 1
}
/** The columns of a response. The evidence is large and not among them. */
export type EventColumns = Omit<EventRow, 'diagnosis' | 'group_id' | 'organization_id'>

/** Throws `not_found`. */
export async function getEvent(
  db: Database,
  { organizationId }: Tenant,
  { monitor, event, include }: { monitor: string; event: string; include?: string | undefined },
): Promise<EventDetails> {
  const included = parseIncludedFields(include, EVENT_DETAILS_INCLUDES)
  const row = await db
    .selectFrom('events')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('monitor_id', '=', monitor)
    .where('id', '=', event)
    .executeTakeFirst()
  if (!row) throw notFound()
  const [answer] = await withIncluded(db, { organizationId }, [row], included)
  return { ...answer!, ...(included.includes('diagnosis') && { diagnosis: toDiagnosisOrNull(row.diagnosis) }) }
}

const toDiagnosisOrNull = (diagnosis: string | null) => (diagnosis === null ? null : toDiagnosis(diagnosis))

/** The fields that `?include=` adds to an event. */
export function includedFields({ diagnosis }: Pick<EventRow, 'diagnosis'>, included: readonly EventInclude[]) {
  return {
    ...(included.includes('reason') && { reason: toReason(diagnosis) }),
    ...(included.includes('difference') && { difference: toDifference(diagnosis) }),
  }
}

/** The incident of each event that belongs to one. */
export async function readIncidentIds(
  db: Database,
  { organizationId }: Tenant,
  eventIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('incident_events')
    .select(['event_id', 'incident_id'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'event_id', eventIds))
    .execute()
  return new Map(rows.map(({ event_id, incident_id }) => [event_id, incident_id]))
}

/**
 * A new event id for each of these organizations, greater than all earlier ones of the organization, whatever the clocks of
 * other processes say. It locks the organizations until the transaction ends, so that events are committed in the order of
 * their ids. Call it right before the events are written.
 */
export async function newEventIds(db: Database, organizationIds: readonly string[], now: number): Promise<string[]> {
  if (organizationIds.length === 0) return []
  // In one order, so that two transactions do not deadlock.
  const rows = [...new Set(organizationIds)].sort().map((organization_id) => ({ organization_id, last_at: now }))
  const times = await db
    .insertInto('last_event_times')
    .values(rows)
    .onConflict((conflict) =>
      conflict.column('organization_id').doUpdateSet({
        last_at: sql`case when excluded.last_at > last_event_times.last_at
          then excluded.last_at else last_event_times.last_at + 1 end`,
      }),
    )
    .returning(['organization_id', 'last_at'])
    .execute()
  const next = new Map(times.map(({ organization_id, last_at }) => [organization_id, newIdsAt('evt', last_at)]))
  return organizationIds.map((id) => next.get(id)!())
}

export async function insertEvents(db: Database, rows: readonly EventRow[]): Promise<void> {
  if (rows.length > 0) await db.insertInto('events').values(rows).execute()
}

/** The same object in every response and webhook request. */
export function toEvent(row: EventColumns): Event {
  return {
    id: row.id,
    monitor_id: row.monitor_id,
    occurred: toIso(row.occurred_at),
    ...(row.previous_values === null ? {} : { previous_value: JSON.parse(row.previous_values) }),
    ...(row.current_values === null ? {} : { current_value: JSON.parse(row.current_values) }),
    ...(row.truncated === 1 ? { truncated: true as const } : {}),
    ...(row.timed_out === 1 ? { timed_out: true as const } : {}),
    old_state: row.old_state as MonitorState,
    new_state: row.new_state as MonitorState,
    incidence_count: row.incidence_count,
    domain: {
      domain: row.domain,
      subdomain: row.subdomain,
      record_type: row.record_type as MonitorRecordType,
      expected_value: JSON.parse(row.expected_values),
      is_exact_match: row.is_exact_match === 1,
    },
  }
}

/** Whether the event is delivered, by `notify` of the monitor. */
export function isNotified(notify: Notify, oldState: MonitorState, newState: MonitorState): boolean {
  switch (notify) {
    case 'immediately':
      return true
    case 'on_success':
      return newState === 'VALID' && oldState !== 'VALID'
    case 'after_success':
      return oldState === 'VALID' && newState !== 'VALID'
  }
}
