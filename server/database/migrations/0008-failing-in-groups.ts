import type { Migration } from '../migrate.ts'

/** What is at fault within a group is found at once, however large both are. PostgreSQL joins two indexes for that. */
export const failingInGroups: Migration = {
  name: 'failing in groups',
  statements: ({ ENGINE }) =>
    ENGINE === 'sqlite'
      ? [
          // A monitor that is well is not in it, so it costs neither making monitors nor their first checks anything.
          `create index monitors_failing_in_group on monitors (group_id, state, id)
            where state <> 'VALID' and state <> 'UNSET'`,
        ]
      : [],
}
