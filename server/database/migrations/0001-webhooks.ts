import type { Dialect } from './dialect.ts'

/** Webhooks, their requests, and when those are due. */
export const webhookTables = ({ INTEGER, BLOB, STRICT, CLUSTERED, tenantKey, tenantReference }: Dialect): string[] => [
  `create table webhooks (
    id text not null,
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
    version ${INTEGER} not null default 1,
    payload_includes text not null default '[]',
    all_groups ${INTEGER} not null default 0,
    batch_max_events ${INTEGER},
    batch_max_wait_seconds ${INTEGER},
    ${tenantKey('id')}
  ) ${STRICT}`,
  'create index webhooks_by_created on webhooks (organization_id, id)',
  'create index webhooks_by_last_executed on webhooks (organization_id, last_executed_at, id)',
  'create index webhooks_of_all_groups on webhooks (organization_id, id) where all_groups = 1',
  // Without the webhooks that deliver.
  `create index webhooks_in_trouble on webhooks (organization_id, state, id)
    where is_active = 1 and (state = 'paused' or last_error is not null)`,

  `create table group_webhooks (
    organization_id text not null references organizations (id) on delete cascade,
    group_id text not null,
    webhook_id text not null,
    ${tenantKey('group_id, webhook_id')},
    ${tenantReference('group_id', 'groups', 'on delete cascade')},
    ${tenantReference('webhook_id', 'webhooks', 'on delete cascade')}
  ) ${CLUSTERED}`,
  'create index group_webhooks_by_webhook on group_webhooks (webhook_id)',

  // No reference to monitors, events and webhooks: a request outlives the first two, and is deleted in batches after the third.
  `create table webhook_requests (
    id text not null,
    organization_id text not null,
    webhook_id text not null,
    event_id text,
    monitor_id text,
    created_at ${INTEGER} not null,
    body ${BLOB} not null,
    event_offset ${INTEGER},
    status text not null check (status in ('PENDING', 'DELIVERED', 'RETRYING', 'FAILED')),
    attempts ${INTEGER} not null default 0,
    retries ${INTEGER} not null default 0,
    delivered_at ${INTEGER},
    status_code ${INTEGER},
    error text,
    response_body text,
    last_attempt_at ${INTEGER},
    timings text,
    next_attempt_at ${INTEGER},
    events ${INTEGER},
    ${tenantKey('id')}
  ) ${STRICT}`,
  'create index webhook_requests_by_created on webhook_requests (webhook_id, created_at, id)',
  'create index webhook_requests_by_last_attempt on webhook_requests (webhook_id, last_attempt_at, id)',
  'create index webhook_requests_by_monitor on webhook_requests (webhook_id, monitor_id, created_at, id)',
  'create index webhook_requests_by_event on webhook_requests (webhook_id, event_id, created_at, id)',
  // Most requests are delivered, and then in none of the following: a delivery writes as few pages as it can.
  `create index webhook_requests_by_status on webhook_requests (webhook_id, status, created_at, id)
    where status <> 'DELIVERED'`,
  `create index webhook_requests_by_status_code on webhook_requests (webhook_id, status_code, created_at, id)
    where status_code >= 300`,
  `create index webhook_requests_undelivered on webhook_requests (organization_id, created_at, id)
    where status <> 'DELIVERED'`,
  `create index webhook_requests_undelivered_by_status on webhook_requests (organization_id, status, created_at, id)
    where status <> 'DELIVERED'`,

  `create table webhook_attempts (
    request_id text not null,
    number ${INTEGER} not null,
    attempted_at ${INTEGER} not null,
    status_code ${INTEGER},
    error text,
    response_body text,
    timings text not null,
    organization_id text not null default '',
    ${tenantKey('request_id, number')}
  ) ${STRICT}`,

  `create table event_bodies (
    event_id text not null,
    organization_id text not null,
    octets ${BLOB} not null,
    requests ${INTEGER} not null,
    ${tenantKey('event_id')}
  ) ${STRICT}`,

  `create table fan_outs (
    organization_id text not null,
    event_id text not null,
    monitor_id text not null,
    webhooks text not null,
    after_webhook text not null,
    monitor text,
    primary key (organization_id, event_id)
  ) ${CLUSTERED}`,

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

  `create table webhook_storage (
    organization_id text primary key,
    octets ${INTEGER} not null
  ) ${CLUSTERED}`,

  `create table due_requests (
    webhook_id text not null,
    request_id text not null,
    due_at ${INTEGER},
    claimed_by ${INTEGER},
    is_manual ${INTEGER} not null default 0,
    primary key (webhook_id, request_id)
  ) ${CLUSTERED}`,
  'create index due_requests_by_due on due_requests (webhook_id, due_at, request_id)',
  'create index due_requests_manual on due_requests (webhook_id, due_at, request_id) where is_manual = 1',

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
