import type { Migration } from './dialect.ts'

/** The channel of each due alert, so that a silent channel delays no other. */
export const fairAlerts: Migration = {
  name: 'channels of due alerts, states before a new expectation',
  statements: ({ INTEGER }) => [
    'alter table due_alerts add column channel_id text',
    `alter table monitors add column was_valid ${INTEGER} not null default 0`,
  ],
}
