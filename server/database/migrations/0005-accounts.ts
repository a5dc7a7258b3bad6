import type { Migration } from '../migrate.ts'

/** How people sign in. What the password of a person hashes to moves into a credential of its own. */
export const accounts: Migration = {
  name: 'accounts',
  statements: ({ INTEGER, STRICT, CLUSTERED }) => [
    `alter table people add column email_verified ${INTEGER} not null default 0`,
    `alter table people add column two_factor_enabled ${INTEGER} not null default 0`,
    `alter table people add column updated_at ${INTEGER} not null default 0`,
    'update people set updated_at = created_at',

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
    `insert into credentials (id, person_id, provider_id, account_id, password, created_at, updated_at)
      select 'crd' || substr(id, 4), id, 'credential', id, password_hash, created_at, created_at from people
      where password_hash <> ''`,
    'alter table people drop column password_hash',

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

    `create table second_factors (
      id text primary key,
      person_id text not null unique references people (id) on delete cascade,
      secret text not null,
      backup_codes text not null,
      verified ${INTEGER} not null default 1
    ) ${CLUSTERED}`,

    `create table attempts (
      subject text primary key,
      count ${INTEGER} not null,
      made_at ${INTEGER} not null,
      free_at ${INTEGER} not null
    ) ${CLUSTERED}`,
    'create index attempts_by_made on attempts (made_at)',

    // A mail to a person about the own account belongs to no organization. SQLite cannot take a "not null" away.
    `create table new_mails (
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
    `insert into new_mails (id, organization_id, created_at, about, recipient, content, status, attempts, error, sent_at)
      select id, organization_id, created_at, about, recipient, content, status, attempts, error, sent_at from mails`,
    `create table new_due_mails (
      mail_id text primary key references new_mails (id) on delete cascade,
      organization_id text not null,
      due_at ${INTEGER},
      claimed_by ${INTEGER}
    ) ${CLUSTERED}`,
    `insert into new_due_mails (mail_id, organization_id, due_at, claimed_by)
      select mail_id, organization_id, due_at, claimed_by from due_mails`,
    'drop table due_mails',
    'drop table mails',
    'alter table new_mails rename to mails',
    'alter table new_due_mails rename to due_mails',
    'create index mails_by_organization on mails (organization_id, id)',
    "create index mails_waiting on mails (about) where status = 'waiting'",
    'create index mails_by_created on mails (created_at)',
    'create index due_mails_by_due on due_mails (due_at)',
  ],
}
