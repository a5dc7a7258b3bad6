import { type InsertType, type SelectType, sql, type UpdateType } from 'kysely'
import { type Database, runForEach } from './database.ts'
import { engineOf } from './engine.ts'
import type { Tables } from './schema.ts'

/** Columns by name, with their types in PostgreSQL. */
export type Columns = Record<string, 'bigint' | 'text' | 'bytea'>
type Row = Record<string, unknown>

/** The same of one table: another name or another type does not compile. */
export type ColumnsOf<T extends keyof Tables, C> = {
  readonly [K in keyof C]: K extends keyof Tables[T] ? TypeOf<NonNullable<SelectType<Tables[T][K]>>> : never
}
/** Some columns of one table. */
export type TableColumns<T extends keyof Tables> = ColumnsOf<T, Partial<Tables[T]>>
type TypeOf<V> = [V] extends [number] ? 'bigint' : [V] extends [string] ? 'text' : 'bytea'

/** A row with a value for each of the columns `C` of the table; where it may be null, it may be absent. */
export type NewRow<T extends keyof Tables, C> = {
  readonly [K in keyof C & keyof Tables[T] as null extends SelectType<Tables[T][K]> ? never : K]: NewValue<T, K>
} & {
  readonly [K in keyof C & keyof Tables[T] as null extends SelectType<Tables[T][K]> ? K : never]?: NewValue<T, K>
}
type NewValue<T extends keyof Tables, K extends keyof Tables[T]> = Exclude<InsertType<Tables[T][K]>, undefined>
/** The columns `K` find the row. Those of `S` are its new values, under `new_<column>`. */
export type ChangedRow<T extends keyof Tables, K, S> = {
  readonly [C in keyof K & keyof Tables[T]]-?: SelectType<Tables[T][C]>
} & {
  readonly [C in keyof S & keyof Tables[T] & string as `new_${C}`]-?: UpdateType<Tables[T][C]>
}

/**
 * The same change for many rows: SQLite runs a prepared statement for each row, PostgreSQL one statement over an array for each column,
 * which saves round trips. In both, the text does not depend on the number of rows.
 */
type Change = { table: keyof Tables; key: Columns; set?: Columns; add?: Columns }
type ChangeOf<T extends keyof Tables, K, S, A> = {
  table: T
  key: ColumnsOf<T, K>
  set?: ColumnsOf<T, S>
  add?: ColumnsOf<T, A>
}

/**
 * Sets (or adds) `new_<column>` of each row where all its key columns are equal. Returns for each row whether it was found.
 */
export const updateEach = <T extends keyof Tables, K, S = unknown, A = unknown>(
  db: Database,
  change: ChangeOf<T, K, S, A>,
  rows: readonly NoInfer<ChangedRow<T, K, S & A>>[],
): Promise<boolean[]> => updateAnyEach(db, change as Change, rows)

/** The same for columns that are computed. */
export async function updateAnyEach(
  db: Database,
  { table, key, set = {}, add = {} }: Change,
  rows: readonly Row[],
): Promise<boolean[]> {
  if (rows.length === 0) return []
  const changed = Object.entries({ ...set, ...add })
  const values = Object.fromEntries(changed.map(([name, type]) => [`new_${name}`, type]))
  if (engineOf(db) === 'sqlite') {
    const assignments = changed.map(([name]) => (name in add ? `${name} = ${name} + ?` : `${name} = ?`))
    const text = `update ${table} set ${assignments.join(', ')} where ${equalities(key)}`
    return await runEach(db, text, { ...values, ...key }, rows)
  }
  return await runAtOnce(db, rows, updateStatement(db, { table, key, set, add }, rows))
}

/**
 * As `updateAnyEach`, in one statement on SQLite too: there, each statement that changes a search text also writes the index of all pending
 * texts, which takes longer than the change (docs/decisions/0018-search-by-trigrams.md).
 */
export async function updateAnyAtOnce(db: Database, change: Change, rows: readonly Row[]): Promise<void> {
  if (rows.length > 0) await updateStatement(db, change, rows).execute(db)
}

function updateStatement(db: Database, { table, key, set = {}, add = {} }: Change, rows: readonly Row[]) {
  const changed = Object.entries({ ...set, ...add })
  const values = Object.fromEntries(changed.map(([name, type]) => [`new_${name}`, type]))
  const assignments = changed.map(([name]) => {
    const before = name in add ? sql`${sql.ref(`${table}.${name}`)} + ` : sql``
    return sql`${sql.ref(name)} = ${before}input.${sql.ref(`new_${name}`)}`
  })
  return sql`update ${sql.table(table)} set ${sql.join(assignments)} from ${inputRows(db, { ...values, ...key }, rows)}
    where ${sameKey(table, key)}`
}

/** Deletes each row where all its key columns are equal. Returns for each row whether it was found. */
export const deleteEach = <T extends keyof Tables, K>(
  db: Database,
  change: { table: T; key: ColumnsOf<T, K> },
  rows: readonly NoInfer<ChangedRow<T, K, unknown>>[],
): Promise<boolean[]> => deleteAnyEach(db, change as Change, rows)

/** The same for columns that are computed. */
export async function deleteAnyEach(db: Database, { table, key }: Change, rows: readonly Row[]): Promise<boolean[]> {
  if (rows.length === 0) return []
  if (engineOf(db) === 'sqlite') {
    return await runEach(db, `delete from ${table} where ${equalities(key)}`, key, rows)
  }
  return await runAtOnce(
    db,
    rows,
    sql`delete from ${sql.table(table)} using ${inputRows(db, key, rows)} where ${sameKey(table, key)}`,
  )
}

/** `column in (…)` whose text does not depend on the number of values, so that a statement is compiled once. */
export function isOneOf(
  db: Database,
  column: string,
  values: readonly (string | number)[],
  type: 'text' | 'bigint' = 'text',
) {
  return engineOf(db) === 'sqlite'
    ? sql<boolean>`${sql.ref(column)} in (select value from json_each(${JSON.stringify(values)}))`
    : sql<boolean>`${sql.ref(column)} = any(${values}::${sql.raw(type)}[])`
}

/** What distinguishes rows of several organizations: with the ids alone, a distributed database would ask all of its servers. */
export type TenantId = { organizationId: string; id: string }

/** The rows with these ids, for a loop that works for several organizations at a time. `table`: its name in the statement. */
export function isOneOfTenants(db: Database, table: string, ids: readonly TenantId[]) {
  const organizations = [...new Set(ids.map(({ organizationId }) => organizationId))]
  const isOfThem = isOneOf(db, `${table}.organization_id`, organizations)
  // The + hides the column from SQLite's planner, which then uses the key.
  const isHidden = engineOf(db) === 'sqlite' ? sql<boolean>`+${isOfThem}` : isOfThem
  return sql<boolean>`${isHidden} and ${isOneOf(db, `${table}.id`, [...new Set(ids.map(({ id }) => id))])}`
}

export const insertEach = <T extends keyof Tables, C>(
  db: Database,
  table: T,
  columns: ColumnsOf<T, C>,
  rows: readonly NoInfer<NewRow<T, C>>[],
): Promise<void> => insertAnyEach(db, table, columns as Columns, rows)

/** The same for columns that are computed. */
export async function insertAnyEach(
  db: Database,
  table: keyof Tables,
  columns: Columns,
  rows: readonly Row[],
): Promise<void> {
  if (rows.length === 0) return
  if (engineOf(db) === 'sqlite') await runForEach(db, insertText(table, columns), parameterLists(columns, rows))
  else await insertStatement(db, table, columns, rows).execute(db)
}

/** As `insertEach`, in one statement on SQLite too, for the reason of `updateAnyAtOnce`. */
export const insertAtOnce = <T extends keyof Tables, C>(
  db: Database,
  table: T,
  columns: ColumnsOf<T, C>,
  rows: readonly NoInfer<NewRow<T, C>>[],
): Promise<void> => insertAnyAtOnce(db, table, columns as Columns, rows)

/** The same for columns that are computed. */
export async function insertAnyAtOnce(
  db: Database,
  table: keyof Tables,
  columns: Columns,
  rows: readonly Row[],
): Promise<void> {
  if (rows.length > 0) await insertStatement(db, table, columns, rows).execute(db)
}

/** Skips each row whose `key` another row has. Returns for each row whether it was inserted. */
export async function insertEachFree<T extends keyof Tables, C>(
  db: Database,
  { table, columns: typed, key }: { table: T; columns: ColumnsOf<T, C>; key: keyof C & string },
  rows: readonly NoInfer<NewRow<T, C>>[],
): Promise<boolean[]> {
  if (rows.length === 0) return []
  const columns = typed as Columns
  const skip = `on conflict (${key}) do nothing`
  if (engineOf(db) === 'sqlite') return await runEach(db, `${insertText(table, columns)} ${skip}`, columns, rows)
  const { rows: inserted } = await sql<{ key: unknown }>`${insertStatement(db, table, columns, rows)} ${sql.raw(skip)}
    returning ${sql.ref(key)} as key`.execute(db)
  const free = new Set(inserted.map((row) => row.key))
  // Of rows with one key the first is inserted.
  return rows.map((row) => free.delete((row as Row)[key]))
}

/** Skips each row whose values of all columns of `key` another row has. */
export async function insertEachNew<T extends keyof Tables, C>(
  db: Database,
  { table, columns: typed, key }: { table: T; columns: ColumnsOf<T, C>; key: readonly (keyof C & string)[] },
  rows: readonly NoInfer<NewRow<T, C>>[],
): Promise<void> {
  if (rows.length === 0) return
  const columns = typed as Columns
  const skip = ` on conflict (${key.join(', ')}) do nothing`
  if (engineOf(db) === 'sqlite') await runForEach(db, insertText(table, columns) + skip, parameterLists(columns, rows))
  else await sql`${insertStatement(db, table, columns, rows)} ${sql.raw(skip)}`.execute(db)
}

const insertText = (table: keyof Tables, columns: Columns) => {
  const names = Object.keys(columns)
  return `insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`
}

function insertStatement(db: Database, table: keyof Tables, columns: Columns, rows: readonly Row[]) {
  const refs = sql.join(Object.keys(columns).map((name) => sql.ref(name)))
  return sql`insert into ${sql.table(table)} (${refs}) select ${refs} from ${inputRows(db, columns, rows)}`
}

const equalities = (key: Columns) =>
  Object.keys(key)
    .map((name) => `${name} = ?`)
    .join(' and ')

const parameterLists = (columns: Columns, rows: readonly Row[]) => {
  const names = Object.keys(columns)
  return rows.map((row) => names.map((name) => row[name]))
}

async function runEach(db: Database, text: string, columns: Columns, rows: readonly Row[]): Promise<boolean[]> {
  return (await runForEach(db, text, parameterLists(columns, rows))).map((changes) => changes > 0)
}

async function runAtOnce(db: Database, rows: readonly Row[], statement: ReturnType<typeof sql>): Promise<boolean[]> {
  const { rows: changed } = await sql<{ index: number }>`${statement} returning input.index`.execute(db)
  const indexes = new Set(changed.map(({ index }) => index))
  return rows.map((_, index) => indexes.has(index + 1))
}

/** The rows as a table: on SQLite from one JSON text, without `bytea`; on PostgreSQL from arrays, with an index that counts from 1. */
function inputRows(db: Database, columns: Columns, rows: readonly Row[]) {
  if (engineOf(db) === 'sqlite') {
    const read = Object.keys(columns).map((name, at) => sql`value ->> ${sql.raw(String(at))} as ${sql.ref(name)}`)
    return sql`(select ${sql.join(read)} from json_each(${JSON.stringify(parameterLists(columns, rows))})) as input`
  }
  const arrays = Object.entries(columns).map(([name, type]) => sql`${rows.map((row) => row[name])}::${sql.raw(type)}[]`)
  const names = [...Object.keys(columns), 'index'].map((name) => sql.ref(name))
  return sql`unnest(${sql.join(arrays)}) with ordinality as input (${sql.join(names)})`
}

/**
 * The `+ 0` makes PostgreSQL use the index of the first column: all leases of a batch have the same `due_at`, so by the index on that
 * it would search each row among all of them.
 */
function sameKey(table: string, key: Columns) {
  const terms = Object.entries(key).map(([name, type], index) => {
    const column = sql.ref(`${table}.${name}`)
    return sql`${index > 0 && type === 'bigint' ? sql`${column} + 0` : column} = input.${sql.ref(name)}`
  })
  return sql.join(terms, sql` and `)
}
