import type { MonitorState, Notify } from '#contract/monitors.ts'
import type { Database } from '../database/database.ts'
import type { NewEventRow } from '../events/new-event.ts'
import { type EventRow, insertEvents, isNotified, newEventIds, toEvent } from '../events/store.ts'
import { evaluateSoon } from '../incidents/evaluate-soon.ts'
import { describeMonitors } from '../monitors/store.ts'
import { insertRequests } from '../webhooks/new-requests.ts'

/** `notify`: which events the monitor's webhooks receive. */
export type NewEvent = { event: NewEventRow; notify: Notify }

/**
 * Writes events and their webhook requests. Runs in the transaction that changes the monitors, after it locked their rows. The ids
 * ascend in the order of the events. `webhooks/dispatcher.ts` sends the requests, `incidents/events-to-incidents.ts` evaluates the events.
 */
export async function reportEvents(db: Database, newEvents: readonly NewEvent[], now: number): Promise<void> {
  const ids = await newEventIds(
    db,
    newEvents.map(({ event }) => event.organization_id),
    now,
  )
  const events = newEvents.map(({ event }, index): EventRow => ({ ...event, id: ids[index]! }))
  await insertEvents(db, events)
  await evaluateSoon(
    db,
    events.map((event) => event.organization_id),
    now,
  )
  const delivered = events.filter((event, index) => isDelivered(newEvents[index]!.notify, event))
  await insertRequests(
    db,
    delivered.map((event) => ({
      organizationId: event.organization_id,
      groupId: event.group_id,
      event: toEvent(event),
    })),
    now,
    describeMonitors,
  )
}

/** The end of a wait is always delivered, whatever `notify` says. */
const isDelivered = (notify: Notify, { old_state, new_state, timed_out }: EventRow) =>
  timed_out === 1 || isNotified(notify, old_state as MonitorState, new_state as MonitorState)
