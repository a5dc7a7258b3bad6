import type { Migration } from '../migrate.ts'
import { monitorTables } from './0001-monitors.ts'
import { organizationTables } from './0001-organizations.ts'
import { webhookTables } from './0001-webhooks.ts'

/** Version 0.1.0. From here on a migration adds first, and removes one version later: two neighbouring versions run side by side. */
export const baseline: Migration = {
  name: 'baseline',
  statements: (dialect) => [...organizationTables(dialect), ...monitorTables(dialect), ...webhookTables(dialect)],
}
