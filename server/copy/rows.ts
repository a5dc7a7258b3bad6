import { hash } from 'node:crypto'
import { sql } from 'kysely'
import { insertAnyAtOnce, insertAnyEach } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { isFile, overridingSerial } from '../database/dialect.ts'
import type { Tables } from '../database/schema.ts'
import type { TableSchema } from '../database/table-schema.ts'

export type Row = Record<string, string | number | Uint8Array | null>
/** The values of a row's primary key. */
export type Key = (string | number)[]

const FIRST_BATCH = 100
const MAX_BATCH = 5_000
const BATCH_BYTES = 4 * 1_024 * 1_024

/** All rows after this key, in the order of the key, in batches of about 4 MiB. */
export async function* readBatches(db: Database, table: TableSchema, after: Key | undefined): AsyncIterable<Row[]> {
  let limit = FIRST_BATCH
  for (let last = after; ; ) {
    const rows = await readBatch(db, table, last, limit)
    if (rows.length > 0) yield rows
    if (rows.length < limit) return
    last = keyOf(table, rows.at(-1)!)
    const fitting = Math.floor((BATCH_BYTES * rows.length) / Math.max(1, bytesOf(rows)))
    limit = Math.max(1, Math.min(fitting, limit * 4, MAX_BATCH))
  }
}

async function readBatch(db: Database, { name, columns, key }: TableSchema, after: Key | undefined, limit: number) {
  const keyColumns = sql.join(key.map((column) => sql.ref(column)))
  const isLater = after === undefined ? sql`` : sql`where (${keyColumns}) > (${sql.join(after)})`
  const { rows } = await sql<Row>`select ${sql.join(Object.keys(columns).map((column) => sql.ref(column)))}
    from ${sql.table(name)} ${isLater} order by ${keyColumns} limit ${limit}`.execute(db)
  for (const row of rows) for (const column in row) row[column] = storableInBoth(row[column]!)
  return rows
}

/** PostgreSQL stores no NUL character. Zonewatch refuses or replaces it on both engines, so this changes nothing that it wrote. */
const storableInBoth = (value: Row[string]) =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value

export const keyOf = ({ key }: TableSchema, row: Row): Key => key.map((column) => row[column] as string | number)

function bytesOf(rows: readonly Row[]): number {
  let bytes = 0
  for (const row of rows)
    for (const column in row)
      bytes += typeof row[column] === 'number' ? 8 : ((row[column] as string | null)?.length ?? 0)
  return bytes
}

export async function insertRows(db: Database, table: TableSchema, rows: readonly Row[]): Promise<void> {
  const name = table.name as keyof Tables
  if (!isFile(db) && table.serial !== undefined) return await insertWithSerials(db, table, rows)
  // On SQLite, each statement that changes a search text takes long (docs/decisions/0018-search-by-trigrams.md).
  const isAtOnce = table.hasTriggers && !Object.values(table.columns).includes('bytea')
  await (isAtOnce ? insertAnyAtOnce : insertAnyEach)(db, name, table.columns, rows)
}

async function insertWithSerials(db: Database, { name, columns }: TableSchema, rows: readonly Row[]): Promise<void> {
  const names = Object.keys(columns)
  const refs = sql.join(names.map((column) => sql.ref(column)))
  for (const row of rows) {
    await sql`insert into ${sql.table(name)} (${refs}) ${overridingSerial(db)}
      values (${sql.join(names.map((column) => row[column]))})`.execute(db)
  }
}

export type TableDigest = { rows: number; sha256: string }

/** The number of rows, and the sum of their SHA-256: it does not depend on the order, which differs between the engines. */
export async function digestOf(db: Database, table: TableSchema, onRows: (rows: number) => void): Promise<TableDigest> {
  const columns = Object.keys(table.columns).sort()
  let count = 0
  let sum = 0n
  for await (const rows of readBatches(db, table, undefined)) {
    for (const row of rows) {
      const values = columns.map((column) => {
        const value = row[column]!
        return value instanceof Uint8Array ? { hex: Buffer.from(value).toString('hex') } : value
      })
      sum = (sum + BigInt(`0x${hash('sha256', JSON.stringify(values), 'hex')}`)) & MAX_SUM
    }
    count += rows.length
    onRows(rows.length)
  }
  return { rows: count, sha256: sum.toString(16).padStart(64, '0') }
}

const MAX_SUM = (1n << 256n) - 1n
