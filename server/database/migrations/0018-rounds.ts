import type { Migration } from './dialect.ts'

/** Regular checks are leased by the round, so that an unchanged check writes nothing. Monitors join at their next check. */
export const rounds: Migration = {
  name: 'rounds',
  statements: ({ INTEGER, STRICT }) => [
    `create table due_rounds (
    frequency ${INTEGER} not null,
    first_slot ${INTEGER} not null,
    until_slot ${INTEGER} not null,
    round ${INTEGER} not null,
    started_at ${INTEGER} not null,
    planned_at ${INTEGER} not null,
    due_at ${INTEGER},
    claimed_by ${INTEGER},
    was_due_at ${INTEGER},
    primary key (frequency, first_slot)
  ) ${STRICT}`,
    'create index due_rounds_by_due on due_rounds (due_at)',
    'create index due_rounds_by_planned on due_rounds (planned_at)',
    `alter table due_checks add column since_round ${INTEGER}`,
    'create index due_checks_by_round on due_checks (frequency, slot) where since_round is not null',
  ],
  // An older program does not check the monitors that have joined a round.
  needs: 'itself',
}
