import { type Selectable, sql } from 'kysely'
import { type Database, engineOf, runForEach, skipLocked } from './database.ts'
import type { DueChecksTable } from './schema.ts'
import type { DueMailsTable } from './schema-people.ts'

/**
 * The due-row mechanism, for checks and for deliveries alike. A row is due when its `due_at` has come. A claim moves
 * `due_at` forward by the lease and names the process; the write-back moves it to its true next time, only while the
 * claim is still the process's own. A process that dies writes nothing back, and its rows fall due again.
 * Deliveries keep the same rules, but are claimed by lane: `webhooks/claims.ts`.
 */
export const LEASE_MS = 60_000

type DueTables = {
  due_checks: Selectable<DueChecksTable>
  due_mails: Selectable<DueMailsTable>
}
export type DueTable = keyof DueTables
type Column = { name: string; type: 'bigint' | 'text' }

/** The column that names a row, then whatever a claim needs to know besides its lease. */
const COLUMNS: Record<DueTable, [Column, ...Column[]]> = {
  due_checks: [
    { name: 'slot', type: 'bigint' },
    { name: 'monitor_id', type: 'text' },
    { name: 'owner', type: 'text' },
    { name: 'record_type', type: 'text' },
    { name: 'is_exact_match', type: 'bigint' },
    { name: 'frequency', type: 'bigint' },
    { name: 'fingerprint', type: 'bigint' },
    { name: 'streak', type: 'bigint' },
    { name: 'doubts', type: 'bigint' },
    { name: 'last_checked_at', type: 'bigint' },
    { name: 'postponed_since', type: 'bigint' },
  ],
  due_mails: [
    { name: 'mail_id', type: 'text' },
    { name: 'organization_id', type: 'text' },
  ],
}

/** When the row was due before it was claimed: how late the work began. */
const WAS_DUE_AT = 'was_due_at'
const DUE_AT: Column = { name: 'due_at', type: 'bigint' }
const CLAIMED_BY: Column = { name: 'claimed_by', type: 'bigint' }

/** A row as claimed: `due_at` is when the lease runs out, `claimed_by` the process. SingleFlight they are the claim. */
export type Claim<T extends DueTable> = DueTables[T] & { due_at: number; claimed_by: number; was_due_at: number }

export type ClaimOptions = {
  now: number
  process: number
  limit: number
  leaseMs?: number
}

/** Takes up to `limit` due rows, longest overdue first, exclusively until the lease runs out. */
export async function claimDue<T extends DueTable>(db: Database, table: T, options: ClaimOptions): Promise<Claim<T>[]> {
  const { now, process, limit, leaseMs = LEASE_MS } = options
  const key = keyOf(table).name
  const returned = [...COLUMNS[table].map(({ name }) => name), WAS_DUE_AT]
  const columns = sql.join(returned.map((name) => sql.ref(`${table}.${name}`)))
  const lease = { due_at: now + leaseMs, claimed_by: process }
  // The selection stands in a WITH because PostgreSQL may run a locking sub-select in IN (…) more than once.
  const { rows } = await sql<Claim<T>>`
    with due as (
      select ${sql.ref(key)} from ${sql.table(table)}
      where due_at <= ${now} order by due_at limit ${limit} ${skipLocked(db)}
    )
    update ${sql.table(table)} set due_at = ${lease.due_at}, claimed_by = ${lease.claimed_by},
      was_due_at = case when claimed_by is null then due_at else coalesce(was_due_at, due_at) end from due
    where ${sql.ref(`${table}.${key}`)} = ${sql.ref(`due.${key}`)} returning ${columns}`.execute(db)
  for (const row of rows) Object.assign(row, lease)
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
  const changed = [DUE_AT, ...COLUMNS[table].filter(({ name }) => name in items[0]!.set)]
  const held =
    engineOf(db) === 'sqlite' ? await writeEach(db, table, items, changed) : await writeAll(db, table, items, changed)
  return items.map(({ claim }) => claim).filter((_, index) => held[index])
}

type Values = Record<string, unknown>

/** SQLite: a prepared statement for each row is the quickest. */
async function writeEach<T extends DueTable>(
  db: Database,
  table: T,
  items: readonly WriteBack<T>[],
  changed: Column[],
) {
  const key = keyOf(table).name
  const assignments = changed.map(({ name }) => `${name} = ?`).join(', ')
  const statement = `update ${table} set claimed_by = null, ${assignments}
    where ${key} = ? and due_at = ? and claimed_by = ?`
  const lists = items.map(({ claim, set }) => [
    ...changed.map(({ name }) => (set as Values)[name]),
    (claim as Values)[key],
    claim.due_at,
    claim.claimed_by,
  ])
  return (await runForEach(db, statement, lists)).map((changes) => changes > 0)
}

/** PostgreSQL: one statement over arrays, a column each, saves the journeys. */
async function writeAll<T extends DueTable>(db: Database, table: T, items: readonly WriteBack<T>[], changed: Column[]) {
  const key = keyOf(table)
  const ofClaim = ({ name, type }: Column) =>
    sql`${items.map(({ claim }) => (claim as Values)[name])}::${sql.raw(type)}[]`
  const ofSet = ({ name, type }: Column) => sql`${items.map(({ set }) => (set as Values)[name])}::${sql.raw(type)}[]`
  const columns = [key, DUE_AT, CLAIMED_BY].map(ofClaim).concat(changed.map(ofSet))
  const names = ['key', 'leased_until', 'leased_by', ...changed.map(({ name }) => `new_${name}`)]
  const assignments = changed.map(({ name }) => sql`${sql.ref(name)} = ${sql.ref(`back.new_${name}`)}`)
  // A whole batch has one lease: through the index on due_at each row would be looked for among all of them. Hence the + 0.
  const { rows } = await sql<{ key: unknown; leased_until: number }>`
    update ${sql.table(table)} set claimed_by = null, ${sql.join(assignments)}
    from unnest(${sql.join(columns)}) as back (${sql.join(names.map((name) => sql.ref(name)))})
    where ${sql.ref(`${table}.${key.name}`)} = back.key
      and ${sql.ref(`${table}.due_at`)} + 0 = back.leased_until and ${sql.ref(`${table}.claimed_by`)} = back.leased_by
    returning back.key, back.leased_until`.execute(db)
  // One batch may hold two claims of a row, the first of which ran out.
  const held = new Set(rows.map(({ key, leased_until }) => `${key} ${leased_until}`))
  return items.map(({ claim }) => held.has(`${(claim as Values)[key.name]} ${claim.due_at}`))
}

/** Makes what these processes had claimed due again at once. For a process that stops, and for those found dead. */
export async function releaseClaims(db: Database, processes: readonly number[], now: number): Promise<void> {
  if (processes.length === 0) return
  for (const table of ['due_checks', 'due_requests', 'due_mails'] as const) {
    await sql`update ${sql.table(table)} set due_at = ${now}, claimed_by = null
      where claimed_by in (${sql.join(processes)}) and due_at > ${now} and due_at <= ${now + LEASE_MS}`.execute(db)
  }
  // The webhooks of released requests must be looked at now, not when the leases would have run out.
  await sql`update due_webhooks set due_at = ${now} where (due_at is null or due_at > ${now}) and exists (
    select 1 from due_requests where due_requests.webhook_id = due_webhooks.webhook_id and due_requests.due_at <= ${now}
  )`.execute(db)
}

const keyOf = (table: DueTable): Column => COLUMNS[table][0]
