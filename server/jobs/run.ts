import type { NewJob } from '#contract/jobs.ts'
import { addToAudit } from '../audit-log.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { systemContext, type Tenant } from '../context.ts'
import { insertEach } from '../database/bulk.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { type Claim, reschedule } from '../database/lease-queue.ts'
import { listMonitors } from '../monitors/list.ts'
import { parseInclude } from '../monitors/monitor.ts'
import { countUse, paceOf, quotaFor } from '../organization/quota.ts'
import { Problem } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { listUndelivered } from '../webhooks/request-list.ts'
import { type JobResult, perform } from './actions.ts'
import type { JobRow, Selection } from './job.ts'
import { BATCH, insertBatches, updateJob } from './store.ts'

export type RunDeps = { db: Database; clock: Clock; seal: Seal; config: Pick<Config, 'plans'> }

/** Ids that one transaction lists. */
const LISTED_AT_ONCE = 2 * BATCH
/** Errors in a row that nobody expected, after which a job is given up. */
const MOST_FAILURES = 5

/** What a step did: `changed` monitors or requests; `isOver`: a job has ended, or none was left. */
export type Step = { changed: number; isOver: boolean }
const NOTHING: Step = { changed: 0, isOver: true }

/**
 * One step of the oldest job of the claimed organization, in one transaction with its progress: it lists some ids, or processes one batch of them.
 * A claim that is no longer its own does nothing.
 */
export async function runStep(deps: RunDeps, claim: Claim<'due_jobs'>): Promise<Step> {
  const { db, clock } = deps
  const tenant = { organizationId: claim.organization_id }
  return await inTransaction(db, async (transaction) => {
    const now = clock.now()
    // Locks the row: a request that creates a job waits, or its job is found below.
    const [held] = await reschedule(transaction, 'due_jobs', [{ claim, set: { due_at: now } }])
    if (!held) return NOTHING
    const job = await lockOldestJob(transaction, tenant)
    if (!job) {
      await transaction.deleteFrom('due_jobs').where('organization_id', '=', tenant.organizationId).execute()
      return NOTHING
    }
    if (job.started_at === null) {
      Object.assign(job, { state: 'running', started_at: now })
      await updateJob(transaction, tenant, job.id, { state: 'running', started_at: now })
    }
    if (job.total === null) return await listSome(transaction, deps, job, now)
    return await processBatch(transaction, deps, job, now)
  })
}

async function lockOldestJob(db: Database, { organizationId }: Tenant): Promise<JobRow | undefined> {
  return await db
    .selectFrom('jobs')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('finished_at', 'is', null)
    .orderBy('id')
    .limit(1)
    .modifyEnd(forUpdate(db))
    .executeTakeFirst()
}

/** Writes down which monitors the job is for, as they are at its start, before it changes the first. */
async function listSome(db: Database, { seal }: RunDeps, job: JobRow, now: number): Promise<Step> {
  const tenant = { organizationId: job.organization_id }
  const { ids, after } = job.undoes === null ? await matchingIds(db, seal, job) : await changedIds(db, job)
  await insertBatches(db, tenant, job, ids)
  const listed_batches = job.listed_batches + Math.ceil(ids.length / BATCH)
  if (after !== null) {
    await updateJob(db, tenant, job.id, { listed_batches, list_after: after })
    return { changed: 0, isOver: false }
  }
  const total = listed_batches === 0 ? 0 : job.listed_batches * BATCH + ids.length
  const ended = total === 0 ? ({ state: 'finished', finished_at: now } as const) : {}
  await updateJob(db, tenant, job.id, { listed_batches, list_after: null, total, ...ended })
  return { changed: 0, isOver: total === 0 }
}

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

async function processBatch(db: Database, deps: RunDeps, job: JobRow, now: number): Promise<Step> {
  const tenant = { organizationId: job.organization_id }
  const { organizationId } = tenant
  const batch = db
    .selectFrom('job_batches')
    .select('ids')
    .where('organization_id', '=', organizationId)
    .where('job_id', '=', job.id)
    .where('number', '=', job.done_batches)
  const { ids } = await batch.executeTakeFirstOrThrow()
  const given = { ...tenant, now, job, pace: await paceOf({ ...deps, db }, tenant), monitorsLeft: leftOf(deps, tenant) }
  const { results, rest } = await perform(db, given, JSON.parse(ids))
  await insertResults(db, job, results)
  const isDone = rest.length === 0
  const same = db
    .deleteFrom('job_batches')
    .where('organization_id', '=', organizationId)
    .where('job_id', '=', job.id)
    .where('number', '=', job.done_batches)
  await same.execute()
  if (!isDone) {
    const row = { organization_id: organizationId, job_id: job.id, number: job.done_batches, ids: JSON.stringify(rest) }
    await db.insertInto('job_batches').values(row).execute()
  }
  const done_batches = job.done_batches + (isDone ? 1 : 0)
  const isOver = done_batches === job.listed_batches
  const changed = results.filter(({ state }) => state === 'changed').map(({ object_id }) => object_id)
  await updateJob(db, tenant, job.id, {
    done_batches,
    done: job.done + results.length,
    changed: job.changed + changed.length,
    failed: job.failed + results.filter(({ state }) => state === 'failed').length,
    failures: 0,
    ...(isOver ? { state: 'finished' as const, finished_at: now } : {}),
  })
  if (job.is_dry_run) return { changed: 0, isOver }
  const audited = { action: 'job.created', object: { id: job.id }, ids: changed } as const
  await addToAudit(db, systemContext(organizationId, now), job.audit_id, audited)
  return { changed: changed.length, isOver }
}

const leftOf = (deps: RunDeps, tenant: Tenant) => async (db: Database) => {
  const quota = await quotaFor({ ...deps, db }, tenant, 'monitors')
  if (!quota) return Number.POSITIVE_INFINITY
  return Math.max(0, quota.limit - (await countUse(db, tenant, 'monitors', quota.now)))
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
  kept: 'text',
  error: 'text',
  errors: 'text',
  code: 'text',
  field_codes: 'text',
} as const

/**
 * After an error: the step was rolled back, so it can be repeated. A job that fails several times in a row is given up, so that the jobs
 * behind it have their turn.
 */
export async function recordFailure({ db, clock }: RunDeps, claim: Claim<'due_jobs'>, error: unknown): Promise<void> {
  const tenant = { organizationId: claim.organization_id }
  await inTransaction(db, async (transaction) => {
    const now = clock.now()
    const [held] = await reschedule(transaction, 'due_jobs', [{ claim, set: { due_at: now + FAILED_MS } }])
    const job = held && (await lockOldestJob(transaction, tenant))
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
