import type { JobCode } from '#contract/job-codes.ts'
import type { JobAction } from '#contract/jobs.ts'
import { MAX_TAGS } from '#contract/labels.ts'
import type { MonitorChange } from '#contract/monitors.ts'
import { systemContext, type Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { deleteEmptyGroup } from '../groups/delete.ts'
import { lockLinks } from '../groups/links.ts'
import { findGroups, getDefaultGroup, UNKNOWN_GROUP } from '../groups/resolve.ts'
import {
  countDeletable,
  deleteMonitors,
  type MonitorSnapshot,
  restoreMonitors,
  snapshotOf,
} from '../monitors/delete.ts'
import { auditOf, type MonitorRow, monitorLabel } from '../monitors/monitor.ts'
import { acceptCurrentValues, type ParsedChange, parseChange } from '../monitors/parse-monitor.ts'
import { type MonitorUpdate, scheduleChecks } from '../monitors/schedule.ts'
import { lockMonitors, updateMonitors } from '../monitors/update.ts'
import { cancelChanges, insertChanges, monitorsWithOpenChange } from '../planned-changes/many.ts'
import { type FieldErrors, fieldCodes, fieldTexts, Problem } from '../problem.ts'
import { EMPTY_RESULT, type JobChange, type JobResult, type JobRow, type PlanPeriod, type Replacement } from './job.ts'
import { retryRequests } from './retry-requests.ts'

/** What an action uses beside the database. */
export type ActionContext = Tenant & {
  now: number
  job: JobRow
  /** Position of the first monitor in the job: spreads the checks over time. */
  offset: number
  /** Throws 402 for an interval that the plan does not allow. */
  pace: (frequency?: number) => number
  /** How many more monitors the plan allows. The undo of a deletion calls it with the organization locked. */
  monitorsLeft: (db: Database) => Promise<number>
}

/** `remaining`: ids that another transaction must process. */
export type ActionResult = { results: JobResult[]; remaining: readonly string[] }

/** Checks that a job starts, so that other checks are not delayed. */
const CHECKS_PER_SECOND = 1_000

/** Applies the job's action to the monitors or requests of one batch, in the order of their ids. Returns one result for each. */
export async function performAction(
  db: Database,
  context: ActionContext,
  ids: readonly string[],
): Promise<ActionResult> {
  const { job } = context
  if (job.action === 'undo') return await undo(db, context, ids)
  if (job.action === 'retry_requests') return await retryRequests(db, context, ids)
  const jobChange: JobChange | null = job.change === null ? null : JSON.parse(job.change)
  const deletesGroups = jobChange?.change.delete_empty_groups === true && !job.is_dry_run
  // Before the monitors, as a request that deletes a group with its monitors does.
  if (deletesGroups) await lockLinks(db, context.organizationId)
  const rows = await lockMonitors(db, context, ids)
  const existingIds = new Set(rows.map(({ id }) => id))
  const missing = ids
    .filter((id) => !existingIds.has(id))
    .map((id) => failed(id, null, { code: 'monitor_not_found', reason: 'The monitor does not exist.' }))
  if (job.action === 'delete') {
    const count = job.is_dry_run ? rows.length : await countDeletable(db, context, rows)
    const deletable = rows.slice(0, count)
    if (!job.is_dry_run) await deleteMonitors(db, context, deletable, context.now)
    if (deletesGroups) await deleteGroupsLeftEmpty(db, context, deletable)
    return { results: [...missing, ...deletable.map(deletedResult)], remaining: rows.slice(count).map(({ id }) => id) }
  }
  return { results: [...missing, ...(await MONITOR_ACTIONS[job.action](db, context, rows, jobChange))], remaining: [] }
}

/** Of the groups of deleted monitors, those that have none left. The audit log names the job as the actor. */
async function deleteGroupsLeftEmpty(
  db: Database,
  { organizationId, job, now }: ActionContext,
  deleted: readonly MonitorRow[],
): Promise<void> {
  const context = systemContext(organizationId, now, { type: 'system', id: job.id, label: job.created_by })
  const { id: defaultGroup } = await getDefaultGroup(db, context)
  const groups = new Set(deleted.map(({ group_id }) => group_id).filter((id) => id !== defaultGroup))
  for (const id of [...groups].sort()) await deleteEmptyGroup(db, context, id, undefined)
}

/** What an action does to the monitors of a batch: one result for each. `jobChange` is what the request names. */
type MonitorAction = (
  db: Database,
  context: ActionContext,
  rows: readonly MonitorRow[],
  jobChange: JobChange | null,
) => Promise<JobResult[]>

/** An action that changes each monitor by itself. */
const changing =
  (changeFor: (row: MonitorRow, jobChange: JobChange) => MonitorChangeOrFailure): MonitorAction =>
  (db, context, rows, jobChange) =>
    applyDecisions(
      db,
      context,
      rows.map((row) => decide(row, context, changeFor(row, jobChange!))),
    )

const asRequested = (_row: MonitorRow, jobChange: JobChange) => ({ ok: true, ...jobChange }) as const

const MONITOR_ACTIONS: Record<Exclude<JobAction, 'undo' | 'delete' | 'retry_requests'>, MonitorAction> = {
  update: changing(asRequested),
  move: changing(asRequested),
  replace: changing((row, { change }) => ({ ok: true, change: replaceValue(row, change as Replacement) })),
  tag: changing((row, { change }) => withTags(row, (tags) => [...new Set([...tags, ...(change.tags ?? [])])])),
  untag: changing((row, { change }) => withTags(row, (tags) => tags.filter((tag) => !change.tags?.includes(tag)))),
  accept: changing((row) => acceptCurrentValues(row)),
  plan: (db, context, rows, jobChange) => planChanges(db, context, rows, jobChange!.change as Replacement & PlanPeriod),
  unplan,
  check,
}

/** Why a job does not change a monitor: a code and its sentence. */
type Failure = { code: JobCode; reason: string; errors?: FieldErrors }
type MonitorChangeOrFailure =
  | { ok: true; change: MonitorChange; groupId?: string | undefined }
  | ({ ok: false } & Failure)

/** Empty if the monitor does not expect the value, or its type does not allow it. */
function replaceValue(row: MonitorRow, { value, replacement }: Replacement): MonitorChange {
  const parsed = parseChange(row, { expected_value: [value], is_exact_match: false })
  if (!parsed.ok) return {}
  const expected: string[] = JSON.parse(row.expected_values)
  const [stored] = JSON.parse(parsed.changed.columns.expected_values ?? row.expected_values) as string[]
  if (stored === undefined || !expected.includes(stored)) return {}
  return { expected_value: expected.map((expectedValue) => (expectedValue === stored ? replacement : expectedValue)) }
}

function withTags(row: MonitorRow, change: (tags: string[]) => string[]): MonitorChangeOrFailure {
  const tags = change(JSON.parse(row.tags))
  if (tags.length <= MAX_TAGS) return { ok: true, change: { tags } }
  const reason = `The monitor would have ${tags.length} tags. A monitor can have at most ${MAX_TAGS}.`
  return { ok: false, code: 'too_many_tags', reason }
}

/** The change of one monitor, or why it fails. `groupId`: the group that the change names, even if the monitor is already in it. */
type Decision = { row: MonitorRow } & (
  | { kind: 'change'; changed: ParsedChange; groupId?: string | undefined }
  | ({ kind: 'failed' } & Failure)
)

function decide(row: MonitorRow, { pace }: ActionContext, requested: MonitorChangeOrFailure): Decision {
  if (!requested.ok) return { row, kind: 'failed', code: requested.code, reason: requested.reason }
  const { change, groupId } = requested
  const parsed = parseChange(row, change)
  if (!parsed.ok) {
    return { row, kind: 'failed', ...UNSUITABLE, errors: parsed.errors }
  }
  try {
    if (parsed.changed.isFrequencyChanged) pace(parsed.changed.columns.frequency)
  } catch (error) {
    if (error instanceof Problem) return { row, kind: 'failed', code: 'plan_limit', reason: error.message }
    throw error
  }
  return { row, kind: 'change', changed: parsed.changed, groupId }
}

async function applyDecisions(
  db: Database,
  context: ActionContext,
  decisions: readonly Decision[],
): Promise<JobResult[]> {
  const { job, now } = context
  const groups = await existingGroups(db, context, decisions)
  const changes: MonitorUpdate[] = []
  const results = decisions.map((each, index): JobResult => {
    const { row } = each
    if (each.kind === 'failed') return failed(row.id, monitorLabel(row), each)
    const { changed, groupId = changed.group ?? undefined } = each
    if (each.groupId !== undefined && !groups.has(each.groupId)) {
      return failed(row.id, monitorLabel(row), NO_GROUP)
    }
    const isMoved = groupId !== undefined && groupId !== row.group_id
    const after = { ...row, ...changed.columns } as MonitorRow
    const differences = differencesOf(row, after, isMoved ? groupId : row.group_id)
    if (Object.keys(differences.to).length === 0) return unchanged(row)
    changes.push({ row, changed, groupId: isMoved ? groupId : undefined, checkAt: checkAt(context, index) })
    return changedResult(row, differences)
  })
  if (!job.is_dry_run) await updateMonitors(db, context, changes, now)
  return results
}

/** Locks the groups against deletion until the transaction ends. */
async function existingGroups(
  db: Database,
  tenant: Tenant,
  decisions: readonly Decision[],
): Promise<ReadonlySet<string>> {
  const named = new Set(decisions.flatMap((each) => (each.kind === 'change' ? (each.groupId ?? []) : [])))
  return named.size === 0 ? named : new Set((await findGroups(db, tenant, [...named])).keys())
}

/** The API fields that differ. The group is stored by its id, which a rename does not change. */
function differencesOf(row: MonitorRow, after: MonitorRow, groupId: string) {
  const [before, wanted] = [auditOf(row, row.group_id), auditOf(after, groupId)] as Record<string, unknown>[]
  const names = Object.keys(wanted!).filter((name) => JSON.stringify(before![name]) !== JSON.stringify(wanted![name]))
  const only = (fields: Record<string, unknown>) => Object.fromEntries(names.map((name) => [name, fields[name]]))
  return { from: only(before!), to: only(wanted!) }
}

/** When the check of a monitor of this batch begins. */
const checkAt = ({ job, offset, now }: ActionContext, index: number) =>
  Math.max(now, (job.started_at ?? now) + Math.floor(((offset + index) * 1_000) / CHECKS_PER_SECOND))

async function check(db: Database, context: ActionContext, rows: readonly MonitorRow[]): Promise<JobResult[]> {
  const active = rows.filter(({ is_active }) => is_active === 1)
  if (!context.job.is_dry_run) {
    await scheduleChecks(
      db,
      active.map((row, index) => ({ row, checkAt: checkAt(context, index) })),
      context.now,
    )
  }
  return rows.map((row) => (row.is_active === 1 ? changedResult(row) : failed(row.id, monitorLabel(row), DISABLED)))
}

/** Plans the change of each monitor that expects the value. */
async function planChanges(
  db: Database,
  context: ActionContext,
  rows: readonly MonitorRow[],
  plan: Replacement & PlanPeriod,
): Promise<JobResult[]> {
  const { job, now } = context
  const [from, to] = [Date.parse(plan.from), Date.parse(plan.to)]
  const open = await monitorsWithOpenChange(db, context, idsOf(rows))
  const planned: { row: MonitorRow; newValues: string; checkAt: number }[] = []
  const results = rows.map((row, index): JobResult => {
    const parsed = parseChange(row, replaceValue(row, plan))
    if (!parsed.ok) return failed(row.id, monitorLabel(row), { ...UNSUITABLE, errors: parsed.errors })
    const newValues = parsed.changed.columns.expected_values
    if (newValues === undefined) return unchanged(row)
    if (open.has(row.id)) return failed(row.id, monitorLabel(row), PLAN_OPEN)
    if (to <= now) return failed(row.id, monitorLabel(row), PERIOD_OVER)
    planned.push({ row, newValues, checkAt: checkAt(context, index) })
    const [before, after] = [row.expected_values, newValues].map((values) => JSON.parse(values))
    const { from, to: until } = plan
    return changedResult(row, { from: { expected_value: before }, to: { expected_value: after, from, to: until } })
  })
  if (!job.is_dry_run)
    await insertChanges(db, context, planned, { jobId: job.id, createdBy: job.created_by, from, to, now })
  return results
}

async function unplan(db: Database, context: ActionContext, rows: readonly MonitorRow[]): Promise<JobResult[]> {
  const open = await monitorsWithOpenChange(db, context, idsOf(rows))
  const canceled = rows.filter(({ id }) => open.has(id))
  const plans = canceled.map((row, index) => ({ row, checkAt: checkAt(context, index) }))
  if (!context.job.is_dry_run) await cancelChanges(db, context, plans, context.now)
  return rows.map((row) => (open.has(row.id) ? changedResult(row) : unchanged(row)))
}

const idsOf = (rows: readonly MonitorRow[]) => rows.map(({ id }) => id)

/** Reverts the changes of another job, except fields that were changed again since. */
async function undo(db: Database, context: ActionContext, ids: readonly string[]): Promise<ActionResult> {
  const { organizationId, job } = context
  const done = await db
    .selectFrom('job_results')
    .select(['object_id', 'name', 'changed_from', 'changed_to', 'snapshot'])
    .where('organization_id', '=', organizationId)
    .where('job_id', '=', job.undoes)
    .where(isOneOf(db, 'object_id', ids))
    .orderBy('object_id')
    .execute()
  const rows = new Map((await lockMonitors(db, context, ids)).map((row) => [row.id, row]))
  const known = new Set(done.map(({ object_id }) => object_id))
  const results = ids.filter((id) => !known.has(id)).map((id) => failed(id, null, NOT_STORED))
  const decisions: Decision[] = []
  const deleted: { name: string | null; snapshot: MonitorSnapshot }[] = []
  for (const { object_id: id, name, changed_from, changed_to, snapshot } of done) {
    const row = rows.get(id)
    if (snapshot === null && changed_from === null) results.push(failed(id, name, NOT_STORED))
    else if (snapshot !== null) {
      if (row) results.push(unchanged(row))
      else deleted.push({ name, snapshot: JSON.parse(snapshot) })
    } else if (!row) {
      results.push(failed(id, name, { code: 'deleted_after_job', reason: 'The monitor was deleted after the job.' }))
    } else {
      const [from, to] = [JSON.parse(changed_from!), JSON.parse(changed_to!)]
      const now: Record<string, unknown> = auditOf(row, row.group_id)
      if (hasValues(now, from)) results.push(unchanged(row))
      else if (!hasValues(now, to))
        results.push(failed(id, name, { code: 'changed_after_job', reason: 'The monitor was changed after the job.' }))
      else decisions.push(decide(row, context, { ok: true, change: from, groupId: from.group }))
    }
  }
  results.push(...(await applyDecisions(db, context, decisions)), ...(await restore(db, context, deleted)))
  return { results, remaining: [] }
}

const UNSUITABLE: Failure = { code: 'invalid_change', reason: 'The change does not suit this monitor.' }
const PLAN_OPEN: Failure = {
  code: 'planned_change_open',
  reason: 'The monitor already has a planned change. Cancel that one first.',
}
const PERIOD_OVER: Failure = {
  code: 'period_over',
  reason: 'The period ended before the job reached this monitor. Plan it again.',
}
const NOT_STORED: Failure = {
  code: 'not_stored',
  reason: 'What the job changed here is no longer stored, so it cannot be undone.',
}
const NO_GROUP: Failure = {
  code: 'group_not_found',
  reason: 'The group no longer exists.',
  errors: { group: UNKNOWN_GROUP },
}
const DISABLED: Failure = { code: 'monitor_disabled', reason: 'This monitor is disabled. Enable it first.' }
const NONE_LEFT: Failure = {
  code: 'plan_limit',
  reason: 'Plan limit reached: all monitors of the plan are in use. Delete some or change the plan.',
}

const hasValues = (now: Record<string, unknown>, fields: Record<string, unknown>) =>
  Object.entries(fields).every(([name, value]) => JSON.stringify(now[name]) === JSON.stringify(value))

/** Needs the lock of the organization. */
async function restore(
  db: Database,
  context: ActionContext,
  deleted: readonly { name: string | null; snapshot: MonitorSnapshot }[],
): Promise<JobResult[]> {
  if (deleted.length === 0) return []
  const left = await context.monitorsLeft(db)
  const groups = await findGroups(db, context, [...new Set(deleted.map(({ snapshot }) => snapshot.group_id))])
  const defaultGroup = await getDefaultGroup(db, context)
  const restored = deleted.slice(0, left).map(({ snapshot, name }, index) => {
    const group_id = groups.has(snapshot.group_id) ? snapshot.group_id : defaultGroup.id
    return { name, snapshot: { ...snapshot, group_id }, checkAt: checkAt(context, index) }
  })
  await restoreMonitors(db, context, restored, context.now)
  return [
    ...restored.map(({ name, snapshot }) => ({
      ...{ ...EMPTY_RESULT, object_id: snapshot.id, name, state: 'changed' as const },
      changed_to: JSON.stringify(auditOf(snapshot, snapshot.group_id)),
    })),
    ...deleted.slice(left).map(({ name, snapshot }) => failed(snapshot.id, name, NONE_LEFT)),
  ]
}

function changedResult(row: MonitorRow, differences?: { from: object; to: object }): JobResult {
  const { from, to } = differences ?? {}
  return {
    ...{ ...EMPTY_RESULT, object_id: row.id, name: monitorLabel(row), state: 'changed' },
    ...(from && { changed_from: JSON.stringify(from), changed_to: JSON.stringify(to) }),
  }
}

const deletedResult = (row: MonitorRow): JobResult => ({
  ...changedResult(row),
  changed_from: JSON.stringify(auditOf(row, row.group_id)),
  snapshot: JSON.stringify(snapshotOf(row)),
})

const unchanged = (row: MonitorRow): JobResult => ({
  ...{ ...EMPTY_RESULT, object_id: row.id, name: monitorLabel(row), state: 'unchanged' },
})

const failed = (id: string, name: string | null, { code, reason, errors }: Failure): JobResult => ({
  ...{ ...EMPTY_RESULT, object_id: id, name, state: 'failed', error: reason, code },
  ...(errors && { errors: JSON.stringify(fieldTexts(errors)), field_codes: JSON.stringify(fieldCodes(errors)) }),
})
