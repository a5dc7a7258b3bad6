import { sql } from 'kysely'
import type { Event, EventQuery } from '#contract/events.ts'
import { type Database, engineOf } from '../database/database.ts'
import { narrowestWay, type Way, walking } from '../database/walk.ts'
import { findGroupRow } from '../groups/store.ts'
import { listPage, type Page } from '../http/pages.ts'
import type { Builder } from '../http/stretches.ts'
import { parseTimes } from '../http/times.ts'
import type { Seal } from '../seal.ts'
import { type ShownEvent, toEvent } from './store.ts'

/** The organization's events, or those of one monitor, in the order in which they occurred. */
export async function listEvents(
  db: Database,
  seal: Seal,
  organizationId: string,
  query: EventQuery,
): Promise<Page<Event>> {
  const { occurred_after: above, occurred_before: below } = parseTimes(query, ['occurred_after', 'occurred_before'])
  const filters = await filtersOf(db, organizationId, query)
  const index = await indexFor(db, organizationId, filters)
  const page = await listPage<ShownEvent>(
    {
      db,
      key: ['events', index, ...Object.keys(filters)].join(' '),
      values: [organizationId, ...Object.values(filters)],
      build: () => {
        const events = index === undefined ? 'events' : (walking('events', { index }) as never as 'events')
        let rows = db.selectFrom(events).select(SHOWN).where('events.organization_id', '=', organizationId)
        for (const [column, value] of Object.entries(filters)) {
          rows = rows.where(sql<boolean>`${sql.ref(`events.${column}`)} = ${value}`)
        }
        return rows as unknown as Builder<ShownEvent>
      },
    },
    {
      seal,
      query,
      id: 'events.id',
      orders: { occurred: { column: 'events.occurred_at', above, below } },
      scope: ['events', organizationId, Object.entries(filters), above, below],
    },
  )
  return { ...page, data: page.data.map(toEvent) }
}

type Filters = Partial<Record<'monitor_id' | 'group_id' | 'old_state' | 'new_state', string>>

async function filtersOf(db: Database, organizationId: string, query: EventQuery): Promise<Filters> {
  const { monitor_id, group, old_state, new_state } = query
  const filters: Filters = {}
  if (monitor_id !== undefined) filters.monitor_id = monitor_id
  if (group !== undefined) filters.group_id = (await findGroupRow(db, organizationId, group))?.id ?? ''
  if (old_state !== undefined) filters.old_state = old_state
  if (new_state !== undefined) filters.new_state = new_state
  return filters
}

/** The index that a page walks; undefined where the planner decides. */
async function indexFor(db: Database, organizationId: string, filters: Filters): Promise<string | undefined> {
  if (engineOf(db) === 'postgres') return undefined
  const ways: Way[] = Object.entries(filters).map(([column, value]) =>
    column === 'monitor_id' || column === 'group_id'
      ? { index: `events_by_${column.slice(0, -3)}`, columns: [column], values: [value] }
      : { index: `events_by_${column}`, columns: ['organization_id', column], values: [organizationId, value] },
  )
  if (ways.length < 2) return ways[0]?.index ?? 'events_by_organization'
  return (await narrowestWay(db, 'events', ways))?.way.index
}

const SHOWN = [
  'events.id',
  'events.monitor_id',
  'events.occurred_at',
  'events.old_state',
  'events.new_state',
  'events.previous_values',
  'events.current_values',
  'events.incidence_count',
  'events.domain',
  'events.subdomain',
  'events.record_type',
  'events.expected_values',
  'events.is_exact_match',
] as const
