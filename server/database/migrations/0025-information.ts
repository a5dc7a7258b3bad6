import type { Migration } from '../migrate.ts'

/** Alerts that are about no incident: how a planned change or a wait ended. */
export const information: Migration = {
  name: 'information',
  // information: JSON, what the message says. Where it is set, kind is 'recovered' and incident_id null.
  statements: () => ['alter table alerts add column information text'],
}
