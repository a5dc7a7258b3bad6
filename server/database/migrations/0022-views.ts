import type { Migration } from '../migrate.ts'

/** Saved lists of monitors, which everyone in the organization sees. */
export const views: Migration = {
  name: 'views',
  statements: ({ INTEGER, CLUSTERED }) => [
    // filter: a JSON object. columns: a JSON list; null for the default ones.
    `create table views (
      organization_id text not null references organizations (id) on delete cascade,
      id text not null,
      created_at ${INTEGER} not null,
      created_by text not null,
      name text not null,
      filter text not null,
      order_by text not null,
      order_way text not null,
      columns text,
      version ${INTEGER} not null default 1,
      primary key (organization_id, id)
    ) ${CLUSTERED}`,
  ],
}
