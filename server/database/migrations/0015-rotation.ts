import type { Migration } from '../migrate.ts'

/** What the answers of a name that gives a part of its RRset each time held so far (`checks/rotation.ts`). */
export const rotation: Migration = {
  name: 'rotation',
  statements: () => ['alter table monitors add column rotation text'],
}
