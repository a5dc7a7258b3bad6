import type { Migration } from './dialect.ts'

/** How long monitors were in each state, by day: `monitors/state-days.ts`. */
export const stateDays: Migration = {
  name: 'state days',
  statements: ({ INTEGER, CLUSTERED, tenantReference }) => [
    `create table state_days (
      organization_id text not null,
      monitor_id text not null,
      day ${INTEGER} not null,
      spans text not null,
      primary key (organization_id, monitor_id, day),
      ${tenantReference('monitor_id', 'monitors', 'on delete cascade')}
    ) ${CLUSTERED}`,
    'create index state_days_by_day on state_days (organization_id, day)',
  ],
  // An older program would not record the changes of its checks.
  needs: 'itself',
}
