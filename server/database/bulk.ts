import { sql } from 'kysely'
import { type Database, engineOf, runForEach } from './database.ts'
import type { Tables } from './schema.ts'

/** Columns by name, with the type that PostgreSQL calls them. */
export type Columns = Record<string, 'bigint' | 'text' | 'bytea'>
type Row = Record<string, unknown>

/**
 * The same change for many rows in one go: SQLite runs a prepared statement for each, PostgreSQL one statement over arrays,
 * a column each, which saves the journeys. In both, the text does not depend on how many rows there are.
 */
type Change = { table: keyof Tables; key: Columns; set?: Columns; add?: Columns }

/**
 * Sets (or adds) `new_<column>` of each row where all its key columns are equal. Says of each row whether that changed
 * something.
 */
export async function updateEach(
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
    return await changedOnes(db, text, { ...values, ...key }, rows)
  }
  return await changedInAll(db, rows, updateAll(db, { table, key, set, add }, rows))
}

/**
 * As `updateEach`, in one statement on SQLite too: there, each statement that changes a text of the search writes the index of all texts
 * that wait, which takes longer than the change (docs/decisions/0018).
 */
export async function updateAtOnce(db: Database, change: Change, rows: readonly Row[]): Promise<void> {
  if (rows.length > 0) await updateAll(db, change, rows).execute(db)
}

function updateAll(db: Database, { table, key, set = {}, add = {} }: Change, rows: readonly Row[]) {
  const changed = Object.entries({ ...set, ...add })
  const values = Object.fromEntries(changed.map(([name, type]) => [`new_${name}`, type]))
  const assignments = changed.map(([name]) => {
    const before = name in add ? sql`${sql.ref(`${table}.${name}`)} + ` : sql``
    return sql`${sql.ref(name)} = ${before}given.${sql.ref(`new_${name}`)}`
  })
  return sql`update ${sql.table(table)} set ${sql.join(assignments)} from ${given(db, { ...values, ...key }, rows)}
    where ${sameAsGiven(table, key)}`
}

/** Deletes each row where all its key columns are equal. Says of each whether there was one. */
export async function deleteEach(db: Database, { table, key }: Change, rows: readonly Row[]): Promise<boolean[]> {
  if (rows.length === 0) return []
  if (engineOf(db) === 'sqlite') {
    return await changedOnes(db, `delete from ${table} where ${equalities(key)}`, key, rows)
  }
  return await changedInAll(
    db,
    rows,
    sql`delete from ${sql.table(table)} using ${given(db, key, rows)} where ${sameAsGiven(table, key)}`,
  )
}

/** `column in (…)` whose text does not depend on how many there are, so that a statement is compiled once. */
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

export async function insertEach(
  db: Database,
  table: keyof Tables,
  columns: Columns,
  rows: readonly Row[],
): Promise<void> {
  if (rows.length === 0) return
  if (engineOf(db) === 'sqlite') await runForEach(db, insertText(table, columns), listsOf(columns, rows))
  else await insertAll(db, table, columns, rows).execute(db)
}

/** As `insertEach`, in one statement on SQLite too, for the reason of `updateAtOnce`. */
export async function insertAtOnce(
  db: Database,
  table: keyof Tables,
  columns: Columns,
  rows: readonly Row[],
): Promise<void> {
  if (rows.length > 0) await insertAll(db, table, columns, rows).execute(db)
}

/** Leaves out each row whose `key` another row has. Says of each whether it was inserted. */
export async function insertEachFree(
  db: Database,
  { table, columns, key }: { table: keyof Tables; columns: Columns; key: string },
  rows: readonly Row[],
): Promise<boolean[]> {
  if (rows.length === 0) return []
  const skip = `on conflict (${key}) do nothing`
  if (engineOf(db) === 'sqlite') return await changedOnes(db, `${insertText(table, columns)} ${skip}`, columns, rows)
  const { rows: inserted } = await sql<{ key: unknown }>`${insertAll(db, table, columns, rows)} ${sql.raw(skip)}
    returning ${sql.ref(key)} as key`.execute(db)
  const free = new Set(inserted.map((row) => row.key))
  // Of rows with one key the first is inserted.
  return rows.map((row) => free.delete(row[key]))
}

const insertText = (table: keyof Tables, columns: Columns) => {
  const names = Object.keys(columns)
  return `insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`
}

function insertAll(db: Database, table: keyof Tables, columns: Columns, rows: readonly Row[]) {
  const refs = sql.join(Object.keys(columns).map((name) => sql.ref(name)))
  return sql`insert into ${sql.table(table)} (${refs}) select ${refs} from ${given(db, columns, rows)}`
}

const equalities = (key: Columns) =>
  Object.keys(key)
    .map((name) => `${name} = ?`)
    .join(' and ')

const listsOf = (columns: Columns, rows: readonly Row[]) => {
  const names = Object.keys(columns)
  return rows.map((row) => names.map((name) => row[name]))
}

async function changedOnes(db: Database, text: string, columns: Columns, rows: readonly Row[]): Promise<boolean[]> {
  return (await runForEach(db, text, listsOf(columns, rows))).map((changes) => changes > 0)
}

async function changedInAll(db: Database, rows: readonly Row[], statement: ReturnType<typeof sql>): Promise<boolean[]> {
  const { rows: changed } = await sql<{ place: number }>`${statement} returning given.place`.execute(db)
  const places = new Set(changed.map(({ place }) => place))
  return rows.map((_, index) => places.has(index + 1))
}

/** The rows as a table: on SQLite of one JSON text, without `bytea`; on PostgreSQL of arrays, with their places counted from 1. */
function given(db: Database, columns: Columns, rows: readonly Row[]) {
  if (engineOf(db) === 'sqlite') {
    const read = Object.keys(columns).map((name, at) => sql`value ->> ${sql.raw(String(at))} as ${sql.ref(name)}`)
    return sql`(select ${sql.join(read)} from json_each(${JSON.stringify(listsOf(columns, rows))})) as given`
  }
  const arrays = Object.entries(columns).map(([name, type]) => sql`${rows.map((row) => row[name])}::${sql.raw(type)}[]`)
  const names = [...Object.keys(columns), 'place'].map((name) => sql.ref(name))
  return sql`unnest(${sql.join(arrays)}) with ordinality as given (${sql.join(names)})`
}

/**
 * The `+ 0` keeps PostgreSQL to the index of the first column: a batch of leases has one `due_at`, and by the index on that
 * each row would be searched for among all of them.
 */
function sameAsGiven(table: string, key: Columns) {
  const terms = Object.entries(key).map(([name, type], place) => {
    const column = sql.ref(`${table}.${name}`)
    return sql`${place > 0 && type === 'bigint' ? sql`${column} + 0` : column} = given.${sql.ref(name)}`
  })
  return sql.join(terms, sql` and `)
}
