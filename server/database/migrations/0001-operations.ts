import type { Dialect } from './dialect.ts'

/** The tables of the installation: processes, SECRET, backups, the size of the database, rate limits. */
export const operationsTables = ({ INTEGER, BLOB, SERIAL, STRICT, CLUSTERED }: Dialect): string[] => [
  // report: JSON with version, roles and upstreams of the process.
  `create table processes (
    id ${SERIAL},
    pid ${INTEGER} not null,
    machine text not null,
    started_at ${INTEGER} not null,
    seen_at ${INTEGER} not null,
    loops text,
    network text,
    report text,
    secret_keys text,
    secret_key text
  ) ${STRICT}`,

  `create table secret_check (
    number ${INTEGER} primary key check (number = 1),
    value ${BLOB} not null,
    previous text not null default ''
  ) ${CLUSTERED}`,

  `create table last_backup (
    number ${INTEGER} primary key check (number = 1),
    tried_at ${INTEGER} not null,
    error text,
    made_at ${INTEGER},
    path text,
    octets ${INTEGER},
    duration_ms ${INTEGER}
  ) ${STRICT}`,

  `create table database_sizes (
    measured_at ${INTEGER} primary key,
    octets ${INTEGER} not null
  ) ${CLUSTERED}`,

  `create table rate_log (
    bucket text not null,
    number ${INTEGER} not null,
    counted_at ${INTEGER} not null,
    primary key (bucket, number)
  ) ${CLUSTERED}`,
  'create index rate_log_by_bucket on rate_log (bucket, counted_at)',
  'create index rate_log_by_time on rate_log (counted_at)',
]
