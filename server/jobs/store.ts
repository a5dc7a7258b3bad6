import type { Selectable } from 'kysely'
import {
  type Job,
  type JobQuery,
  type JobResult,
  type JobResultQuery,
  MAX_UNFINISHED_JOBS,
  type NewJob,
} from '#contract/jobs.ts'
import { newAuditId, recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { insertEach, isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { listPage, type Page } from '../database/pagination.ts'
import type { JobResultsTable } from '../database/schema-jobs.ts'
import { getTenantRow, lockOrganization, updateTenantRow } from '../database/tenant-row.ts'
import { findGroupRow, resolveGroups, UNKNOWN_GROUP } from '../groups/resolve.ts'
import { newId } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { conflict, invalid } from '../problem.ts'
import { toIso } from '../times.ts'
import { type JobChange, type JobRow, planPeriod, type Selection, toJob, undoProblem } from './job.ts'

/** Ids of one stored batch, and the most that one step processes. */
export const JOB_BATCH_SIZE = 1_000

/** Returns the id. Throws a 400 for the id of a group that does not exist, and 409 for too many unfinished jobs. */
export async function insertJob(db: Database, context: RequestContext, newJob: NewJob): Promise<string> {
  const { action, monitors, filter = {}, requests, dry_run = false } = newJob
  return await inTransaction(db, async (transaction) => {
    await lockJobs(transaction, context)
    const ids = monitors && [...new Set(monitors)].sort()
    const group = filter.group === undefined ? undefined : await findGroupRow(transaction, context, filter.group)
    const ofMonitors = ids ? { monitors: ids.length } : { filter, groupId: group?.id }
    const selection: Selection = requests ? { requests } : ofMonitors
    const jobChange = await resolveChange(transaction, context, newJob)
    const id = await insertRow(transaction, context, { action, is_dry_run: dry_run ? 1 : 0, selection, jobChange })
    if (ids) {
      await insertBatches(transaction, context, { id, listed_batches: 0 }, ids)
      const listed = { total: ids.length, listed_batches: Math.ceil(ids.length / JOB_BATCH_SIZE) }
      await updateTenantRow(transaction, 'jobs', context, id, listed)
    }
    return id
  })
}

async function resolveChange(
  db: Database,
  context: RequestContext,
  { action, change, group, tags, value, replacement, delete_empty_groups, dry_run, from, to }: NewJob,
): Promise<JobChange | undefined> {
  if (tags !== undefined) return { change: { tags } }
  if (delete_empty_groups) return { change: { delete_empty_groups } }
  if (action === 'plan') {
    const period = planPeriod({ from, to }, context.now)
    return { change: { value: value!, replacement: replacement!, from: toIso(period.from), to: toIso(period.to) } }
  }
  if (value !== undefined) return { change: { value, replacement: replacement! } }
  const requested = action === 'move' ? { group: group! } : change
  if (requested?.group === undefined) return requested && { change: requested }
  const known = await findGroupRow(db, context, requested.group)
  if (known || dry_run) return { change: requested, groupId: known?.id }
  const created = (await resolveGroups(db, context, new Set([requested.group]))).get(requested.group)
  if (!created) throw invalid({ [action === 'move' ? 'group' : 'change.group']: UNKNOWN_GROUP })
  return { change: requested, groupId: created.id }
}

type NewJobRow = Pick<JobRow, 'action' | 'is_dry_run'> & {
  selection: Selection
  jobChange?: JobChange | undefined
  undoes?: string
}

/**
 * Makes the organization due and locks that row, then the organization, in the order of the worker. Until the transaction ends, the worker
 * processes no job of it and cannot delete the row.
 */
async function lockJobs(db: Database, { organizationId, now }: RequestContext): Promise<void> {
  await db
    .insertInto('due_jobs')
    .values({ organization_id: organizationId, due_at: now })
    .onConflict((conflict) =>
      conflict.column('organization_id').doUpdateSet(({ ref }) => ({ due_at: ref('due_jobs.due_at') })),
    )
    .execute()
  await lockOrganization(db, organizationId)
}

/** After `lockJobs`. */
async function insertRow(db: Database, context: RequestContext, row: NewJobRow): Promise<string> {
  const { organizationId, actor, now } = context
  const { action, is_dry_run, selection, jobChange, undoes = null } = row
  const { unfinished } = await db
    .selectFrom('jobs')
    .select(db.fn.countAll<number>().as('unfinished'))
    .where('organization_id', '=', organizationId)
    .where('finished_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (unfinished >= MAX_UNFINISHED_JOBS) {
    throw conflict(
      `${unfinished} jobs of this organization have not ended, which is the limit. Wait until one ends, or cancel one.`,
      undefined,
      'limit_reached',
    )
  }
  const id = newId('job', now)
  const audit_id = newAuditId(context)
  await db
    .insertInto('jobs')
    .values({
      ...{
        organization_id: organizationId,
        id,
        created_at: now,
        created_by: actor.label,
        audit_id,
        action,
        is_dry_run,
      },
      ...{
        state: 'queued',
        selection: JSON.stringify(selection),
        change: jobChange ? JSON.stringify(jobChange) : null,
        undoes,
      },
    })
    .execute()
  const monitors = 'monitors' in selection ? selection.monitors : undefined
  const filter = 'filter' in selection ? selection.filter : undefined
  const requests = 'requests' in selection ? selection.requests : undefined
  await recordAudit(db, context, {
    action: undoes === null ? 'job.created' : 'job.undone',
    object: { id: undoes ?? id, label: action },
    after: { action, dry_run: is_dry_run === 1, monitors, filter, requests, change: jobChange?.change },
    id: audit_id,
    count: 0,
  })
  return id
}

/** Ids in the order in which they are processed. */
export async function insertBatches(
  db: Database,
  { organizationId }: Tenant,
  { id, listed_batches }: Pick<JobRow, 'id' | 'listed_batches'>,
  ids: readonly string[],
): Promise<void> {
  const rows = Array.from({ length: Math.ceil(ids.length / JOB_BATCH_SIZE) }, (_, index) => ({
    organization_id: organizationId,
    job_id: id,
    number: listed_batches + index,
    ids: JSON.stringify(ids.slice(index * JOB_BATCH_SIZE, (index + 1) * JOB_BATCH_SIZE)),
  }))
  const columns = { organization_id: 'text', job_id: 'text', number: 'bigint', ids: 'text' } as const
  await insertEach(db, 'job_batches', columns, rows)
}

export async function listJobs(
  db: Database,
  keyring: Keyring,
  { organizationId }: Tenant,
  query: JobQuery,
): Promise<Page<Job>> {
  const { is_finished } = query
  let rows = db.selectFrom('jobs').selectAll('jobs').where('jobs.organization_id', '=', organizationId)
  if (is_finished !== undefined) rows = rows.where('jobs.finished_at', is_finished ? 'is not' : 'is', null)
  const page = await listPage<JobRow>(rows, {
    keyring,
    query,
    id: 'jobs.id',
    orders: { created: { column: 'jobs.id' } },
    scope: ['jobs', organizationId, is_finished],
  })
  return { ...page, data: page.data.map(toJob) }
}

/** Throws `not_found`, also for a job of another organization. */
export async function getJob(db: Database, tenant: Tenant, id: string): Promise<Job> {
  return toJob(await getTenantRow(db, 'jobs', tenant, id))
}

type ResultRow = Selectable<JobResultsTable>

/** Throws `not_found` for the job. */
export async function listResults(
  db: Database,
  keyring: Keyring,
  tenant: Tenant,
  { job, query }: { job: string; query: JobResultQuery },
): Promise<Page<JobResult>> {
  const { organizationId } = tenant
  await getTenantRow(db, 'jobs', tenant, job)
  const { state } = query
  let rows = db
    .selectFrom('job_results')
    .select([
      'object_id as id',
      'name',
      'state',
      'changed_from',
      'changed_to',
      'error',
      'errors',
      'code',
      'field_codes',
    ])
    .where('job_results.organization_id', '=', organizationId)
    .where('job_results.job_id', '=', job)
  if (state !== undefined) rows = rows.where('job_results.state', '=', state)
  const page = await listPage<
    Omit<ResultRow, 'object_id' | 'snapshot' | 'organization_id' | 'job_id'> & { id: string }
  >(rows, {
    keyring,
    query,
    id: 'job_results.object_id',
    orders: { id: { column: 'job_results.object_id' } },
    scope: ['job results', organizationId, job, state],
  })
  const data = page.data.map(({ changed_from, changed_to, errors, field_codes, ...row }) => ({
    ...{ id: row.id, name: row.name, state: row.state },
    ...{ before: parsed(changed_from), after: parsed(changed_to) },
    ...{ error: row.error, errors: parsed(errors) as Record<string, string> | null },
    ...{ code: row.code, field_codes: parsed(field_codes) as JobResult['field_codes'] },
  }))
  await nameGroups(db, tenant, data)
  return { ...page, data }
}

const parsed = (json: string | null): Record<string, unknown> | null => (json === null ? null : JSON.parse(json))

/** Results hold ids of groups; the API shows slugs. */
async function nameGroups(db: Database, { organizationId }: Tenant, results: readonly JobResult[]): Promise<void> {
  const fields = results.flatMap(({ before, after }) => [before, after]).filter((each) => each?.group !== undefined)
  if (fields.length === 0) return
  const ids = [...new Set(fields.map((each) => each!.group as string))]
  const groups = await db
    .selectFrom('groups')
    .select(['id', 'slug'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', ids))
    .execute()
  const slugs = new Map(groups.map(({ id, slug }) => [id, slug]))
  for (const each of fields) each!.group = slugs.get(each!.group as string) ?? each!.group
}

/** Changes that were already made stay. Throws `not_found`, and 409 for a job that has ended otherwise. */
export async function cancelJob(db: Database, context: RequestContext, id: string): Promise<void> {
  await inTransaction(db, async (transaction) => {
    await lockJobs(transaction, context)
    const job = await getTenantRow(transaction, 'jobs', context, id)
    if (job.state === 'canceled') return
    if (job.finished_at !== null) throw conflict(`The job has ended (${job.state}), so it cannot be canceled.`)
    await updateTenantRow(transaction, 'jobs', context, id, { state: 'canceled', finished_at: context.now })
    await recordAudit(transaction, context, { action: 'job.canceled', object: { id, label: job.action } })
  })
}

/** Creates the job that undoes this one, and returns its id. Throws `not_found`, and 409 if there is nothing to undo. */
export async function undoJob(db: Database, context: RequestContext, id: string): Promise<string> {
  return await inTransaction(db, async (transaction) => {
    await lockJobs(transaction, context)
    const job = await getTenantRow(transaction, 'jobs', context, id)
    const reason = undoProblem(job, await isUndone(transaction, context, job), context.now)
    if (reason !== undefined) throw conflict(reason)
    const selection = { filter: {} }
    const undo = await insertRow(transaction, context, { action: 'undo', is_dry_run: 0, selection, undoes: id })
    await updateTenantRow(transaction, 'jobs', context, id, { undone_by: undo })
    return undo
  })
}

/** An undo that was canceled or failed can be repeated. */
async function isUndone(db: Database, tenant: Tenant, { undone_by }: JobRow): Promise<boolean> {
  if (undone_by === null) return false
  const { state } = await getTenantRow(db, 'jobs', tenant, undone_by)
  return state !== 'canceled' && state !== 'failed'
}
