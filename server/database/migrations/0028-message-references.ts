import type { Migration } from '../migrate.ts'

/** What a medium calls the first message about an incident, so that later ones reply to it, and the recovery changes it. */
export const messageReferences: Migration = {
  name: 'message references',
  statements: () => ['alter table alerts add column reference text'],
}
