import type { Migration } from './dialect.ts'

/** The next occurrences of maintenance windows, and how much the results of jobs store. */
export const boundedWork: Migration = {
  name: 'occurrences of maintenance windows, size of job results',
  statements: ({ INTEGER }) => [
    'alter table maintenance_windows add column expansion text',
    `alter table jobs add column result_bytes ${INTEGER} not null default 0`,
    `alter table jobs add column undo_missing ${INTEGER} not null default 0`,
  ],
}
