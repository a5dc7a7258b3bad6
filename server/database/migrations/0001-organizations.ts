import type { Dialect } from '../migrate.ts'

/** Organizations, people and how they sign in, what an organization pays, mails, and what the HTTP side remembers of requests. */
export const organizationTables = ({ INTEGER, BLOB, SERIAL, STRICT, CLUSTERED }: Dialect): string[] => [
  `create table organizations (
    id text primary key,
    created_at ${INTEGER} not null,
    name text not null,
    slug text not null unique,
    timezone text not null default 'UTC',
    event_retention_days ${INTEGER},
    alert_emails text not null default '[]',
    version ${INTEGER} not null default 1
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

  `create table people (
    id text primary key,
    created_at ${INTEGER} not null,
    updated_at ${INTEGER} not null default 0,
    email text not null unique,
    email_verified ${INTEGER} not null default 0,
    name text not null,
    two_factor_enabled ${INTEGER} not null default 0
  ) ${CLUSTERED}`,

  `create table credentials (
    id text primary key,
    person_id text not null references people (id) on delete cascade,
    provider_id text not null,
    account_id text not null,
    password text,
    created_at ${INTEGER} not null,
    updated_at ${INTEGER} not null,
    unique (provider_id, account_id)
  ) ${CLUSTERED}`,
  'create index credentials_by_person on credentials (person_id)',

  `create table sessions (
    id text primary key,
    token text not null unique,
    person_id text not null references people (id) on delete cascade,
    expires_at ${INTEGER} not null,
    ip_address text,
    user_agent text,
    created_at ${INTEGER} not null,
    updated_at ${INTEGER} not null
  ) ${CLUSTERED}`,
  'create index sessions_by_person on sessions (person_id, created_at)',
  'create index sessions_by_expiry on sessions (expires_at)',

  `create table verifications (
    id text primary key,
    identifier text not null,
    value text not null,
    expires_at ${INTEGER} not null,
    created_at ${INTEGER} not null,
    updated_at ${INTEGER} not null
  ) ${CLUSTERED}`,
  'create index verifications_by_identifier on verifications (identifier, created_at)',
  'create index verifications_by_value on verifications (value)',
  'create index verifications_by_expiry on verifications (expires_at)',

  // last_step: the time step of the last code that was accepted, so that none is accepted twice (RFC 6238 section 5.2).
  `create table second_factors (
    id text primary key,
    person_id text not null unique references people (id) on delete cascade,
    secret text not null,
    backup_codes text not null,
    verified ${INTEGER} not null default 1,
    last_step ${INTEGER} not null default 0
  ) ${CLUSTERED}`,

  `create table attempts (
    subject text primary key,
    count ${INTEGER} not null,
    made_at ${INTEGER} not null,
    free_at ${INTEGER} not null
  ) ${CLUSTERED}`,
  'create index attempts_by_made on attempts (made_at)',

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
  // Only those that can still be accepted: counting them, and looking for one by address, never reads the old ones.
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

  // A mail to a person about their own account belongs to no organization.
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
    claimed_by ${INTEGER}
  ) ${CLUSTERED}`,
  'create index due_mails_by_due on due_mails (due_at)',

  `create table rate_log (
    bucket text not null,
    number ${INTEGER} not null,
    counted_at ${INTEGER} not null,
    primary key (bucket, number)
  ) ${CLUSTERED}`,
  'create index rate_log_by_bucket on rate_log (bucket, counted_at)',
  'create index rate_log_by_time on rate_log (counted_at)',

  // made: what a repeated POST is answered from where its answer is too large to keep.
  `create table idempotent_requests (
    organization_id text not null references organizations (id) on delete cascade,
    key_id text not null,
    name text not null,
    fingerprint text not null,
    created_at ${INTEGER} not null,
    leased_until ${INTEGER} not null,
    status ${INTEGER},
    headers text,
    body ${BLOB},
    made ${BLOB},
    octets ${INTEGER} not null default 0,
    primary key (organization_id, key_id, name)
  ) ${STRICT}`,
  'create index idempotent_requests_by_created on idempotent_requests (created_at)',

  // Bounds what idempotent_requests keeps of one organization.
  `create table idempotency_usage (
    organization_id text primary key references organizations (id) on delete cascade,
    octets ${INTEGER} not null
  ) ${STRICT}`,

  // Counts the changes of each list of an organization; every process tells its open pages by it.
  `create table organization_changes (
    organization_id text not null references organizations (id) on delete cascade,
    list text not null,
    number ${INTEGER} not null,
    primary key (organization_id, list)
  ) ${CLUSTERED}`,

  `create table processes (
    id ${SERIAL},
    pid ${INTEGER} not null,
    machine text not null,
    started_at ${INTEGER} not null,
    seen_at ${INTEGER} not null,
    loops text,
    network text
  ) ${STRICT}`,

  // The SECRET under which the database was created, so that it does not start under another one.
  `create table secret_check (
    number ${INTEGER} primary key check (number = 1),
    value ${BLOB} not null
  ) ${CLUSTERED}`,
]
