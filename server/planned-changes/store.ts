import { type Selectable, sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import type {
  NewPlannedChange,
  PlannedChangeChange,
  PlannedChangeQuery,
  PlannedChange as PlannedChangeResponse,
} from '#contract/planned-changes.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { listPage, type Page } from '../database/pagination.ts'
import type { PlannedChangesTable } from '../database/schema-alerts.ts'
import {
  deleteTenantRow,
  getTenantRow,
  lockOrganization,
  refuseAtLimit,
  updateTenantRow,
} from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale, withVersion } from '../database/versions.ts'
import { newId } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { type MonitorRow, monitorLabel } from '../monitors/monitor.ts'
import { isSameSet } from '../monitors/parse-monitor.ts'
import { leaveRounds } from '../monitors/rounds.ts'
import { lockMonitor } from '../monitors/store.ts'
import { conflict, type FieldErrors, invalid, throwIfInvalid } from '../problem.ts'
import { parseExpectedValues } from '../record-types/record-types.ts'
import { parseTimes, toIso, toIsoOrNull } from '../times.ts'
import { addToIncidents } from './incident-entries.ts'
import { changePhase, type OpenChange, type Progress, periodErrors } from './planned-change.ts'

type ChangeRow = Selectable<PlannedChangesTable>

/** For each organization, without those of jobs, because the checks of an open change query every server every few minutes. */
const MAX_OPEN = 100

/** A monitor has at most one open change. */
export async function findOpenChange(
  db: Database,
  { organization_id, id, owner, record_type }: Pick<MonitorRow, 'organization_id' | 'id' | 'owner' | 'record_type'>,
): Promise<OpenChange | undefined> {
  const row = await db
    .selectFrom('planned_changes')
    .selectAll()
    .where('organization_id', '=', organization_id)
    .where('monitor_id', '=', id)
    .where('outcome', 'is', null)
    .executeTakeFirst()
  return (
    row && {
      id: row.id,
      oldValues: JSON.parse(row.old_values),
      newValues: JSON.parse(row.new_values),
      from: row.from_at,
      to: row.to_at,
      progress: parseProgress(row),
      jobId: row.job_id,
      label: `Planned change of ${monitorLabel({ owner, record_type })}`,
    }
  )
}

const parseProgress = ({ progress }: ChangeRow): Progress | null => (progress === null ? null : JSON.parse(progress))

/** Updates an open change, and closes it if it has an outcome. Call it in the transaction of the check. */
export async function recordProgress(
  db: Database,
  { organizationId, id }: Tenant & { id: string },
  progress: Progress | null,
  closing?: { outcome: Exclude<ChangeRow['outcome'], null>; now: number } | undefined,
): Promise<void> {
  await db
    .updateTable('planned_changes')
    .set({
      progress: progress === null ? null : JSON.stringify(progress),
      ...(closing ? { outcome: closing.outcome, closed_at: closing.now, ...nextVersion } : {}),
    })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('outcome', 'is', null)
    .execute()
}

export async function listChanges(
  db: Database,
  keyring: Keyring,
  { organizationId, now }: Tenant & { now: number },
  query: PlannedChangeQuery,
): Promise<Page<PlannedChangeResponse>> {
  const { monitor_id, is_open, job_id } = query
  let rows = db
    .selectFrom('planned_changes')
    .selectAll('planned_changes')
    .where('planned_changes.organization_id', '=', organizationId)
  if (monitor_id !== undefined) rows = rows.where('planned_changes.monitor_id', '=', monitor_id)
  if (job_id !== undefined) rows = rows.where('planned_changes.job_id', '=', job_id)
  if (is_open !== undefined) rows = rows.where('planned_changes.outcome', is_open ? 'is' : 'is not', null)
  const page = await listPage<ChangeRow>(rows, {
    keyring,
    query,
    id: 'planned_changes.id',
    orders: { created: { column: 'planned_changes.id' } },
    scope: ['planned changes', organizationId, monitor_id, is_open, job_id ?? null],
  })
  return { ...page, data: page.data.map((row) => toResponse(row, now)) }
}

/** Throws `not_found`. */
export async function getChange(
  db: Database,
  tenant: Tenant & { now: number },
  id: string,
): Promise<PlannedChangeResponse> {
  return toResponse(await getTenantRow(db, 'planned_changes', tenant, id), tenant.now)
}

/** Throws a 400 with all errors, and 409 if the monitor has an open change, or at the limit. */
export async function insertChange(
  db: Database,
  context: RequestContext,
  input: NewPlannedChange,
  schemaErrors?: FieldErrors,
): Promise<string> {
  const { organizationId, now, actor } = context
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId) // before the monitor, as in other transactions
    const monitor = await findLockedMonitor(transaction, context, input.monitor_id)
    const errors = monitor ? {} : { monitor_id: fieldError('unknown_reference', { resource: 'monitor' }) }
    const columns = parseInput(monitor, { from: toIso(now), ...input }, now, { ...errors, ...schemaErrors })
    if (await findOpenChange(transaction, monitor!))
      throw conflict('The monitor already has a planned change. Change or delete that one.')
    const limit = { max: MAX_OPEN, things: 'open planned changes', counted: sql`outcome is null and job_id is null` }
    await refuseAtLimit(transaction, 'planned_changes', context, limit)
    const id = newId('pch', now)
    await transaction
      .insertInto('planned_changes')
      .values({
        organization_id: organizationId,
        id,
        created_at: now,
        created_by: actor.label,
        monitor_id: monitor!.id,
        job_id: null,
        old_values: monitor!.expected_values,
        ...columns,
      })
      .execute()
    await scheduleCheck(transaction, monitor!, id, now)
    await addToIncidents(transaction, organizationId, [monitor!.id], { createdBy: actor.label, to: columns.to_at, now })
    const after = await getChange(transaction, context, id)
    const object = { id, label: monitorLabel(monitor!) }
    await recordAudit(transaction, context, { action: 'planned_change.created', object, after })
    return id
  })
}

/** Throws `not_found`, 412, 400, and 409 for a closed change. */
export async function updateChange(
  db: Database,
  context: RequestContext,
  id: string,
  change: PlannedChangeChange,
  { schemaErrors, match }: { schemaErrors?: FieldErrors | undefined; match?: Match },
): Promise<void> {
  const { now } = context
  await inTransaction(db, async (transaction) => {
    const { monitor, row } = await lockChange(transaction, context, id)
    const before = toResponse(row, now)
    const { new_value, from, to } = before
    const columns = parseInput(monitor, { new_value, from, to, ...change }, now, schemaErrors)
    refuseStale(row, match)
    if (row.outcome !== null) throw conflict('The planned change is closed. Create another one.')
    await updateTenantRow(transaction, 'planned_changes', context, id, { ...columns, ...nextVersion })
    await scheduleCheck(transaction, monitor, id, now)
    const after = await getChange(transaction, context, id)
    const object = { id, label: monitorLabel(monitor) }
    await recordAudit(transaction, context, { action: 'planned_change.updated', object, before, after })
  })
}

/** Cancels an open change, so that the old values are expected again. Throws `not_found` and 412. */
export async function deleteChange(db: Database, context: RequestContext, id: string, match?: Match): Promise<void> {
  const { now } = context
  await inTransaction(db, async (transaction) => {
    const { monitor, row } = await lockChange(transaction, context, id)
    refuseStale(row, match)
    await deleteTenantRow(transaction, 'planned_changes', context, id)
    if (row.outcome === null) await scheduleCheck(transaction, monitor, null, now)
    const object = { id, label: monitorLabel(monitor) }
    const before = toResponse(row, now)
    await recordAudit(transaction, context, { action: 'planned_change.deleted', object, before })
  })
}

/** Locks the monitor first, in the same order as checks. */
async function lockChange(db: Database, context: RequestContext, id: string) {
  const { monitor_id } = await getTenantRow(db, 'planned_changes', context, id)
  const monitor = await lockMonitor(db, context, monitor_id)
  return { monitor, row: await getTenantRow(db, 'planned_changes', context, id, forUpdate(db)) }
}

async function findLockedMonitor(db: Database, tenant: Tenant, id: unknown): Promise<MonitorRow | undefined> {
  if (typeof id !== 'string') return undefined
  const row = await db
    .selectFrom('monitors')
    .select('id')
    .where('organization_id', '=', tenant.organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row && (await lockMonitor(db, tenant, id))
}

/** Makes the check of the monitor due. Without a change, its fingerprint is deleted, so that the next check evaluates the answer again. */
async function scheduleCheck(db: Database, { slot, is_active }: MonitorRow, changeId: string | null, now: number) {
  await leaveRounds(db, [slot], now)
  await db
    .updateTable('due_checks')
    .set({
      planned_change_id: changeId,
      claimed_by: null,
      ...(is_active === 1 ? { due_at: now } : {}),
      ...(changeId === null ? { fingerprint: null } : {}),
    })
    .where('slot', '=', slot)
    .execute()
}

/** Throws a 400 with all errors. Fields may have any type if there are schema errors. */
function parseInput(
  monitor: MonitorRow | undefined,
  input: { new_value: unknown; from: unknown; to: unknown },
  now: number,
  schemaErrors: FieldErrors = {},
) {
  const { new_value } = input
  const errors: FieldErrors = {}
  const isString = (value: unknown) => typeof value === 'string'
  const isReadable = isString(new_value) || (Array.isArray(new_value) && new_value.every(isString))
  const parsed =
    monitor && isReadable
      ? parseExpectedValues(
          new_value as string | string[],
          monitor.record_type as MonitorRecordType,
          monitor.is_exact_match === 1,
        )
      : undefined
  if (parsed && !parsed.ok) {
    for (const [field, error] of Object.entries(parsed.errors))
      errors[field.replace(/^expected_value/, 'new_value')] = error
  }
  if (parsed?.ok && isSameSet(parsed.values, JSON.parse(monitor!.expected_values)))
    errors.new_value = fieldError('same_as_expected')
  const times = Object.fromEntries(
    (['from', 'to'] as const).flatMap((field) =>
      ['string', 'number'].includes(typeof input[field]) ? [[field, input[field] as string | number]] : [],
    ),
  )
  const { from, to } = parseTimes<'from' | 'to'>(times, ['from', 'to'], { ...errors, ...schemaErrors })
  throwIfInvalid(periodErrors({ from: from!, to: to! }, now))
  if (!parsed?.ok) throw invalid(errors)
  return { new_values: JSON.stringify(parsed.values), from_at: from!, to_at: to! }
}

function toResponse(row: ChangeRow, now: number): PlannedChangeResponse {
  const progress = parseProgress(row)
  const isBefore = changePhase({ from: row.from_at, to: row.to_at }, now) === 'before'
  return withVersion(
    {
      id: row.id,
      created: toIso(row.created_at),
      created_by: row.created_by,
      monitor_id: row.monitor_id,
      job_id: row.job_id,
      old_value: JSON.parse(row.old_values),
      new_value: JSON.parse(row.new_values),
      from: toIso(row.from_at),
      to: toIso(row.to_at),
      state: row.outcome ?? (isBefore ? 'SCHEDULED' : 'IN_PROGRESS'),
      closed: toIsoOrNull(row.closed_at),
      progress: progress && {
        checked: toIso(progress.at),
        servers: progress.seen,
        caches_until: toIsoOrNull(progress.cachesUntil),
      },
    },
    row.version,
  )
}
