import type { Selectable } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import type {
  NewPlannedChange,
  PlannedChange as PlannedChangeAnswer,
  PlannedChangeChange,
  PlannedChangeQuery,
} from '#contract/planned-changes.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { listPage, type Page } from '../database/pagination.ts'
import type { PlannedChangesTable } from '../database/schema-alerts.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale, withVersion } from '../database/versions.ts'
import { newId } from '../ids.ts'
import { type MonitorRow, monitorLabel } from '../monitors/monitor.ts'
import { isSameSet } from '../monitors/parse-monitor.ts'
import { parseExpectedValues } from '../monitors/record-types/record-types.ts'
import { lockMonitor } from '../monitors/store.ts'
import { conflict, type FieldErrors, invalid, throwIfInvalid } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { parseTimes, toIso, toIsoOrNull } from '../times.ts'
import { type OpenChange, type Progress, phaseOf } from './planned-change.ts'

type ChangeRow = Selectable<PlannedChangesTable>

const DAY_MS = 24 * 60 * 60_000
const LONGEST_DAYS = 14
const MOST_AHEAD_DAYS = 10 * 366
/** Open changes of one organization: their checks ask every server. */
const MOST_OPEN = 100

/** The monitor's change that is not closed. For its check. */
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
      progress: progressOf(row),
      label: `Planned change of ${monitorLabel({ owner, record_type })}`,
    }
  )
}

const progressOf = ({ progress }: ChangeRow): Progress | null => (progress === null ? null : JSON.parse(progress))

type Closing = { outcome: Exclude<ChangeRow['outcome'], null>; now: number }

/** Records what a check saw of an open change, and closes it where that was the end, in the transaction of the check. */
export async function recordProgress(
  db: Database,
  { organizationId, id }: Tenant & { id: string },
  progress: Progress | null,
  closing?: Closing | undefined,
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
  seal: Seal,
  { organizationId, now }: Tenant & { now: number },
  query: PlannedChangeQuery,
): Promise<Page<PlannedChangeAnswer>> {
  const { monitor_id, is_open } = query
  let rows = db
    .selectFrom('planned_changes')
    .selectAll('planned_changes')
    .where('planned_changes.organization_id', '=', organizationId)
  if (monitor_id !== undefined) rows = rows.where('planned_changes.monitor_id', '=', monitor_id)
  if (is_open !== undefined) rows = rows.where('planned_changes.outcome', is_open ? 'is' : 'is not', null)
  const page = await listPage<ChangeRow>(rows as never, {
    seal,
    query,
    id: 'planned_changes.id',
    orders: { created: { column: 'planned_changes.id' } },
    scope: ['planned changes', organizationId, monitor_id, is_open],
  })
  return { ...page, data: page.data.map((row) => toAnswer(row, now)) }
}

/** Throws `not_found`, also for another organization's. */
export async function getChange(
  db: Database,
  tenant: Tenant & { now: number },
  id: string,
): Promise<PlannedChangeAnswer> {
  return toAnswer(await getTenantRow(db, 'planned_changes', tenant, id), tenant.now)
}

/** Throws a 400 with everything that is wrong, and 409 where the monitor has a change that is open. */
export async function insertChange(
  db: Database,
  context: RequestContext,
  given: NewPlannedChange,
  refused?: FieldErrors,
): Promise<string> {
  const { organizationId, now, actor } = context
  return await inTransaction(db, async (transaction) => {
    const monitor = await findMonitor(transaction, context, given.monitor_id)
    const errors = monitor ? {} : { monitor_id: fieldError('unknown_reference', { resource: 'monitor' }) }
    const parsed = parse(monitor, { from: toIso(now), ...given }, now, { ...errors, ...refused })
    const open = await transaction
      .selectFrom('planned_changes')
      .select(['id', 'monitor_id'])
      .where('organization_id', '=', organizationId)
      .where('outcome', 'is', null)
      .limit(MOST_OPEN)
      .execute()
    if (open.some(({ monitor_id }) => monitor_id === monitor!.id))
      throw conflict('The monitor already has a planned change. Change or delete that one.')
    if (open.length >= MOST_OPEN)
      throw conflict(`Limit reached: an organization has at most ${MOST_OPEN} open planned changes. Delete one first.`)
    const id = newId('pch', now)
    await transaction
      .insertInto('planned_changes')
      .values({
        organization_id: organizationId,
        id,
        created_at: now,
        created_by: actor.label,
        monitor_id: monitor!.id,
        old_values: monitor!.expected_values,
        ...parsed,
      })
      .execute()
    await setPlace(transaction, monitor!, id, now)
    const after = await getChange(transaction, context, id)
    const object = { id, label: monitorLabel(monitor!) }
    await recordAudit(transaction, context, { action: 'planned_change.created', object, after })
    return id
  })
}

/** Throws `not_found`, 412, a 400, and 409 for a change that is closed. */
export async function updateChange(
  db: Database,
  context: RequestContext,
  id: string,
  change: PlannedChangeChange,
  { refused, match }: { refused?: FieldErrors | undefined; match?: Match },
): Promise<void> {
  const { organizationId, now } = context
  await inTransaction(db, async (transaction) => {
    const { monitor, row } = await lockChange(transaction, context, id)
    const before = toAnswer(row, now)
    const { new_value, from, to } = before
    const parsed = parse(monitor, { new_value, from, to, ...change }, now, refused)
    refuseStale(row, match)
    if (row.outcome !== null) throw conflict('The planned change is closed. Create another one.')
    await transaction
      .updateTable('planned_changes')
      .set({ ...parsed, ...nextVersion })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    await setPlace(transaction, monitor, id, now)
    const after = await getChange(transaction, context, id)
    const object = { id, label: monitorLabel(monitor) }
    await recordAudit(transaction, context, { action: 'planned_change.updated', object, before, after })
  })
}

/** An open one is canceled: the old values are expected again. Throws `not_found` and 412. */
export async function deleteChange(db: Database, context: RequestContext, id: string, match?: Match): Promise<void> {
  const { organizationId, now } = context
  await inTransaction(db, async (transaction) => {
    const { monitor, row } = await lockChange(transaction, context, id)
    refuseStale(row, match)
    await transaction
      .deleteFrom('planned_changes')
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    if (row.outcome === null) await setPlace(transaction, monitor, null, now)
    const object = { id, label: monitorLabel(monitor) }
    const before = toAnswer(row, now)
    await recordAudit(transaction, context, { action: 'planned_change.deleted', object, before })
  })
}

/** First the monitor, as checks do. */
async function lockChange(db: Database, context: RequestContext, id: string) {
  const { monitor_id } = await getTenantRow(db, 'planned_changes', context, id)
  const monitor = await lockMonitor(db, context, monitor_id)
  return { monitor, row: await getTenantRow(db, 'planned_changes', context, id, forUpdate(db)) }
}

async function findMonitor(db: Database, tenant: Tenant, id: unknown): Promise<MonitorRow | undefined> {
  if (typeof id !== 'string') return undefined
  const row = await db
    .selectFrom('monitors')
    .select('id')
    .where('organization_id', '=', tenant.organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row && (await lockMonitor(db, tenant, id))
}

/** The monitor is checked at once, and what is found without the change is not taken over. */
async function setPlace(db: Database, { slot, is_active }: MonitorRow, changeId: string | null, now: number) {
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

type Given = { new_value: unknown; from: unknown; to: unknown }

/** Of a body whose fields may hold anything, as the schema reports what is of the wrong type. */
function parse(monitor: MonitorRow | undefined, given: Given, now: number, refused: FieldErrors = {}) {
  const { new_value } = given
  const errors: FieldErrors = {}
  const isText = (value: unknown) => typeof value === 'string'
  const isGiven = isText(new_value) || (Array.isArray(new_value) && new_value.every(isText))
  const values =
    monitor && isGiven
      ? parseExpectedValues(
          new_value as string | string[],
          monitor.record_type as MonitorRecordType,
          monitor.is_exact_match === 1,
        )
      : undefined
  if (values && !values.ok) {
    for (const [field, error] of Object.entries(values.errors))
      errors[field.replace(/^expected_value/, 'new_value')] = error
  }
  if (values?.ok && isSameSet(values.values, JSON.parse(monitor!.expected_values)))
    errors.new_value = fieldError('same_as_expected')
  const times = Object.fromEntries(
    (['from', 'to'] as const).flatMap((field) =>
      ['string', 'number'].includes(typeof given[field]) ? [[field, given[field] as string | number]] : [],
    ),
  )
  const { from, to } = parseTimes<'from' | 'to'>(times, ['from', 'to'], { ...errors, ...refused })
  throwIfInvalid(periodErrors(from!, to!, now))
  if (!values?.ok) throw invalid(errors)
  return { new_values: JSON.stringify(values.values), from_at: from!, to_at: to! }
}

function periodErrors(from: number, to: number, now: number): FieldErrors {
  const latest = now + MOST_AHEAD_DAYS * DAY_MS
  const earliest = now - LONGEST_DAYS * DAY_MS
  if (from < earliest || from > latest)
    return { from: fieldError('time_out_of_range', { min: toIso(earliest), max: toIso(latest) }) }
  if (to <= now) return { to: fieldError('not_in_future') }
  if (to <= from) return { to: fieldError('not_after', { start: 'from' }) }
  if (to - from > LONGEST_DAYS * DAY_MS) return { to: fieldError('window_too_long', { days: LONGEST_DAYS }) }
  return {}
}

function toAnswer(row: ChangeRow, now: number): PlannedChangeAnswer {
  const progress = progressOf(row)
  const isBefore = phaseOf({ from: row.from_at, to: row.to_at }, now) === 'before'
  return withVersion(
    {
      id: row.id,
      created: toIso(row.created_at),
      created_by: row.created_by,
      monitor_id: row.monitor_id,
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
