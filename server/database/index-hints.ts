import { type RawBuilder, sql } from 'kysely'
import { type Database, engineOf } from './database.ts'
import type { Tables } from './schema.ts'

/** A filter that an index serves: its leading columns and what they must be. */
export type IndexedFilter = {
  /** Set where it is not the table of the query. */
  table?: keyof Tables
  /** Undefined where the key of the table serves. */
  index: string | undefined
  columns: readonly string[]
  /** A list: any of its values. */
  values: readonly (unknown | readonly unknown[])[]
  /** The condition of a partial index, in the words of the migration: an index is used where this stands in the query. */
  where?: string
  /** What says how many rows it leaves, where that is known without counting them. */
  count?: RawBuilder<{ count: number }>
}

/** `isFew`: so few rows meet the filter that they can be sorted for each page. */
export type Chosen = { filter: IndexedFilter; isFew: boolean; count: number }

/** Rows up to which a filter's rows are sorted; beyond that a list walks its order's index and skips what the filter does not want. */
export const FEW = 2_000

/**
 * The filter that the fewest rows meet. SQLite keeps no statistics here, so it is told which index to walk; a filter that
 * nothing meets is then answered at once, whatever else is asked. PostgreSQL's planner knows better: undefined.
 */
export async function narrowestIndex(
  db: Database,
  table: keyof Tables,
  filters: readonly IndexedFilter[],
): Promise<Chosen | undefined> {
  return engineOf(db) === 'postgres' ? undefined : await narrowestFilter(db, table, filters)
}

/** The same on both engines. `count`: of its rows, no further than `most`. */
export async function narrowestFilter(
  db: Database,
  table: keyof Tables,
  filters: readonly IndexedFilter[],
  most = FEW,
): Promise<Chosen | undefined> {
  let narrowest: { filter: IndexedFilter; count: number } | undefined
  for (const filter of filters) {
    const count = await countUpTo(most, db, filter.table ?? table, filter)
    if (!narrowest || count < narrowest.count) narrowest = { filter, count }
    if (count === 0) break
  }
  return narrowest && { ...narrowest, isFew: narrowest.count < FEW }
}

/** How the table is named in FROM when one index is to be walked. Only SQLite knows the words. */
export const withIndex = (table: keyof Tables, { index }: Pick<IndexedFilter, 'index'>) =>
  sql`${sql.ref(table)}`.as<string>(
    index === undefined ? sql`${sql.ref(table)}` : sql`${sql.ref(table)} indexed by ${sql.ref(index)}`,
  )

/** A table in FROM, with the index that SQLite uses: without statistics it prefers the primary key, and reads too many rows. */
export const fromIndex = <T extends keyof Tables>(db: Database, table: T, index: string): T =>
  (engineOf(db) === 'sqlite' ? withIndex(table, { index }) : table) as T

async function countUpTo(most: number, db: Database, table: keyof Tables, filter: IndexedFilter): Promise<number> {
  const { index, columns, values, where, count } = filter
  if (count) return Math.min(most, (await count.execute(db)).rows[0]?.count ?? 0)
  const from = engineOf(db) === 'sqlite' ? withIndex(table, { index }) : table
  let rows = db.selectFrom(from as 'monitors').select(sql`1`.as('one'))
  columns.forEach((column, place) => {
    const value = values[place]
    const isEqual = Array.isArray(value) ? sql`in (${sql.join(value)})` : sql`= ${value}`
    rows = rows.where(sql<boolean>`${sql.ref(column)} ${isEqual}`)
  })
  if (where !== undefined) rows = rows.where(sql.raw<boolean>(where))
  const few = db.selectFrom(rows.limit(most).as('few')).select(db.fn.countAll<number>().as('count'))
  const row = await few.executeTakeFirst()
  return row?.count ?? 0
}
