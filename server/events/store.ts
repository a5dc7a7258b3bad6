import type { Selectable } from 'kysely'
import type { Event, EventQuery } from '#contract/events.ts'
import type { MonitorRecordType, MonitorState } from '#contract/monitors.ts'
import type { Database } from '../database/database.ts'
import type { EventsTable } from '../database/schema.ts'
import { findGroupRow } from '../groups/store.ts'
import { listPage, type Page } from '../http/pages.ts'
import { isoOf, parseTime } from '../http/times.ts'
import { notFound } from '../problem.ts'
import type { Seal } from '../seal.ts'

export type EventRow = Selectable<EventsTable>

/** The organization's events, or those of one monitor, in the order in which they occurred. */
export async function listEvents(
  db: Database,
  seal: Seal,
  organizationId: string,
  query: EventQuery,
): Promise<Page<Event>> {
  const before = query.occurred_before === undefined ? undefined : parseTime('occurred_before', query.occurred_before)
  const after = query.occurred_after === undefined ? undefined : parseTime('occurred_after', query.occurred_after)
  const groupId =
    query.group === undefined ? undefined : ((await findGroupRow(db, organizationId, query.group))?.id ?? '')

  let base = db.selectFrom('events').selectAll('events').where('events.organization_id', '=', organizationId)
  if (query.monitor_id !== undefined) base = base.where('events.monitor_id', '=', query.monitor_id)
  if (groupId !== undefined) base = base.where('events.group_id', '=', groupId)
  if (query.old_state !== undefined) base = base.where('events.old_state', '=', query.old_state)
  if (query.new_state !== undefined) base = base.where('events.new_state', '=', query.new_state)
  if (before !== undefined) base = base.where('events.occurred_at', '<', before)
  if (after !== undefined) base = base.where('events.occurred_at', '>', after)
  const page = await listPage<EventRow>(base as never, {
    seal,
    query,
    id: 'events.id', // ids are made in the order of time
    orders: { occurred: { column: 'events.id' } },
    scope: ['events', organizationId, query.monitor_id, groupId, query.old_state, query.new_state, before, after],
  })
  return { ...page, data: page.data.map(toEvent) }
}

/** Throws `not_found`, also for another monitor's event. */
export async function getEvent(db: Database, organizationId: string, monitorId: string, id: string): Promise<Event> {
  const row = await db
    .selectFrom('events')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('monitor_id', '=', monitorId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) throw notFound()
  return toEvent(row)
}

/** One multi-row statement; `rows` is at most a batch of checks. */
export async function insertEvents(db: Database, rows: readonly EventRow[]): Promise<void> {
  if (rows.length > 0) await db.insertInto('events').values(rows).execute()
}

/** The same object in every answer and in what a webhook receives. */
export function toEvent(row: EventRow): Event {
  return {
    id: row.id,
    monitor_id: row.monitor_id,
    occurred: isoOf(row.occurred_at),
    ...(row.previous_values === null ? {} : { previous_value: JSON.parse(row.previous_values) }),
    ...(row.current_values === null ? {} : { current_value: JSON.parse(row.current_values) }),
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
