import { type RawBuilder, sql } from 'kysely'
import type { Database } from './database.ts'
import { engineOf } from './engine.ts'
import type { Tables } from './schema.ts'

/** A filter for which there is an index: its leading columns and their required values. */
export type IndexedFilter = {
  /** Default: the table of the query. */
  table?: keyof Tables
  /** Undefined: the primary key. */
  index: string | undefined
  columns: readonly string[]
  /** A list matches any of its values. */
  values: readonly (unknown | readonly unknown[])[]
  /** The ids of the matching rows in their order, if another table has them. */
  ids?: RawBuilder<{ id: string }>
  /** The condition of a partial index, exactly as in the migration. SQLite uses the index only if the query contains it. */
  where?: string
  /** Returns the number of matching rows, if it is known without counting them. */
  count?: RawBuilder<{ count: number }>
}

/** `isFew`: so few rows match that they can be sorted for each page. */
export type NarrowestFilter = { filter: IndexedFilter; isFew: boolean; count: number }

/** Up to this many matches are sorted. If there are more, a list reads the index of its order and skips the rows that do not match. */
export const MAX_SORTED_ROWS = 2_000

/**
 * The filter with the fewest matches, whose index SQLite then uses, because it has no statistics to choose one. A filter without
 * matches ends the search at once. Undefined on PostgreSQL, whose planner chooses the index.
 */
export async function narrowestIndex(
  db: Database,
  table: keyof Tables,
  filters: readonly IndexedFilter[],
): Promise<NarrowestFilter | undefined> {
  return engineOf(db) === 'postgres' ? undefined : await narrowestFilter(db, table, filters)
}

/** The same on both engines. Counts the matches of each filter up to `max`. */
export async function narrowestFilter(
  db: Database,
  table: keyof Tables,
  filters: readonly IndexedFilter[],
  max = MAX_SORTED_ROWS,
): Promise<NarrowestFilter | undefined> {
  let narrowest: { filter: IndexedFilter; count: number } | undefined
  for (const filter of filters) {
    const count = await countUpTo(max, db, filter.table ?? table, filter)
    if (!narrowest || count < narrowest.count) narrowest = { filter, count }
    if (count === 0) break
  }
  return narrowest && { ...narrowest, isFew: narrowest.count < MAX_SORTED_ROWS }
}

/** The table in FROM. SQLite uses the index; without statistics it would prefer the primary key and read too many rows. */
export const indexedTable = (db: Database, table: keyof Tables, index: string): RawBuilder<unknown> =>
  engineOf(db) === 'sqlite' ? sql`${sql.ref(table)} indexed by ${sql.ref(index)}` : sql.ref(table)

/** The table in FROM, of which most rows match: SQLite would use an index for them. */
export const unindexedTable = (db: Database, table: keyof Tables): RawBuilder<unknown> =>
  engineOf(db) === 'sqlite' ? sql`${sql.ref(table)} not indexed` : sql.ref(table)

/** The same as `indexedTable` for the query builder. `index`: undefined if the planner decides. */
export const fromIndex = <T extends keyof Tables>(db: Database, table: T, index: string | undefined): T =>
  (index === undefined || engineOf(db) === 'postgres'
    ? table
    : sql.ref(table).as<string>(indexedTable(db, table, index))) as T

async function countUpTo(max: number, db: Database, table: keyof Tables, filter: IndexedFilter): Promise<number> {
  const { index, count } = filter
  if (count) return Math.min(max, (await count.execute(db)).rows[0]?.count ?? 0)
  let rows = db.selectFrom(fromIndex(db, table, index) as 'monitors').select(sql`1`.as('one'))
  for (const condition of conditionsOf(filter)) rows = rows.where(condition)
  const counted = db.selectFrom(rows.limit(max).as('counted')).select(db.fn.countAll<number>().as('count'))
  const row = await counted.executeTakeFirst()
  return row?.count ?? 0
}

/** What the filter requires of a row of its table. */
export function conditionsOf({ columns, values, where }: IndexedFilter): RawBuilder<boolean>[] {
  const equalities = columns.map((column, index) => {
    const value = values[index]
    return sql<boolean>`${sql.ref(column)} ${Array.isArray(value) ? sql`in (${sql.join(value)})` : sql`= ${value}`}`
  })
  return where === undefined ? equalities : [...equalities, sql.raw<boolean>(where)]
}
