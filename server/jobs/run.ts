import { sql } from 'kysely'
import type { JobAction, NewJob } from '#contract/jobs.ts'
import { appendToAudit } from '../audit-log.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { systemContext, type Tenant } from '../context.ts'
import { deleteEach, insertEach, updateEach } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate, hasOneWriter } from '../database/dialect.ts'
import type { Page } from '../database/pagination.ts'
import { lockOrganization, updateTenantRow } from '../database/tenant-row.ts'
import type { Keyring } from '../keyring.ts'
import { recordChange } from '../live/snapshot.ts'
import { listMonitors } from '../monitors/list/list.ts'
import { parseInclude } from '../monitors/monitor.ts'
import { countUsage, findQuota, frequencyLimiter } from '../organization/quota.ts'
import { Problem } from '../problem.ts'
import { type Claim, reschedule } from '../queue/lease-queue.ts'
import { listUndelivered } from '../webhooks/request-store.ts'
import { performAction } from './actions.ts'
import { type JobResult, type JobRow, limitResults, type Selection } from './job.ts'
import { insertBatches, JOB_BATCH_SIZE } from './store.ts'

/** `sizes`: how many monitors or requests the next step of each action processes in this process. */
export type RunDeps = {
  db: Database
  clock: Clock
  keyring: Keyring
  config: Pick<Config, 'plans' | 'jobStoredBytes'>
  sizes: Map<JobAction, number>
}

/** The target duration of a step. All other writers wait for it if there is one at a time, otherwise only writers of the same monitors. */
const STEP_MS = 250
const STEP_MS_OF_ONE_WRITER = 40
const INITIAL_BATCH_SIZE = 200
/** Lower if all writers wait for a step. Otherwise few do, and on a busy machine the statements cost more than the changes of a small step. */
const MIN_BATCH_SIZE = 400
const MIN_BATCH_SIZE_OF_ONE_WRITER = 50
/** Ids that one transaction lists. */
const LIST_BATCH_SIZE = JOB_BATCH_SIZE
/** Rows of one statement, which have some hundred KiB each in the worst case. */
const MAX_LISTED_ROWS = 100
/** A job fails after so many unexpected errors in a row. */
const MAX_FAILURES = 5

/** The result of a step: how many monitors or requests it processed and changed. `isOver`: the job has ended, or there was none. */
export type Step = { done: number; changed: number; isOver: boolean }
const NOTHING: Step = { done: 0, changed: 0, isOver: true }

/**
 * One step of the oldest job of the claimed organization: it lists some ids, or processes some of them. Its transaction locks the row of
 * `due_jobs` until it ends, and with that all unfinished jobs of the organization. Does nothing if the lease is no longer held.
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
    if (job.total === null) return await listNextIds(transaction, deps, job, now)
    action = job.action
    return await processNextIds(transaction, deps, job, now)
  })
  if (action) sizes.set(action, nextSize(step.done, clock.elapsed() - startedAt, hasOneWriter(db)))
  return step
}

/** The size with which the next step takes the target duration. Pure. */
export const nextSize = (done: number, ms: number, oneWriter: boolean): number =>
  Math.max(
    oneWriter ? MIN_BATCH_SIZE_OF_ONE_WRITER : MIN_BATCH_SIZE,
    Math.round(
      Math.min(
        JOB_BATCH_SIZE,
        2 * done,
        Math.max(done / 2, (done * (oneWriter ? STEP_MS_OF_ONE_WRITER : STEP_MS)) / Math.max(1, ms)),
      ),
    ),
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

/** Stores which monitors the job is for, as they are at its start, before it changes the first one. */
async function listNextIds(db: Database, { keyring }: RunDeps, job: JobRow, now: number): Promise<Step> {
  const tenant = { organizationId: job.organization_id }
  const { ids, after } = job.undoes === null ? await matchingIds(db, keyring, job) : await changedIds(db, job)
  await insertBatches(db, tenant, job, ids)
  const listed_batches = job.listed_batches + Math.ceil(ids.length / JOB_BATCH_SIZE)
  if (after !== null) {
    await updateTenantRow(db, 'jobs', tenant, job.id, {
      listed_batches,
      list_after: after,
      ...startedColumns(job, now),
    })
    return { done: 0, changed: 0, isOver: false }
  }
  const total = listed_batches === 0 ? 0 : job.listed_batches * JOB_BATCH_SIZE + ids.length
  const ended = total === 0 ? ({ state: 'finished', finished_at: now } as const) : {}
  await updateTenantRow(db, 'jobs', tenant, job.id, {
    listed_batches,
    list_after: null,
    total,
    ...startedColumns(job, now),
    ...ended,
  })
  return { done: 0, changed: 0, isOver: total === 0 }
}

const startedColumns = ({ started_at }: JobRow, now: number) =>
  started_at === null ? ({ state: 'running', started_at: now } as const) : {}

type IdPage = { ids: string[]; after: string | null }
const INCLUDED = parseInclude(undefined)

async function matchingIds(db: Database, keyring: Keyring, job: JobRow): Promise<IdPage> {
  const tenant = { organizationId: job.organization_id }
  const selection: Selection = JSON.parse(job.selection)
  if ('requests' in selection) return await undeliveredIds(db, keyring, job, selection.requests)
  const { filter, groupId } = selection as Extract<Selection, { filter: object }>
  const query = { ...filter, ...(groupId === undefined ? {} : { group: groupId }) }
  return await fullPage(job.list_after, (part) =>
    listMonitors(db, keyring, tenant, { query: { ...query, ...part }, included: INCLUDED }),
  )
}

/** A page may have fewer rows than its limit although others follow. Every batch of a job but the last one is full. */
async function fullPage(
  start: string | null,
  read: (part: { limit: number; after?: string }) => Promise<Page<{ id: string }>>,
): Promise<IdPage> {
  const ids: string[] = []
  for (let after = start; ; ) {
    const page = await read({
      limit: Math.min(MAX_LISTED_ROWS, LIST_BATCH_SIZE - ids.length),
      ...(after === null ? {} : { after }),
    })
    ids.push(...page.data.map(({ id }) => id))
    after = page.after
    if (after === null || ids.length === LIST_BATCH_SIZE) return { ids, after }
  }
}

async function undeliveredIds(
  db: Database,
  keyring: Keyring,
  job: JobRow,
  requests: NonNullable<NewJob['requests']>,
): Promise<IdPage> {
  const tenant = { organizationId: job.organization_id }
  return await fullPage(job.list_after, (part) =>
    listUndelivered(db, keyring, tenant, { ...requests, ...part }, job.created_at),
  )
}

async function changedIds(db: Database, job: JobRow): Promise<IdPage> {
  const rows = await db
    .selectFrom('job_results')
    .select('object_id')
    .where('organization_id', '=', job.organization_id)
    .where('job_id', '=', job.undoes)
    .where('state', '=', 'changed')
    .where('object_id', '>', job.list_after ?? '')
    .orderBy('object_id')
    .limit(LIST_BATCH_SIZE)
    .execute()
  const ids = rows.map(({ object_id }) => object_id)
  return { ids, after: ids.length < LIST_BATCH_SIZE ? null : ids.at(-1)! }
}

/** Actions that write few indexes. For others, one transaction at a time is too slow on PostgreSQL. */
const SEQUENTIAL_ACTIONS: ReadonlySet<JobAction> = new Set(['check', 'delete', 'retry_requests'])

/** On PostgreSQL two transactions at the same time process half of the ids each; otherwise the transaction of the step does. */
async function processNextIds(db: Database, deps: RunDeps, job: JobRow, now: number): Promise<Step> {
  const tenant = { organizationId: job.organization_id }
  const batch = await currentBatch(db, job).select('ids').executeTakeFirstOrThrow()
  const listed: string[] = JSON.parse(batch.ids)
  const steps = Math.ceil(listed.length / (deps.sizes.get(job.action) ?? INITIAL_BATCH_SIZE))
  const ids = listed.slice(0, Math.ceil(listed.length / steps))
  const areSeveral = !hasOneWriter(db)
  const isRestore = await undoesDeletion(db, job)
  // Before the monitors, in the same order as a change of an external id. Also for their number, which the plan limits.
  if (isRestore) await lockOrganization(db, tenant.organizationId)
  const isParallel =
    areSeveral &&
    !SEQUENTIAL_ACTIONS.has(job.action) &&
    (!isRestore || (await remainingMonitors(deps, tenant)(db)) >= ids.length)
  const half = isParallel ? Math.ceil(ids.length / 2) : ids.length
  const parts = [ids.slice(0, half), ids.slice(half)].filter(({ length }) => length > 0)
  const remainingBytes = deps.config.jobStoredBytes - (await storedBytes(db, tenant))
  const ended = await Promise.allSettled(
    parts.map((part, index) =>
      inTransaction(areSeveral ? deps.db : db, (transaction) =>
        processPart(transaction, deps, job, {
          ids: part,
          offset: job.done + index * half,
          now,
          maxBytes: remainingBytes / parts.length,
        }),
      ),
    ),
  )
  const processed = ended.map((part) => {
    if (part.status === 'rejected') throw part.reason
    return part.value
  })
  const sumOf = (key: 'done' | 'changed') => processed.reduce((sum, part) => sum + part[key], 0)
  return { done: sumOf('done'), changed: sumOf('changed'), isOver: processed.some(({ isOver }) => isOver) }
}

/** The first batch of the job that is not done. */
const currentBatch = (db: Database, { organization_id, id, done_batches }: JobRow) =>
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

/** `offset`: position of the first id in the job. `maxBytes`: of the results to store. */
type Part = { ids: readonly string[]; offset: number; now: number; maxBytes: number }

async function processPart(
  db: Database,
  deps: RunDeps,
  job: JobRow,
  { ids, offset, now, maxBytes }: Part,
): Promise<Step> {
  const tenant = { organizationId: job.organization_id }
  const { organizationId } = tenant
  const pace = await frequencyLimiter({ ...deps, db }, tenant)
  const context = { ...tenant, now, job, offset, pace, monitorsLeft: remainingMonitors(deps, tenant) }
  const { results, remaining } = await performAction(db, context, ids)
  const { stored, bytes, missing } = limitResults(results, maxBytes)
  await insertResults(db, job, stored)
  const isLast = await shortenBatch(db, job, new Set(ids), remaining)
  const isOver = isLast && job.done_batches + 1 === job.listed_batches
  const changed = results.filter(({ state }) => state === 'changed').map(({ object_id }) => object_id)
  const failed = results.filter(({ state }) => state === 'failed').length
  await db
    .updateTable('jobs')
    .set({
      done: sql`done + ${results.length}`,
      changed: sql`changed + ${changed.length}`,
      failed: sql`failed + ${failed}`,
      result_bytes: sql`result_bytes + ${bytes}`,
      undo_missing: sql`undo_missing + ${missing}`,
      failures: 0,
      ...startedColumns(job, now),
      ...(isLast ? { done_batches: job.done_batches + 1 } : {}),
      ...(isOver ? { state: 'finished' as const, finished_at: now } : {}),
    })
    .where('organization_id', '=', organizationId)
    .where('id', '=', job.id)
    .execute()
  if (job.is_dry_run) return { done: results.length, changed: 0, isOver }
  if (isOver) for (const list of changedLists(job)) await recordChange(db, organizationId, list)
  const audited = { action: 'job.created', object: { id: job.id }, ids: changed } as const
  await appendToAudit(db, systemContext(organizationId, now), job.audit_id, audited)
  return { done: results.length, changed: changed.length, isOver }
}

/** What open pages load again when the job has ended. */
function changedLists({ action, change }: JobRow) {
  if (action === 'retry_requests') return ['webhooks', 'requests'] as const
  // Webhooks show their groups, which such a deletion can delete.
  if (action === 'delete' && change !== null) return ['monitors', 'groups', 'webhooks'] as const
  return ['monitors', 'groups'] as const
}

/** Removes the processed ids, except `remaining`, from the batch. Returns whether it is empty. Throws if another transaction processed them. */
async function shortenBatch(
  db: Database,
  job: JobRow,
  processed: ReadonlySet<string>,
  remaining: readonly string[],
): Promise<boolean> {
  const { ids } = await currentBatch(db, job).select('ids').modifyEnd(forUpdate(db)).executeTakeFirstOrThrow()
  const listed: string[] = JSON.parse(ids)
  const unprocessed = listed.filter((id) => !processed.has(id))
  if (listed.length - unprocessed.length !== processed.size)
    throw new Error('Another transaction has processed these ids.')
  const newIds = [...remaining, ...unprocessed]
  const columns = { organization_id: 'text', job_id: 'text', number: 'bigint' } as const
  const row = { organization_id: job.organization_id, job_id: job.id, number: job.done_batches }
  if (newIds.length === 0) await deleteEach(db, { table: 'job_batches', key: columns }, [row])
  else {
    const shorter = { ...row, new_ids: JSON.stringify(newIds) }
    await updateEach(db, { table: 'job_batches', key: columns, set: { ids: 'text' } }, [shorter])
  }
  return newIds.length === 0
}

const remainingMonitors = (deps: RunDeps, tenant: Tenant) => async (db: Database) => {
  const quota = await findQuota({ ...deps, db }, tenant, 'monitors')
  if (!quota) return Number.POSITIVE_INFINITY
  return Math.max(0, quota.limit - (await countUsage(db, tenant, 'monitors', quota.now)))
}

/** Of all jobs of the organization that are stored, a few hundred. */
async function storedBytes(db: Database, { organizationId }: Tenant): Promise<number> {
  const { bytes } = await db
    .selectFrom('jobs')
    .select(sql<number>`cast(coalesce(sum(result_bytes), 0) as bigint)`.as('bytes'))
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow()
  return bytes
}

async function insertResults(db: Database, job: JobRow, results: readonly JobResult[]): Promise<void> {
  const key = { organization_id: job.organization_id, job_id: job.id }
  await insertEach(
    db,
    'job_results',
    RESULT_COLUMNS,
    results.map((result) => ({ ...key, ...result })),
  )
}

const RESULT_COLUMNS = {
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
 * After an error: the step, or the half that was rolled back, is repeated. A job that fails several times in a row ends as failed, so that
 * the next jobs can run.
 */
export async function recordFailure({ db, clock }: RunDeps, claim: Claim<'due_jobs'>, error: unknown): Promise<void> {
  const tenant = { organizationId: claim.organization_id }
  await inTransaction(db, async (transaction) => {
    const now = clock.now()
    const [held] = await reschedule(transaction, 'due_jobs', [{ claim, set: { due_at: now + RETRY_AFTER_MS } }])
    const job = held && (await findOldestJob(transaction, tenant))
    if (!job) return
    const failures = job.failures + 1
    const isProblem = error instanceof Problem
    const isOver = isProblem || failures >= MAX_FAILURES
    const reason = isProblem ? error.message : 'An internal error. The operator finds it in the log of the server.'
    const ended = { state: 'failed', error: reason, finished_at: now } as const
    await updateTenantRow(transaction, 'jobs', tenant, job.id, { failures, ...(isOver ? ended : {}) })
  })
}

const RETRY_AFTER_MS = 1_000
