import type { Migration } from '../migrate.ts'

/**
 * Accounts without the sign-in library of before. Passwords stay; sessions, links that were not opened and second factors
 * were kept in its own forms and go: people sign in and set up two-factor authentication again.
 */
export const accounts: Migration = {
  name: 'accounts',
  statements: ({ INTEGER, BLOB, CLUSTERED }) => [
    'alter table people add column password_hash text',
    'update people set password_hash = (select password from credentials where person_id = people.id), two_factor_enabled = 0',
    'drop table credentials',

    'drop table sessions',
    // is_persistent: whether it outlives the browser, and is prolonged while it is used.
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

    'drop table verifications',
    `create table account_tokens (
      token_hash text primary key,
      purpose text not null,
      person_id text references people (id) on delete cascade,
      content text not null,
      expires_at ${INTEGER} not null
    ) ${CLUSTERED}`,
    'create index account_tokens_by_person on account_tokens (person_id)',
    'create index account_tokens_by_expiry on account_tokens (expires_at)',

    'drop table second_factors',
    // last_step: the time step of the last code that was accepted, so that none is accepted twice (RFC 6238 section 5.2).
    `create table second_factors (
      person_id text primary key references people (id) on delete cascade,
      sealed ${BLOB} not null,
      last_step ${INTEGER} not null default 0
    ) ${CLUSTERED}`,
  ],
}
