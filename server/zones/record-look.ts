import type { Selectable } from 'kysely'
import type { ZoneHealth } from '#contract/zone-codes.ts'
import type { ZoneEvent } from '#contract/zones.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import type { ZonesTable } from '../database/schema-zones.ts'
import { findTenantRow, updateTenantRow } from '../database/tenant-row.ts'
import { evaluateIncidents } from '../monitors/incident-membership.ts'
import { type Claim, complete, reschedule } from '../queue/lease-queue.ts'
import { HOUR_MS, MINUTE_MS } from '../times.ts'
import { insertZoneRequests, type ZoneReport } from '../webhooks/zone-requests.ts'
import { runChecks } from './checks.ts'
import type { ZoneFacts } from './facts.ts'
import { readFindings, writeFindings } from './finding-store.ts'
import { countFindings, findIgnored, healthOf, type IgnoredFinding, nextFindings } from './findings.ts'
import { healthColumns } from './health.ts'
import type { Look } from './look.ts'
import { nextMemory, type ZoneMemory } from './memory.ts'
import { problemsOf } from './problems.ts'
import { adviceOf, toEvent } from './shown-findings.ts'
import { afterWithheld, nextLookAt, shownFacts } from './zone.ts'

export type ZoneClaim = Claim<'due_zones'>

/**
 * Records a look: the findings that began, changed or ended, their events, and the time of the next look. A look that changes nothing
 * writes only the row in `due_zones`. The zone is locked before its row in the queue, as by requests.
 */
export async function recordLook(db: Database, claim: ZoneClaim, look: Look, now: number): Promise<void> {
  const tenant = { organizationId: claim.organization_id }
  await inTransaction(db, async (transaction) => {
    const zone = await findTenantRow(transaction, 'zones', tenant, claim.zone_id, forUpdate(transaction))
    if (!zone) return void (await complete(transaction, 'due_zones', [claim]))
    if (look.kind === 'withheld') return await recordWithheld(transaction, claim, zone, look.reason, now)
    const { facts } = look
    const expected = expectedOf(zone) ?? learnedFrom(facts)
    const memory = nextMemory(JSON.parse(zone.memory) as ZoneMemory, facts)
    const ignored: IgnoredFinding[] = JSON.parse(zone.ignored)
    const before = await readFindings(transaction, tenant, zone.id)
    const after = nextFindings(before, runChecks(facts, memory, expected ?? []), facts.at)
    const lookAgainAt = Math.min(after.lookAgainAt ?? Number.POSITIVE_INFINITY, registrationAt(zone, facts, now))
    const due_at = nextLookAt(zone.name, now, { lookAgainAt, ignored })
    const set = { due_at, last_checked_at: facts.at }
    const held = await reschedule(transaction, 'due_zones', [{ claim, set }])
    if (held.length === 0) return
    const events = await writeFindings(transaction, tenant, zone.id, after, facts.at)
    const counts = countFindings(after.findings, ignored, now)
    const health = healthOf(counts)
    await writeChanges(transaction, zone, {
      ...healthColumns(zone, health, now),
      counts: JSON.stringify(counts),
      problems: JSON.stringify(problemsOf(after.findings, ignored, now)),
      expected_name_servers: expected === null ? null : JSON.stringify(expected),
      memory: JSON.stringify(memory),
      facts: JSON.stringify(shownFacts(facts, memory)),
      withheld_since: null,
      withheld_reason: null,
    })
    if (health !== zone.health) await evaluateIncidents(transaction, zone.organization_id, now)
    await insertZoneRequests(transaction, tenant, reportOf(zone, health, events.map(toEvent), ignored, now), now)
  })
}

type ZoneRow = Selectable<ZonesTable>

/** Of a new zone, the registration is known some minutes after the first look. */
function registrationAt({ created_at }: ZoneRow, { registration }: ZoneFacts, now: number): number {
  const isNew = registration !== null && registration.facts === null && now < created_at + HOUR_MS
  return isNew ? now + NEW_REGISTRATION_MS : Number.POSITIVE_INFINITY
}
const NEW_REGISTRATION_MS = 7 * MINUTE_MS

/** What webhooks receive of a look. */
const reportOf = (
  { id, name, health: previous_health }: ZoneRow,
  health: ZoneHealth,
  events: readonly ZoneEvent[],
  ignored: readonly IgnoredFinding[],
  now: number,
): ZoneReport => ({
  zone: { id, name, health, previous_health },
  zone_events: events.map((event) => ({
    ...event,
    advice: adviceOf(event.code, event.params),
    ignored: findIgnored(event, ignored, now) !== undefined,
  })),
})

const expectedOf = ({ expected_name_servers }: ZoneRow): string[] | null =>
  expected_name_servers === null ? null : JSON.parse(expected_name_servers)

/** Those of the delegation, and those that the zone itself names. Null for a zone that is not delegated. */
function learnedFrom({ delegation, servers }: ZoneFacts): string[] | null {
  if (!delegation) return null
  const own = servers.filter(({ isInZone }) => isInZone).map(({ name }) => name)
  return [...new Set([...delegation.nameServers, ...own])].sort()
}

async function recordWithheld(
  db: Database,
  claim: ZoneClaim,
  zone: ZoneRow,
  withheld_reason: NonNullable<ZoneRow['withheld_reason']>,
  now: number,
): Promise<void> {
  const set = { due_at: afterWithheld(zone.name, now), last_checked_at: claim.last_checked_at }
  if ((await reschedule(db, 'due_zones', [{ claim, set }])).length === 0) return
  await writeChanges(db, zone, { withheld_since: zone.withheld_since ?? now, withheld_reason })
}

/** Writes the row only if a column changes. */
async function writeChanges(db: Database, zone: ZoneRow, set: Partial<ZoneRow>): Promise<void> {
  const changed = Object.entries(set).filter(([column, value]) => zone[column as keyof ZoneRow] !== value)
  if (changed.length === 0) return
  const tenant = { organizationId: zone.organization_id }
  await updateTenantRow(db, 'zones', tenant, zone.id, Object.fromEntries(changed))
}
