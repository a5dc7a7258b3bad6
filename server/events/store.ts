import { type Selectable, sql } from 'kysely'
import type { Event, EventDetails } from '#contract/events.ts'
import type { MonitorState, Notify } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { EventsTable } from '../database/schema.ts'
import { newIdsAt } from '../ids.ts'
import { toDiagnosis, toDifference, toReason } from '../monitors/diagnosis.ts'
import { notFound } from '../problem.ts'
import { toIso } from '../times.ts'

export type EventRow = Omit<Selectable<EventsTable>, 'truncated' | 'timed_out'> & {
  truncated?: 0 | 1
  timed_out?: 0 | 1
}
/** What a representation is made of: without the evidence, which is wide. */
export type ShownEvent = Omit<EventRow, 'diagnosis' | 'group_id' | 'organization_id'>

/** Throws `not_found`, also for another monitor's event. */
export async function getEvent(
  db: Database,
  { organizationId }: Tenant,
  { monitor, event, include }: { monitor: string; event: string; include?: string | undefined },
): Promise<EventDetails> {
  const row = await db
    .selectFrom('events')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('monitor_id', '=', monitor)
    .where('id', '=', event)
    .executeTakeFirst()
  if (!row) throw notFound()
  if (include === 'diagnosis')
    return { ...toEvent(row), diagnosis: row.diagnosis === null ? null : toDiagnosis(row.diagnosis) }
  if (include !== 'incident') return { ...toEvent(row), ...explained(row, include) }
  return { ...toEvent(row), incident_id: (await incidentsOf(db, { organizationId }, [event])).get(event) ?? null }
}

/** What `?include=` adds to an event. */
export function explained({ diagnosis }: Pick<EventRow, 'diagnosis'>, include: string | undefined) {
  return {
    ...(include?.includes('reason') && { reason: toReason(diagnosis) }),
    ...(include?.includes('difference') && { difference: toDifference(diagnosis) }),
  }
}

/** The incidents of those events that have one: failures of what was valid, and their recoveries. */
export async function incidentsOf(
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
 * An id for an event of each of these organizations: greater than every id of that organization before, whichever process
 * made it and whatever its clock says. Until the transaction ends no other one gets ids for these organizations, so events
 * are committed in the order of their ids. Call it right before the events are written.
 */
export async function newEventIds(db: Database, organizationIds: readonly string[], now: number): Promise<string[]> {
  if (organizationIds.length === 0) return []
  // In one order, so that two transactions do not wait for each other.
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

/** One multi-row statement; `rows` is at most a batch of checks. */
export async function insertEvents(db: Database, rows: readonly EventRow[]): Promise<void> {
  if (rows.length > 0) await db.insertInto('events').values(rows).execute()
}

/** The same object in every answer and in what a webhook receives. */
export function toEvent(row: ShownEvent): Event {
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

/** Whether an event is delivered, by the monitor's `notify`. */
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
