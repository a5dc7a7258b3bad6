import type { Dialect } from '../migrate.ts'

/** Webhooks, their requests, and when those are due. */
export const webhookTables = ({ INTEGER, BLOB, STRICT, CLUSTERED }: Dialect): string[] => [
  // target_version: counts what changes where requests go or whether they are sent. dropped: requests dropped while paused.
  `create table webhooks (
    id text primary key,
    organization_id text not null references organizations (id) on delete cascade,
    created_at ${INTEGER} not null,
    url text not null,
    secret ${BLOB} not null,
    previous_secret ${BLOB},
    previous_secret_until ${INTEGER},
    headers ${BLOB} not null,
    is_active ${INTEGER} not null,
    state text not null check (state in ('active', 'paused')),
    last_error text,
    last_executed_at ${INTEGER},
    target_version ${INTEGER} not null default 0,
    dropped ${INTEGER} not null default 0,
    version ${INTEGER} not null default 1
  ) ${STRICT}`,
  'create index webhooks_by_created on webhooks (organization_id, id)',
  'create index webhooks_by_last_executed on webhooks (organization_id, last_executed_at, id)',
  // A webhook that delivers is not in it.
  `create index webhooks_in_trouble on webhooks (organization_id, state, id)
    where is_active = 1 and (state = 'paused' or last_error is not null)`,

  `create table group_webhooks (
    organization_id text not null references organizations (id) on delete cascade,
    group_id text not null references groups (id) on delete cascade,
    webhook_id text not null references webhooks (id) on delete cascade,
    primary key (group_id, webhook_id)
  ) ${CLUSTERED}`,
  'create index group_webhooks_by_webhook on group_webhooks (webhook_id)',

  // No reference to monitors, events and webhooks: a request outlives the first two, and goes in batches after the third.
  // event_at: where in the body the event stands, whose octets are in event_bodies; null where the body is whole, as in tests.
  `create table webhook_requests (
    id text primary key,
    organization_id text not null,
    webhook_id text not null,
    event_id text,
    monitor_id text,
    created_at ${INTEGER} not null,
    body ${BLOB} not null,
    event_at ${INTEGER},
    status text not null check (status in ('PENDING', 'DELIVERED', 'RETRYING', 'FAILED')),
    attempts ${INTEGER} not null default 0,
    retries ${INTEGER} not null default 0,
    delivered_at ${INTEGER},
    status_code ${INTEGER},
    error text,
    response_body text,
    last_attempt_at ${INTEGER},
    timings text,
    next_attempt_at ${INTEGER}
  ) ${STRICT}`,
  'create index webhook_requests_by_created on webhook_requests (webhook_id, created_at, id)',
  'create index webhook_requests_by_last_attempt on webhook_requests (webhook_id, last_attempt_at, id)',
  // Most are delivered, and then in neither of these two: a delivery writes as few pages as it can.
  `create index webhook_requests_by_status on webhook_requests (webhook_id, status, created_at, id)
    where status <> 'DELIVERED'`,
  `create index webhook_requests_by_status_code on webhook_requests (webhook_id, status_code, created_at, id)
    where status_code >= 300`,
  'create index webhook_requests_by_monitor on webhook_requests (webhook_id, monitor_id, created_at, id)',
  'create index webhook_requests_by_event on webhook_requests (webhook_id, event_id, created_at, id)',

  // Those before the last, which stands in the request itself: most requests have no other.
  `create table webhook_attempts (
    request_id text not null,
    number ${INTEGER} not null,
    attempted_at ${INTEGER} not null,
    status_code ${INTEGER},
    error text,
    response_body text,
    timings text not null,
    primary key (request_id, number)
  ) ${STRICT}`,

  // An event's octets, once for all its requests. requests: how many use it, and one more while its fan-out is not finished.
  `create table event_bodies (
    event_id text primary key,
    organization_id text not null,
    octets ${BLOB} not null,
    requests ${INTEGER} not null
  ) ${STRICT}`,

  `create table fan_outs (
    organization_id text not null,
    event_id text not null,
    monitor_id text not null,
    webhooks text not null,
    after_webhook text not null,
    primary key (organization_id, event_id)
  ) ${CLUSTERED}`,

  `create table webhook_storage (
    organization_id text primary key,
    octets ${INTEGER} not null
  ) ${CLUSTERED}`,

  `create table due_requests (
    webhook_id text not null,
    request_id text not null,
    due_at ${INTEGER},
    claimed_by ${INTEGER},
    by_hand ${INTEGER} not null default 0,
    primary key (webhook_id, request_id)
  ) ${CLUSTERED}`,
  'create index due_requests_by_due on due_requests (webhook_id, due_at, request_id)',
  'create index due_requests_by_hand on due_requests (webhook_id, due_at, request_id) where by_hand = 1',

  `create table due_webhooks (
    webhook_id text primary key,
    due_at ${INTEGER},
    probe_at ${INTEGER},
    drain_after text,
    drain_to text
  ) ${CLUSTERED}`,
  'create index due_webhooks_by_due on due_webhooks (due_at)',

  `create table removed_webhooks (
    webhook_id text primary key,
    removed_at ${INTEGER} not null
  ) ${CLUSTERED}`,
]
