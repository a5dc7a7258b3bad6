import type { Migration } from './dialect.ts'

/** What proves that monitors were checked: only what was late or missed is recorded, not each check. */
export const checkGaps: Migration = {
  name: 'check gaps',
  statements: ({ INTEGER, CLUSTERED, tenantReference }) => [
    `create table round_gaps (
      range_id text not null,
      round ${INTEGER} not null,
      first_slot ${INTEGER} not null,
      until_slot ${INTEGER} not null,
      started_at ${INTEGER} not null,
      delay_ms ${INTEGER} not null,
      last_round ${INTEGER} not null,
      last_started_at ${INTEGER} not null,
      primary key (range_id, round, first_slot)
    ) ${CLUSTERED}`,
    'create index round_gaps_by_start on round_gaps (started_at)',
    `create table check_gaps (
      organization_id text not null,
      monitor_id text not null,
      until_at ${INTEGER} not null,
      from_at ${INTEGER} not null,
      withheld_since ${INTEGER},
      primary key (organization_id, monitor_id, until_at),
      ${tenantReference('monitor_id', 'monitors', 'on delete cascade')}
    ) ${CLUSTERED}`,
    'create index check_gaps_by_time on check_gaps (organization_id, until_at)',
    `create table past_schedules (
      organization_id text not null,
      monitor_id text not null,
      until_at ${INTEGER} not null,
      frequency ${INTEGER} not null,
      last_checked_at ${INTEGER},
      primary key (organization_id, monitor_id, until_at),
      ${tenantReference('monitor_id', 'monitors', 'on delete cascade')}
    ) ${CLUSTERED}`,
    'create index past_schedules_by_time on past_schedules (organization_id, until_at)',
    `alter table due_checks add column joined_at ${INTEGER}`,
  ],
  // An older program would record no gaps.
  needs: 'itself',
}
