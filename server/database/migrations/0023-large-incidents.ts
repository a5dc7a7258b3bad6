import type { Migration } from '../migrate.ts'

/** What is counted while 100,000 monitors fail together is read from indexes alone. */
export const largeIncidents: Migration = {
  name: 'large incidents',
  statements: () => [
    `create index left_monitors_of_incident on incident_monitors (organization_id, incident_id, left_at)
      where left_at is not null`,
    // SQLite reads the wide row of each monitor for a column that the index lacks, also one of the index's own condition.
    // It takes the place of monitors_failing, which the next version drops.
    `create index monitors_failing_counted on monitors (organization_id, state, domain, id, is_active)
      where is_active = 1 and state <> 'VALID' and state <> 'UNSET'`,
  ],
}
