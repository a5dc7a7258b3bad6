import type { Migration } from '../migrate.ts'

export const peopleAndPlans: Migration = {
  name: 'people and plans',
  statements: ({ INTEGER, STRICT, CLUSTERED }) => [
    "alter table organizations add column timezone text not null default 'UTC'",
    `alter table organizations add column event_retention_days ${INTEGER}`,
    "alter table organizations add column alert_emails text not null default '[]'",

    `create table people (
      id text primary key,
      created_at ${INTEGER} not null,
      email text not null unique,
      name text not null,
      password_hash text
    ) ${CLUSTERED}`,

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
    // Those that may still be accepted: how many there are, and whether an address has one, never walks the old ones.
    `create index invitations_open on invitations (organization_id, email)
      where accepted_at is null and revoked_at is null`,

    `create table billing_details (
      organization_id text primary key references organizations (id) on delete cascade,
      name text, email text, line1 text, line2 text, zipcode text, city text, state text, country text, vat text,
      currency text
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
      organization_id text not null references organizations (id) on delete cascade,
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

    // The shortest frequency in use is told without reading the monitors.
    'create index monitors_by_frequency on monitors (organization_id, frequency)',
  ],
}
