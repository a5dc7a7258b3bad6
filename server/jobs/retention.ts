import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { deleteBatch, deleteInBatches, forEachOrganization } from '../database/batches.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { DAY_MS } from '../times.ts'
import { UNDO_MS } from './job.ts'

const RETENTION_MS = 7 * DAY_MS
/** Of one organization; the oldest are deleted first. */
const MAX_JOBS = 200
const MAX_RESULTS = 2_000_000
/** A job may have any number of rows in these tables: `job_batches` has what a canceled job did not process. */
const JOB_TABLES = [
  ['job_results', 'object_id'],
  ['job_batches', 'number'],
] as const

/** Deletes jobs that ended long ago, in small batches, until `stop`. */
export async function deleteOldJobs(
  { db, clock, config }: { db: Database; clock: Clock; config: Pick<Config, 'jobStoredBytes'> },
  stop: AbortSignal,
): Promise<void> {
  await forEachOrganization(db, stop, async (organizationId) => {
    const limits = { now: clock.now(), maxBytes: config.jobStoredBytes / 2 }
    for (const id of await findOldJobs(db, organizationId, limits)) {
      for (const [table, column] of JOB_TABLES) {
        const rows = db.selectFrom(table).where('organization_id', '=', organizationId).where('job_id', '=', id)
        const key = ['organization_id', 'job_id', column] as const
        await deleteInBatches(clock, stop, () => deleteBatch(db, table, key, rows.orderBy(column)))
      }
      if (stop.aborted) return
      await deleteJob(db, organizationId, id)
    }
  })
}

/** A job whose rows another process is deleting stays: the database would delete all of them in this statement. */
async function deleteJob(db: Database, organizationId: string, id: string): Promise<void> {
  let job = db.deleteFrom('jobs').where('organization_id', '=', organizationId).where('id', '=', id)
  for (const [table] of JOB_TABLES) {
    job = job.where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom(table).select('job_id').where('organization_id', '=', organizationId).where('job_id', '=', id),
        ),
      ),
    )
  }
  await job.execute()
}

/**
 * Jobs that are too old or beyond the limits, a limited number. A job that can still be undone is not deleted for its size. The others have half
 * of the storage, so that new jobs have the other half. Oldest first, so that a job is deleted before its undo. A job whose undo
 * has not ended stays.
 */
async function findOldJobs(
  db: Database,
  organizationId: string,
  { now, maxBytes }: { now: number; maxBytes: number },
): Promise<string[]> {
  const jobs = db.selectFrom('jobs').where('organization_id', '=', organizationId)
  const ended = jobs.where('finished_at', 'is not', null)
  const columns = ['id', 'finished_at', 'done', 'result_bytes'] as const
  const newest = await ended.select(columns).orderBy('id', 'desc').limit(MAX_JOBS).execute()
  let results = 0
  let bytes = 0
  const retained = newest.filter(({ finished_at, done, result_bytes }) => {
    results += done
    bytes += result_bytes
    const isSmallEnough = bytes <= maxBytes || finished_at! + UNDO_MS >= now
    return finished_at! >= now - RETENTION_MS && results <= MAX_RESULTS && isSmallEnough
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
