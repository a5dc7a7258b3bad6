import { DELETE_BATCH_SIZE, deleteInBatches, forEachOrganization } from '../database/batches.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { runEvery, type WorkerDeps } from '../database/worker-loop.ts'
import { DAY_MS } from '../times.ts'

export type JobRetentionDeps = Pick<WorkerDeps, 'db' | 'clock' | 'log'>

const EVERY_MS = 10 * 60_000
const RETENTION_MS = 7 * DAY_MS
/** Of one organization; the oldest are deleted first. */
const MAX_JOBS = 200
const MAX_RESULTS = 2_000_000

/** Deletes jobs that ended long ago, in small batches, until `stop`. */
export async function runJobRetention(deps: JobRetentionDeps, stop: AbortSignal): Promise<void> {
  await runEvery(EVERY_MS, deps, stop, {
    failure: 'Old jobs could not be deleted. The next attempt is in ten minutes.',
    work: () => deleteOldJobs(deps, stop),
  })
}

export async function deleteOldJobs({ db, clock }: JobRetentionDeps, stop: AbortSignal): Promise<void> {
  await forEachOrganization(db, stop, async (organizationId) => {
    for (const id of await findOldJobs(db, organizationId, clock.now() - RETENTION_MS)) {
      const key = { organizationId, id }
      await deleteInBatches(clock, stop, () => deleteResults(db, key))
      await deleteInBatches(clock, stop, () => deleteBatches(db, key))
      if (stop.aborted) return
      await db.deleteFrom('jobs').where('organization_id', '=', organizationId).where('id', '=', id).execute()
    }
  })
}

/**
 * Jobs that are too old or beyond the limits, a limited number. Oldest first, so that a job is deleted before its undo. A job whose undo
 * has not ended stays.
 */
async function findOldJobs(db: Database, organizationId: string, before: number): Promise<string[]> {
  const jobs = db.selectFrom('jobs').where('organization_id', '=', organizationId)
  const ended = jobs.where('finished_at', 'is not', null)
  const newest = await ended.select(['id', 'finished_at', 'done']).orderBy('id', 'desc').limit(MAX_JOBS).execute()
  let results = 0
  const retained = newest.filter(({ finished_at, done }) => {
    results += done
    return finished_at! >= before && results <= MAX_RESULTS
  })
  const undone = await jobs.select('undoes').where('finished_at', 'is', null).where('undoes', 'is not', null).execute()
  const staying = [...retained.map(({ id }) => id), ...undone.map(({ undoes }) => undoes!)]
  const old = ended.select('id').where(({ not }) => not(isOneOf(db, 'id', staying)))
  const rows = await old
    .orderBy('id')
    .limit(10 * MAX_JOBS)
    .execute()
  return rows.map(({ id }) => id)
}

type JobKey = { organizationId: string; id: string }

async function deleteResults(db: Database, { organizationId, id }: JobKey): Promise<number> {
  const rows = await db
    .selectFrom('job_results')
    .select('object_id')
    .where('organization_id', '=', organizationId)
    .where('job_id', '=', id)
    .limit(DELETE_BATCH_SIZE)
    .execute()
  const ids = rows.map(({ object_id }) => object_id)
  await db
    .deleteFrom('job_results')
    .where('organization_id', '=', organizationId)
    .where('job_id', '=', id)
    .where(isOneOf(db, 'object_id', ids))
    .execute()
  return rows.length
}

/** The ids that a canceled job did not process. */
async function deleteBatches(db: Database, { organizationId, id }: JobKey): Promise<number> {
  const rows = await db
    .selectFrom('job_batches')
    .select('number')
    .where('organization_id', '=', organizationId)
    .where('job_id', '=', id)
    .limit(DELETE_BATCH_SIZE)
    .execute()
  const numbers = rows.map(({ number }) => number)
  await db
    .deleteFrom('job_batches')
    .where('organization_id', '=', organizationId)
    .where('job_id', '=', id)
    .where(isOneOf(db, 'number', numbers, 'bigint'))
    .execute()
  return rows.length
}
