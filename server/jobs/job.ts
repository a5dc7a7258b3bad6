import type { Insertable, Selectable } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import { JOB_ACTIONS, type Job, type NewJob } from '#contract/jobs.ts'
import type { MonitorChange } from '#contract/monitors.ts'
import type { JobResultsTable, JobsTable } from '../database/schema-jobs.ts'
import { INVALID_GROUP_NAME, isGroupName } from '../groups/resolve.ts'
import { periodErrors } from '../planned-changes/planned-change.ts'
import type { FieldErrors } from '../problem.ts'
import { HOUR_MS, toInstant, toIso, toIsoOrNull } from '../times.ts'

export type JobRow = Selectable<JobsTable>
export type JobResult = Omit<Insertable<JobResultsTable>, 'organization_id' | 'job_id'>

/** The columns of a result that has none of them. */
export const EMPTY_RESULT = {
  changed_from: null,
  changed_to: null,
  snapshot: null,
  error: null,
  errors: null,
  code: null,
  field_codes: null,
}

/** Which monitors or webhook requests the job is for. Ids of the request are in batches; `groupId` is the group of the filter. */
export type Selection =
  | { monitors: number }
  | { requests: NonNullable<NewJob['requests']> }
  | { filter: NonNullable<NewJob['filter']>; groupId?: string | undefined }

/** What the job sets. `groupId`: of the group that `change` names; absent if a dry run would create that group. */
export type JobChange = {
  change: MonitorChange & Partial<Replacement> & Partial<PlanPeriod> & { delete_empty_groups?: true }
  groupId?: string | undefined
}

/** The parameters of the actions `replace` and `plan`. */
export type Replacement = { value: string; replacement: string }

/** For the action `plan`: ISO 8601. */
export type PlanPeriod = { from: string; to: string }

/** How long after its end a job can be undone. */
export const UNDO_MS = 24 * HOUR_MS

/** Errors that the schema cannot find. Skips fields of the wrong type, because the schema reports them. Pure. */
export function newJobErrors(newJob: NewJob, now: number): FieldErrors {
  const { action, monitors, filter, all, requests, change, group, tags, value, replacement, from, to } = newJob
  const { delete_empty_groups } = newJob
  const errors: FieldErrors = {}
  const isOfRequests = action === 'retry_requests'
  const selections = { monitors, filter, all }
  const named = Object.values(selections).filter((each) => each !== undefined)
  if (isOfRequests) {
    for (const [field, value] of Object.entries({ monitors, filter, all })) {
      if (value !== undefined) errors[field] = fieldError('not_for_action', { action })
    }
  } else if (named.length !== 1) {
    errors.body = fieldError('exactly_one_required', { fields: Object.keys(selections).join(', ') })
  }
  if (typeof requests?.since === 'string' && Number.isNaN(toInstant(requests.since)))
    errors['requests.since'] = fieldError('invalid_time')
  if (isObject(filter) && Object.keys(filter).length === 0) errors.filter = fieldError('empty_filter')
  // Lists ignore an empty tag, so the job would be for every monitor.
  if (typeof filter?.tag === 'string' && !/[^,\s]/.test(filter.tag)) errors['filter.tag'] = fieldError('empty')
  const { needs = [], allows = [] }: Partial<Parameters> = JOB_ACTIONS[action] ?? {}
  const parameters = { requests, change, group, tags, value, replacement, to, from, delete_empty_groups }
  for (const [field, sent] of Object.entries(parameters)) {
    if (needs.includes(field) && sent === undefined) errors[field] = fieldError('required')
    if (![...needs, ...allows].includes(field) && sent !== undefined)
      errors[field] = fieldError('not_for_action', { action: `${action}` })
  }
  if (action === 'plan' && to !== undefined) Object.assign(errors, planPeriodErrors({ from, to }, now))
  if (isObject(change) && Object.keys(change).length === 0) errors.change = fieldError('empty_change')
  for (const [field, name] of [
    ['group', group],
    ['change.group', change?.group],
  ] as const) {
    if (typeof name === 'string' && !isGroupName(name)) errors[field] = INVALID_GROUP_NAME
  }
  return errors
}

type Parameters = { needs: readonly string[]; allows: readonly string[] }

type GivenPeriod = { from?: NewJob['from'] | undefined; to?: NewJob['to'] | undefined }

function planPeriodErrors({ from, to }: GivenPeriod, now: number): FieldErrors {
  const period = planPeriod({ from, to }, now)
  const invalidTimes = (['from', 'to'] as const).filter((field) => Number.isNaN(period[field]))
  if (invalidTimes.length === 0) return periodErrors(period, now)
  return Object.fromEntries(invalidTimes.map((field) => [field, fieldError('invalid_time')]))
}

/** UTC epoch milliseconds. */
export const planPeriod = ({ from, to }: GivenPeriod, now: number) => ({
  from: from === undefined ? now : toInstant(from),
  to: toInstant(to!),
})

const isObject = (value: unknown) => typeof value === 'object' && value !== null

const isUndoable = ({ action }: JobRow): boolean => action !== 'undo' && JOB_ACTIONS[action].isUndoable

/**
 * Results beyond `maxBytes` are stored without the values before and after, so that nobody fills the disk. `missing`: how many changes an
 * undo will not revert for that reason. Pure.
 */
export function limitResults(
  results: readonly JobResult[],
  maxBytes: number,
): { stored: JobResult[]; bytes: number; missing: number } {
  let bytes = 0
  let missing = 0
  const stored = results.map((result): JobResult => {
    const values = [result.changed_from, result.changed_to, result.snapshot].filter((value) => value != null)
    const size = values.reduce((sum, value) => sum + Buffer.byteLength(value), 0)
    if (bytes + size <= maxBytes) {
      bytes += size
      return result
    }
    missing++
    return { ...result, changed_from: null, changed_to: null, snapshot: null }
  })
  return { stored, bytes, missing }
}

/** Why a job cannot be undone; undefined if it can. `isUndone`: by a job that has finished or is running. Pure. */
export function undoProblem(job: JobRow, isUndone: boolean, now: number): string | undefined {
  if (job.finished_at === null) return 'The job has not ended. Cancel it first, or wait.'
  if (job.is_dry_run) return 'A dry run changes nothing, so there is nothing to undo.'
  if (job.action === 'undo') return 'An undo cannot be undone. Create the job again.'
  if (!isUndoable(job)) return `The action ${job.action} cannot be undone.`
  if (job.changed === 0) return 'The job changed nothing, so there is nothing to undo.'
  if (job.changed <= job.undo_missing)
    return 'What an undo needs is not stored: the results of jobs reached the storage limit of the organization.'
  if (isUndone) return `The job is undone by the job ${job.undone_by}.`
  if (now > job.finished_at + UNDO_MS) return 'A job can be undone for 24 hours after its end.'
  return undefined
}

export function toJob(row: JobRow): Job {
  const selection: Selection = JSON.parse(row.selection)
  const jobChange: JobChange | null = row.change === null ? null : JSON.parse(row.change)
  const canBeUndone = row.finished_at !== null && isUndoable(row) && !row.is_dry_run && row.changed > row.undo_missing
  return {
    id: row.id,
    created: toIso(row.created_at),
    created_by: row.created_by,
    action: row.action,
    dry_run: row.is_dry_run === 1,
    state: row.state,
    total: row.total,
    done: row.done,
    changed: row.changed,
    failed: row.failed,
    started: toIsoOrNull(row.started_at),
    finished: toIsoOrNull(row.finished_at),
    monitors: 'monitors' in selection ? selection.monitors : null,
    filter: 'filter' in selection && row.undoes === null ? selection.filter : null,
    requests: 'requests' in selection ? selection.requests : null,
    change: jobChange ? jobChange.change : null,
    undo_missing: row.undo_missing,
    undo_until: canBeUndone ? toIso(row.finished_at! + UNDO_MS) : null,
    undoes: row.undoes,
    undone_by: row.undone_by,
    error: row.error,
  }
}
