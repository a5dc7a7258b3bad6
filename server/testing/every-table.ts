import { sql } from 'kysely'
import { insertRows, type Row } from '../copy/rows.ts'
import type { Database } from '../database/database.ts'
import { engineOf } from '../database/engine.ts'
import { readSchema } from '../database/table-schema.ts'
import { freshDatabase } from './database.ts'

const ROWS = 7
/** Columns without a foreign key that name a row of another table. */
const LINKS: Record<string, string> = {
  monitor_id: 'monitors',
  webhook_id: 'webhooks',
  event_id: 'events',
  request_id: 'webhook_requests',
}

/** Different rows in every table, however many there are: a new one needs no line here. */
export async function fillEveryTable(db: Database) {
  const checks = await allowedValues()
  const references = await foreignKeys(db)
  const rowsOf = new Map<string, Row[]>()
  const schema = await readSchema(db)
  for (const [at, table] of schema.entries()) {
    const isSingle = checks.get(`${table.name}.number`) === 1
    const rows = Array.from({ length: isSingle ? 1 : ROWS }, (_, index) => {
      const number = index + 1
      const row: Row = {}
      for (const [column, type] of Object.entries(table.columns)) {
        const allowed = checks.get(`${table.name}.${column}`)
        const text = `${table.name}.${column}.${number}`
        if (allowed !== undefined) row[column] = allowed
        else if (table.name === 'processes' && column === 'seen_at') row[column] = number
        else if (column === 'name_order') row[column] = `${number} owner monitors`
        else if (column === 'slot') row[column] = number
        else if (LINKS[column] !== undefined) row[column] = `${LINKS[column]}.id.${number}`
        else if (column === 'organization_id') row[column] = `organizations.id.${number}`
        else if (type === 'text')
          row[column] = `${text} ü "\\`.slice(0, column.endsWith('id') || column === 'owner' ? text.length : undefined)
        else if (type === 'bytea') row[column] = Buffer.from([0, 255, number, ...Buffer.from(text)])
        else row[column] = column.startsWith('is_') ? 1 : 2 ** 52 - at * 100 - number
      }
      for (const { table: of, column, to, toColumn } of references)
        if (of === table.name) row[column] = rowsOf.get(to)![number - 1]![toColumn]!
      return row
    })
    rowsOf.set(table.name, rows)
    await insertRows(db, table, rows)
  }
  // As if the last ten processes had ended.
  const lastProcess = 2 ** 52
  if (engineOf(db) === 'sqlite') await sql`update sqlite_sequence set seq = ${lastProcess}`.execute(db)
  else await sql`select setval(pg_get_serial_sequence('processes', 'id'), ${lastProcess})`.execute(db)
  return { lastProcess }
}

/** The first value that a check constraint allows, by table and column; read from SQLite, which keeps the statements. */
async function allowedValues(): Promise<Map<string, string | number>> {
  const db = await freshDatabase('sqlite')
  const { rows } = await sql<{ name: string; text: string }>`select name, sql as text from sqlite_schema
    where type = 'table' and sql is not null`.execute(db)
  const allowed = new Map<string, string | number>()
  for (const { name, text } of rows) {
    for (const [, column, value] of text.matchAll(/check \((\w+) in \('(\w+)'/g))
      allowed.set(`${name}.${column}`, value!)
    for (const [, column, value] of text.matchAll(/check \((\w+) = (\d+)\)/g))
      allowed.set(`${name}.${column}`, Number(value))
  }
  return allowed
}

type ForeignKey = { table: string; column: string; to: string; toColumn: string }

async function foreignKeys(db: Database): Promise<ForeignKey[]> {
  const sqlite = sql<ForeignKey>`select t.name as "table", f."from" as "column", f."table" as "to", f."to" as "toColumn"
    from sqlite_schema t, pragma_foreign_key_list(t.name) f where t.type = 'table'`
  const postgres = sql<ForeignKey>`select t.relname as "table", a.attname as "column", r.relname as "to", b.attname as "toColumn"
    from pg_constraint c join pg_class t on t.oid = c.conrelid join pg_class r on r.oid = c.confrelid,
      unnest(c.conkey, c.confkey) as keys (own, other)
      join pg_attribute a on a.attnum = own join pg_attribute b on b.attnum = other
    where c.contype = 'f' and a.attrelid = c.conrelid and b.attrelid = c.confrelid`
  return (await (engineOf(db) === 'sqlite' ? sqlite : postgres).execute(db)).rows
}
