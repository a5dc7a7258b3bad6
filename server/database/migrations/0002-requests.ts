import type { Migration } from '../migrate.ts'

/** What the HTTP side remembers of requests: how many there were lately, and the answers that may be asked for again. */
export const requests: Migration = {
  name: 'requests',
  statements: ({ INTEGER, BLOB, STRICT, CLUSTERED }) => [
    `create table rate_log (
      bucket text not null,
      number ${INTEGER} not null,
      counted_at ${INTEGER} not null,
      primary key (bucket, number)
    ) ${CLUSTERED}`,
    'create index rate_log_by_bucket on rate_log (bucket, counted_at)',
    'create index rate_log_by_time on rate_log (counted_at)',

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
      primary key (organization_id, key_id, name)
    ) ${STRICT}`,
    'create index idempotent_requests_by_created on idempotent_requests (created_at)',
  ],
}
