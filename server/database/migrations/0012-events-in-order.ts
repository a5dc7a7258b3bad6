import type { Migration } from '../migrate.ts'

/** Ids of events ascend in the order in which the events are committed, so that a reader can go on after the last id it saw. */
export const eventsInOrder: Migration = {
  name: 'events in order',
  statements: ({ INTEGER, CLUSTERED }) => [
    `create table last_event_times (
      organization_id text primary key references organizations (id) on delete cascade,
      last_at ${INTEGER} not null
    ) ${CLUSTERED}`,
    'create index events_by_id on events (organization_id, id)',
  ],
}
