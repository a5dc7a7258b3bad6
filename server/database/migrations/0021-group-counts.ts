import type { Migration } from '../migrate.ts'

/** The monitors of a group that are not simply valid, so that they are counted by state without reading the others. */
export const groupCounts: Migration = {
  name: 'group counts',
  statements: () => [
    `create index monitors_not_valid_in_group on monitors (group_id, is_active, state, organization_id)
      where (is_active = 0 or state <> 'VALID')`,
  ],
}
