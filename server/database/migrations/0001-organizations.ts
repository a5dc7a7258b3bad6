import type { Dialect } from './dialect.ts'

/** Organizations, accounts and sign-in, API keys, billing, mails, the audit log, and idempotent requests. */
export const organizationTables = ({ INTEGER, BLOB, STRICT, CLUSTERED }: Dialect): string[] => [
  `create table organizations (
    id text primary key,
    created_at ${INTEGER} not null,
    name text not null,
    slug text not null unique,
    timezone text not null default 'UTC',
    event_retention_days ${INTEGER},
    alert_emails text not null default '[]',
    version ${INTEGER} not null default 1,
    logo text
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
    revoked_at ${INTEGER},
    version ${INTEGER} not null default 1,
    limits text,
    limits_by text,
    created_by_key text,
    rotated_at ${INTEGER},
    previous_hash text,
    previous_until ${INTEGER}
  ) ${CLUSTERED}`,
  'create index api_keys_by_organization on api_keys (organization_id, id)',
  'create index active_api_keys on api_keys (organization_id, id) where revoked_at is null',
  'create index revoked_api_keys on api_keys (organization_id, id) where revoked_at is not null',
  'create unique index api_keys_by_previous on api_keys (previous_hash) where previous_hash is not null',

  `create table people (
    id text primary key,
    created_at ${INTEGER} not null,
    updated_at ${INTEGER} not null default 0,
    email text not null unique,
    email_verified ${INTEGER} not null default 0,
    name text not null,
    two_factor_enabled ${INTEGER} not null default 0,
    password_hash text
  ) ${CLUSTERED}`,

  `create table sessions (
    id text primary key,
    token_hash text not null unique,
    person_id text not null references people (id) on delete cascade,
    created_at ${INTEGER} not null,
    expires_at ${INTEGER} not null,
    is_persistent ${INTEGER} not null,
    address text not null,
    user_agent text
  ) ${CLUSTERED}`,
  'create index sessions_by_person on sessions (person_id, created_at)',
  'create index sessions_by_expiry on sessions (expires_at)',

  `create table account_tokens (
    token_hash text primary key,
    purpose text not null,
    person_id text references people (id) on delete cascade,
    content text not null,
    expires_at ${INTEGER} not null
  ) ${CLUSTERED}`,
  'create index account_tokens_by_person on account_tokens (person_id)',
  'create index account_tokens_by_expiry on account_tokens (expires_at)',

  `create table second_factors (
    person_id text primary key references people (id) on delete cascade,
    sealed ${BLOB} not null,
    last_step ${INTEGER} not null default 0
  ) ${CLUSTERED}`,

  `create table attempts (
    subject text primary key,
    count ${INTEGER} not null,
    last_attempt_at ${INTEGER} not null,
    next_attempt_at ${INTEGER} not null
  ) ${CLUSTERED}`,
  'create index attempts_by_last_attempt on attempts (last_attempt_at)',

  `create table agents (
    id text primary key,
    organization_id text not null references organizations (id) on delete cascade,
    person_id text not null references people (id),
    created_at ${INTEGER} not null,
    name text not null,
    email text not null,
    role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
    notification_email text,
    last_seen_at ${INTEGER},
    version ${INTEGER} not null default 1,
    unique (organization_id, person_id)
  ) ${CLUSTERED}`,
  'create index agents_by_created on agents (organization_id, id)',
  'create index agents_by_name on agents (organization_id, name, id)',
  'create index agents_by_email on agents (organization_id, email, id)',
  'create index agents_by_role on agents (organization_id, role)',
  'create index agents_by_person on agents (person_id)',

  `create table invitations (
    id text primary key,
    organization_id text not null references organizations (id) on delete cascade,
    created_at ${INTEGER} not null,
    email text not null,
    role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
    issue ${INTEGER} not null,
    token_hash text not null unique,
    expires_at ${INTEGER} not null,
    invited_by text,
    accepted_at ${INTEGER},
    revoked_at ${INTEGER}
  ) ${CLUSTERED}`,
  'create index invitations_by_created on invitations (organization_id, id)',
  // Only invitations that can still be accepted, so that counting them and finding one by address reads no old ones.
  `create index invitations_open on invitations (organization_id, email)
    where accepted_at is null and revoked_at is null`,

  `create table billing_details (
    organization_id text primary key references organizations (id) on delete cascade,
    name text, email text, line1 text, line2 text, zipcode text, city text, state text, country text, vat text,
    currency text,
    version ${INTEGER} not null default 1
  ) ${STRICT}`,

  `create table subscriptions (
    organization_id text primary key references organizations (id) on delete cascade,
    plan text,
    status text not null check (status in ('active', 'trialing', 'past_due', 'canceled')),
    quantity ${INTEGER} not null,
    current_period_start ${INTEGER},
    current_period_end ${INTEGER},
    cancel_at ${INTEGER},
    stripe_customer text unique,
    stripe_subscription text,
    subscribed_at ${INTEGER},
    as_of ${INTEGER} not null
  ) ${STRICT}`,

  `create table invoices (
    id text primary key,
    organization_id text not null references organizations (id) on delete cascade,
    created_at ${INTEGER} not null,
    number text,
    status text not null,
    currency text not null,
    total ${INTEGER} not null,
    amount_due ${INTEGER} not null,
    amount_paid ${INTEGER} not null,
    period_start ${INTEGER} not null,
    period_end ${INTEGER} not null,
    url text,
    pdf text,
    as_of ${INTEGER} not null
  ) ${STRICT}`,
  'create index invoices_by_created on invoices (organization_id, created_at, id)',

  `create table stripe_events (
    id text primary key,
    received_at ${INTEGER} not null
  ) ${CLUSTERED}`,
  'create index stripe_events_by_received on stripe_events (received_at)',

  `create table mails (
    id text primary key,
    organization_id text references organizations (id) on delete cascade,
    created_at ${INTEGER} not null,
    about text not null,
    recipient text not null,
    content text not null,
    status text not null check (status in ('waiting', 'sent', 'kept', 'failed')),
    attempts ${INTEGER} not null default 0,
    error text,
    sent_at ${INTEGER}
  ) ${STRICT}`,
  'create index mails_by_organization on mails (organization_id, id)',
  "create index mails_waiting on mails (about) where status = 'waiting'",
  'create index mails_by_created on mails (created_at)',

  `create table due_mails (
    mail_id text primary key references mails (id) on delete cascade,
    organization_id text not null,
    due_at ${INTEGER},
    claimed_by ${INTEGER},
    was_due_at ${INTEGER}
  ) ${CLUSTERED}`,
  'create index due_mails_by_due on due_mails (due_at)',

  `create table idempotent_requests (
    organization_id text not null references organizations (id) on delete cascade,
    key_id text not null,
    name text not null,
    fingerprint text not null,
    created_at ${INTEGER} not null,
    status ${INTEGER},
    headers text,
    body ${BLOB},
    result ${BLOB},
    octets ${INTEGER} not null default 0,
    primary key (organization_id, key_id, name)
  ) ${STRICT}`,
  'create index idempotent_requests_by_created on idempotent_requests (created_at)',

  `create table idempotency_usage (
    organization_id text primary key references organizations (id) on delete cascade,
    octets ${INTEGER} not null
  ) ${STRICT}`,

  `create table organization_changes (
    organization_id text not null references organizations (id) on delete cascade,
    list text not null,
    number ${INTEGER} not null,
    primary key (organization_id, list)
  ) ${CLUSTERED}`,

  `create table audit_log (
    organization_id text not null references organizations (id) on delete cascade,
    id text not null,
    occurred_at ${INTEGER} not null,
    actor_type text not null check (actor_type in ('person', 'key', 'system', 'operator')),
    actor_id text not null,
    actor_label text not null,
    action text not null,
    object_type text not null,
    object_id text,
    object_label text,
    object_count ${INTEGER} not null,
    object_ids text not null,
    changed_from text,
    changed_to text,
    address text,
    request_id text,
    primary key (organization_id, id)
  ) ${CLUSTERED}`,
  // One for each filter. Ids begin with the time, so that each index is in the order of the list.
  'create index audit_log_by_actor on audit_log (organization_id, actor_id, id)',
  'create index audit_log_by_action on audit_log (organization_id, action, id)',
  'create index audit_log_by_object_type on audit_log (organization_id, object_type, id)',
  'create index audit_log_by_object on audit_log (organization_id, object_id, id)',
]
