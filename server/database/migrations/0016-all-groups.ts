import type { Migration } from '../migrate.ts'

/** Webhooks that receive the changes of all groups, also of those that are made later. */
export const allGroups: Migration = {
  name: 'all groups',
  statements: ({ INTEGER }) => [
    `alter table webhooks add column all_groups ${INTEGER} not null default 0`,
    'create index webhooks_of_all_groups on webhooks (organization_id, id) where all_groups = 1',
  ],
}
