import { type RawBuilder, sql } from 'kysely'
import type { Database } from './database.ts'
import { engineOf } from './engine.ts'
import type { Tables } from './schema.ts'

/** What the two engines do differently, as words: nothing outside of this folder asks which one it is (`engine.ts`). */

/** Whether the database is a file of this machine, which only the processes of this machine use (SQLite). */
export const isFile = (db: Database): boolean => engineOf(db) === 'sqlite'

/** Whether one transaction at a time writes, so that none needs a lock (SQLite). */
export const hasOneWriter = (db: Database): boolean => engineOf(db) === 'sqlite'

/** Whether the planner has statistics and chooses indexes itself (PostgreSQL). Otherwise statements name them, with `index-hints.ts`. */
export const choosesIndexes = (db: Database): boolean => engineOf(db) === 'postgres'

/** Whether a part of FROM can use the rows before it (PostgreSQL). */
export const hasLateral = (db: Database): boolean => engineOf(db) === 'postgres'

/** Whether the table of texts has an index of trigrams (PostgreSQL). Otherwise the table `monitor_search` finds them. */
export const indexesTrigrams = (db: Database): boolean => engineOf(db) === 'postgres'

/** Skips rows that another transaction has locked. `table`: the one whose rows are locked, if the statement has several. */
export function skipLocked(db: Database, table?: keyof Tables): RawBuilder<unknown> {
  if (hasOneWriter(db)) return sql``
  return table === undefined ? sql`for update skip locked` : sql`for update of ${sql.table(table)} skip locked`
}

/** Locks rows read for a change until the transaction ends. */
export const forUpdate = (db: Database): RawBuilder<unknown> => unlessOneWriter(db, sql`for update`)

/** The same, but rows that refer to these can be inserted meanwhile. */
export const forNoKeyUpdate = (db: Database): RawBuilder<unknown> => unlessOneWriter(db, sql`for no key update`)

/** Keeps rows from being deleted until the transaction ends. */
export const forKeyShare = (db: Database): RawBuilder<unknown> => unlessOneWriter(db, sql`for key share`)

const unlessOneWriter = (db: Database, lock: RawBuilder<unknown>) => (hasOneWriter(db) ? sql`` : lock)

/** Locks a number of 64 bits that all processes share, or the hash of a text, until the transaction ends. */
export async function advisoryLock(db: Database, key: bigint | string): Promise<void> {
  if (!hasOneWriter(db)) await sql`select pg_advisory_xact_lock(${lockNumber(key)})`.execute(db)
}

/** The same; false if another transaction has it. */
export async function tryAdvisoryLock(db: Database, key: bigint | string): Promise<boolean> {
  if (hasOneWriter(db)) return true
  const { rows } = await sql<{
    locked: boolean
  }>`select pg_try_advisory_xact_lock(${lockNumber(key)}) as locked`.execute(db)
  return rows[0]!.locked
}

const lockNumber = (key: bigint | string) =>
  typeof key === 'bigint' ? sql`${key.toString()}::bigint` : sql`hashtextextended(${key}, 0)`

/** The octets of a text or of bytes; 0 for null. */
export const octets = (db: Database, column: string): RawBuilder<number> =>
  engineOf(db) === 'sqlite'
    ? sql<number>`coalesce(length(cast(${sql.ref(column)} as blob)), 0)`
    : sql<number>`coalesce(octet_length(${sql.ref(column)}), 0)`

/** A text for `like` with a pattern in lower case, whatever the case of its ASCII letters. SQLite's `like` ignores that case. */
export const lower = (db: Database, text: RawBuilder<unknown>): RawBuilder<unknown> =>
  engineOf(db) === 'sqlite' ? text : sql`lower(${text} collate "C")`

/** The names of the functions that return the least and the greatest of their arguments. */
export const leastAndGreatest = (db: Database): [least: RawBuilder<unknown>, greatest: RawBuilder<unknown>] =>
  engineOf(db) === 'sqlite' ? [sql`min`, sql`max`] : [sql`least`, sql`greatest`]

/** Between the columns and the values of an insert, if these have a value for the column that the database generates. */
export const overridingSerial = (db: Database): RawBuilder<unknown> =>
  engineOf(db) === 'sqlite' ? sql`` : sql`overriding system value`

/** Makes the planner read its statistics again, of one table or of all. */
export async function analyze(db: Database, table?: string): Promise<void> {
  if (choosesIndexes(db)) await sql`analyze ${table === undefined ? sql`` : sql.table(table)}`.execute(db)
}
