import type { Migration } from '../migrate.ts'

/** Since when the checks of a monitor have been postponed or withheld, so that they count as late although none is overdue. */
export const postponedChecks: Migration = {
  name: 'postponed checks',
  statements: ({ INTEGER }) => [
    `alter table due_checks add column postponed_since ${INTEGER}`,
    'create index due_checks_postponed on due_checks (organization_id, postponed_since) where postponed_since is not null',
  ],
}
