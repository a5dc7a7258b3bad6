import type { Migration } from '../migrate.ts'

export const tables: Migration = {
  name: 'tables',
  statements: ({ INTEGER, BLOB, SERIAL, STRICT, CLUSTERED }) => [
    `create table organizations (
      id text primary key,
      created_at ${INTEGER} not null,
      name text not null,
      slug text not null unique
    ) ${CLUSTERED}`,

    `create table api_keys (
      id text primary key,
      organization_id text not null references organizations (id) on delete cascade,
      created_at ${INTEGER} not null,
      name text not null,
      role text not null check (role in ('read', 'write', 'admin')),
      hash text not null unique,
      created_by text,
      last_used_at ${INTEGER},
      expires_at ${INTEGER},
      revoked_at ${INTEGER}
    ) ${CLUSTERED}`,
    'create index api_keys_by_organization on api_keys (organization_id, id)',

    `create table groups (
      id text primary key,
      organization_id text not null references organizations (id) on delete cascade,
      created_at ${INTEGER} not null,
      name text not null,
      slug text not null,
      is_default ${INTEGER} not null,
      monitors ${INTEGER} not null default 0,
      unique (organization_id, slug)
    ) ${CLUSTERED}`,
    'create index groups_by_created on groups (organization_id, id)',
    'create unique index groups_default on groups (organization_id) where is_default = 1',
    'create index groups_by_name on groups (organization_id, name, id)',

    `create table monitors (
      id text primary key,
      organization_id text not null references organizations (id) on delete cascade,
      group_id text not null references groups (id),
      created_at ${INTEGER} not null,
      domain text not null,
      subdomain text not null,
      owner text not null,
      record_type text not null,
      expected_values text not null,
      is_exact_match ${INTEGER} not null,
      is_active ${INTEGER} not null,
      notify text not null,
      frequency ${INTEGER} not null,
      state text not null,
      current_values text,
      incidence_count ${INTEGER} not null default 0,
      diagnosis text,
      slot ${INTEGER} not null
    ) ${CLUSTERED}`,
    // One for each filter, and for each order that a list of monitors can have; which one a list walks: monitors/walk.ts.
    'create index monitors_by_created on monitors (organization_id, id)',
    'create index monitors_by_group on monitors (group_id, id)',
    'create index monitors_by_owner on monitors (organization_id, owner, id)',
    'create index monitors_by_domain on monitors (organization_id, domain, id)',
    'create index monitors_by_subdomain on monitors (organization_id, subdomain, id)',
    'create index monitors_by_record_type on monitors (organization_id, record_type, id)',
    'create index monitors_by_state on monitors (organization_id, state, id)',
    'create index monitors_by_is_active on monitors (organization_id, is_active, id)',
    'create index monitors_by_incidence_count on monitors (organization_id, incidence_count, id)',

    `create table due_checks (
      slot ${INTEGER} not null,
      monitor_id text not null,
      organization_id text not null,
      due_at ${INTEGER},
      claimed_by ${INTEGER},
      owner text not null,
      record_type text not null,
      is_exact_match ${INTEGER} not null,
      frequency ${INTEGER} not null,
      fingerprint ${INTEGER},
      streak ${INTEGER} not null default 0,
      doubts ${INTEGER} not null default 0,
      last_checked_at ${INTEGER},
      primary key (slot, monitor_id)
    ) ${CLUSTERED}`,
    'create index due_checks_by_due on due_checks (due_at)',
    // The one index that every check moves: with a million rows on SQLite it takes a check from 47 to 64 µs of the database.
    'create index due_checks_by_last_checked on due_checks (organization_id, last_checked_at, monitor_id)',

    `create table events (
      id text primary key,
      organization_id text not null references organizations (id) on delete cascade,
      monitor_id text not null references monitors (id) on delete cascade,
      group_id text not null,
      occurred_at ${INTEGER} not null,
      old_state text not null,
      new_state text not null,
      previous_values text,
      current_values text,
      incidence_count ${INTEGER} not null,
      domain text not null,
      subdomain text not null,
      record_type text not null,
      expected_values text not null,
      is_exact_match ${INTEGER} not null,
      diagnosis text
    ) ${STRICT}`,
    'create index events_by_organization on events (organization_id, occurred_at, id)',
    'create index events_by_monitor on events (monitor_id, occurred_at, id)',
    'create index events_by_group on events (group_id, occurred_at, id)',
    'create index events_by_old_state on events (organization_id, old_state, occurred_at, id)',
    'create index events_by_new_state on events (organization_id, new_state, occurred_at, id)',

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
      last_executed_at ${INTEGER}
    ) ${STRICT}`,
    'create index webhooks_by_created on webhooks (organization_id, id)',
    'create index webhooks_by_last_executed on webhooks (organization_id, last_executed_at, id)',

    `create table group_webhooks (
      organization_id text not null references organizations (id) on delete cascade,
      group_id text not null references groups (id) on delete cascade,
      webhook_id text not null references webhooks (id) on delete cascade,
      primary key (group_id, webhook_id)
    ) ${CLUSTERED}`,
    'create index group_webhooks_by_webhook on group_webhooks (webhook_id)',

    // No reference to monitors, events and webhooks: a request outlives the first two, and goes in batches after the third.
    `create table webhook_requests (
      id text primary key,
      organization_id text not null,
      webhook_id text not null,
      event_id text,
      monitor_id text,
      created_at ${INTEGER} not null,
      body ${BLOB} not null,
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
    // Most are delivered, and then in neither of these two: a delivery dirties as few pages as it can.
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

    `create table processes (
      id ${SERIAL},
      pid ${INTEGER} not null,
      machine text not null,
      started_at ${INTEGER} not null,
      seen_at ${INTEGER} not null
    ) ${STRICT}`,
  ],
}
