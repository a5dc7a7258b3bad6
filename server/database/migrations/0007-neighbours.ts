import type { Migration } from '../migrate.ts'

/** Which older programs can work with the database, so that a node of the version before can start during an upgrade. */
export const neighbours: Migration = {
  name: 'neighbours',
  statements: ({ INTEGER }) => [`alter table migrations add column needs ${INTEGER}`],
}
