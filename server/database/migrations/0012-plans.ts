import type { Migration } from '../migrate.ts'

/** Maintenance windows and planned changes. */
export const plans: Migration = {
  name: 'plans',
  statements: ({ ENGINE, INTEGER, CLUSTERED }) => [
    // from_at, to_at: the first occurrence. monitor_ids, group_ids: JSON lists; null matches everything. last_end_at: null without end.
    `create table maintenance_windows (
      organization_id text not null references organizations (id) on delete cascade,
      id text not null,
      created_at ${INTEGER} not null,
      name text not null,
      monitor_ids text,
      group_ids text,
      name_pattern text,
      from_at ${INTEGER} not null,
      to_at ${INTEGER} not null,
      rrule text,
      timezone text not null,
      last_end_at ${INTEGER},
      version ${INTEGER} not null default 1,
      primary key (organization_id, id)
    ) ${CLUSTERED}`,
    'create index maintenance_windows_by_end on maintenance_windows (organization_id, last_end_at)',

    // old_values, new_values: JSON lists. outcome is null while the change is open. progress: JSON, what the last check saw.
    `create table planned_changes (
      organization_id text not null references organizations (id) on delete cascade,
      id text not null,
      created_at ${INTEGER} not null,
      created_by text not null,
      monitor_id text not null,
      old_values text not null,
      new_values text not null,
      from_at ${INTEGER} not null,
      to_at ${INTEGER} not null,
      outcome text check (outcome in ('DONE', 'NOT_ARRIVED', 'CANCELED')),
      closed_at ${INTEGER},
      progress text,
      version ${INTEGER} not null default 1,
      primary key (organization_id, id),
      ${
        ENGINE === 'postgres'
          ? 'foreign key (monitor_id, organization_id) references monitors (id, organization_id) on delete cascade'
          : 'foreign key (monitor_id) references monitors (id) on delete cascade'
      }
    ) ${CLUSTERED}`,
    `create unique index open_planned_changes on planned_changes (organization_id, monitor_id) where outcome is null`,
    'create index planned_changes_by_monitor on planned_changes (organization_id, monitor_id, id)',
    `create index closed_planned_changes on planned_changes (organization_id, closed_at) where closed_at is not null`,

    // While a change of the monitor is open: its check looks further than the first answer.
    'alter table due_checks add column planned_change_id text',
  ],
}
