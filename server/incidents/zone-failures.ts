import type { ZoneFindingCode, ZoneHealth } from '#contract/zone-codes.ts'
import { type ActiveRule, newAlerts } from '../alerts/active-rules.ts'
import { makeGrownDue, rankOf } from '../alerts/alert-growth.ts'
import { insertAlerts, makeAlertsDue, type NewAlert } from '../alerts/alert-store.ts'
import { matchesZone } from '../alerts/rule-matching.ts'
import type { ZoneProblem } from '../alerts/zone-message.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { updateTenantRow } from '../database/tenant-row.ts'
import { type Cause, type GroupedFailure, recordsOf } from './causes.ts'
import { loadIncidentGrouping } from './grouping.ts'
import { insertMemberships, type NewMembership, openMemberships, type Recovery } from './memberships.ts'
import { recordRecoveries } from './resolve.ts'
import { insertEntries } from './timeline.ts'

/** Zones that one transaction joins to incidents. */
const BATCH_SIZE = 200
const MAX_SHARED_SERVERS = 8
const FAILING_STATES = ['MISMATCH', 'NOT_FOUND', 'NO_DATA', 'TIMEOUT', 'INVALID', 'BAD_SETUP']
/** Healths that open an incident, whether a rule sends them or not. */
const SERIOUS: ReadonlySet<ZoneHealth> = new Set(['error', 'critical'])

/** The ids of zones whose health changed, and that incidents and alerts do not follow yet. */
export async function changedZones(db: Database, organizationId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('zones')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('evaluate_at', 'is not', null)
    .orderBy('id')
    .limit(BATCH_SIZE)
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * Zones that became unhealthy open or join an incident, with one message for each rule and channel; those that are healthy again leave
 * it. The zones are locked before their incidents.
 */
export async function applyZones(
  db: Database,
  organizationId: string,
  ids: readonly string[],
  rules: readonly ActiveRule[],
  now: number,
): Promise<void> {
  const zones = await db
    .selectFrom('zones')
    .select(['id', 'name', 'health', 'problems', 'evaluate_at'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', ids))
    .where('evaluate_at', 'is not', null)
    .orderBy('id')
    .modifyEnd(forUpdate(db))
    .execute()
  const open = await openMemberships(db, organizationId, ids)
  const membershipOf = new Map(open.map((membership) => [membership.monitor_id, membership]))
  const failures = new Map(
    zones.flatMap((zone) => {
      const matching = rules.filter(({ row }) => matchesZone(row, zone))
      if (!SERIOUS.has(zone.health) && matching.length === 0) return []
      const failure = failureOf(zone.name, zone.health, JSON.parse(zone.problems), zone.evaluate_at!)
      return [[zone.id, { zone, matching, failure }] as const]
    }),
  )
  const joining = [...failures.values()].filter(({ zone }) => !membershipOf.has(zone.id))
  const incidents = await loadIncidentGrouping(
    db,
    organizationId,
    joining.map(({ failure }) => failure),
  )
  const joined: NewMembership[] = []
  const alerts: NewAlert[] = []
  const levels = new Map<string, ZoneHealth>()
  for (const { zone, matching, failure } of failures.values()) {
    const membership = membershipOf.get(zone.id)
    const incident = membership ? undefined : incidents.join(failure, now)
    const incidentId = membership?.incident_id ?? incident!.id
    if (incident) {
      const event = {
        id: '',
        monitor_id: zone.id,
        group_id: null,
        occurred_at: failure.occurred_at,
        old_state: 'VALID',
      }
      joined.push({ incident, event })
    }
    if (rankOf(zone.health) > rankOf(levels.get(incidentId) ?? null)) levels.set(incidentId, zone.health)
    alerts.push(...matching.flatMap((rule) => newAlerts(rule, incidentId, failure.occurred_at, now)))
  }
  await incidents.write(db, now)
  await insertMemberships(db, organizationId, joined)
  const byKey = new Map(alerts.map((alert) => [`${alert.incidentId} ${alert.ruleId} ${alert.channelId}`, alert]))
  await insertAlerts(db, organizationId, [...byKey.values()], now)
  await incidents.merge(db)
  for (const [id, level] of levels) await raiseLevel(db, organizationId, incidents.idAfterMerge(id), level, now)
  const grown = joined.map(({ incident }) => incidents.idAfterMerge(incident.id))
  await makeGrownDue(db, organizationId, grown, now)
  for (const { zone } of failures.values()) {
    const id =
      membershipOf.get(zone.id)?.incident_id ?? joined.find(({ event }) => event.monitor_id === zone.id)!.incident.id
    await setFolding(db, organizationId, incidents.idAfterMerge(id), zone)
  }
  const recovered: Recovery[] = open
    .filter(({ monitor_id }) => !failures.has(monitor_id))
    .map((membership) => ({
      ...membership,
      at: zones.find(({ id }) => id === membership.monitor_id)?.evaluate_at ?? now,
    }))
  await recordRecoveries(db, organizationId, recovered, now)
  await db
    .updateTable('zones')
    .set({ evaluate_at: null })
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', [...zones.map(({ id }) => id)]))
    .execute()
}

/** What a zone has in common with others counts only if it explains each of its worst findings. */
function failureOf(
  name: string,
  health: ZoneHealth,
  problems: readonly ZoneProblem[],
  occurred_at: number,
): GroupedFailure {
  const own: Cause = { key: `zone ${name}`, kind: 'zone', value: null }
  const worst = problems.filter(({ level }) => level === health)
  const isCritical = health === 'critical'
  return {
    domain: name,
    new_state: health.toUpperCase(),
    occurred_at,
    label: `Zone ${name}`,
    causes: [
      own,
      ...(isCritical ? [{ key: recordsOf(name), kind: 'zone' as const, value: null }] : []),
      ...sharedParent(worst),
      ...sharedServers(worst),
    ],
    folds: isCritical ? FAILING_STATES.map((state) => `${state} ${name}`) : [],
  }
}

/** The same cause as that of monitors whose zone the parent zone denies. */
function sharedParent(problems: readonly ZoneProblem[]): Cause[] {
  const [first] = problems
  if (first?.code !== 'zone_gone' || problems.some(({ code }) => code !== 'zone_gone') || !first.parent) return []
  return [{ key: `parent NOT_FOUND ${first.parent}`, kind: 'parent', value: first.parent, isCircumstantial: true }]
}

const SERVER_CODES: ReadonlySet<ZoneFindingCode> = new Set([
  'name_server_silent',
  'name_server_refuses',
  'name_server_lame',
  'name_server_without_address',
])

/** A silent server fails for all its zones. One that refuses, or is lame for one, can still serve others. */
function sharedServers(problems: readonly ZoneProblem[]): Cause[] {
  if (problems.length === 0 || !problems.every(({ code }) => SERVER_CODES.has(code))) return []
  return problems.slice(0, MAX_SHARED_SERVERS).map(({ code, about }): Cause => {
    const cause = { kind: 'name_server' as const, value: about }
    if (code === 'name_server_silent') return { key: `name_server ${about}`, ...cause }
    return { key: `${code} ${about}`, ...cause, isCircumstantial: true }
  })
}

/**
 * A zone that became worse is news, also to people who took care of what it had before: the acknowledgement and the snooze end.
 */
async function raiseLevel(
  db: Database,
  organizationId: string,
  id: string,
  level: ZoneHealth,
  now: number,
): Promise<void> {
  const tenant = { organizationId }
  const incident = await db
    .selectFrom('incidents')
    .select(['zone_level', 'acknowledged_at', 'snoozed_until'])
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .modifyEnd(forUpdate(db))
    .executeTakeFirst()
  if (!incident || rankOf(level) <= rankOf(incident.zone_level)) return
  const isRise = incident.zone_level !== null
  await updateTenantRow(db, 'incidents', tenant, id, {
    zone_level: level,
    ...(isRise && { acknowledged_at: null, acknowledged_by: null, snoozed_until: null }),
  })
  if (isRise && incident.acknowledged_at !== null) {
    const entry = { incidentId: id, kind: 'unacknowledged' as const, detail: `The zone is ${level} now` }
    await insertEntries(db, organizationId, [entry], now)
  }
  await makeAlertsDue(db, organizationId, id, now)
}

/** Records fold into the incident of a zone while it is critical. */
async function setFolding(
  db: Database,
  organizationId: string,
  incident_id: string,
  { name, health }: { name: string; health: ZoneHealth },
): Promise<void> {
  const cause = recordsOf(name)
  if (health !== 'critical') {
    await db
      .deleteFrom('incident_causes')
      .where('organization_id', '=', organizationId)
      .where('cause', '=', cause)
      .execute()
    return
  }
  await db
    .insertInto('incident_causes')
    .values({ organization_id: organizationId, cause, incident_id })
    .onConflict((conflict) => conflict.columns(['organization_id', 'cause']).doUpdateSet({ incident_id }))
    .execute()
}
