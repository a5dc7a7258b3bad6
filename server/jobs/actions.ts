import type { Insertable } from 'kysely'
import type { JobCode } from '#contract/job-codes.ts'
import type { JobAction } from '#contract/jobs.ts'
import { MAX_TAGS } from '#contract/labels.ts'
import type { MonitorChange } from '#contract/monitors.ts'
import type { Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { JobResultsTable } from '../database/schema-jobs.ts'
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
import { type FieldErrors, fieldCodes, fieldTexts, Problem } from '../problem.ts'
import type { JobRow, Replacement, WantedChange } from './job.ts'
import { retryRequests } from './retry-requests.ts'

export type JobResult = Omit<Insertable<JobResultsTable>, 'organization_id' | 'job_id'>

/** What an action may use beside the database. */
export type Given = Tenant & {
  now: number
  job: JobRow
  /** In the job, of the first monitor: when its check begins. */
  place: number
  /** Throws 402 for an interval that the plan does not allow. */
  pace: (frequency?: number) => number
  /** Monitors that the plan still allows. Called under the lock of the organization, which the undo of a deletion has. */
  monitorsLeft: (db: Database) => Promise<number>
}

/** `rest`: ids that are left for another transaction. */
export type Performed = { results: JobResult[]; rest: readonly string[] }

/** Checks that a job starts: so many that others are not delayed by them. */
const CHECKS_PER_SECOND = 1_000

/** Carries the job's action out for the monitors or requests of one batch, in the order of their ids. Each has one result. */
export async function perform(db: Database, given: Given, ids: readonly string[]): Promise<Performed> {
  const { job } = given
  if (job.action === 'undo') return await undo(db, given, ids)
  if (job.action === 'retry_requests') return await retryRequests(db, given, ids)
  const rows = await lockMonitors(db, given, ids)
  const found = new Map(rows.map((row) => [row.id, row]))
  const missing = ids
    .filter((id) => !found.has(id))
    .map((id) => failed(id, null, { code: 'monitor_not_found', reason: 'The monitor does not exist.' }))
  if (job.action === 'delete') {
    const count = job.is_dry_run ? rows.length : await countDeletable(db, given, rows)
    const taken = rows.slice(0, count)
    if (!job.is_dry_run) await deleteMonitors(db, given, taken, given.now)
    return { results: [...missing, ...taken.map(deletedResult)], rest: rows.slice(count).map(({ id }) => id) }
  }
  if (job.action === 'check') return { results: [...missing, ...(await check(db, given, rows))], rest: [] }
  const wanted: WantedChange | null = job.change === null ? null : JSON.parse(job.change)
  const decided = rows.map((row) => decide(row, given, changeFor(row, job.action, wanted)))
  return { results: [...missing, ...(await apply(db, given, decided))], rest: [] }
}

/** Why a job does not change a monitor: a code and its sentence. */
type Failure = { code: JobCode; reason: string; errors?: FieldErrors }
type Wanted = { ok: true; change: MonitorChange; groupId?: string | undefined } | ({ ok: false } & Failure)

/** Of an update or a move, what the request says; else what follows from the monitor as it is now. */
function changeFor(row: MonitorRow, action: JobAction, wanted: WantedChange | null): Wanted {
  if (!wanted) return acceptCurrentValues(row)
  if (action === 'replace') return { ok: true, change: replaced(row, wanted.change as Replacement) }
  const given = wanted.change.tags ?? []
  if (action === 'tag') return withTags(row, (tags) => [...new Set([...tags, ...given])])
  if (action === 'untag') return withTags(row, (tags) => tags.filter((tag) => !given.includes(tag)))
  return { ok: true, ...wanted }
}

/** No change where the monitor does not expect the value, or no monitor of its type could. */
function replaced(row: MonitorRow, { value, replacement }: Replacement): MonitorChange {
  const parsed = parseChange(row, { expected_value: [value], is_exact_match: false })
  if (!parsed.ok) return {}
  const expected: string[] = JSON.parse(row.expected_values)
  const [stored] = JSON.parse(parsed.changed.columns.expected_values ?? row.expected_values) as string[]
  if (stored === undefined || !expected.includes(stored)) return {}
  return { expected_value: expected.map((each) => (each === stored ? replacement : each)) }
}

function withTags(row: MonitorRow, change: (tags: string[]) => string[]): Wanted {
  const tags = change(JSON.parse(row.tags))
  if (tags.length <= MAX_TAGS) return { ok: true, change: { tags } }
  const reason = `The monitor would have ${tags.length} tags. A monitor can have at most ${MAX_TAGS}.`
  return { ok: false, code: 'too_many_tags', reason }
}

/** What becomes of one monitor. `groupId`: the group that the change names, whether or not it is in there. */
type Decided = { row: MonitorRow } & (
  | { kind: 'change'; changed: ParsedChange; groupId?: string | undefined }
  | ({ kind: 'failed' } & Failure)
)

function decide(row: MonitorRow, { pace }: Given, wanted: Wanted): Decided {
  if (!wanted.ok) return { row, kind: 'failed', code: wanted.code, reason: wanted.reason }
  const { change, groupId } = wanted
  const parsed = parseChange(row, change)
  if (!parsed.ok) {
    const reason = 'The change does not suit this monitor.'
    return { row, kind: 'failed', code: 'invalid_change', reason, errors: parsed.errors }
  }
  try {
    if (parsed.changed.isFrequencyChanged) pace(parsed.changed.columns.frequency)
  } catch (error) {
    if (error instanceof Problem) return { row, kind: 'failed', code: 'plan_limit', reason: error.message }
    throw error
  }
  return { row, kind: 'change', changed: parsed.changed, groupId }
}

async function apply(db: Database, given: Given, decided: readonly Decided[]): Promise<JobResult[]> {
  const { job, now } = given
  const groups = await existingGroups(db, given, decided)
  const changes: MonitorUpdate[] = []
  const results = decided.map((each, index): JobResult => {
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
    changes.push({ row, changed, groupId: isMoved ? groupId : undefined, checkAt: checkAt(given, index) })
    return changedResult(row, differences)
  })
  if (!job.is_dry_run) await updateMonitors(db, given, changes, now)
  return results
}

/** Kept from being deleted until the transaction ends. */
async function existingGroups(db: Database, tenant: Tenant, decided: readonly Decided[]): Promise<ReadonlySet<string>> {
  const named = new Set(decided.flatMap((each) => (each.kind === 'change' ? (each.groupId ?? []) : [])))
  return named.size === 0 ? named : new Set((await findGroups(db, tenant, [...named])).keys())
}

/** The fields of the API that differ. The group by its id, so that it is known after it was renamed. */
function differencesOf(row: MonitorRow, after: MonitorRow, groupId: string) {
  const [before, wanted] = [auditOf(row, row.group_id), auditOf(after, groupId)] as Record<string, unknown>[]
  const names = Object.keys(wanted!).filter((name) => JSON.stringify(before![name]) !== JSON.stringify(wanted![name]))
  const only = (fields: Record<string, unknown>) => Object.fromEntries(names.map((name) => [name, fields[name]]))
  return { from: only(before!), to: only(wanted!) }
}

/** When the check of the job's next monitors begins. */
const checkAt = ({ job, place, now }: Given, index: number) =>
  Math.max(now, (job.started_at ?? now) + Math.floor(((place + index) * 1_000) / CHECKS_PER_SECOND))

async function check(db: Database, given: Given, rows: readonly MonitorRow[]): Promise<JobResult[]> {
  const active = rows.filter(({ is_active }) => is_active === 1)
  if (!given.job.is_dry_run) {
    await scheduleChecks(
      db,
      active.map((row, index) => ({ row, checkAt: checkAt(given, index) })),
    )
  }
  return rows.map((row) => (row.is_active === 1 ? changedResult(row) : failed(row.id, monitorLabel(row), DISABLED)))
}

/** Takes back what another job did, except where somebody has changed the same field since. */
async function undo(db: Database, given: Given, ids: readonly string[]): Promise<Performed> {
  const { organizationId, job } = given
  const done = await db
    .selectFrom('job_results')
    .select(['object_id', 'name', 'changed_from', 'changed_to', 'snapshot'])
    .where('organization_id', '=', organizationId)
    .where('job_id', '=', job.undoes)
    .where(isOneOf(db, 'object_id', ids))
    .orderBy('object_id')
    .execute()
  const rows = new Map((await lockMonitors(db, given, ids)).map((row) => [row.id, row]))
  const known = new Set(done.map(({ object_id }) => object_id))
  const results = ids.filter((id) => !known.has(id)).map((id) => failed(id, null, NOT_STORED))
  const decided: Decided[] = []
  const deleted: { name: string | null; snapshot: MonitorSnapshot }[] = []
  for (const { object_id: id, name, changed_from, changed_to, snapshot } of done) {
    const row = rows.get(id)
    if (snapshot !== null) {
      if (row) results.push(unchanged(row))
      else deleted.push({ name, snapshot: JSON.parse(snapshot) })
    } else if (!row) {
      results.push(failed(id, name, { code: 'deleted_after_job', reason: 'The monitor was deleted after the job.' }))
    } else {
      const [from, to] = [JSON.parse(changed_from!), JSON.parse(changed_to!)]
      const now: Record<string, unknown> = auditOf(row, row.group_id)
      if (isAs(now, from)) results.push(unchanged(row))
      else if (!isAs(now, to))
        results.push(failed(id, name, { code: 'changed_after_job', reason: 'The monitor was changed after the job.' }))
      else decided.push(decide(row, given, { ok: true, change: from, groupId: from.group }))
    }
  }
  results.push(...(await apply(db, given, decided)), ...(await restore(db, given, deleted)))
  return { results, rest: [] }
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

const isAs = (now: Record<string, unknown>, fields: Record<string, unknown>) =>
  Object.entries(fields).every(([name, value]) => JSON.stringify(now[name]) === JSON.stringify(value))

/** Under the lock of the organization. */
async function restore(
  db: Database,
  given: Given,
  deleted: readonly { name: string | null; snapshot: MonitorSnapshot }[],
): Promise<JobResult[]> {
  if (deleted.length === 0) return []
  const left = await given.monitorsLeft(db)
  const groups = await findGroups(db, given, [...new Set(deleted.map(({ snapshot }) => snapshot.group_id))])
  const preset = await getDefaultGroup(db, given)
  const restored = deleted.slice(0, left).map(({ snapshot, name }, index) => {
    const group_id = groups.has(snapshot.group_id) ? snapshot.group_id : preset.id
    return { name, snapshot: { ...snapshot, group_id }, checkAt: checkAt(given, index) }
  })
  await restoreMonitors(db, given, restored, given.now)
  return [
    ...restored.map(({ name, snapshot }) => ({
      ...{ ...EMPTY, object_id: snapshot.id, name, state: 'changed' as const },
      changed_to: JSON.stringify(auditOf(snapshot, snapshot.group_id)),
    })),
    ...deleted.slice(left).map(({ name, snapshot }) => failed(snapshot.id, name, NONE_LEFT)),
  ]
}

const EMPTY = {
  changed_from: null,
  changed_to: null,
  snapshot: null,
  error: null,
  errors: null,
  code: null,
  field_codes: null,
}

function changedResult(row: MonitorRow, differences?: { from: object; to: object }): JobResult {
  const { from, to } = differences ?? {}
  return {
    ...{ ...EMPTY, object_id: row.id, name: monitorLabel(row), state: 'changed' },
    ...(from && { changed_from: JSON.stringify(from), changed_to: JSON.stringify(to) }),
  }
}

const deletedResult = (row: MonitorRow): JobResult => ({
  ...changedResult(row),
  changed_from: JSON.stringify(auditOf(row, row.group_id)),
  snapshot: JSON.stringify(snapshotOf(row)),
})

const unchanged = (row: MonitorRow): JobResult => ({
  ...{ ...EMPTY, object_id: row.id, name: monitorLabel(row), state: 'unchanged' },
})

const failed = (id: string, name: string | null, { code, reason, errors }: Failure): JobResult => ({
  ...{ ...EMPTY, object_id: id, name, state: 'failed', error: reason, code },
  ...(errors && { errors: JSON.stringify(fieldTexts(errors)), field_codes: JSON.stringify(fieldCodes(errors)) }),
})
