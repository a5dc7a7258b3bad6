import { activeRules, newAlerts } from '../alerts/active-rules.ts'
import { makeGrownDue } from '../alerts/alert-growth.ts'
import { insertAlerts, type NewAlert } from '../alerts/alert-store.ts'
import { tagsByMonitor } from '../alerts/rule-matching.ts'
import { insertEach, isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { type Claim, claimDue, reschedule } from '../queue/lease-queue.ts'
import { failureOf, groupedFailure, loadIncidentGrouping } from './grouping.ts'
import {
  type IncidentMembership,
  insertMemberships,
  leftMemberships,
  type NewMembership,
  openMemberships,
  type Recovery,
  returnedMonitors,
  updateMemberships,
} from './memberships.ts'
import { recordRecoveries } from './resolve.ts'
import { countEntries, insertEntries } from './timeline.ts'
import { applyZones, changedZones } from './zone-failures.ts'

/** Events that one transaction turns into incidents. */
const BATCH_SIZE = 200
/** A transaction reads no more events after this many alerts. A rule may have ten channels. */
const MAX_ALERTS = 500

/** Claims organizations with new events, and turns a batch of each into incidents and alerts. `isBehind`: a batch was full. */
export async function evaluateDue(
  db: Database,
  options: { now: number; process: number; limit: number },
): Promise<{ count: number; isBehind: boolean }> {
  const claims = await claimDue(db, 'due_evaluations', options)
  let isBehind = false
  for (const claim of claims) if (await evaluate(db, claim, options.now)) isBehind = true
  return { count: claims.length, isBehind }
}

/**
 * Returns whether the batch was full. A transaction does one kind of work, so that all of them lock in the same order: incidents,
 * monitors, memberships, `due_evaluations`.
 */
async function evaluate(db: Database, claim: Claim<'due_evaluations'>, now: number): Promise<boolean> {
  const { organization_id: organizationId } = claim
  return await inTransaction(db, async (transaction) => {
    const { left, returned, events, zones } = await findWork(transaction, claim)
    let lastEventId = claim.after_event_id
    let isDone = false
    if (left.length > 0) await recordRecoveries(transaction, organizationId, left, now)
    else if (returned.length > 0) await applyReturned(transaction, organizationId, returned, now)
    else if (events.length > 0) lastEventId = await applyEvents(transaction, organizationId, events, now)
    else if (zones.length > 0)
      await applyZones(transaction, organizationId, zones, await activeRules(transaction, organizationId), now)
    else {
      await lockWriters(transaction, organizationId)
      isDone = Object.values(await findWork(transaction, claim)).every((rows) => rows.length === 0)
    }
    const set = { due_at: isDone ? null : now, after_event_id: lastEventId }
    const rescheduled = await reschedule(transaction, 'due_evaluations', [{ claim, set }])
    if (rescheduled.length === 0) throw new Error('The lease of an evaluation expired. Another process does it.')
    return events.length === BATCH_SIZE
  })
}

const findWork = async (db: Database, claim: Claim<'due_evaluations'>) => ({
  events: await eventsAfter(db, claim),
  left: await leftMemberships(db, claim.organization_id),
  returned: await returnedMonitors(db, claim.organization_id),
  zones: await changedZones(db, claim.organization_id),
})

/** Every transaction that adds work holds one of these locks until its end, so none can commit between the last read and the end of this one. */
async function lockWriters(db: Database, organizationId: string): Promise<void> {
  await db
    .selectFrom('last_event_times')
    .select('last_at')
    .where('organization_id', '=', organizationId)
    .modifyEnd(forUpdate(db))
    .execute()
  await db
    .selectFrom('due_evaluations')
    .select('due_at')
    .where('organization_id', '=', organizationId)
    .modifyEnd(forUpdate(db))
    .execute()
}

type EventRow = Awaited<ReturnType<typeof eventsAfter>>[number]

function eventsAfter(db: Database, { organization_id, after_event_id }: Claim<'due_evaluations'>) {
  return db
    .selectFrom('events')
    .select(['id', 'monitor_id', 'group_id', 'occurred_at', 'old_state', 'new_state'])
    .select(['domain', 'subdomain', 'record_type', 'current_values', 'diagnosis'])
    .where('organization_id', '=', organization_id)
    .where('id', '>', after_event_id)
    .orderBy('id')
    .limit(BATCH_SIZE)
    .execute()
}

/** Treats monitors that were enabled and still fail as if they failed now. Their event is the one of the original failure. */
async function applyReturned(db: Database, organizationId: string, monitorIds: readonly string[], now: number) {
  const memberships = await openMemberships(db, organizationId, monitorIds)
  const isInIncident = new Set(memberships.map(({ monitor_id }) => monitor_id))
  const rows = await db
    .selectFrom('incident_monitors')
    .innerJoin('monitors', (join) =>
      join
        .onRef('monitors.organization_id', '=', 'incident_monitors.organization_id')
        .onRef('monitors.id', '=', 'incident_monitors.monitor_id'),
    )
    .select(['incident_monitors.event_id as id', 'incident_monitors.returned_at', 'incident_monitors.first_result'])
    .select(['monitors.id as monitor_id', 'monitors.group_id', 'monitors.state as new_state', 'monitors.domain'])
    .select(['monitors.subdomain', 'monitors.record_type', 'monitors.current_values', 'monitors.diagnosis'])
    .where('incident_monitors.organization_id', '=', organizationId)
    .where(isOneOf(db, 'incident_monitors.monitor_id', monitorIds))
    .where('returned_at', 'is not', null)
    .where('monitors.is_active', '=', 1)
    .where('monitors.state', 'not in', ['VALID', 'UNSET'])
    .orderBy('incident_monitors.monitor_id')
    .execute()
  const events = rows
    .filter(({ monitor_id }) => !isInIncident.has(monitor_id))
    .map(({ returned_at, first_result, ...row }) => {
      return { ...row, occurred_at: returned_at!, old_state: first_result === 1 ? 'UNSET' : 'VALID' }
    })
  const last = events.length === 0 ? undefined : await applyEvents(db, organizationId, events, now, false)
  const remaining = events.slice(events.findIndex(({ id }) => id === last) + 1).map(({ monitor_id }) => monitor_id)
  await db
    .updateTable('incident_monitors')
    .set({ returned_at: null })
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', [...new Set(monitorIds).difference(new Set(remaining))]))
    .where('returned_at', 'is not', null)
    .execute()
}

/** Returns the id of the last event that it applied. `isNew`: the events belong to no incident yet. */
async function applyEvents(
  db: Database,
  organizationId: string,
  recorded: readonly EventRow[],
  now: number,
  isNew = true,
): Promise<string> {
  const rules = await activeRules(db, organizationId)
  const monitorIds = [...new Set(recorded.map(({ monitor_id }) => monitor_id))]
  const open = await openMemberships(db, organizationId, monitorIds)
  const memberships = new Map(open.map((membership) => [membership.monitor_id, membership]))
  const failingMonitors = await lockFailingMonitors(db, organizationId, recorded)
  const events = recorded.map((event) => ({ ...event, old_state: stateBefore(event, failingMonitors) }))
  const failures = new Map(
    events.filter(({ new_state }) => new_state !== 'VALID').map((event) => [event, groupedFailure(event)]),
  )
  const incidents = await loadIncidentGrouping(db, organizationId, [...failures.values()])
  const needsTags = rules.some(({ row }) => row.tags !== null)
  const tags = needsTags ? await tagsByMonitor(db, organizationId, monitorIds) : new Map<string, string[]>()
  const recoveries: Recovery[] = []
  const joined: NewMembership[] = []
  const changed: (IncidentMembership & { event: EventRow })[] = []
  const links: { event_id: string; incident_id: string }[] = []
  const alerts = new Map<string, NewAlert>()
  const appliedMonitors = new Set<string>()
  let last = events[0]!.id
  for (const event of events) {
    // The next transaction applies a monitor's second event, because it must read what this one writes.
    if (alerts.size >= MAX_ALERTS || appliedMonitors.has(event.monitor_id)) break
    appliedMonitors.add(event.monitor_id)
    last = event.id
    const membership = memberships.get(event.monitor_id)
    if (event.new_state === 'VALID') {
      if (!membership) continue
      recoveries.push({ ...membership, at: event.occurred_at })
      links.push({ event_id: event.id, incident_id: membership.incident_id })
      continue
    }
    // Disabled or changed since the event: the monitor must not join an incident.
    if (!membership && !failingMonitors.has(event.monitor_id)) continue
    const failure = { ...failureOf(event), tags: tags.get(event.monitor_id) ?? [] }
    let matching = rules.filter(({ matches }) => matches(failure))
    if (!membership && event.old_state !== 'VALID') {
      // The first result of a monitor only matters to rules that say so.
      matching = matching.filter(({ row }) => row.first_results === 1)
      if (matching.length === 0) continue
    }
    let incidentId: string
    if (membership) {
      incidentId = membership.incident_id
      changed.push({ ...membership, event })
    } else {
      const incident = incidents.join(failures.get(event)!, now)
      incidentId = incident.id
      joined.push({ incident, event })
    }
    links.push({ event_id: event.id, incident_id: incidentId })
    for (const alert of matching.flatMap((rule) => newAlerts(rule, incidentId, event.occurred_at, now))) {
      const key = `${incidentId} ${alert.ruleId} ${alert.channelId}`
      if (!alerts.has(key)) alerts.set(key, alert)
    }
  }
  await incidents.write(db, now)
  await insertMemberships(db, organizationId, joined)
  await updateMemberships(db, organizationId, changed)
  if (isNew) await insertLinks(db, organizationId, links)
  await insertAlerts(db, organizationId, [...alerts.values()], now)
  await incidents.merge(db)
  const grown = joined.map(({ incident }) => incidents.idAfterMerge(incident.id))
  await makeGrownDue(db, organizationId, grown, now)
  // A new incident has no monitors yet.
  const added = joined.filter(({ incident }) => incident.monitors > 0)
  const entries = added.map(({ incident }) => ({
    incidentId: incidents.idAfterMerge(incident.id),
    kind: 'joined' as const,
  }))
  await insertEntries(db, organizationId, countEntries(entries), now)
  const recovered = recoveries.map((each) => ({ ...each, incident_id: incidents.idAfterMerge(each.incident_id) }))
  await recordRecoveries(db, organizationId, recovered, now)
  return last
}

/** A first result after the definition of a valid monitor changed is a failure for people, although its event begins at UNSET. */
const stateBefore = (
  { old_state, monitor_id }: EventRow,
  monitors: ReadonlyMap<string, { was_valid: 0 | 1 }>,
): string => (old_state === 'UNSET' && monitors.get(monitor_id)?.was_valid === 1 ? 'VALID' : old_state)

/** Monitors of the failing events that are still active and unchanged. Locked, so that none leaves its incident before it joins. */
async function lockFailingMonitors(
  db: Database,
  organizationId: string,
  events: readonly EventRow[],
): Promise<Map<string, { was_valid: 0 | 1 }>> {
  const failing = events.filter(({ new_state }) => new_state !== 'VALID')
  const rows = await db
    .selectFrom('monitors')
    .select(['id', 'was_valid'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', [...new Set(failing.map(({ monitor_id }) => monitor_id))]))
    .where('is_active', '=', 1)
    .where('state', '<>', 'UNSET')
    .orderBy('id')
    .modifyEnd(forUpdate(db))
    .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

/** Keeps the incident of each event after the monitor joins another incident. */
async function insertLinks(
  db: Database,
  organizationId: string,
  links: readonly { event_id: string; incident_id: string }[],
): Promise<void> {
  const columns = { organization_id: 'text', event_id: 'text', incident_id: 'text' } as const
  const rows = links.map((link) => ({ organization_id: organizationId, ...link }))
  await insertEach(db, 'incident_events', columns, rows)
}
