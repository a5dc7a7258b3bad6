import type { Selectable } from 'kysely'
import type { Event, EventAnswer } from '#contract/events.ts'
import type { MonitorRecordType, MonitorState } from '#contract/monitors.ts'
import type { Database } from '../database/database.ts'
import type { EventsTable } from '../database/schema.ts'
import { isoOf } from '../http/times.ts'
import { notFound } from '../problem.ts'

export type EventRow = Selectable<EventsTable>
/** What a representation is made of: without the evidence, which is wide. */
export type ShownEvent = Omit<EventRow, 'diagnosis' | 'group_id' | 'organization_id'>

/** Throws `not_found`, also for another monitor's event. `diagnosis`: with the evidence. */
export async function getEvent(
  db: Database,
  organizationId: string,
  { monitor, event, diagnosis = false }: { monitor: string; event: string; diagnosis?: boolean },
): Promise<EventAnswer> {
  const row = await db
    .selectFrom('events')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('monitor_id', '=', monitor)
    .where('id', '=', event)
    .executeTakeFirst()
  if (!row) throw notFound()
  if (!diagnosis) return toEvent(row)
  return { ...toEvent(row), diagnosis: row.diagnosis === null ? null : JSON.parse(row.diagnosis) }
}

/** One multi-row statement; `rows` is at most a batch of checks. */
export async function insertEvents(db: Database, rows: readonly EventRow[]): Promise<void> {
  if (rows.length > 0) await db.insertInto('events').values(rows).execute()
}

/** The same object in every answer and in what a webhook receives. */
export function toEvent(row: ShownEvent): Event {
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
