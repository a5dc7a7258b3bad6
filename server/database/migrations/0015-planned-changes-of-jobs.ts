import type { Migration } from './dialect.ts'

/** The job that planned a change of many monitors. */
export const plannedChangesOfJobs: Migration = {
  name: 'planned changes of jobs',
  statements: () => [
    'alter table planned_changes add column job_id text',
    'create index planned_changes_by_job on planned_changes (organization_id, job_id, id) where job_id is not null',
  ],
}
