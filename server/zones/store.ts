import type { Selectable } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import { WITHHELD_REASONS } from '#contract/zone-codes.ts'
import {
  MAX_ZONES,
  type NewZone,
  type NewZones,
  type ZoneChange,
  type ZoneEvent,
  type ZoneEventQuery,
  type ZoneFinding,
  type ZoneFindingQuery,
  type ZoneQuery,
  type Zone as ZoneResponse,
} from '#contract/zones.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { insertEach, isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { listPage, type Page } from '../database/pagination.ts'
import type { ZoneEventsTable, ZonesTable } from '../database/schema-zones.ts'
import { deleteTenantRow, lockOrganization, updateTenantRow } from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale, withVersion } from '../database/versions.ts'
import { newId } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { evaluateIncidents, leaveIncidents } from '../monitors/incident-membership.ts'
import { currentPlan } from '../organization/quota.ts'
import type { Plans } from '../plan.ts'
import { conflict, notFound, Problem } from '../problem.ts'
import { lookUpSoon } from '../registrations/store.ts'
import { toIso, toIsoOrNull } from '../times.ts'
import { type FindingRow, findingsInOrder, readFindings, toFinding } from './finding-store.ts'
import { countFindings, healthOf, type IgnoredFinding, NO_FINDINGS } from './findings.ts'
import { healthColumns } from './health.ts'
import { NO_MEMORY } from './memory.ts'
import { canonicalName, parseIgnored, parseNameServers, parseZoneName, parseZoneNames } from './parse-zone.ts'
import { problemsOf } from './problems.ts'
import { toEvent, toShownFinding } from './shown-findings.ts'
import type { ShownFacts } from './zone.ts'

type ZoneRow = Selectable<ZonesTable>
type ListedZone = ZoneRow & { last_checked_at: number | null }

const zonesOf = (db: Database, { organizationId }: Tenant) =>
  db
    .selectFrom('zones')
    .innerJoin('due_zones', (join) =>
      join.onRef('due_zones.organization_id', '=', 'zones.organization_id').onRef('due_zones.zone_id', '=', 'zones.id'),
    )
    .selectAll('zones')
    .select('due_zones.last_checked_at')
    .where('zones.organization_id', '=', organizationId)

export async function listZones(
  db: Database,
  keyring: Keyring,
  tenant: Tenant,
  { health, name, ...query }: ZoneQuery,
): Promise<Page<ZoneResponse>> {
  let rows = zonesOf(db, tenant)
  if (health !== undefined) rows = rows.where('zones.health', '=', health)
  if (name !== undefined) rows = rows.where('zones.name', '=', canonicalName(name))
  const page = await listPage<ListedZone>(rows, {
    keyring,
    query,
    id: 'zones.id',
    orders: { created: { column: 'zones.id' }, name: { column: 'zones.name' } },
    scope: ['zones', tenant.organizationId, health ?? null, name ?? null],
  })
  return { ...page, data: page.data.map(toZone) }
}

/** By id or name. Throws `not_found`, also for a zone of another organization. */
export async function getZone(db: Database, tenant: Tenant, idOrName: string): Promise<ZoneResponse> {
  return toZone(await getRow(db, tenant, idOrName))
}

/** Confirmed or not, the most serious first. Throws `not_found`. */
export async function listFindings(
  db: Database,
  keyring: Keyring,
  tenant: Tenant & { now: number },
  idOrName: string,
  query: ZoneFindingQuery,
): Promise<Page<ZoneFinding>> {
  const zone = await getRow(db, tenant, idOrName)
  const page = await listPage<FindingRow & { id: string }>(findingsInOrder(db, tenant, zone.id), {
    keyring,
    query,
    id: 'zone_findings.id',
    orders: { level: { column: 'zone_findings.id' } },
    scope: ['zone findings', tenant.organizationId, zone.id],
  })
  const shown = { ignored: JSON.parse(zone.ignored), lastCheckedAt: zone.last_checked_at, now: tenant.now }
  return { ...page, data: page.data.map((row) => toShownFinding(toFinding(row), shown)) }
}

export async function listZoneEvents(
  db: Database,
  keyring: Keyring,
  tenant: Tenant,
  idOrName: string,
  query: ZoneEventQuery,
): Promise<Page<ZoneEvent>> {
  const zone = await getRow(db, tenant, idOrName)
  const rows = db
    .selectFrom('zone_events')
    .selectAll('zone_events')
    .where('zone_events.organization_id', '=', tenant.organizationId)
    .where('zone_events.zone_id', '=', zone.id)
  const page = await listPage<Selectable<ZoneEventsTable>>(rows, {
    keyring,
    query,
    id: 'zone_events.id',
    orders: { occurred: { column: 'zone_events.id' } },
    scope: ['zone events', tenant.organizationId, zone.id],
  })
  return { ...page, data: page.data.map(toEvent) }
}

/** Returns the id. Throws a 400, 402 at the limit of the plan, and 409 for a name that exists, or at the fixed limit. */
export async function insertZone(
  db: Database,
  context: RequestContext,
  { name: text }: NewZone,
  plans: Plans,
): Promise<string> {
  const name = parseZoneName(text)
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, context.organizationId)
    if (await findRow(transaction, context, name))
      throw conflict(`The zone ${name} exists already.`, { name: fieldError('taken') })
    const [id] = (await insertRows(transaction, context, [name], plans)) as [string]
    const after = await getZone(transaction, context, id)
    await recordAudit(transaction, context, { action: 'zone.created', object: { id, label: name }, after })
    return id
  })
}

/** All or none. Zones that exist stay as they are. Throws as `insertZone`, but not for names that exist. */
export async function insertZones(
  db: Database,
  context: RequestContext,
  { names: texts }: NewZones,
  plans: Plans,
): Promise<void> {
  const names = parseZoneNames(texts)
  await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, context.organizationId)
    const existing = new Set((await findByNames(transaction, context, names)).map(({ name }) => name))
    const added = names.filter((name) => !existing.has(name))
    if (added.length === 0) return
    const ids = await insertRows(transaction, context, added, plans)
    await recordAudit(transaction, context, { action: 'zone.created', object: { id: null, label: null }, ids })
  })
}

/** The zones with these names, in their order, each once. */
export async function getZonesByName(db: Database, tenant: Tenant, { names }: NewZones): Promise<ZoneResponse[]> {
  const wanted = parseZoneNames(names)
  const rows = new Map((await findByNames(db, tenant, wanted)).map((row) => [row.name, row]))
  return wanted.flatMap((name) => (rows.has(name) ? [toZone(rows.get(name)!)] : []))
}

const findByNames = (db: Database, tenant: Tenant, names: readonly string[]): Promise<ListedZone[]> =>
  zonesOf(db, tenant)
    .where(isOneOf(db, 'zones.name', names))
    .execute()

const ZONE_COLUMNS = {
  organization_id: 'text',
  id: 'text',
  created_at: 'bigint',
  name: 'text',
  health: 'text',
  counts: 'text',
  ignored: 'text',
  memory: 'text',
} as const
const DUE_COLUMNS = { organization_id: 'text', zone_id: 'text', name: 'text', due_at: 'bigint' } as const

/** New names, whose zones are looked at at once. Call it with the organization locked. */
async function insertRows(
  db: Database,
  { organizationId: organization_id, now }: RequestContext,
  names: readonly string[],
  plans: Plans,
): Promise<string[]> {
  await refuseAboveLimits(db, { organizationId: organization_id }, plans, names.length)
  const zones = names.map((name) => ({
    ...{ organization_id, id: newId('zon', now), created_at: now, name, health: 'unknown' as const },
    ...{ counts: JSON.stringify(NO_FINDINGS), ignored: '[]', memory: JSON.stringify(NO_MEMORY) },
  }))
  const due = zones.map(({ id, name }) => ({ organization_id, zone_id: id, name, due_at: now }))
  await insertEach(db, 'zones', ZONE_COLUMNS, zones)
  await insertEach(db, 'due_zones', DUE_COLUMNS, due)
  return zones.map(({ id }) => id)
}

/** The zone is looked at again at once. Throws `not_found`, 400 and 412. */
export async function updateZone(
  db: Database,
  context: RequestContext,
  idOrName: string,
  change: ZoneChange,
  match: Match,
): Promise<void> {
  const { now } = context
  await inTransaction(db, async (transaction) => {
    const row = await lockRow(transaction, context, idOrName)
    refuseStale(row, match)
    const ignored = change.ignored === undefined ? undefined : parseIgnored(change.ignored ?? [])
    const names = change.expected_name_servers
    const expected = names === undefined ? undefined : parseNameServers(names)
    const counted = ignored && (await withIgnored(transaction, context, row, ignored))
    await updateTenantRow(transaction, 'zones', context, row.id, {
      ...counted,
      ...(expected !== undefined && {
        expected_name_servers: expected && JSON.stringify(expected),
        confirmed_at: expected && now,
      }),
      ...nextVersion,
    })
    await makeDue(transaction, context, row.id)
    if (counted && counted.health !== row.health) await evaluateIncidents(transaction, context.organizationId, now)
    const [before, after] = [toZone(row), await getZone(transaction, context, row.id)]
    const object = { id: row.id, label: row.name }
    await recordAudit(transaction, context, { action: 'zone.updated', object, before, after })
  })
}

/** The health without the findings that are ignored now. */
async function withIgnored(db: Database, context: RequestContext, row: ZoneRow, ignored: readonly IgnoredFinding[]) {
  const { now } = context
  const findings = await readFindings(db, context, row.id)
  const counts = countFindings(findings, ignored, now)
  return {
    ignored: JSON.stringify(ignored),
    counts: JSON.stringify(counts),
    problems: JSON.stringify(problemsOf(findings, ignored, now)),
    ...healthColumns(row, row.health === 'unknown' ? row.health : healthOf(counts), now),
  }
}

/** Makes the next look due now, and the look-up of the registration. Throws `not_found`. */
export async function lookNow(db: Database, context: RequestContext, idOrName: string): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const { id, name } = await lockRow(transaction, context, idOrName)
    await makeDue(transaction, context, id)
    await lookUpSoon(transaction, name, context.now)
  })
}

/** Throws `not_found` and 412. */
export async function deleteZone(db: Database, context: RequestContext, idOrName: string, match: Match): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const row = await lockRow(transaction, context, idOrName)
    refuseStale(row, match)
    await leaveIncidents(transaction, context.organizationId, [row.id], context.now)
    await deleteTenantRow(transaction, 'zones', context, row.id)
    const object = { id: row.id, label: row.name }
    await recordAudit(transaction, context, { action: 'zone.deleted', object, before: toZone(row) })
  })
}

/** A look in progress is discarded, because it may have begun before the change. */
async function makeDue(db: Database, { organizationId, now }: RequestContext, id: string): Promise<void> {
  await db
    .updateTable('due_zones')
    .set({ due_at: now, claimed_by: null })
    .where('organization_id', '=', organizationId)
    .where('zone_id', '=', id)
    .execute()
}

/** A plan allows as many zones as monitors. */
async function refuseAboveLimits(db: Database, tenant: Tenant, plans: Plans, added: number): Promise<void> {
  const { name, limits } = await currentPlan(db, plans, tenant)
  const { count } = await db
    .selectFrom('zones')
    .select((expression) => expression.fn.countAll<number>().as('count'))
    .where('organization_id', '=', tenant.organizationId)
    .executeTakeFirstOrThrow()
  const total = Number(count) + added
  if (limits.monitors !== null && total > limits.monitors)
    throw new Problem(
      402,
      `Plan limit reached: ${count} of ${limits.monitors} zones are in use on the plan ${name}, and this request adds ${added}. Delete zones or change the plan.`,
    )
  if (total > MAX_ZONES)
    throw conflict(
      `Limit reached: an organization has at most ${MAX_ZONES} zones, has ${count}, and this request adds ${added}. Delete zones first.`,
      undefined,
      'limit_reached',
    )
}

/** A name has a dot, and an id has none. */
async function findRow(db: Database, tenant: Tenant, idOrName: string): Promise<ListedZone | undefined> {
  const column = idOrName.includes('.') ? 'zones.name' : 'zones.id'
  const key = column === 'zones.name' ? canonicalName(idOrName) : idOrName
  return await zonesOf(db, tenant).where(column, '=', key).executeTakeFirst()
}

async function getRow(db: Database, tenant: Tenant, idOrName: string): Promise<ListedZone> {
  const row = await findRow(db, tenant, idOrName)
  if (!row) throw notFound()
  return row
}

/** Locks the zone before its row in the queue, in the same order as looks. */
async function lockRow(db: Database, tenant: Tenant, idOrName: string): Promise<ListedZone> {
  const { id } = await getRow(db, tenant, idOrName)
  await db
    .selectFrom('zones')
    .select('id')
    .where('organization_id', '=', tenant.organizationId)
    .where('id', '=', id)
    .modifyEnd(forUpdate(db))
    .execute()
  return await getRow(db, tenant, id)
}

function toZone(row: ListedZone): ZoneResponse {
  const {
    servers = [],
    dnssec = null,
    goes_dark = null,
    registration = null,
  }: Partial<ShownFacts> = row.facts === null ? {} : JSON.parse(row.facts)
  const ignored: IgnoredFinding[] = JSON.parse(row.ignored)
  return withVersion(
    {
      id: row.id,
      created: toIso(row.created_at),
      name: row.name,
      health: row.health,
      checked: toIsoOrNull(row.last_checked_at),
      withheld:
        row.withheld_since === null || row.withheld_reason === null
          ? null
          : {
              since: toIso(row.withheld_since),
              reason: row.withheld_reason,
              text: WITHHELD_REASONS[row.withheld_reason],
            },
      findings: JSON.parse(row.counts),
      expected_name_servers: row.expected_name_servers === null ? null : JSON.parse(row.expected_name_servers),
      name_servers_confirmed: toIsoOrNull(row.confirmed_at),
      servers,
      dnssec,
      goes_dark,
      registration,
      ignored: ignored.map((each) => ({ ...each, until: toIsoOrNull(each.until) })),
    },
    row.version,
  )
}
