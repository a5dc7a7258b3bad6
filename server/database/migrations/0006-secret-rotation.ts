import type { Migration } from '../migrate.ts'

/** Which keys the processes know and use, and which the values in the database may still need. */
export const secretRotation: Migration = {
  name: 'secret rotation',
  statements: () => [
    `alter table secret_check add column previous text not null default ''`,
    'alter table processes add column secret_keys text',
    'alter table processes add column secret_key text',
  ],
}
