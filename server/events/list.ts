import { sql } from 'kysely'
import type { EventQuery, ListedEvent } from '#contract/events.ts'
import { fieldError } from '#contract/field-errors.ts'
import type { Tenant } from '../context.ts'
import { type Database, engineOf } from '../database/database.ts'
import { type IndexedFilter, narrowestIndex, withIndex } from '../database/index-hints.ts'
import type { ListQuery } from '../database/pagination.ts'
import { listPage, type Page } from '../database/pagination.ts'
import { findGroupRow, isGroupId } from '../groups/resolve.ts'
import type { FieldErrors } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { parseTimes } from '../times.ts'
import { type EventRow, explained, incidentsOf, type ShownEvent, toEvent } from './store.ts'

/**
 * The organization's events, or those of one monitor, in the order in which they occurred. `isChange`: without first results,
 * of a new monitor or a new expectation.
 */
export async function listEvents(
  db: Database,
  seal: Seal,
  { organizationId }: Tenant,
  query: EventQuery,
  { isChange = false }: { isChange?: boolean } = {},
): Promise<Page<ListedEvent>> {
  const order_by = query.order_by ?? (query.after_id === undefined ? 'occurred' : 'recorded')
  const { occurred_after: above, occurred_before: below } = parseTimes(
    query,
    ['occurred_after', 'occurred_before'],
    refusedOf({ ...query, order_by }),
  )
  const filters = await filtersOf(db, organizationId, query)
  const index = await indexFor(db, organizationId, order_by, filters, isChange)
  const events = index === undefined ? 'events' : (withIndex('events', { index }) as never as 'events')
  const { include } = query
  let rows = db
    .selectFrom(events)
    .select(include ? [...SHOWN, 'events.diagnosis'] : SHOWN)
    .where('events.organization_id', '=', organizationId)
  for (const [column, value] of Object.entries(filters)) {
    rows = rows.where(sql<boolean>`${sql.ref(`events.${column}`)} = ${value}`)
  }
  if (isChange) rows = rows.where(IS_CHANGE)
  const page = await listPage<Listed>(rows as unknown as ListQuery<Listed>, {
    seal,
    query: { ...query, order_by },
    id: 'events.id',
    orders: {
      occurred: { column: 'events.occurred_at', above, below },
      recorded: { column: 'events.id', above: query.after_id },
    },
    scope: ['events', organizationId, Object.entries(filters), above, below, query.after_id, isChange],
  })
  if (include === 'incident') {
    const ids = page.data.map(({ id }) => id)
    const incidents = await incidentsOf(db, { organizationId }, ids)
    const data = page.data.map((row) => ({ ...toEvent(row), incident_id: incidents.get(row.id) ?? null }))
    return { ...page, data }
  }
  return { ...page, data: page.data.map((row) => ({ ...toEvent(row), ...explained(row, include) })) }
}

type Listed = ShownEvent & Pick<EventRow, 'diagnosis'>

/** In the order in which they were recorded there is an index of all events, and none of those that a filter wants. */
function refusedOf({ order_by, after_id, ...query }: EventQuery): FieldErrors {
  if (order_by !== 'recorded') {
    return after_id === undefined ? {} : { order_by: fieldError('order_conflict') }
  }
  const given = FILTERS.filter((name) => query[name] !== undefined)
  return Object.fromEntries(given.map((name) => [name, fieldError('filter_conflict')]))
}

const FILTERS = ['old_state', 'new_state', 'group', 'monitor_id', 'occurred_after', 'occurred_before'] as const

// In the words of the migration, so that the partial index is used.
const IS_CHANGE = sql<boolean>`events.old_state <> 'UNSET'`

/** Partial indexes instead of those that hold every event. */
const OF_CHANGES: Record<string, string> = {
  events_by_organization: 'changes_by_organization',
  events_by_group: 'changes_by_group',
  events_by_new_state: 'changes_by_new_state',
}

type Filters = Partial<Record<'monitor_id' | 'group_id' | 'old_state' | 'new_state', string>>

async function filtersOf(db: Database, organizationId: string, query: EventQuery): Promise<Filters> {
  const { monitor_id, group, old_state, new_state } = query
  const filters: Filters = {}
  if (monitor_id !== undefined) filters.monitor_id = monitor_id
  // By its id a group that was deleted is found, too: its events stay.
  if (group !== undefined) {
    filters.group_id = isGroupId(group) ? group : ((await findGroupRow(db, { organizationId }, group))?.id ?? '')
  }
  if (old_state !== undefined) filters.old_state = old_state
  if (new_state !== undefined) filters.new_state = new_state
  return filters
}

/** The index that a page walks; undefined where the planner decides. */
async function indexFor(
  db: Database,
  organizationId: string,
  order: string,
  filters: Filters,
  isChange: boolean,
): Promise<string | undefined> {
  if (engineOf(db) === 'postgres') return undefined
  if (order === 'recorded') return 'events_by_id'
  const indexed: IndexedFilter[] = Object.entries(filters).map(([column, value]) =>
    column === 'monitor_id' || column === 'group_id'
      ? { index: `events_by_${column.slice(0, -3)}`, columns: [column], values: [value] }
      : { index: `events_by_${column}`, columns: ['organization_id', column], values: [organizationId, value] },
  )
  if (indexed.length < 2) {
    const index = indexed[0]?.index ?? 'events_by_organization'
    return isChange ? (OF_CHANGES[index] ?? index) : index
  }
  return (await narrowestIndex(db, 'events', indexed))?.filter.index
}

const SHOWN = [
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
