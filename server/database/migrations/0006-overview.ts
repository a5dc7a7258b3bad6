import type { Migration } from '../migrate.ts'

/** What the dashboard's overview counts without reading the monitors, and what its open pages are told. */
export const overview: Migration = {
  name: 'overview',
  statements: ({ INTEGER, CLUSTERED }) => [
    // A monitor that is well is in neither of these two.
    `create index monitors_failing on monitors (organization_id, state, domain, id)
      where is_active = 1 and state <> 'VALID' and state <> 'UNSET'`,
    'create index monitors_disabled on monitors (organization_id, state) where is_active = 0',

    `create table organization_changes (
      organization_id text not null references organizations (id) on delete cascade,
      list text not null,
      number ${INTEGER} not null,
      primary key (organization_id, list)
    ) ${CLUSTERED}`,
  ],
}
