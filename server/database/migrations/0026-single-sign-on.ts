import type { Migration } from './dialect.ts'

/** Who users are at providers of OpenID Connect, and which sessions came through one. */
export const singleSignOn: Migration = {
  name: 'single sign-on',
  statements: ({ INTEGER }) => [
    'alter table sessions add column provider text',
    `create table identities (
      issuer text not null, subject text not null,
      person_id text not null references people (id) on delete cascade,
      created_at ${INTEGER} not null, last_used_at ${INTEGER} not null,
      primary key (issuer, subject)
    )`,
    'create index identities_of_person on identities (person_id)',
  ],
}
