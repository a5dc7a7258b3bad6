import type { Selectable } from 'kysely'
import { insertEach, isOneOf } from '../database/bulk.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { type Claim, claimDue, reschedule } from '../database/lease-queue.ts'
import type { AlertRulesTable, IncidentsTable } from '../database/schema-alerts.ts'
import { newId } from '../ids.ts'
import { insertAlerts, type NewAlert } from './alert-store.ts'
import { type Cause, causesOf } from './cause.ts'
import {
  changePlaces,
  insertPlaces,
  type Joined,
  leftPlaces,
  openPlaces,
  type Place,
  type Recovered,
  recover,
} from './places.ts'
import { matcherOf } from './rule.ts'
import { insertEntries } from './timeline.ts'

/** Events that one transaction turns into incidents. */
const MOST_EVENTS = 200
/** Alerts after which no more events are read: a rule may have ten channels. */
const MOST_ALERTS = 500
/** How long an incident takes monitors of other zones: what fails later has a cause of its own, and nobody would be notified. */
const SHARED_MS = 60 * 60_000
/** Monitors that fail together are in one message, also where a rule has no delay. */
export const GATHERING_MS = 15_000

type IncidentRow = Selectable<IncidentsTable>
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

/** Claims organizations with new events, and turns some events of each into incidents and alerts. Returns how many it took. */
export async function evaluateDue(
  db: Database,
  options: { now: number; process: number; limit: number },
): Promise<number> {
  const claims = await claimDue(db, 'due_evaluations', options)
  for (const claim of claims) await evaluate(db, claim, options.now)
  return claims.length
}

/** One thing at a time, so that locks are taken in one order: incidents, monitors, their places, then `due_evaluations`. */
async function evaluate(db: Database, claim: Claim<'due_evaluations'>, now: number): Promise<void> {
  const { organization_id: organizationId } = claim
  await inTransaction(db, async (transaction) => {
    const { left, events } = await workOf(transaction, claim)
    let last: string | undefined
    let isAtEnd = false
    if (left.length > 0) await recover(transaction, organizationId, left, now)
    else if (events.length > 0) last = await applyEvents(transaction, organizationId, events, now)
    else {
      await lockOut(transaction, organizationId)
      isAtEnd = isDone(await workOf(transaction, claim))
    }
    const set = { due_at: isAtEnd ? null : now, after_event_id: last ?? claim.after_event_id }
    const held = await reschedule(transaction, 'due_evaluations', [{ claim, set }])
    if (held.length === 0) throw new Error('The lease of an evaluation expired. Another process does it.')
  })
}

type Work = { events: EventRow[]; left: Recovered[] }

const workOf = async (db: Database, claim: Claim<'due_evaluations'>): Promise<Work> => ({
  events: await eventsAfter(db, claim),
  left: await leftPlaces(db, claim.organization_id),
})

const isDone = ({ events, left }: Work): boolean => events.length === 0 && left.length === 0

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

/** Returns the id of the last event that it applied. */
async function applyEvents(
  db: Database,
  organizationId: string,
  events: readonly EventRow[],
  now: number,
): Promise<string> {
  const rules = await activeRules(db, organizationId)
  const places = new Map<string, Place>()
  const monitorIds = [...new Set(events.map(({ monitor_id }) => monitor_id))]
  for (const place of await openPlaces(db, organizationId, monitorIds)) places.set(place.monitor_id, place)
  const incidents = await openIncidents(db, organizationId, events)
  const current = await currentMonitors(db, organizationId, events)
  const recovered: Recovered[] = []
  const joined: Joined[] = []
  const changed: (Place & { event: EventRow })[] = []
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
    const failure = failureOf(event)
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
  await insertPlaces(db, organizationId, joined)
  await changePlaces(db, organizationId, changed)
  await insertLinks(db, organizationId, linked)
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

const failureOf = ({ group_id, subdomain, domain, record_type, new_state }: EventRow) => ({
  groupId: group_id,
  name: subdomain === '' ? domain : `${subdomain}.${domain}`,
  recordType: record_type,
  state: new_state,
})

/** The open incidents that some events may join, and those that they open. */
async function openIncidents(db: Database, organizationId: string, events: readonly EventRow[]) {
  const causes = new Map(
    events.filter(({ new_state }) => new_state !== 'VALID').map((event) => [event, causesOf(event)]),
  )
  const keys = [...new Set([...causes.values()].flat().map(({ key }) => key))]
  const byCause = await incidentsByCause(db, organizationId, keys)
  const opened: { row: IncidentRow; causes: Cause[]; event: EventRow }[] = []
  const shared = new Map<string, Cause>()
  return {
    /** The incident of the first cause that one has; a new one if there is none. */
    join(event: EventRow, now: number): IncidentRow {
      const all = causes.get(event)!
      const cause = all.find(({ key, kind }) => {
        const row = byCause.get(key)
        return row && (kind === 'zone' || takesOthers(row, event))
      })
      if (cause) {
        const found = byCause.get(cause.key)!
        if (found.zone !== event.domain && found.cause_kind === 'zone') {
          const common = all.find(({ kind, key }) => kind !== 'zone' && byCause.get(key) === found) ?? cause
          found.cause_kind = common.kind
          shared.set(found.id, common)
        }
        return found
      }
      const row = newIncident(organizationId, event, all[0].key, now)
      opened.push({ row, causes: all, event })
      for (const { key } of all) byCause.set(key, row)
      return row
    },
    async write(db: Database, now: number): Promise<void> {
      await insertEach(
        db,
        'incidents',
        INCIDENT_COLUMNS,
        opened.map(({ row }) => ({ ...row, cause_kind: 'zone' })),
      )
      const latest = new Map(
        opened.flatMap(({ row, causes }) => causes.slice(1).map(({ key }) => [key, row.id] as const)),
      )
      const further = [...latest].map(([cause, incident_id]) => ({
        organization_id: organizationId,
        cause,
        incident_id,
      }))
      // Those of an incident that takes no others, and what a version that does not know of them left.
      await db
        .deleteFrom('incident_causes')
        .where('organization_id', '=', organizationId)
        .where(isOneOf(db, 'cause', [...latest.keys()]))
        .execute()
      await insertEach(db, 'incident_causes', { organization_id: 'text', cause: 'text', incident_id: 'text' }, further)
      for (const [id, { kind, value }] of shared) {
        await db
          .updateTable('incidents')
          .set({ cause_kind: kind, cause_value: value })
          .where('organization_id', '=', organizationId)
          .where('id', '=', id)
          .execute()
      }
      const entries = opened.map(({ row, event }) => {
        const { name, recordType } = failureOf(event)
        return { incidentId: row.id, kind: 'opened' as const, at: row.opened_at, detail: `${name} ${recordType}` }
      })
      await insertEntries(db, organizationId, entries, now)
    },
  }
}

/** Not one that people were notified of an hour ago, or that somebody silenced: what joins it sends no message. */
const takesOthers = ({ acknowledged_at, snoozed_until, opened_at }: IncidentRow, { occurred_at }: EventRow): boolean =>
  acknowledged_at === null &&
  (snoozed_until === null || snoozed_until <= occurred_at) &&
  occurred_at - opened_at <= SHARED_MS

/** Locked, so that none of them is resolved meanwhile. */
async function incidentsByCause(db: Database, organizationId: string, keys: readonly string[]) {
  const open = () =>
    db
      .selectFrom('incidents')
      .selectAll('incidents')
      .where('incidents.organization_id', '=', organizationId)
      .where('resolved_at', 'is', null)
  const links = await db
    .selectFrom('incident_causes')
    .select(['cause', 'incident_id'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'cause', keys))
    .execute()
  const linkedIds = [...new Set(links.map(({ incident_id }) => incident_id))]
  const ids = await open()
    .select('incidents.id')
    .where(isOneOf(db, 'incidents.cause', keys))
    .execute()
  const wanted = [...new Set([...ids.map(({ id }) => id), ...linkedIds])]
  const rows = await open()
    .where(isOneOf(db, 'incidents.id', wanted))
    .orderBy('id')
    .modifyEnd(forUpdate(db))
    .execute()
  const byId = new Map(rows.map((row) => [row.id, row]))
  const byCause = new Map(rows.map((row) => [row.cause, row]))
  for (const { cause, incident_id } of links) {
    const row = byId.get(incident_id)
    if (row) byCause.set(cause, row)
  }
  return byCause
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

const newIncident = (organizationId: string, event: EventRow, cause: string, now: number): IncidentRow => ({
  organization_id: organizationId,
  id: newId('inc', now),
  cause,
  zone: event.domain,
  state: event.new_state,
  opened_at: event.occurred_at,
  resolved_at: null,
  acknowledged_at: null,
  acknowledged_by: null,
  note: null,
  monitors: 0,
  failing: 0,
  cause_kind: 'zone',
  cause_value: null,
  assignee_id: null,
  snoozed_until: null,
  version: 1,
})

const INCIDENT_COLUMNS = {
  ...({ organization_id: 'text', id: 'text', cause: 'text', zone: 'text', state: 'text' } as const),
  ...({ opened_at: 'bigint', monitors: 'bigint', failing: 'bigint' } as const),
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
