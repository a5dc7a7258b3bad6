import { type Selectable, sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import type {
  MaintenanceWindow,
  MaintenanceWindowChange,
  MaintenanceWindowQuery,
  NewMaintenanceWindow,
} from '#contract/maintenance.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { listPage, type Page } from '../database/pagination.ts'
import type { MaintenanceWindowsTable } from '../database/schema-alerts.ts'
import {
  deleteTenantRow,
  findTenantRow,
  getTenantRow,
  refuseAtLimit,
  unknownIdErrors,
  updateTenantRow,
} from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale, withVersion } from '../database/versions.ts'
import { parseGroupList } from '../groups/resolve.ts'
import { newId } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { findTimeZone } from '../organization/iso-codes.ts'
import { type FieldErrors, Problem, throwIfInvalid } from '../problem.ts'
import { DAY_MS, parseTimes, toIso } from '../times.ts'
import { includesMonitor, isDuring, normalizeRule, type Schedule, scheduleErrors } from './maintenance.ts'
import { normalizePattern } from './name-pattern.ts'
import { expansionOf, newExpansion, renewExpansions } from './stored-occurrences.ts'

type WindowRow = Selectable<MaintenanceWindowsTable>

/** For each organization, without windows that have ended, because every alert reads all of them. */
const MAX_WINDOWS = 50
const MAX_OCCURRENCES = 3
/** Times further away than ten years are mistakes. */
const MAX_DISTANCE_MS = 10 * 366 * DAY_MS

/** `to`: the end of the current occurrence. */
export async function activeWindows(
  db: Database,
  organizationId: string,
  now: number,
): Promise<(WindowRow & { to: number })[]> {
  const rows = await openWindows(db, organizationId, now)
  return rows.flatMap((row) => {
    const [occurrence] = expansionOf(row, now).occurrences
    return isDuring(occurrence, now) ? [{ ...row, to: occurrence!.to }] : []
  })
}

function openWindows(db: Database, organizationId: string, now: number): Promise<WindowRow[]> {
  return db
    .selectFrom('maintenance_windows')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where(hasNotEnded(now))
    .limit(MAX_WINDOWS * 2)
    .execute()
}

const hasNotEnded = (now: number) => sql<boolean>`(last_end_at is null or last_end_at > ${now})`

export async function listWindows(
  db: Database,
  keyring: Keyring,
  tenant: Tenant & { now: number },
  query: MaintenanceWindowQuery,
): Promise<Page<MaintenanceWindow>> {
  const { organizationId, now } = tenant
  const { is_active, monitor_id } = query
  let rows = db
    .selectFrom('maintenance_windows')
    .selectAll('maintenance_windows')
    .where('maintenance_windows.organization_id', '=', organizationId)
  if (is_active !== undefined) {
    const active = (await activeWindows(db, organizationId, now)).map(({ id }) => id)
    const isActive = isOneOf(db, 'maintenance_windows.id', active)
    rows = rows.where(is_active ? isActive : ({ not }) => not(isActive as never))
  }
  if (monitor_id !== undefined)
    rows = rows.where(isOneOf(db, 'maintenance_windows.id', await windowIdsOf(db, tenant, monitor_id)))
  const page = await listPage<WindowRow>(rows, {
    keyring,
    query,
    id: 'maintenance_windows.id',
    orders: { created: { column: 'maintenance_windows.id' } },
    scope: ['maintenance windows', organizationId, is_active, monitor_id],
  })
  return { ...page, data: page.data.map((row) => toWindow(row, now)) }
}

/** The windows that have not ended and include the monitor. */
async function windowIdsOf(db: Database, tenant: Tenant & { now: number }, monitorId: string): Promise<string[]> {
  const monitor = await findTenantRow(db, 'monitors', tenant, monitorId)
  if (!monitor) return []
  const attributes = { id: monitor.id, groupId: monitor.group_id, name: monitor.owner }
  const rows = await openWindows(db, tenant.organizationId, tenant.now)
  return rows.filter((row) => includesMonitor(row, attributes)).map(({ id }) => id)
}

/** Throws `not_found`. */
export async function getWindow(
  db: Database,
  tenant: Tenant & { now: number },
  id: string,
): Promise<MaintenanceWindow> {
  return toWindow(await getTenantRow(db, 'maintenance_windows', tenant, id), tenant.now)
}

/** The columns of a validated request. */
type WindowColumns = Omit<WindowRow, 'organization_id' | 'id' | 'created_at' | 'version'>

/** Throws a 400 with all errors. `schemaErrors`: fields may have any type if there are some. `isRescheduled`: false keeps a schedule that is in the past. */
export async function parseWindow(
  db: Database,
  context: RequestContext,
  input: NewMaintenanceWindow,
  { schemaErrors = {}, isRescheduled = true }: { schemaErrors?: FieldErrors | undefined; isRescheduled?: boolean } = {},
): Promise<WindowColumns> {
  const { now } = context
  const { ids: groupIds, errors } = await parseGroupList(db, context, input.groups)
  Object.assign(errors, await unknownIdErrors(db, 'monitors', context, input.monitors))
  const timezone =
    typeof input.timezone === 'string' ? findTimeZone(input.timezone) : await defaultTimeZone(db, context)
  if (timezone === undefined) errors.timezone = fieldError('invalid_time_zone')
  const rrule = typeof input.rrule === 'string' ? normalizeRule(input.rrule) : null
  if (rrule === undefined) errors.rrule = fieldError('invalid_rrule')
  const times = Object.fromEntries(
    Object.entries({ from: input.from, to: input.to }).filter(([, value]) =>
      ['string', 'number'].includes(typeof value),
    ),
  )
  const { from, to } = parseTimes<'from' | 'to'>(times, ['from', 'to'], { ...errors, ...schemaErrors })
  const schedule: Schedule = { from: from!, to: to!, rrule: rrule!, timezone: timezone! }
  if (isRescheduled) throwIfInvalid({ ...scheduleErrors(schedule, now), ...rangeErrors({ from, to }, now) })
  const columns = { from_at: schedule.from, to_at: schedule.to, rrule: schedule.rrule, timezone: schedule.timezone }
  return {
    name: input.name,
    monitor_ids: input.monitors == null ? null : JSON.stringify([...new Set(input.monitors)]),
    group_ids: input.groups == null ? null : JSON.stringify([...new Set(groupIds)]),
    name_pattern: input.name_pattern == null ? null : normalizePattern(input.name_pattern),
    ...columns,
    ...newExpansion(columns, now),
  }
}

function rangeErrors(times: Record<string, number | undefined>, now: number): FieldErrors {
  const [min, max] = [now - MAX_DISTANCE_MS, now + MAX_DISTANCE_MS]
  const error = fieldError('time_out_of_range', { min: toIso(min), max: toIso(max) })
  const outside = Object.entries(times).filter(([, at]) => at !== undefined && (at < min || at > max))
  return Object.fromEntries(outside.map(([field]) => [field, error]))
}

async function defaultTimeZone(db: Database, { organizationId }: Tenant): Promise<string> {
  const { timezone } = await db
    .selectFrom('organizations')
    .select('timezone')
    .where('id', '=', organizationId)
    .executeTakeFirstOrThrow()
  return findTimeZone(timezone) ?? 'UTC'
}

/** Throws 409 at the limit. */
export async function insertWindow(db: Database, context: RequestContext, columns: WindowColumns): Promise<string> {
  const { organizationId, now } = context
  await renewExpansions(db, organizationId, now)
  return await inTransaction(db, async (transaction) => {
    await refuseAtLimit(transaction, 'maintenance_windows', context, {
      max: MAX_WINDOWS,
      things: 'maintenance windows that have not ended',
      counted: hasNotEnded(now),
    })
    const id = newId('mnt', now)
    const row = { organization_id: organizationId, id, created_at: now, ...columns }
    await transaction.insertInto('maintenance_windows').values(row).execute()
    const after = await getWindow(transaction, context, id)
    const object = { id, label: columns.name }
    await recordAudit(transaction, context, { action: 'maintenance_window.created', object, after })
    return id
  })
}

/** Throws `not_found`, 412, 409 if another request changes it meanwhile, and 400 like `parseWindow`. */
export async function updateWindow(
  db: Database,
  context: RequestContext,
  id: string,
  change: MaintenanceWindowChange,
  { schemaErrors, match }: { schemaErrors?: FieldErrors | undefined; match?: Match },
): Promise<void> {
  const { organizationId, now } = context
  // Before the transaction, because other writers wait for it while occurrences are computed.
  const read = await getTenantRow(db, 'maintenance_windows', context, id)
  const before = toWindow(read, now)
  const { name, name_pattern, from, to, rrule, timezone } = { ...before, ...change }
  // Unchanged lists are not validated, because they may name deleted monitors and groups.
  const { monitors = null, groups = null } = change
  const input = { name, monitors, groups, name_pattern, from, to, rrule, timezone } as NewMaintenanceWindow
  const isRescheduled = ['from', 'to', 'rrule', 'timezone'].some((field) => field in change)
  const columns = await parseWindow(db, context, input, { schemaErrors, isRescheduled })
  await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'maintenance_windows', context, id, forUpdate(transaction))
    refuseStale(row, match)
    if (row.version !== read.version) throw changedMeanwhile()
    await updateTenantRow(transaction, 'maintenance_windows', context, id, {
      ...columns,
      ...('monitors' in change ? {} : { monitor_ids: row.monitor_ids }),
      ...('groups' in change ? {} : { group_ids: row.group_ids }),
      ...nextVersion,
    })
    await makeWaitingAlertsDue(transaction, organizationId, now)
    const after = await getWindow(transaction, context, id)
    const object = { id, label: row.name }
    await recordAudit(transaction, context, { action: 'maintenance_window.updated', object, before, after })
  })
}

const changedMeanwhile = () => new Problem(409, 'Another request changed the same resource. Try again.')

/** Throws `not_found` and 412. */
export async function deleteWindow(db: Database, context: RequestContext, id: string, match?: Match): Promise<void> {
  const { organizationId, now } = context
  await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'maintenance_windows', context, id, forUpdate(transaction))
    refuseStale(row, match)
    await deleteTenantRow(transaction, 'maintenance_windows', context, id)
    await makeWaitingAlertsDue(transaction, organizationId, now)
    const object = { id, label: row.name }
    const before = toWindow(row, now)
    await recordAudit(transaction, context, { action: 'maintenance_window.deleted', object, before })
  })
}

/** Decides again about alerts that may wait for the end of a window, repetitions included. */
async function makeWaitingAlertsDue(db: Database, organizationId: string, now: number): Promise<void> {
  await db
    .updateTable('due_alerts')
    .set({ due_at: now })
    .where('organization_id', '=', organizationId)
    .where('claimed_by', 'is', null)
    .where('due_at', '>', now)
    .where('alert_id', 'in', (select) =>
      select
        .selectFrom('alerts')
        .select('id')
        .where('organization_id', '=', organizationId)
        .where('status', 'in', ['PENDING', 'SENT', 'FAILED']),
    )
    .execute()
}

function toWindow(row: WindowRow, now: number): MaintenanceWindow {
  const occurrences = expansionOf(row, now).occurrences.slice(0, MAX_OCCURRENCES)
  return withVersion(
    {
      id: row.id,
      created: toIso(row.created_at),
      name: row.name,
      monitors: row.monitor_ids === null ? null : JSON.parse(row.monitor_ids),
      groups: row.group_ids === null ? null : JSON.parse(row.group_ids),
      name_pattern: row.name_pattern,
      from: toIso(row.from_at),
      to: toIso(row.to_at),
      rrule: row.rrule,
      timezone: row.timezone,
      is_active: isDuring(occurrences[0], now),
      occurrences: occurrences.map(({ from, to }) => ({ from: toIso(from), to: toIso(to) })),
    },
    row.version,
  )
}
