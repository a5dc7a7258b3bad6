import { sql } from 'kysely'
import type { JobAction, NewJob } from '#contract/jobs.ts'
import { appendToAudit } from '../audit-log.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { systemContext, type Tenant } from '../context.ts'
import { deleteEach, insertEach, updateEach } from '../database/bulk.ts'
import { type Database, type Engine, engineOf, forUpdate, inTransaction } from '../database/database.ts'
import { type Claim, reschedule } from '../database/lease-queue.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import { listMonitors } from '../monitors/list.ts'
import { parseInclude } from '../monitors/monitor.ts'
import { countUsage, findQuota, frequencyLimiter } from '../organization/quota.ts'
import { Problem } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { listUndelivered } from '../webhooks/request-list.ts'
import { type JobResult, perform } from './actions.ts'
import type { JobRow, Selection } from './job.ts'
import { BATCH, insertBatches, updateJob } from './store.ts'

/** `sizes`: how many monitors or requests the next step of an action processes, as far as this process knows. */
export type RunDeps = {
  db: Database
  clock: Clock
  seal: Seal
  config: Pick<Config, 'plans'>
  sizes: Map<JobAction, number>
}

/** How long a step should take. On SQLite all other writers wait for it, on PostgreSQL those of the same monitors. */
const STEP_MS: Record<Engine, number> = { sqlite: 40, postgres: 250 }
const FIRST_SIZE = 200
/** On PostgreSQL few wait for a step, and on a busy machine its statements take longer than the changes of a small one. */
const LEAST_SIZE: Record<Engine, number> = { sqlite: 50, postgres: 400 }
/** Ids that one transaction lists. */
const LISTED_AT_ONCE = BATCH
/** Errors in a row that nobody expected, after which a job is given up. */
const MOST_FAILURES = 5

/** What a step did: `done` of all, and `changed`, monitors or requests; `isOver`: a job has ended, or none was left. */
export type Step = { done: number; changed: number; isOver: boolean }
const NOTHING: Step = { done: 0, changed: 0, isOver: true }

/**
 * One step of the oldest job of the claimed organization: it lists some ids, or processes some of them. Its transaction locks the row of
 * `due_jobs` until it ends, and with that all unfinished jobs of the organization. A claim that is no longer its own does nothing.
 */
export async function runStep(deps: RunDeps, claim: Claim<'due_jobs'>): Promise<Step> {
  const { db, clock, sizes } = deps
  const tenant = { organizationId: claim.organization_id }
  let startedAt = 0
  let action: JobAction | undefined
  const step = await inTransaction(db, async (transaction) => {
    startedAt = clock.elapsed()
    const now = clock.now()
    // Locks the row: a request that creates or cancels a job waits, or its job is found below.
    const [held] = await reschedule(transaction, 'due_jobs', [{ claim, set: { due_at: now } }])
    if (!held) return NOTHING
    const job = await findOldestJob(transaction, tenant)
    if (!job) {
      await transaction.deleteFrom('due_jobs').where('organization_id', '=', tenant.organizationId).execute()
      return NOTHING
    }
    if (job.total === null) return await listSome(transaction, deps, job, now)
    action = job.action
    return await processSome(transaction, deps, job, now)
  })
  if (action) sizes.set(action, nextSize(step.done, clock.elapsed() - startedAt, engineOf(db)))
  return step
}

/** So many that the next step takes as long as it should. Pure. */
export const nextSize = (done: number, ms: number, engine: Engine): number =>
  Math.max(
    LEAST_SIZE[engine],
    Math.round(Math.min(BATCH, 2 * done, Math.max(done / 2, (done * STEP_MS[engine]) / Math.max(1, ms)))),
  )

async function findOldestJob(db: Database, { organizationId }: Tenant): Promise<JobRow | undefined> {
  return await db
    .selectFrom('jobs')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('finished_at', 'is', null)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
}

/** Writes down which monitors the job is for, as they are at its start, before it changes the first. */
async function listSome(db: Database, { seal }: RunDeps, job: JobRow, now: number): Promise<Step> {
  const tenant = { organizationId: job.organization_id }
  const { ids, after } = job.undoes === null ? await matchingIds(db, seal, job) : await changedIds(db, job)
  await insertBatches(db, tenant, job, ids)
  const listed_batches = job.listed_batches + Math.ceil(ids.length / BATCH)
  if (after !== null) {
    await updateJob(db, tenant, job.id, { listed_batches, list_after: after, ...begun(job, now) })
    return { done: 0, changed: 0, isOver: false }
  }
  const total = listed_batches === 0 ? 0 : job.listed_batches * BATCH + ids.length
  const ended = total === 0 ? ({ state: 'finished', finished_at: now } as const) : {}
  await updateJob(db, tenant, job.id, { listed_batches, list_after: null, total, ...begun(job, now), ...ended })
  return { done: 0, changed: 0, isOver: total === 0 }
}

const begun = ({ started_at }: JobRow, now: number) =>
  started_at === null ? ({ state: 'running', started_at: now } as const) : {}

type Listed = { ids: string[]; after: string | null }
const INCLUDED = parseInclude(undefined)

async function matchingIds(db: Database, seal: Seal, job: JobRow): Promise<Listed> {
  const tenant = { organizationId: job.organization_id }
  const selection: Selection = JSON.parse(job.selection)
  if ('requests' in selection) return await undeliveredIds(db, seal, job, selection.requests)
  const { filter, groupId } = selection as Extract<Selection, { filter: object }>
  const query = { ...filter, ...(groupId === undefined ? {} : { group: groupId }), limit: LISTED_AT_ONCE }
  const from = job.list_after === null ? {} : { after: job.list_after }
  const page = await listMonitors(db, seal, tenant, { query: { ...query, ...from }, included: INCLUDED })
  return { ids: page.data.map(({ id }) => id), after: page.after }
}

async function undeliveredIds(
  db: Database,
  seal: Seal,
  job: JobRow,
  requests: NonNullable<NewJob['requests']>,
): Promise<Listed> {
  const from = job.list_after === null ? {} : { after: job.list_after }
  const query = { ...requests, ...from, limit: LISTED_AT_ONCE }
  const page = await listUndelivered(db, seal, { organizationId: job.organization_id }, query, job.created_at)
  return { ids: page.data.map(({ id }) => id), after: page.after }
}

async function changedIds(db: Database, job: JobRow): Promise<Listed> {
  const rows = await db
    .selectFrom('job_results')
    .select('object_id')
    .where('organization_id', '=', job.organization_id)
    .where('job_id', '=', job.undoes)
    .where('state', '=', 'changed')
    .where('object_id', '>', job.list_after ?? '')
    .orderBy('object_id')
    .limit(LISTED_AT_ONCE)
    .execute()
  const ids = rows.map(({ object_id }) => object_id)
  return { ids, after: ids.length < LISTED_AT_ONCE ? null : ids.at(-1)! }
}

/** Actions whose transactions write so many indexes on PostgreSQL that one at a time is too slow. */
const IN_PARTS: ReadonlySet<JobAction> = new Set(['update', 'move', 'replace', 'tag', 'untag', 'accept', 'undo'])

/** On PostgreSQL in two transactions at the same time, each with its part of the progress; else in that of the step. */
async function processSome(db: Database, deps: RunDeps, job: JobRow, now: number): Promise<Step> {
  const tenant = { organizationId: job.organization_id }
  const batch = await batchOf(db, job).select('ids').executeTakeFirstOrThrow()
  const listed: string[] = JSON.parse(batch.ids)
  const steps = Math.ceil(listed.length / (deps.sizes.get(job.action) ?? FIRST_SIZE))
  const ids = listed.slice(0, Math.ceil(listed.length / steps))
  const isPostgres = engineOf(db) === 'postgres'
  const isRestore = await undoesDeletion(db, job)
  // Before the monitors, in the same order as a change of an external id. Also for their number, which the plan limits.
  if (isRestore) await lockOrganization(db, tenant.organizationId)
  const isApart =
    isPostgres && IN_PARTS.has(job.action) && (!isRestore || (await leftOf(deps, tenant)(db)) >= ids.length)
  const half = isApart ? Math.ceil(ids.length / 2) : ids.length
  const parts = [ids.slice(0, half), ids.slice(half)].filter(({ length }) => length > 0)
  const ended = await Promise.allSettled(
    parts.map((part, index) =>
      inTransaction(isPostgres ? deps.db : db, (transaction) =>
        processPart(transaction, deps, job, { ids: part, place: job.done + index * half, now }),
      ),
    ),
  )
  const processed = ended.map((part) => {
    if (part.status === 'rejected') throw part.reason
    return part.value
  })
  const sum = (what: 'done' | 'changed') => processed.reduce((all, part) => all + part[what], 0)
  return { done: sum('done'), changed: sum('changed'), isOver: processed.some(({ isOver }) => isOver) }
}

/** The next one of the job. */
const batchOf = (db: Database, { organization_id, id, done_batches }: JobRow) =>
  db
    .selectFrom('job_batches')
    .where('organization_id', '=', organization_id)
    .where('job_id', '=', id)
    .where('number', '=', done_batches)

async function undoesDeletion(db: Database, { organization_id, undoes }: JobRow): Promise<boolean> {
  if (undoes === null) return false
  const jobs = db.selectFrom('jobs').select('action').where('organization_id', '=', organization_id)
  return (await jobs.where('id', '=', undoes).executeTakeFirst())?.action === 'delete'
}

/** `place`: in the job, of the first. */
type Part = { ids: readonly string[]; place: number; now: number }

async function processPart(db: Database, deps: RunDeps, job: JobRow, { ids, place, now }: Part): Promise<Step> {
  const tenant = { organizationId: job.organization_id }
  const { organizationId } = tenant
  const pace = await frequencyLimiter({ ...deps, db }, tenant)
  const given = { ...tenant, now, job, place, pace, monitorsLeft: leftOf(deps, tenant) }
  const { results, rest } = await perform(db, given, ids)
  await insertResults(db, job, results)
  const isLast = await shortenBatch(db, job, new Set(ids), rest)
  const isOver = isLast && job.done_batches + 1 === job.listed_batches
  const changed = results.filter(({ state }) => state === 'changed').map(({ object_id }) => object_id)
  const failed = results.filter(({ state }) => state === 'failed').length
  await db
    .updateTable('jobs')
    .set({
      done: sql`done + ${results.length}`,
      changed: sql`changed + ${changed.length}`,
      failed: sql`failed + ${failed}`,
      failures: 0,
      ...begun(job, now),
      ...(isLast ? { done_batches: job.done_batches + 1 } : {}),
      ...(isOver ? { state: 'finished' as const, finished_at: now } : {}),
    })
    .where('organization_id', '=', organizationId)
    .where('id', '=', job.id)
    .execute()
  if (job.is_dry_run) return { done: results.length, changed: 0, isOver }
  const audited = { action: 'job.created', object: { id: job.id }, ids: changed } as const
  await appendToAudit(db, systemContext(organizationId, now), job.audit_id, audited)
  return { done: results.length, changed: changed.length, isOver }
}

/** Takes processed ids out of the batch, except `rest`. Says whether none is left. Throws where another transaction took them. */
async function shortenBatch(
  db: Database,
  job: JobRow,
  processed: ReadonlySet<string>,
  rest: readonly string[],
): Promise<boolean> {
  const { ids } = await batchOf(db, job).select('ids').modifyEnd(forUpdate(db)).executeTakeFirstOrThrow()
  const listed: string[] = JSON.parse(ids)
  const others = listed.filter((id) => !processed.has(id))
  if (listed.length - others.length !== processed.size) throw new Error('Another transaction has processed these ids.')
  const left = [...rest, ...others]
  const columns = { organization_id: 'text', job_id: 'text', number: 'bigint' } as const
  const row = { organization_id: job.organization_id, job_id: job.id, number: job.done_batches }
  if (left.length === 0) await deleteEach(db, { table: 'job_batches', key: columns }, [row])
  else {
    const shorter = { ...row, new_ids: JSON.stringify(left) }
    await updateEach(db, { table: 'job_batches', key: columns, set: { ids: 'text' } }, [shorter])
  }
  return left.length === 0
}

const leftOf = (deps: RunDeps, tenant: Tenant) => async (db: Database) => {
  const quota = await findQuota({ ...deps, db }, tenant, 'monitors')
  if (!quota) return Number.POSITIVE_INFINITY
  return Math.max(0, quota.limit - (await countUsage(db, tenant, 'monitors', quota.now)))
}

async function insertResults(db: Database, job: JobRow, results: readonly JobResult[]): Promise<void> {
  const own = { organization_id: job.organization_id, job_id: job.id }
  await insertEach(
    db,
    'job_results',
    RESULT,
    results.map((result) => ({ ...own, ...result })),
  )
}

const RESULT = {
  organization_id: 'text',
  job_id: 'text',
  object_id: 'text',
  name: 'text',
  state: 'text',
  changed_from: 'text',
  changed_to: 'text',
  snapshot: 'text',
  error: 'text',
  errors: 'text',
  code: 'text',
  field_codes: 'text',
} as const

/**
 * After an error: what was rolled back, the step or one half of it, is repeated. A job that fails several times in a row is given up, so that the jobs
 * behind it have their turn.
 */
export async function recordFailure({ db, clock }: RunDeps, claim: Claim<'due_jobs'>, error: unknown): Promise<void> {
  const tenant = { organizationId: claim.organization_id }
  await inTransaction(db, async (transaction) => {
    const now = clock.now()
    const [held] = await reschedule(transaction, 'due_jobs', [{ claim, set: { due_at: now + FAILED_MS } }])
    const job = held && (await findOldestJob(transaction, tenant))
    if (!job) return
    const failures = job.failures + 1
    const isProblem = error instanceof Problem
    const isOver = isProblem || failures >= MOST_FAILURES
    const reason = isProblem ? error.message : 'An internal error. The operator finds it in the log of the server.'
    const ended = { state: 'failed', error: reason, finished_at: now } as const
    await updateJob(transaction, tenant, job.id, { failures, ...(isOver ? ended : {}) })
  })
}

const FAILED_MS = 1_000
