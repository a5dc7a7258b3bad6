import type { Migration } from '../migrate.ts'

/** How high the rows of a saved view are. Views of a version before have none. */
export const viewDensity: Migration = {
  name: 'view density',
  statements: () => ['alter table views add column density text'],
}
