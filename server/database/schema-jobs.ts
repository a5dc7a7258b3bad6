import type { Generated } from 'kysely'
import type { JobCode } from '#contract/job-codes.ts'
import type { JobAction, JobState, ResultState } from '#contract/jobs.ts'
import type { Bool, Json, LeaseColumns, Once } from './schema.ts'

export type JobsTable = {
  organization_id: Once<string>
  id: Once<string>
  created_at: Once<number>
  created_by: Once<string>
  /** The audit log entry that counts the changed objects. */
  audit_id: Once<string>
  action: Once<JobAction>
  is_dry_run: Once<Bool>
  state: JobState
  selection: Once<Json>
  change: Json | null
  /** The position from which listing the ids continues. */
  list_after: string | null
  listed_batches: Generated<number>
  done_batches: Generated<number>
  /** Null until all ids are listed. */
  total: number | null
  done: Generated<number>
  changed: Generated<number>
  failed: Generated<number>
  /** Unexpected errors in a row. */
  failures: Generated<number>
  error: string | null
  started_at: number | null
  finished_at: number | null
  undoes: Once<string | null>
  undone_by: string | null
  /** Of its results, in characters. */
  result_bytes: Generated<number>
  /** Changed results without what an undo needs, because of the limit for the organization. */
  undo_missing: Generated<number>
}

/** Ids that a job still has to process. */
export type JobBatchesTable = {
  organization_id: Once<string>
  job_id: Once<string>
  number: Once<number>
  ids: Json
}

export type JobResultsTable = {
  organization_id: Once<string>
  job_id: Once<string>
  object_id: Once<string>
  name: Once<string | null>
  state: Once<ResultState>
  changed_from: Once<Json | null>
  changed_to: Once<Json | null>
  /** JSON: what restores a deleted monitor. */
  snapshot: Once<Json | null>
  error: Once<string | null>
  errors: Once<Json | null>
  code: Once<JobCode | null>
  field_codes: Once<Json | null>
}

/** When the next batch of each organization with unfinished jobs is due. */
export type DueJobsTable = {
  organization_id: Once<string>
} & LeaseColumns
