import { type RawBuilder, type Selectable, sql } from 'kysely'
import { type Database, skipLocked } from './database.ts'
import type { DueChecksTable, DueRequestsTable } from './schema.ts'

/**
 * The due-row mechanism, for checks and for deliveries alike. A row is due when its `due_at` has come. A claim moves
 * `due_at` forward by the lease and names the process; the write-back moves it to its true next time, only while the
 * claim is still the process's own. A process that dies writes nothing back, and its rows fall due again.
 */
export const LEASE_MS = 60_000

type DueTables = { due_checks: Selectable<DueChecksTable>; due_requests: Selectable<DueRequestsTable> }
export type DueTable = keyof DueTables
type Column = { name: string; type: 'bigint' | 'text' }

/** The two columns that name a row, then all others. */
const COLUMNS: Record<DueTable, [Column, Column, ...Column[]]> = {
  due_checks: [
    { name: 'slot', type: 'bigint' },
    { name: 'monitor_id', type: 'text' },
    { name: 'organization_id', type: 'text' },
    { name: 'due_at', type: 'bigint' },
    { name: 'claimed_by', type: 'bigint' },
    { name: 'owner', type: 'text' },
    { name: 'record_type', type: 'text' },
    { name: 'is_exact_match', type: 'bigint' },
    { name: 'frequency', type: 'bigint' },
    { name: 'fingerprint', type: 'bigint' },
    { name: 'streak', type: 'bigint' },
    { name: 'doubts', type: 'bigint' },
    { name: 'last_checked_at', type: 'bigint' },
  ],
  due_requests: [
    { name: 'webhook_id', type: 'text' },
    { name: 'request_id', type: 'text' },
    { name: 'due_at', type: 'bigint' },
    { name: 'claimed_by', type: 'bigint' },
  ],
}

/** A row as claimed: `due_at` is when the lease runs out, `claimed_by` the process. Together they are the claim. */
export type Claim<T extends DueTable> = DueTables[T] & { due_at: number; claimed_by: number }

export type ClaimOptions = {
  now: number
  process: number
  limit: number
  leaseMs?: number
  /** Only the rows of one webhook. */
  webhookId?: string
}

/** Takes up to `limit` due rows, longest overdue first, exclusively until the lease runs out. */
export async function claimDue<T extends DueTable>(db: Database, table: T, options: ClaimOptions): Promise<Claim<T>[]> {
  const { now, process, limit, leaseMs = LEASE_MS, webhookId } = options
  const [first, second] = COLUMNS[table]
  const lane = webhookId === undefined ? sql`` : sql`webhook_id = ${webhookId} and`
  const columns = sql.join(COLUMNS[table].map(({ name }) => sql.ref(`${table}.${name}`)))
  // The selection stands in a WITH because PostgreSQL may run a locking sub-select in IN (…) more than once.
  const { rows } = await sql<Claim<T>>`
    with due as (
      select ${sql.ref(first.name)}, ${sql.ref(second.name)} from ${sql.table(table)}
      where ${lane} due_at <= ${now} order by due_at limit ${limit} ${skipLocked(db)}
    )
    update ${sql.table(table)} set due_at = ${now + leaseMs}, claimed_by = ${process} from due
    where ${sameKey(table, 'due')} returning ${columns}`.execute(db)
  return rows
}

export type WriteBack<T extends DueTable> = {
  claim: Claim<T>
  /** The row's next due time and whatever else changes. The same columns in every item of one call. */
  set: Partial<Omit<DueTables[T], 'claimed_by'>> & { due_at: number | null }
}

/** Writes claimed rows back. Returns the claims that were still their process's own; the others changed nothing. */
export async function writeBack<T extends DueTable>(
  db: Database,
  table: T,
  items: readonly WriteBack<T>[],
): Promise<Claim<T>[]> {
  if (items.length === 0) return []
  const [first, second] = COLUMNS[table]
  const changed = COLUMNS[table].filter(({ name }) => name in items[0]!.set)
  const rows = items.map(({ claim, set }) => {
    const read = (values: object, { name, type }: Column) => cast((values as Record<string, unknown>)[name], type)
    const claimed = [claim.due_at, claim.claimed_by].map((value) => cast(value, 'bigint'))
    return sql`(${sql.join([read(claim, first), read(claim, second), ...claimed, ...changed.map((column) => read(set, column))])})`
  })
  const names = [first.name, second.name, 'leased_until', 'leased_by', ...changed.map(({ name }) => `new_${name}`)]
  const assignments = changed.map(({ name }) => sql`${sql.ref(name)} = ${sql.ref(`back.new_${name}`)}`)
  const { rows: held } = await sql<Record<string, unknown>>`
    with back (${sql.join(names.map((name) => sql.ref(name)))}) as (values ${sql.join(rows)})
    update ${sql.table(table)} set claimed_by = null, ${sql.join(assignments)} from back
    where ${sameKey(table, 'back')}
      and ${sql.ref(`${table}.due_at`)} = back.leased_until and ${sql.ref(`${table}.claimed_by`)} = back.leased_by
    returning ${sql.ref(`${table}.${second.name}`)} as id`.execute(db)
  const ids = new Set(held.map(({ id }) => id))
  return items.map(({ claim }) => claim).filter((claim) => ids.has((claim as Record<string, unknown>)[second.name]))
}

/** Makes what these processes had claimed due again at once. For a process that stops, and for those found dead. */
export async function releaseClaims(db: Database, processes: readonly number[], now: number): Promise<void> {
  if (processes.length === 0) return
  for (const table of ['due_checks', 'due_requests'] as const) {
    await sql`update ${sql.table(table)} set due_at = ${now}, claimed_by = null
      where claimed_by in (${sql.join(processes)}) and due_at > ${now}`.execute(db)
  }
  // The webhooks of released requests must be looked at now, not when the leases would have run out.
  await sql`update due_webhooks set due_at = ${now} where due_at > ${now} and exists (
    select 1 from due_requests where due_requests.webhook_id = due_webhooks.webhook_id and due_requests.due_at <= ${now}
  ) and exists (select 1 from webhooks where webhooks.id = due_webhooks.webhook_id and webhooks.state = 'active')`.execute(
    db,
  )
}

function sameKey(table: DueTable, other: string): RawBuilder<unknown> {
  const [first, second] = COLUMNS[table]
  return sql`${sql.ref(`${table}.${first.name}`)} = ${sql.ref(`${other}.${first.name}`)}
    and ${sql.ref(`${table}.${second.name}`)} = ${sql.ref(`${other}.${second.name}`)}`
}

/** PostgreSQL takes an untyped parameter in VALUES for text. */
function cast(value: unknown, type: Column['type']): RawBuilder<unknown> {
  return type === 'bigint' ? sql`cast(${value} as bigint)` : sql`cast(${value} as text)`
}
