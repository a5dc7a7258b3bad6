import { alertTables } from './0001-alerts.ts'
import { jobTables } from './0001-jobs.ts'
import { monitorSearch } from './0001-monitor-search.ts'
import { monitorTables } from './0001-monitors.ts'
import { operationsTables } from './0001-operations.ts'
import { organizationTables } from './0001-organizations.ts'
import { webhookTables } from './0001-webhooks.ts'
import type { Migration } from './dialect.ts'

/** The schema of 0.1.0; `schema.ts` says what its columns mean. Every later migration adds first and removes one version later, so that two neighbouring versions run side by side. */
export const baseline: Migration = {
  name: 'baseline of 0.1.0',
  statements: (dialect) => [
    ...operationsTables(dialect),
    ...organizationTables(dialect),
    ...monitorTables(dialect),
    ...monitorSearch(dialect),
    ...webhookTables(dialect),
    ...alertTables(dialect),
    ...jobTables(dialect),
  ],
}
