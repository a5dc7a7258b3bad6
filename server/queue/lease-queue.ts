import { type RawBuilder, type Selectable, sql } from 'kysely'
import { MAX_CLOCK_STEP_MS } from '../clock.ts'
import { type Columns, deleteAnyEach, isOneOf, type TableColumns, updateAnyEach } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { skipLocked } from '../database/dialect.ts'
import type { Tables } from '../database/schema.ts'
import { yieldToEventLoop } from '../yield.ts'

/**
 * The queue of work in the tables `due_<things>`. A row is due when its `due_at` has passed. A claim is a lease: it moves `due_at`
 * forward and writes the process into `claimed_by`. Completing or rescheduling a row changes nothing if the lease is no longer held.
 * When a process dies, its leases expire and the rows are due again; `heartbeat.ts` releases them
 * earlier if it can. `worker-loop.ts` is the loop around it.
 */
export const LEASE_MS = 60_000

/** Without `due_webhooks`, from which nothing is claimed: it says when to check a webhook for due requests. */
export type DueTable = Exclude<keyof Tables & `due_${string}`, 'due_webhooks'>
type DueTables = { [T in DueTable]: Selectable<Tables[T]> }

/** `key` identifies a row; a claim also returns `read` and `write`; rescheduling may change `write`. */
type Queue<T extends DueTable> = { key: TableColumns<T>; read: TableColumns<T>; write: TableColumns<T> }

const QUEUES: { [T in DueTable]: Queue<T> } = {
  due_checks: {
    key: { slot: 'bigint' },
    read: {
      monitor_id: 'text',
      organization_id: 'text',
      owner: 'text',
      record_type: 'text',
      is_exact_match: 'bigint',
      frequency: 'bigint',
      planned_change_id: 'text',
    },
    write: {
      fingerprint: 'bigint',
      streak: 'bigint',
      inconclusive_count: 'bigint',
      last_checked_at: 'bigint',
      postponed_since: 'bigint',
      since_round: 'bigint',
      joined_at: 'bigint',
    },
  },
  due_rounds: {
    key: { frequency: 'bigint', first_slot: 'bigint' },
    read: {},
    write: { until_slot: 'bigint', round: 'bigint', started_at: 'bigint', planned_at: 'bigint' },
  },
  due_requests: { key: { webhook_id: 'text', request_id: 'text' }, read: {}, write: { is_manual: 'bigint' } },
  due_mails: { key: { mail_id: 'text' }, read: { organization_id: 'text' }, write: {} },
  due_alerts: { key: { organization_id: 'text', alert_id: 'text' }, read: { channel_id: 'text' }, write: {} },
  due_evaluations: { key: { organization_id: 'text' }, read: {}, write: { after_event_id: 'text' } },
  due_jobs: { key: { organization_id: 'text' }, read: {}, write: {} },
  due_waits: { key: { organization_id: 'text', monitor_id: 'text' }, read: {}, write: {} },
  due_zones: {
    key: { organization_id: 'text', zone_id: 'text' },
    read: { name: 'text' },
    write: { last_checked_at: 'bigint' },
  },
  due_registrations: {
    key: { domain: 'text' },
    read: { wanted_until: 'bigint' },
    write: {
      facts: 'text',
      pending: 'text',
      looked_up_at: 'bigint',
      problem: 'text',
      failures: 'bigint',
      requested_at: 'bigint',
    },
  },
}
const TABLES = Object.keys(QUEUES) as DueTable[]

/** When the row was due before the claim: shows how late the work began. */
const WAS_DUE_AT = 'was_due_at'
const LEASE = { due_at: 'bigint', claimed_by: 'bigint' } as const

/** `due_at` is when the lease expires, `claimed_by` the process. Together they identify the claim. */
export type Lease = { due_at: number; claimed_by: number }
/** A row as claimed. */
export type Claim<T extends DueTable> = DueTables[T] & Lease & { was_due_at: number }

export type ClaimOptions = {
  now: number
  process: number
  limit: number
  leaseMs?: number
  /**
   * Organizations of which nothing is claimed. Then only the `MAX_CANDIDATES` rows that are overdue the longest, and as many of those that
   * have just become due, are looked at: however many rows such an organization has, a row of another one is among them when it becomes due.
   */
  without?: readonly string[]
}

const MAX_CANDIDATES = 2_500

/** Claims up to `limit` due rows, the longest overdue first, until the lease expires. */
export async function claimDue<T extends DueTable>(db: Database, table: T, options: ClaimOptions): Promise<Claim<T>[]> {
  const { now, process, limit, leaseMs = LEASE_MS, without = [] } = options
  const { key, read, write } = QUEUES[table]
  const returned = [...Object.keys({ ...key, ...read, ...write }), WAS_DUE_AT]
  const columns = sql.join(returned.map((name) => sql.ref(`${table}.${name}`)))
  const lease = { due_at: now + leaseMs, claimed_by: process }
  const keys = columnNames(key)
  const ofOthers = (order: 'asc' | 'desc') => sql`(${keys}) in (select ${keys} from (
      select * from ${sql.table(table)} where due_at <= ${now} order by due_at ${sql.raw(order)} limit ${MAX_CANDIDATES}
    ) as candidates where not (${isOneOf(db, 'organization_id', without)}))`
  const isOfOthers = without.length === 0 ? sql`` : sql`and (${ofOthers('asc')} or ${ofOthers('desc')})`
  // The selection stands in a WITH because PostgreSQL may run a locking sub-select in IN (…) more than once.
  const { rows } = await sql<Claim<T>>`
    with due as (
      select ${columnNames(key)} from ${sql.table(table)}
      where due_at <= ${now} ${isOfOthers} order by due_at limit ${limit} ${skipLocked(db)}
    )
    update ${sql.table(table)} set due_at = ${lease.due_at}, claimed_by = ${lease.claimed_by},
      was_due_at = case when claimed_by is null then due_at else coalesce(was_due_at, due_at) end from due
    where ${sameKey(table, key, 'due')} returning ${columns}`.execute(db)
  for (const row of rows) Object.assign(row, lease)
  return rows
}

/** Claims rows that the caller has selected and locked. */
export async function claimRows<R extends object>(
  db: Database,
  table: DueTable,
  rows: readonly R[],
  { now, process }: { now: number; process: number },
): Promise<(R & Lease)[]> {
  const lease = { due_at: now + LEASE_MS, claimed_by: process }
  await updateAnyEach(
    db,
    { table, key: QUEUES[table].key, set: LEASE },
    rows.map((row) => ({ ...row, new_due_at: lease.due_at, new_claimed_by: process })),
  )
  return rows.map((row) => ({ ...row, ...lease }))
}

export type Rescheduled<T extends DueTable, C> = {
  claim: C
  /** The row's next due time and whatever else changes. The same columns in every item of one call. */
  set: Partial<Omit<DueTables[T], 'claimed_by'>> & { due_at: number | null }
}

/** Sets the next due time of claimed rows. Returns the claims whose lease was still held; the others change nothing. */
export async function reschedule<T extends DueTable, C extends object = Claim<T>>(
  db: Database,
  table: T,
  items: readonly Rescheduled<T, C>[],
): Promise<C[]> {
  if (items.length === 0) return []
  const names = Object.keys(items[0]!.set) as (keyof Rescheduled<T, C>['set'] & string)[]
  const newNames = names.map((name) => `new_${name}`)
  const changed = Object.entries(QUEUES[table].write).filter(([name]) => name in items[0]!.set)
  const rows = items.map(({ claim, set }) => {
    const row: Record<string, unknown> = { ...claim, new_claimed_by: null }
    for (const [index, name] of names.entries()) row[newNames[index]!] = set[name]
    return row
  })
  const change = { table, key: claimKey(table), set: { ...LEASE, ...Object.fromEntries(changed) } }
  const held = await updateAnyEach(db, change, rows)
  return items.map(({ claim }) => claim).filter((_, index) => held[index])
}

/** As `reschedule`, for rows that the caller has locked, also if another process has claimed them. The same columns in every item. */
export async function setSchedules(
  db: Database,
  items: readonly { slot: number; set: Rescheduled<'due_checks', object>['set'] }[],
): Promise<void> {
  if (items.length === 0) return
  const { key, write } = QUEUES.due_checks
  const changed = Object.entries(write).filter(([name]) => name in items[0]!.set)
  const rows = items.map(({ slot, set }) => {
    const values = Object.entries(set).map(([name, value]) => [`new_${name}`, value])
    return { slot, new_claimed_by: null, ...Object.fromEntries(values) }
  })
  await updateAnyEach(db, { table: 'due_checks', key, set: { ...LEASE, ...Object.fromEntries(changed) } }, rows)
}

/**
 * Extends the leases of claims that are still worked on, from `now`. Updates the claims whose lease was held, and returns which these are.
 * Nobody may complete the claims meanwhile.
 */
export async function renewLeases<T extends DueTable>(
  db: Database,
  table: T,
  claims: readonly Claim<T>[],
  now: number,
): Promise<boolean[]> {
  const due_at = now + LEASE_MS
  const rows = claims.map((claim) => ({ ...claim, new_due_at: due_at }))
  const held = await updateAnyEach(db, { table, key: claimKey(table), set: { due_at: 'bigint' } }, rows)
  claims.forEach((claim, index) => {
    if (held[index]) Object.assign(claim, { due_at })
  })
  return held
}

/** Deletes claimed rows whose work is done. Returns the claims whose lease was still held; the other rows stay. */
export async function complete<C extends object>(db: Database, table: DueTable, claims: readonly C[]): Promise<C[]> {
  const held = await deleteAnyEach(db, { table, key: claimKey(table) }, claims as readonly Record<string, unknown>[])
  return claims.filter((_, index) => held[index])
}

/** Makes the rows that these processes have claimed due again, since they first were: when a process stops, and for dead ones. */
export async function releaseClaims(db: Database, processes: readonly number[], now: number): Promise<void> {
  if (processes.length === 0) return
  for (const table of TABLES) {
    await sql`update ${sql.table(table)} set due_at = ${firstDueAt(table, now)}, claimed_by = null
      where claimed_by in (${sql.join(processes)}) and due_at > ${now} and due_at <= ${now + LEASE_MS}`.execute(db)
  }
  await wakeReleased(db, now)
}

/**
 * Releases the claims of this process that it does not know, because the response to the claim was lost. `held`: the last key columns
 * of its known claims. Reads all leases, so call it only after a failure.
 */
export async function releaseUnknown(
  db: Database,
  table: DueTable,
  { process, held, now }: { process: number; held: ReadonlySet<unknown>; now: number },
): Promise<void> {
  const { key } = QUEUES[table]
  const { rows } = await sql<Record<string, unknown>>`select ${columnNames(claimKey(table))},
      ${firstDueAt(table, now)} as new_due_at from ${sql.table(table)}
    where claimed_by = ${process} and due_at > ${now}`.execute(db)
  const name = Object.keys(key).at(-1)!
  const unknown = rows.filter((row) => !held.has(row[name]))
  if (unknown.length === 0) return
  await updateAnyEach(
    db,
    { table, key: claimKey(table), set: LEASE },
    unknown.map((row) => ({ ...row, new_due_at: Number(row.new_due_at), new_claimed_by: null })),
  )
  if (table === 'due_requests') await wakeReleased(db, now)
}

/** Of claimed rows, except those of which that is not recorded. */
const firstDueAt = (table: DueTable, now: number) =>
  table === 'due_requests'
    ? sql`cast(${now} as bigint)`
    : sql`case when was_due_at < cast(${now} as bigint) then was_due_at else cast(${now} as bigint) end`

/** Makes the webhooks of released requests due now instead of at the end of the leases. */
async function wakeReleased(db: Database, now: number): Promise<void> {
  await sql`update due_webhooks set due_at = ${now} where (due_at is null or due_at > ${now}) and exists (
    select 1 from due_requests where due_requests.webhook_id = due_webhooks.webhook_id and due_requests.due_at <= ${now}
  )`.execute(db)
}

/** How far ahead rows may be due, in SQL over `due_<things>` and the joined tables. */
export type Waits = {
  longestMs: RawBuilder<unknown>
  /** No row waits for less; rows that are due sooner are not read. */
  leastMs?: number
  /** The new due time where it is not `longestMs` from now. `now` is an integer in both engines. */
  again?: (now: RawBuilder<unknown>) => RawBuilder<unknown>
  join?: RawBuilder<unknown>
  where?: RawBuilder<unknown>
  /** Called in the transaction that moved these rows, with their keys and `due_at`. */
  moved?: (transaction: Database, rows: Record<string, unknown>[]) => Promise<unknown>
}

/** Rows of one transaction. */
const BATCH_SIZE = 500

/**
 * Repairs due times after the clock was set back: a row that is due further ahead than possible gets its full waiting time from now.
 * The claims of this process are completed anyway. Recent claims of other processes, whose clocks may be slightly ahead, are not moved,
 * because they would lose their leases.
 */
export async function repairAfterClockStep(
  db: Database,
  table: DueTable,
  { now: instant, process }: { now: number; process: number },
  { longestMs, leastMs = 0, again, join = sql``, where = sql`true`, moved }: Waits,
): Promise<void> {
  const { key } = QUEUES[table]
  const now = sql`cast(${instant} as bigint)` // otherwise SQLite treats it as a real number
  const due = sql.ref(`${table}.due_at`)
  const names = sql.join(Object.keys(key).map((name) => sql.ref(`${table}.${name}`)))
  for (let count = BATCH_SIZE; count === BATCH_SIZE; await yieldToEventLoop()) {
    count = await inTransaction(db, async (transaction) => {
      const { rows } = await sql<Record<string, unknown>>`
        with late as (
          select ${names}, ${again?.(now) ?? sql`${now} + ${longestMs}`} as again from ${sql.table(table)} ${join}
          where ${due} > ${now} + ${leastMs} and ${due} > ${now} + ${longestMs} + ${MAX_CLOCK_STEP_MS}
            and (claimed_by is null or claimed_by <> ${process}) and ${where}
          order by ${due} desc limit ${BATCH_SIZE} ${skipLocked(db, table)}
        )
        update ${sql.table(table)} set due_at = late.again
        from late where ${sameKey(table, key, 'late')} returning ${names}, ${due}`.execute(transaction)
      if (rows.length > 0) await moved?.(transaction, rows)
      return rows.length
    })
  }
}

/** When the next row is due, or the next lease expires; null for an empty queue. */
export async function nextDueAt(db: Database, table: keyof Tables & `due_${string}`): Promise<number | null> {
  const { rows } = await sql<{ at: number | null }>`select min(due_at) as at from ${sql.table(table)}`.execute(db)
  return rows[0]!.at
}

/** The monitors whose round was to begin at that time or before and is not finished, as `from` of a statement. */
export const overdueInRounds = (latest: number): RawBuilder<unknown> => sql`due_rounds join due_checks
  on due_checks.frequency = due_rounds.frequency
  and due_checks.slot >= due_rounds.first_slot and due_checks.slot < due_rounds.until_slot
  and due_checks.since_round is not null and due_checks.due_at is null
  where due_rounds.planned_at <= ${latest}`

const claimKey = (table: DueTable): Columns => ({ ...QUEUES[table].key, ...LEASE })

const columnNames = (columns: Columns) => sql.join(Object.keys(columns).map((name) => sql.ref(name)))

const sameKey = (table: string, key: Columns, other: string) =>
  sql.join(
    Object.keys(key).map((name) => sql`${sql.ref(`${table}.${name}`)} = ${sql.ref(`${other}.${name}`)}`),
    sql` and `,
  )
