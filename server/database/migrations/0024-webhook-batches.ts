import type { Migration } from '../migrate.ts'

/** Webhooks that receive several events in one request. */
export const webhookBatches: Migration = {
  name: 'webhook batches',
  statements: ({ INTEGER, BLOB, STRICT }) => [
    // Null: one request for each event.
    `alter table webhooks add column batch_max_events ${INTEGER}`,
    `alter table webhooks add column batch_max_wait_seconds ${INTEGER}`,
    // How many events a batch has; null for a request of one event.
    `alter table webhook_requests add column events ${INTEGER}`,

    // octets: what a request is to hold of the event, until there is one. request_id: null until then.
    `create table batched_events (
      organization_id text not null,
      webhook_id text not null,
      event_id text not null,
      monitor_id text not null,
      added_at ${INTEGER} not null,
      octets ${BLOB},
      request_id text,
      primary key (organization_id, webhook_id, event_id)
    ) ${STRICT}`,
    'create index batched_events_waiting on batched_events (webhook_id, event_id) where request_id is null',
    'create index batched_events_by_request on batched_events (request_id) where request_id is not null',
    'create index batched_events_by_monitor on batched_events (webhook_id, monitor_id)',
  ],
}
