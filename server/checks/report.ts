import type { MonitorState, Notify } from '#contract/monitors.ts'
import { evaluateSoon } from '../alerts/evaluate.ts'
import type { Database } from '../database/database.ts'
import { type EventRow, insertEvents, isNotified, newEventIds, toEvent } from '../events/store.ts'
import { describeMonitors } from '../monitors/store.ts'
import { insertRequests } from '../webhooks/new-requests.ts'

/** An event to write, and what its monitor wants to be notified of. */
export type NewEvent = { event: Omit<EventRow, 'id'>; notify: Notify }

/**
 * Writes events with the webhook requests for them, in the transaction that changes their monitors, whose rows it has locked. Ids
 * are given in the order of the events.
 */
export async function reportEvents(db: Database, made: readonly NewEvent[], now: number): Promise<void> {
  const ids = await newEventIds(
    db,
    made.map(({ event }) => event.organization_id),
    now,
  )
  const events = made.map(({ event }, index): EventRow => ({ ...event, id: ids[index]! }))
  await insertEvents(db, events)
  await evaluateSoon(
    db,
    events.map((event) => event.organization_id),
    now,
  )
  const reported = events.filter((event, index) => isDelivered(made[index]!.notify, event))
  await insertRequests(
    db,
    reported.map((event) => ({
      organizationId: event.organization_id,
      groupId: event.group_id,
      event: toEvent(event),
    })),
    now,
    describeMonitors,
  )
}

/** The end of a wait is delivered also where `notify` leaves out other events. */
const isDelivered = (notify: Notify, { old_state, new_state, timed_out }: EventRow) =>
  timed_out === 1 || isNotified(notify, old_state as MonitorState, new_state as MonitorState)
