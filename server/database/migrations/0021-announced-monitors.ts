import type { Migration } from './dialect.ts'

/** How many monitors the last message said, so that people are notified when an incident has grown since. */
export const announcedMonitors: Migration = {
  name: 'announced monitors of alerts',
  statements: ({ INTEGER }) => [`alter table alerts add column announced_monitors ${INTEGER}`],
}
