import type { Selectable } from 'kysely'
import { lockDue } from '../alerts/lock-due.ts'
import { insertEach, isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { IncidentsTable } from '../database/schema-alerts.ts'
import { MINUTE_MS } from '../times.ts'
import type { Cause } from './causes.ts'
import { mergeIncidents } from './merge.ts'

type IncidentRow = Selectable<IncidentsTable>
/** An open incident whose monitors failed with a circumstantial cause. */
export type Candidate = { cause: string; failedAt: number; incidentId: string }

/** Zones that fail within this time with one circumstantial cause have it in common. */
export const CANDIDATE_MS = 10 * MINUTE_MS
/** How many zones that takes: the more monitors there are, the more of them fail at one large provider for reasons of their own. */
const MIN_ZONES = 5
const MAX_ZONES = 50
const MONITORS_PER_ZONE = 1000
const MAX_CANDIDATES = 2000

type FailingEvent = { domain: string; occurred_at: number }
type Member = { incident: IncidentRow; failedAt: number }
type Found = { cause: Cause; incident: IncidentRow }

type Inputs = {
  causesByEvent: ReadonlyMap<FailingEvent, readonly Cause[]>
  candidates: readonly Candidate[]
  /** The open incidents, locked. */
  byId: ReadonlyMap<string, IncidentRow>
}

export async function loadCandidates(
  db: Database,
  organizationId: string,
  causes: readonly string[],
  since: number,
): Promise<Candidate[]> {
  if (causes.length === 0) return []
  const rows = await db
    .selectFrom('incident_candidates')
    .select(['cause', 'failed_at', 'incident_id'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'cause', causes))
    .where('failed_at', '>=', since)
    .limit(MAX_CANDIDATES)
    .execute()
  return rows.map(({ cause, failed_at, incident_id }) => ({ cause, failedAt: failed_at, incidentId: incident_id }))
}

/**
 * Finds circumstantial causes that enough zones have had within a few minutes. Their incidents become one, except those that people
 * know of already.
 */
export async function loadSharedCauses(
  db: Database,
  organizationId: string,
  { causesByEvent, candidates, byId }: Inputs,
) {
  const members = new Map<string, Member[]>()
  const addMember = (cause: string, member: Member) => {
    const known = members.get(cause)
    if (known) known.push(member)
    else members.set(cause, [member])
  }
  for (const { cause, failedAt, incidentId } of candidates) {
    const incident = byId.get(incidentId)
    if (incident) addMember(cause, { incident, failedAt })
  }
  const mostZones = Math.max(0, ...zonesByCause(causesByEvent, members).values())
  const minZones = await zonesOfSharedCause(db, organizationId, mostZones)
  const known = mostZones < minZones ? [] : [...members.values()].flat().map(({ incident }) => incident)
  const free = await unannounced(db, organizationId, [...new Set(known)])
  const mergedInto = new Map<string, IncidentRow>()
  const merged = (incident: IncidentRow): IncidentRow => mergedInto.get(incident.id) ?? incident
  const found: Found[] = []
  return {
    /** The incident into which this one is merged, or itself. */
    merged,
    idAfterMerge: (id: string): string => mergedInto.get(id)?.id ?? id,
    found: (): readonly Found[] => found,
    /** Adds the incident that a failure opened. Returns the cause that its zone shares with others by now, and their incident. */
    add(
      row: IncidentRow,
      { occurred_at }: FailingEvent,
      causes: readonly Cause[],
      accepts: (incident: IncidentRow) => boolean,
    ): Found | undefined {
      free.add(row.id)
      for (const { key, isCircumstantial } of causes)
        if (isCircumstantial) addMember(key, { incident: row, failedAt: occurred_at })
      for (const cause of causes) {
        const recent = (members.get(cause.key) ?? []).filter(
          ({ incident, failedAt }) => occurred_at - failedAt <= CANDIDATE_MS && accepts(merged(incident)),
        )
        if (new Set(recent.map(({ incident }) => incident.zone)).size < minZones) continue
        const incidents = [...new Set(recent.map(({ incident }) => merged(incident)))].filter(({ id }) => free.has(id))
        const incident = incidents.reduce((oldest, other) => (other.opened_at < oldest.opened_at ? other : oldest))
        for (const other of incidents) if (other !== incident) mergedInto.set(other.id, incident)
        for (const [id, target] of mergedInto) if (mergedInto.has(target.id)) mergedInto.set(id, incident)
        found.push({ cause, incident })
        return { cause, incident }
      }
      return undefined
    },
    /** Call it after the monitors and alerts of the incidents were written. */
    async write(db: Database): Promise<void> {
      for (const [into, from] of Map.groupBy(mergedInto, ([, { id }]) => id))
        await mergeIncidents(
          db,
          organizationId,
          into,
          from.map(([id]) => id),
        )
    },
  }
}

/** How many zones have had each circumstantial cause, with those of these events. */
function zonesByCause(causesByEvent: Inputs['causesByEvent'], members: ReadonlyMap<string, Member[]>) {
  const zones = new Map<string, Set<string>>()
  const add = (cause: string, zone: string) => zones.set(cause, (zones.get(cause) ?? new Set()).add(zone))
  for (const [cause, ofCause] of members) for (const { incident } of ofCause) add(cause, incident.zone)
  for (const [{ domain }, causes] of causesByEvent)
    for (const { key, isCircumstantial } of causes) if (isCircumstantial) add(key, domain)
  return new Map([...zones].map(([cause, { size }]) => [cause, size]))
}

/** How many zones must fail with a circumstantial cause. The number of monitors is read only if the smallest number is reached. */
async function zonesOfSharedCause(db: Database, organizationId: string, zones: number): Promise<number> {
  if (zones < MIN_ZONES) return Number.POSITIVE_INFINITY
  const bounded = db
    .selectFrom('monitors')
    .select('id')
    .where('organization_id', '=', organizationId)
    .limit((MAX_ZONES - MIN_ZONES) * MONITORS_PER_ZONE)
  const { count } = await db
    .selectFrom(bounded.as('bounded'))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return MIN_ZONES + Math.floor(Number(count) / MONITORS_PER_ZONE)
}

/**
 * The incidents that nobody knows of yet: no message was attempted or put into a digest, nobody edited them and no monitor recovered.
 * Their alerts are locked, so that no attempt begins before the end of the transaction.
 */
async function unannounced(
  db: Database,
  organizationId: string,
  incidents: readonly IncidentRow[],
): Promise<Set<string>> {
  const ids = incidents
    .filter(({ version, monitors, failing }) => version === 1 && monitors === failing)
    .map(({ id }) => id)
  const alerts = () =>
    db
      .selectFrom('alerts')
      .select(['id', 'incident_id', 'status', 'attempts', 'sent_at'])
      .where('organization_id', '=', organizationId)
      .where(isOneOf(db, 'incident_id', ids))
      .execute()
  await lockDue(
    db,
    organizationId,
    (await alerts()).map(({ id }) => id),
  )
  const announced = (await alerts()).filter(
    ({ status, attempts, sent_at }) => attempts > 0 || sent_at !== null || !['PENDING', 'CANCELED'].includes(status),
  )
  return new Set(ids).difference(new Set(announced.map(({ incident_id }) => incident_id!)))
}

const COLUMNS = { organization_id: 'text', cause: 'text', failed_at: 'bigint', incident_id: 'text' } as const

/** Deletes those that are too old, too. */
export async function insertCandidates(
  db: Database,
  organizationId: string,
  candidates: readonly Candidate[],
  now: number,
): Promise<void> {
  if (candidates.length === 0) return
  await db
    .deleteFrom('incident_candidates')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'cause', [...new Set(candidates.map(({ cause }) => cause))]))
    .where('failed_at', '<', now - 2 * CANDIDATE_MS)
    .execute()
  const rows = candidates.map(({ cause, failedAt, incidentId }) => ({
    ...{ organization_id: organizationId, cause, failed_at: failedAt, incident_id: incidentId },
  }))
  await insertEach(db, 'incident_candidates', COLUMNS, rows)
}
