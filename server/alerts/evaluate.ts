import type { Selectable } from 'kysely'
import { insertEach, isOneOf } from '../database/bulk.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { type Claim, claimDue, reschedule } from '../database/lease-queue.ts'
import type { AlertRulesTable } from '../database/schema-alerts.ts'
import { insertAlerts, type NewAlert } from './alert-store.ts'
import {
  changeMemberships,
  insertMemberships,
  type Joined,
  leftMemberships,
  type Membership,
  openMemberships,
  type Recovered,
  recover,
  returnedMonitors,
} from './incident-monitors.ts'
import { failureOf, openIncidents } from './open-incidents.ts'
import { matcherOf, tagsOf } from './rule.ts'

/** Events that one transaction turns into incidents. */
const MOST_EVENTS = 200
/** Alerts after which no more events are read: a rule may have ten channels. */
const MOST_ALERTS = 500
/** Monitors that fail together are in one message, also where a rule has no delay. */
const GATHERING_MS = 15_000

type RuleRow = Selectable<AlertRulesTable>
type Rule = { row: RuleRow; matches: ReturnType<typeof matcherOf>; channels: string[] }

/** Call it in the transaction that writes events of these organizations, after them. */
export async function evaluateSoon(db: Database, organizationIds: readonly string[], now: number): Promise<void> {
  if (organizationIds.length === 0) return
  await db
    .updateTable('due_evaluations')
    .set({ due_at: now })
    .where(isOneOf(db, 'organization_id', [...new Set(organizationIds)]))
    // Most are due already, and nothing is written or locked for them.
    .where('due_at', 'is', null)
    .execute()
}

/** Claims organizations with new events, and turns some events of each into incidents and alerts. `isBehind`: there were more than one pass takes. */
export async function evaluateDue(
  db: Database,
  options: { now: number; process: number; limit: number },
): Promise<{ count: number; isBehind: boolean }> {
  const claims = await claimDue(db, 'due_evaluations', options)
  let isBehind = false
  for (const claim of claims) if (await evaluate(db, claim, options.now)) isBehind = true
  return { count: claims.length, isBehind }
}

/** Returns whether there were more events than it took. One thing at a time, so that locks are taken in one order: incidents, monitors, their places, then `due_evaluations`. */
async function evaluate(db: Database, claim: Claim<'due_evaluations'>, now: number): Promise<boolean> {
  const { organization_id: organizationId } = claim
  return await inTransaction(db, async (transaction) => {
    const { left, returned, events } = await workOf(transaction, claim)
    let last: string | undefined
    let isAtEnd = false
    if (left.length > 0) await recover(transaction, organizationId, left, now)
    else if (returned.length > 0) await applyReturned(transaction, organizationId, returned, now)
    else if (events.length > 0) last = await applyEvents(transaction, organizationId, events, now)
    else {
      await lockOut(transaction, organizationId)
      isAtEnd = isDone(await workOf(transaction, claim))
    }
    const set = { due_at: isAtEnd ? null : now, after_event_id: last ?? claim.after_event_id }
    const held = await reschedule(transaction, 'due_evaluations', [{ claim, set }])
    if (held.length === 0) throw new Error('The lease of an evaluation expired. Another process does it.')
    return events.length === MOST_EVENTS
  })
}

type Work = { events: EventRow[]; left: Recovered[]; returned: string[] }

const workOf = async (db: Database, claim: Claim<'due_evaluations'>): Promise<Work> => ({
  events: await eventsAfter(db, claim),
  left: await leftMemberships(db, claim.organization_id),
  returned: await returnedMonitors(db, claim.organization_id),
})

const isDone = ({ events, left, returned }: Work): boolean =>
  events.length === 0 && left.length === 0 && returned.length === 0

/** Anyone who writes events, or takes monitors out of incidents, holds one of these until its end: no work comes between the next look and the end of ours. */
async function lockOut(db: Database, organizationId: string): Promise<void> {
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
    .limit(MOST_EVENTS)
    .execute()
}

/** Monitors that were enabled and still fail, as if they broke now. The event is the one by which they failed. */
async function applyReturned(db: Database, organizationId: string, monitorIds: readonly string[], now: number) {
  const isInIncident = new Set(
    (await openMemberships(db, organizationId, monitorIds)).map(({ monitor_id }) => monitor_id),
  )
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
  const rest = events.slice(events.findIndex(({ id }) => id === last) + 1).map(({ monitor_id }) => monitor_id)
  await db
    .updateTable('incident_monitors')
    .set({ returned_at: null })
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', [...new Set(monitorIds).difference(new Set(rest))]))
    .where('returned_at', 'is not', null)
    .execute()
}

/** Returns the id of the last event that it applied. `isNew`: they are in no incident yet. */
async function applyEvents(
  db: Database,
  organizationId: string,
  events: readonly EventRow[],
  now: number,
  isNew = true,
): Promise<string> {
  const rules = await activeRules(db, organizationId)
  const places = new Map<string, Membership>()
  const monitorIds = [...new Set(events.map(({ monitor_id }) => monitor_id))]
  for (const place of await openMemberships(db, organizationId, monitorIds)) places.set(place.monitor_id, place)
  const incidents = await openIncidents(db, organizationId, events)
  const current = await currentMonitors(db, organizationId, events)
  const tags = rules.some(({ row }) => row.tags !== null) ? await tagsOf(db, organizationId, monitorIds) : new Map()
  const recovered: Recovered[] = []
  const joined: Joined[] = []
  const changed: (Membership & { event: EventRow })[] = []
  const linked: { event_id: string; incident_id: string }[] = []
  const alerts = new Map<string, NewAlert>()
  const seen = new Set<string>()
  let last = events[0]!.id
  for (const event of events) {
    // A second event of one monitor waits for the next transaction, which reads what this one writes.
    if (alerts.size >= MOST_ALERTS || seen.has(event.monitor_id)) break
    seen.add(event.monitor_id)
    last = event.id
    const place = places.get(event.monitor_id)
    if (event.new_state === 'VALID') {
      if (!place) continue
      recovered.push({ ...place, at: event.occurred_at })
      linked.push({ event_id: event.id, incident_id: place.incident_id })
      continue
    }
    // Disabled or changed since the event: it is in no incident, and must not join one.
    if (!place && !current.has(event.monitor_id)) continue
    const failure = { ...failureOf(event), tags: tags.get(event.monitor_id) ?? [] }
    let matching = rules.filter(({ matches }) => matches(failure))
    if (!place && event.old_state !== 'VALID') {
      // A record that was never right has not broken: only rules that say so are about it.
      matching = matching.filter(({ row }) => row.first_results === 1)
      if (matching.length === 0) continue
    }
    let incidentId = place?.incident_id
    if (place) {
      changed.push({ ...place, event })
    } else {
      const incident = incidents.join(event, now)
      joined.push({ incident, event })
      incidentId = incident.id
    }
    linked.push({ event_id: event.id, incident_id: incidentId! })
    for (const alert of matching.flatMap((rule) => alertsOf(rule, incidentId!, event, now))) {
      const key = `${incidentId} ${alert.ruleId} ${alert.channelId}`
      if (!alerts.has(key)) alerts.set(key, alert)
    }
  }
  await incidents.write(db, now)
  await insertMemberships(db, organizationId, joined)
  await changeMemberships(db, organizationId, changed)
  if (isNew) await insertLinks(db, organizationId, linked)
  await insertAlerts(db, organizationId, [...alerts.values()], now)
  await recover(db, organizationId, recovered, now)
  return last
}

/** Monitors that failed and are still active with that expectation. Locked, so that none of them leaves its incident before it is in it. */
async function currentMonitors(
  db: Database,
  organizationId: string,
  events: readonly EventRow[],
): Promise<Set<string>> {
  const failing = events.filter(({ new_state }) => new_state !== 'VALID')
  const rows = await db
    .selectFrom('monitors')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', [...new Set(failing.map(({ monitor_id }) => monitor_id))]))
    .where('is_active', '=', 1)
    .where('state', '<>', 'UNSET')
    .orderBy('id')
    .modifyEnd(forUpdate(db))
    .execute()
  return new Set(rows.map(({ id }) => id))
}

function alertsOf({ row, channels }: Rule, incidentId: string, event: EventRow, now: number): NewAlert[] {
  const dueAt = Math.max(now + GATHERING_MS, event.occurred_at + row.delay_ms)
  const common = { kind: 'failing' as const, incidentId, ruleId: row.id }
  const first = channels.map((channelId) => ({ ...common, channelId, dueAt }))
  if (row.escalate_ms === null || row.escalation_channel_id === null) return first
  return [...first, { ...common, channelId: row.escalation_channel_id, dueAt: dueAt + row.escalate_ms, escalated: 1 }]
}

async function activeRules(db: Database, organizationId: string): Promise<Rule[]> {
  const rows = await db
    .selectFrom('alert_rules')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('is_active', '=', 1)
    .execute()
  const links = await db
    .selectFrom('alert_rule_channels')
    .select(['rule_id', 'channel_id'])
    .where('organization_id', '=', organizationId)
    .execute()
  const channels = Map.groupBy(links, ({ rule_id }) => rule_id)
  return rows.map((row) => ({
    row,
    matches: matcherOf(row),
    channels: (channels.get(row.id) ?? []).map(({ channel_id }) => channel_id),
  }))
}

/** The incident of each event stays known when the monitor is in another one. */
async function insertLinks(
  db: Database,
  organizationId: string,
  links: readonly { event_id: string; incident_id: string }[],
): Promise<void> {
  const columns = { organization_id: 'text', event_id: 'text', incident_id: 'text' } as const
  await insertEach(
    db,
    'incident_events',
    columns,
    links.map((link) => ({ organization_id: organizationId, ...link })),
  )
}
