import type { Dialect } from './dialect.ts'

/** Changes of many monitors: jobs, the ids that they still have to process, and their results. */
export const jobTables = ({ INTEGER, CLUSTERED }: Dialect): string[] => [
  `create table jobs (
    organization_id text not null references organizations (id) on delete cascade,
    id text not null,
    created_at ${INTEGER} not null,
    created_by text not null,
    audit_id text not null,
    action text not null,
    is_dry_run ${INTEGER} not null,
    state text not null check (state in ('queued', 'running', 'finished', 'canceled', 'failed')),
    selection text not null,
    change text,
    list_after text,
    listed_batches ${INTEGER} not null default 0,
    done_batches ${INTEGER} not null default 0,
    total ${INTEGER},
    done ${INTEGER} not null default 0,
    changed ${INTEGER} not null default 0,
    failed ${INTEGER} not null default 0,
    failures ${INTEGER} not null default 0,
    error text,
    started_at ${INTEGER},
    finished_at ${INTEGER},
    undoes text,
    undone_by text,
    primary key (organization_id, id)
  ) ${CLUSTERED}`,
  'create index unfinished_jobs on jobs (organization_id, id) where finished_at is null',
  'create index finished_jobs on jobs (organization_id, id) where finished_at is not null',

  `create table job_batches (
    organization_id text not null,
    job_id text not null,
    number ${INTEGER} not null,
    ids text not null,
    primary key (organization_id, job_id, number),
    foreign key (organization_id, job_id) references jobs (organization_id, id) on delete cascade
  ) ${CLUSTERED}`,

  `create table job_results (
    organization_id text not null,
    job_id text not null,
    object_id text not null,
    name text,
    state text not null check (state in ('changed', 'unchanged', 'failed')),
    changed_from text,
    changed_to text,
    snapshot text,
    error text,
    errors text,
    code text,
    field_codes text,
    primary key (organization_id, job_id, object_id),
    foreign key (organization_id, job_id) references jobs (organization_id, id) on delete cascade
  ) ${CLUSTERED}`,
  'create index job_results_by_state on job_results (organization_id, job_id, state, object_id)',

  // One row for each organization with unfinished jobs, so that an organization runs one batch at a time.
  `create table due_jobs (
    organization_id text primary key references organizations (id) on delete cascade,
    due_at ${INTEGER},
    claimed_by ${INTEGER},
    was_due_at ${INTEGER}
  ) ${CLUSTERED}`,
  'create index due_jobs_by_due on due_jobs (due_at)',
]
