import { monitorSearch } from './0001-monitor-search.ts'
import type { Dialect } from './dialect.ts'

/** The migrations of the 0.1.0 builds before the baseline. A database with all of them differs from the baseline only in names. */
export const EARLIER_MIGRATIONS: readonly string[] = [
  'baseline',
  'audit log',
  'last backup',
  'accounts',
  'operations',
  'secret rotation',
  'neighbours',
  'organization keys',
  'alerts',
  'labels',
  'jobs',
  'setup pages',
  'incidents',
  'plans',
  'api keys',
  'all groups',
  'returned monitors',
  'undelivered requests',
  'search',
  'group counts',
  'views',
  'large incidents',
  'webhook batches',
  'information',
  'logo',
  'name order',
  'message references',
  'job codes',
  'view density',
]

/** Whether `adoptionStatements` lead to the baseline. */
export function isAdoptable(applied: readonly string[]): boolean {
  return applied.length === EARLIER_MIGRATIONS.length && EARLIER_MIGRATIONS.every((name, at) => applied[at] === name)
}

/** What is wrong and what to do, for a database with only some of the earlier migrations; undefined for every other one. */
export function describeIncomplete(applied: readonly string[]): string | undefined {
  if (applied[0] !== EARLIER_MIGRATIONS[0] || isAdoptable(applied)) return undefined
  return `The database has ${applied.length} of the ${EARLIER_MIGRATIONS.length} migrations of the 0.1.0 builds before the baseline. Start the last of those builds once to complete them, then this version (docs/guides/upgrade.md).`
}

/** From the schema of the earlier migrations to that of the baseline. No other process may use the database meanwhile. */
export const adoptionStatements = (dialect: Dialect, baseline: string): string[] => [
  ...RENAMED_COLUMNS.map(([table, from, to]) => `alter table ${table} rename column ${from} to ${to}`),
  'alter table idempotent_requests drop column leased_until',
  'drop index due_requests_by_hand',
  'create index due_requests_manual on due_requests (webhook_id, due_at, request_id) where is_manual = 1',
  'drop index attempts_by_made',
  'create index attempts_by_last_attempt on attempts (last_attempt_at)',
  'drop index monitors_failing',
  // Fires the triggers for monitors whose text or order is missing.
  `update monitors set owner = owner where name_order is null or not exists (select 1 from monitor_texts
    where monitor_texts.organization_id = monitors.organization_id and monitor_texts.monitor_id = monitors.id)`,
  'drop table search_fill',
  'drop table name_order_fill',
  'delete from migrations where number > 1',
  `update migrations set name = '${baseline}', needs = 0 where number = 1`,
  ...(dialect.ENGINE === 'postgres' ? ON_POSTGRES(dialect) : []),
]

export const RENAMED_COLUMNS: readonly (readonly [table: string, from: string, to: string])[] = [
  ['due_checks', 'doubts', 'inconclusive_count'],
  ['waits', 'looks', 'check_count'],
  ['webhook_requests', 'event_at', 'event_offset'],
  ['due_requests', 'by_hand', 'is_manual'],
  ['alerts', 'asked_at', 'retry_requested_at'],
  ['job_results', 'kept', 'snapshot'],
  ['attempts', 'made_at', 'last_attempt_at'],
  ['attempts', 'free_at', 'next_attempt_at'],
  ['idempotent_requests', 'made', 'result'],
]

const ON_POSTGRES = (dialect: Dialect) => [
  ...[
    ['monitors', 'group_id'],
    ['events', 'monitor_id'],
    ['group_webhooks', 'group_id'],
    ['group_webhooks', 'webhook_id'],
  ].map(
    ([table, column]) =>
      `alter table ${table} rename constraint ${table}_${column}_fkey to ${table}_${column}_organization_id_fkey`,
  ),
  ...monitorSearch(dialect)
    .filter((statement) => /^create (function|trigger)/.test(statement))
    .map((statement) => statement.replace('create', 'create or replace')),
]
