import type { Selectable } from 'kysely'
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
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import type { MaintenanceWindowsTable } from '../database/schema-alerts.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale, withVersion } from '../database/versions.ts'
import { parseGroupList, stringsOf } from '../groups/store.ts'
import { listPage, type Page } from '../http/pagination.ts'
import { isoOf, parseTimes } from '../http/times.ts'
import { newId } from '../ids.ts'
import { findTimeZone } from '../organization/iso-codes.ts'
import { conflict, type FieldErrors, refuse } from '../problem.ts'
import type { Seal } from '../seal.ts'
import {
  includesMonitor,
  isDuring,
  lastEnd,
  normalizedRule,
  type Occurrence,
  occurrenceAt,
  type Schedule,
  scheduleErrors,
  upcoming,
} from './maintenance.ts'
import { normalizedPattern } from './name-pattern.ts'

type WindowRow = Selectable<MaintenanceWindowsTable>
/** A window that is active, and until when. */
export type ActiveWindow = WindowRow & Pick<Occurrence, 'to'>

/** Windows of one organization that have not ended: each alert looks at all of them. */
const MOST_WINDOWS = 50
const MOST_SHOWN = 3
const YEAR_MS = 366 * 24 * 60 * 60_000
/** Times beyond these are mistakes. */
const MOST_YEARS = 10

/** The windows in which alerts of the organization's monitors wait now. */
export async function activeWindows(db: Database, organizationId: string, now: number): Promise<ActiveWindow[]> {
  const rows = await openWindows(db, organizationId, now)
  return rows.flatMap((row) => {
    const occurrence = occurrenceAt(scheduleOf(row), now)
    return isDuring(occurrence, now) ? [{ ...row, to: occurrence!.to }] : []
  })
}

function openWindows(db: Database, organizationId: string, now: number): Promise<WindowRow[]> {
  return db
    .selectFrom('maintenance_windows')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where((where) => where.or([where('last_end_at', 'is', null), where('last_end_at', '>', now)]))
    .limit(MOST_WINDOWS * 2)
    .execute()
}

export async function listWindows(
  db: Database,
  seal: Seal,
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
    rows = rows.where(is_active ? isActive : (where) => where.not(isActive as never))
  }
  if (monitor_id !== undefined)
    rows = rows.where(isOneOf(db, 'maintenance_windows.id', await windowsOf(db, tenant, monitor_id)))
  const page = await listPage<WindowRow>(rows as never, {
    seal,
    query,
    id: 'maintenance_windows.id',
    orders: { created: { column: 'maintenance_windows.id' } },
    scope: ['maintenance windows', organizationId, is_active, monitor_id],
  })
  return { ...page, data: page.data.map((row) => toWindow(row, now)) }
}

/** Ids of those that have not ended and include the monitor. */
async function windowsOf(
  db: Database,
  { organizationId, now }: Tenant & { now: number },
  monitorId: string,
): Promise<string[]> {
  const monitor = await db
    .selectFrom('monitors')
    .select(['id', 'group_id', 'owner'])
    .where('organization_id', '=', organizationId)
    .where('id', '=', monitorId)
    .executeTakeFirst()
  if (!monitor) return []
  const failure = { id: monitor.id, groupId: monitor.group_id, name: monitor.owner }
  const rows = await openWindows(db, organizationId, now)
  return rows.filter((row) => includesMonitor(row, failure)).map(({ id }) => id)
}

/** Throws `not_found`, also for another organization's. */
export async function getWindow(
  db: Database,
  tenant: Tenant & { now: number },
  id: string,
): Promise<MaintenanceWindow> {
  return toWindow(await getTenantRow(db, 'maintenance_windows', tenant, id), tenant.now)
}

/** What a request comes to, in the columns of the table. */
export type WindowDraft = Pick<
  WindowRow,
  'name' | 'monitor_ids' | 'group_ids' | 'name_pattern' | 'from_at' | 'to_at' | 'rrule' | 'timezone' | 'last_end_at'
>

/** Throws a 400 with everything that is wrong; `refused`: what the schema refused, after which fields may hold anything. */
export async function parseWindow(
  db: Database,
  context: RequestContext,
  given: NewMaintenanceWindow,
  { refused = {}, isRescheduled = true }: { refused?: FieldErrors | undefined; isRescheduled?: boolean } = {},
): Promise<WindowDraft> {
  const { ids: groupIds, errors } = await parseGroupList(db, context, given.groups)
  const monitorIds = stringsOf(given.monitors)
  const known = await knownMonitors(db, context, monitorIds)
  for (const [index, id] of monitorIds.entries()) {
    if (!known.has(id)) errors[`monitors.${index}`] = fieldError('unknown_reference', { resource: 'monitor' })
  }
  const timezone =
    typeof given.timezone === 'string' ? findTimeZone(given.timezone) : await timezoneOf(db, context.organizationId)
  if (timezone === undefined) errors.timezone = fieldError('invalid_time_zone')
  const rrule = typeof given.rrule === 'string' ? normalizedRule(given.rrule) : null
  if (rrule === undefined) errors.rrule = fieldError('invalid_rrule')
  const { from, to } = parseTimes(timesOf(given), ['from', 'to'], { ...errors, ...refused })
  const schedule: Schedule = { from: from!, to: to!, rrule: rrule!, timezone: timezone! }
  const limits = { min: context.now - MOST_YEARS * YEAR_MS, max: context.now + MOST_YEARS * YEAR_MS }
  refuse({ ...(isRescheduled ? { ...scheduleErrors(schedule, context.now), ...outOf(limits, { from, to }) } : {}) })
  return {
    name: given.name,
    monitor_ids: given.monitors == null ? null : JSON.stringify([...new Set(monitorIds)]),
    group_ids: given.groups == null ? null : JSON.stringify([...new Set(groupIds)]),
    name_pattern: given.name_pattern == null ? null : normalizedPattern(given.name_pattern),
    from_at: schedule.from,
    to_at: schedule.to,
    rrule: schedule.rrule,
    timezone: schedule.timezone,
    last_end_at: lastEnd(schedule),
  }
}

/** Of a body whose fields may hold anything. */
const timesOf = ({ from, to }: NewMaintenanceWindow) =>
  Object.fromEntries(
    Object.entries({ from, to }).filter(([, value]) => typeof value === 'string' || typeof value === 'number'),
  ) as { from?: string | number; to?: string | number }

function outOf({ min, max }: { min: number; max: number }, times: Record<string, number | undefined>): FieldErrors {
  const wrong = Object.entries(times).filter(([, at]) => at !== undefined && (at < min || at > max))
  const error = () => fieldError('time_out_of_range', { min: isoOf(min), max: isoOf(max) })
  return Object.fromEntries(wrong.map(([field]) => [field, error()]))
}

async function knownMonitors(db: Database, { organizationId }: Tenant, ids: readonly string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('monitors')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', ids))
    .execute()
  return new Set(rows.map(({ id }) => id))
}

async function timezoneOf(db: Database, organizationId: string): Promise<string> {
  const { timezone } = await db
    .selectFrom('organizations')
    .select('timezone')
    .where('id', '=', organizationId)
    .executeTakeFirstOrThrow()
  return findTimeZone(timezone) ?? 'UTC'
}

/** Throws 409 where the organization has as many as it may. */
export async function insertWindow(db: Database, context: RequestContext, draft: WindowDraft): Promise<string> {
  const { organizationId, now } = context
  return await inTransaction(db, async (transaction) => {
    if ((await openWindows(transaction, organizationId, now)).length >= MOST_WINDOWS)
      throw conflict(
        `Limit reached: an organization has at most ${MOST_WINDOWS} maintenance windows that have not ended. Delete one first.`,
      )
    const id = newId('mnt', now)
    const row = { organization_id: organizationId, id, created_at: now, ...draft }
    await transaction.insertInto('maintenance_windows').values(row).execute()
    const after = await getWindow(transaction, context, id)
    const object = { id, label: draft.name }
    await recordAudit(transaction, context, { action: 'maintenance_window.created', object, after })
    return id
  })
}

/** Throws `not_found`, 412, and a 400 as `parseWindow` does. */
export async function updateWindow(
  db: Database,
  context: RequestContext,
  id: string,
  change: MaintenanceWindowChange,
  { refused, match }: { refused?: FieldErrors | undefined; match?: Match },
): Promise<void> {
  const { organizationId, now } = context
  await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'maintenance_windows', context, id, forUpdate(transaction))
    const before = toWindow(row, now)
    const { name, name_pattern, from, to, rrule, timezone } = { ...before, ...change }
    // What was deleted since stays in the lists.
    const { monitors = null, groups = null } = change
    const given = { name, monitors, groups, name_pattern, from, to, rrule, timezone } as NewMaintenanceWindow
    const isRescheduled = ['from', 'to', 'rrule', 'timezone'].some((field) => field in change)
    const draft = await parseWindow(transaction, context, given, { refused, isRescheduled })
    refuseStale(row, match)
    const columns = {
      ...draft,
      ...('monitors' in change ? {} : { monitor_ids: row.monitor_ids }),
      ...('groups' in change ? {} : { group_ids: row.group_ids }),
    }
    await transaction
      .updateTable('maintenance_windows')
      .set({ ...columns, ...nextVersion })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    await lookAgain(transaction, organizationId, now)
    const after = await getWindow(transaction, context, id)
    const object = { id, label: row.name }
    await recordAudit(transaction, context, { action: 'maintenance_window.updated', object, before, after })
  })
}

/** Throws `not_found` and 412. */
export async function deleteWindow(db: Database, context: RequestContext, id: string, match?: Match): Promise<void> {
  const { organizationId, now } = context
  await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'maintenance_windows', context, id, forUpdate(transaction))
    refuseStale(row, match)
    await transaction
      .deleteFrom('maintenance_windows')
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    await lookAgain(transaction, organizationId, now)
    const object = { id, label: row.name }
    await recordAudit(transaction, context, {
      action: 'maintenance_window.deleted',
      object,
      before: toWindow(row, now),
    })
  })
}

/** Alerts that wait for the end of a window, also to be repeated, are decided again: it may end earlier now. */
async function lookAgain(db: Database, organizationId: string, now: number): Promise<void> {
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

const scheduleOf = ({ from_at, to_at, rrule, timezone }: WindowRow): Schedule => ({
  from: from_at,
  to: to_at,
  rrule,
  timezone,
})

function toWindow(row: WindowRow, now: number): MaintenanceWindow {
  const occurrences = upcoming(scheduleOf(row), now, MOST_SHOWN)
  return withVersion(
    {
      id: row.id,
      created: isoOf(row.created_at),
      name: row.name,
      monitors: row.monitor_ids === null ? null : JSON.parse(row.monitor_ids),
      groups: row.group_ids === null ? null : JSON.parse(row.group_ids),
      name_pattern: row.name_pattern,
      from: isoOf(row.from_at),
      to: isoOf(row.to_at),
      rrule: row.rrule,
      timezone: row.timezone,
      is_active: isDuring(occurrences[0], now),
      occurrences: occurrences.map(({ from, to }) => ({ from: isoOf(from), to: isoOf(to) })),
    },
    row.version,
  )
}
