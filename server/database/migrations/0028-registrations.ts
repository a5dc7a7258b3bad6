import type { Migration } from './dialect.ts'

/** The registrations of domains, which are looked up once a day. */
export const registrations: Migration = {
  name: 'registrations',
  statements: ({ INTEGER, CLUSTERED }) => [
    `create table due_registrations (
      domain text primary key,
      wanted_until ${INTEGER} not null,
      facts text,
      pending text,
      looked_up_at ${INTEGER},
      problem text,
      failures ${INTEGER} not null default 0,
      requested_at ${INTEGER},
      due_at ${INTEGER},
      claimed_by ${INTEGER},
      was_due_at ${INTEGER}
    ) ${CLUSTERED}`,
    'create index due_registrations_by_due on due_registrations (due_at)',
  ],
}
