import type { Migration } from '../migrate.ts'

/** What operators see: how late checks are, what each process reports, and how the database grows. */
export const operations: Migration = {
  name: 'operations',
  statements: ({ INTEGER, CLUSTERED }) => [
    `alter table due_checks add column was_due_at ${INTEGER}`,
    `alter table due_mails add column was_due_at ${INTEGER}`,
    // JSON: version, roles and upstreams of the process, written with each sign of life.
    'alter table processes add column report text',
    `create table database_sizes (
      measured_at ${INTEGER} primary key,
      octets ${INTEGER} not null
    ) ${CLUSTERED}`,
  ],
}
