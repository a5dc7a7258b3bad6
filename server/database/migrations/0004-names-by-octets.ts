import type { Migration } from '../migrate.ts'

/** Names in the order of their octets, as SQLite has them: so that an index tells which begin with a text. */
export const namesByOctets: Migration = {
  name: 'names by octets',
  statements: ({ ENGINE }) =>
    ENGINE === 'sqlite'
      ? []
      : ['owner', 'domain'].map((column) => `alter table monitors alter column ${column} type text collate "C"`),
}
