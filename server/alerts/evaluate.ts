import type { Selectable } from 'kysely'
import { insertEach, isOneOf, updateEach } from '../database/bulk.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { type Claim, claimDue, reschedule } from '../database/lease-queue.ts'
import type { AlertRulesTable, IncidentsTable } from '../database/schema-alerts.ts'
import { newId } from '../ids.ts'
import { insertAlerts, type NewAlert, recoveredAlerts } from './alert-store.ts'
import { matcherOf } from './rule.ts'

/** Events that one transaction turns into incidents. */
const MOST_EVENTS = 200
/** Alerts after which no more events are read: a rule may have ten channels. */
const MOST_ALERTS = 500
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

async function evaluate(db: Database, claim: Claim<'due_evaluations'>, now: number): Promise<void> {
  await inTransaction(db, async (transaction) => {
    let events = await eventsAfter(transaction, claim)
    if (events.length === 0) {
      // Anyone who writes events holds this lock until its end: none comes between the next look and the end of ours.
      await transaction
        .selectFrom('last_event_times')
        .select('last_at')
        .where('organization_id', '=', claim.organization_id)
        .modifyEnd(forUpdate(transaction))
        .execute()
      events = await eventsAfter(transaction, claim)
    }
    const last = events.length === 0 ? undefined : await applyEvents(transaction, claim.organization_id, events, now)
    const set = { due_at: last === undefined ? null : now, after_event_id: last ?? claim.after_event_id }
    const held = await reschedule(transaction, 'due_evaluations', [{ claim, set }])
    if (held.length === 0) throw new Error('The lease of an evaluation expired. Another process does it.')
  })
}

type EventRow = Awaited<ReturnType<typeof eventsAfter>>[number]

function eventsAfter(db: Database, { organization_id, after_event_id }: Claim<'due_evaluations'>) {
  return db
    .selectFrom('events')
    .select(['id', 'monitor_id', 'group_id', 'occurred_at', 'old_state', 'new_state'])
    .select(['domain', 'subdomain', 'record_type'])
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
  const open = await openIncidents(db, organizationId, events)
  const places = new Map<string, Place>()
  for (const place of await openPlaces(db, organizationId, events)) places.set(place.monitor_id, place)
  const recovered: Recovered[] = []
  const joined: { incident: IncidentRow; event: EventRow }[] = []
  const changed: (Place & { event: EventRow })[] = []
  const opened: IncidentRow[] = []
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
      if (place) recovered.push({ ...place, at: event.occurred_at })
      continue
    }
    // First results alert nobody: a record that was never right has not broken.
    if (!place && event.old_state !== 'VALID') continue
    let incidentId = place?.incident_id
    if (place) {
      changed.push({ ...place, event })
    } else {
      const cause = causeOf(event)
      const incident = open.get(cause) ?? newIncident(organizationId, event, now)
      if (!open.has(cause)) opened.push(incident)
      open.set(cause, incident)
      joined.push({ incident, event })
      incidentId = incident.id
    }
    for (const { row, matches, channels } of rules) {
      if (!matches(failureOf(event))) continue
      const dueAt = Math.max(now + GATHERING_MS, event.occurred_at + row.delay_ms)
      for (const channelId of channels) {
        const key = `${incidentId} ${row.id} ${channelId}`
        if (alerts.has(key)) continue
        alerts.set(key, { kind: 'failing', incidentId: incidentId!, ruleId: row.id, channelId, dueAt })
      }
    }
  }
  await insertIncidents(db, opened)
  await insertPlaces(db, organizationId, joined)
  await changePlaces(db, organizationId, changed)
  await insertAlerts(db, organizationId, [...alerts.values()], now)
  await recover(db, organizationId, recovered, now)
  return last
}

/** What monitors share that fail together. */
const causeOf = ({ domain, new_state }: EventRow): string => `${new_state} ${domain}`

const failureOf = ({ group_id, subdomain, domain, record_type, new_state }: EventRow) => ({
  groupId: group_id,
  name: subdomain === '' ? domain : `${subdomain}.${domain}`,
  recordType: record_type,
  state: new_state,
})

/** A monitor that fails, and in which incident. */
type Place = { monitor_id: string; incident_id: string }
/** `at`: when, where it is known. */
type Recovered = Place & { at?: number }

async function openIncidents(db: Database, organizationId: string, events: readonly EventRow[]) {
  const causes = [...new Set(events.map(causeOf))]
  const rows = await db
    .selectFrom('incidents')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'cause', causes))
    .where('resolved_at', 'is', null)
    .orderBy('id')
    .modifyEnd(forUpdate(db))
    .execute()
  return new Map(rows.map((row) => [row.cause, row]))
}

function openPlaces(db: Database, organizationId: string, events: readonly EventRow[]): Promise<Place[]> {
  return db
    .selectFrom('incident_monitors')
    .select(['monitor_id', 'incident_id'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', [...new Set(events.map(({ monitor_id }) => monitor_id))]))
    .where('recovered_at', 'is', null)
    .execute()
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

const newIncident = (organizationId: string, event: EventRow, now: number): IncidentRow => ({
  organization_id: organizationId,
  id: newId('inc', now),
  cause: causeOf(event),
  zone: event.domain,
  state: event.new_state,
  opened_at: event.occurred_at,
  resolved_at: null,
  acknowledged_at: null,
  acknowledged_by: null,
  note: null,
  monitors: 0,
  failing: 0,
  version: 1,
})

async function insertIncidents(db: Database, rows: readonly IncidentRow[]): Promise<void> {
  const columns = { organization_id: 'text', id: 'text', cause: 'text', zone: 'text', state: 'text' } as const
  const numbers = { opened_at: 'bigint', monitors: 'bigint', failing: 'bigint' } as const
  await insertEach(db, 'incidents', { ...columns, ...numbers }, rows)
}

type Joined = { incident: IncidentRow; event: EventRow }

/** A monitor that was in the incident before has its row again; the others are counted. */
async function insertPlaces(db: Database, organizationId: string, joined: readonly Joined[]): Promise<void> {
  if (joined.length === 0) return
  const rows = joined.map(({ incident, event }) => ({
    organization_id: organizationId,
    incident_id: incident.id,
    monitor_id: event.monitor_id,
    event_id: event.id,
    new_event_id: event.id,
    failing_since: event.occurred_at,
    new_failing_since: event.occurred_at,
    new_recovered_at: null,
  }))
  const key = { organization_id: 'text', incident_id: 'text', monitor_id: 'text' } as const
  const again = { event_id: 'text', failing_since: 'bigint', recovered_at: 'bigint' } as const
  const wasThere = await updateEach(db, { table: 'incident_monitors', key, set: again }, rows)
  const columns = { ...key, event_id: 'text', failing_since: 'bigint' } as const
  await insertEach(
    db,
    'incident_monitors',
    columns,
    rows.filter((_, index) => !wasThere[index]),
  )
  const counted = rows.map(({ incident_id }, index) => ({
    incidentId: incident_id,
    monitors: wasThere[index] ? 0 : 1,
    failing: 1,
  }))
  await count(db, organizationId, counted)
}

/** Of monitors that fail in another way now. */
async function changePlaces(
  db: Database,
  organizationId: string,
  changed: readonly (Place & { event: EventRow })[],
): Promise<void> {
  const key = { organization_id: 'text', incident_id: 'text', monitor_id: 'text' } as const
  const rows = changed.map(({ event, ...place }) => ({
    organization_id: organizationId,
    ...place,
    new_event_id: event.id,
  }))
  await updateEach(db, { table: 'incident_monitors', key, set: { event_id: 'text' } }, rows)
}

type Counted = { incidentId: string; monitors: number; failing: number }

async function count(db: Database, organizationId: string, differences: readonly Counted[]): Promise<void> {
  const sums = [...Map.groupBy(differences, ({ incidentId }) => incidentId)].sort().map(([id, all]) => ({
    organization_id: organizationId,
    id,
    new_monitors: all.reduce((sum, { monitors }) => sum + monitors, 0),
    new_failing: all.reduce((sum, { failing }) => sum + failing, 0),
  }))
  const change = {
    table: 'incidents',
    key: { organization_id: 'text', id: 'text' },
    add: { monitors: 'bigint', failing: 'bigint' },
  }
  await updateEach(db, change as never, sums)
}

/** Monitors that recovered. An incident whose last monitor recovered is resolved, and everyone who was alerted is notified. */
export async function recover(
  db: Database,
  organizationId: string,
  recovered: readonly Recovered[],
  now: number,
): Promise<void> {
  if (recovered.length === 0) return
  const rows = recovered.map(({ monitor_id, incident_id, at = now }) => ({
    organization_id: organizationId,
    incident_id,
    monitor_id,
    new_recovered_at: at,
  }))
  const key = { organization_id: 'text', incident_id: 'text', monitor_id: 'text' } as const
  // Only one of several that recover it at the same time finds it failing.
  const failing = await stillFailing(db, organizationId, rows)
  const changed = rows.filter(({ incident_id, monitor_id }) => failing.has(`${incident_id} ${monitor_id}`))
  await updateEach(db, { table: 'incident_monitors', key, set: { recovered_at: 'bigint' } }, changed)
  await count(
    db,
    organizationId,
    changed.map(({ incident_id }) => ({ incidentId: incident_id, monitors: 0, failing: -1 })),
  )
  const resolved = await db
    .updateTable('incidents')
    .set({ resolved_at: now })
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', [...new Set(changed.map(({ incident_id }) => incident_id))]))
    .where('resolved_at', 'is', null)
    .where('failing', '<=', 0)
    .returning('id')
    .execute()
  for (const { id } of resolved) {
    const last = changed.filter(({ incident_id }) => incident_id === id).map((row) => row.new_recovered_at)
    await db
      .updateTable('incidents')
      .set({ resolved_at: Math.max(...last) })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    await recoveredAlerts(db, organizationId, id, now)
  }
}

async function stillFailing(
  db: Database,
  organizationId: string,
  rows: readonly { incident_id: string; monitor_id: string }[],
): Promise<Set<string>> {
  const found = await db
    .selectFrom('incident_monitors')
    .select(['incident_id', 'monitor_id'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', [...new Set(rows.map(({ monitor_id }) => monitor_id))]))
    .where('recovered_at', 'is', null)
    .modifyEnd(forUpdate(db))
    .execute()
  return new Set(found.map(({ incident_id, monitor_id }) => `${incident_id} ${monitor_id}`))
}
