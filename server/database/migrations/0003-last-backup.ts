import type { Migration } from '../migrate.ts'

/** What became of the last backup, for whoever operates the server. */
export const lastBackup: Migration = {
  name: 'last backup',
  statements: ({ INTEGER, STRICT }) => [
    `create table last_backup (
      number ${INTEGER} primary key check (number = 1),
      tried_at ${INTEGER} not null,
      error text,
      made_at ${INTEGER},
      path text,
      octets ${INTEGER},
      duration_ms ${INTEGER}
    ) ${STRICT}`,
  ],
}
