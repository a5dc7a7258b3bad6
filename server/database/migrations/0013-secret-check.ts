import type { Migration } from '../migrate.ts'

/** Under which SECRET the database was made, so that it does not start under another one. */
export const secretCheck: Migration = {
  name: 'secret check',
  statements: ({ INTEGER, BLOB, CLUSTERED }) => [
    `create table secret_check (
      number ${INTEGER} primary key check (number = 1),
      value ${BLOB} not null
    ) ${CLUSTERED}`,
  ],
}
