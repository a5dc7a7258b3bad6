import { sql } from 'kysely'
import type { Database } from './database.ts'
import { engineOf } from './engine.ts'
import type { TableSchema } from './table-schema.ts'

/** The last number that the database generated for the column `serial`. */
export async function lastSerialOf(db: Database, { name, serial }: TableSchema): Promise<number> {
  const last =
    engineOf(db) === 'sqlite'
      ? sql<{ last: number | null }>`select seq as last from sqlite_sequence where name = ${name}`
      : sql<{
          last: number | null
        }>`select pg_sequence_last_value(pg_get_serial_sequence(${name}, ${serial})::regclass) as last`
  return Number((await last.execute(db)).rows[0]?.last ?? 0)
}

/** So that the next generated number is greater than every one before the copy. */
export async function setLastSerial(db: Database, { name, serial }: TableSchema, last: number): Promise<void> {
  if (last === 0) return
  if (engineOf(db) === 'postgres') {
    await sql`select setval(pg_get_serial_sequence(${name}, ${serial}), ${last})`.execute(db)
    return
  }
  await sql`delete from sqlite_sequence where name = ${name}`.execute(db)
  await sql`insert into sqlite_sequence (name, seq) values (${name}, ${last})`.execute(db)
}
