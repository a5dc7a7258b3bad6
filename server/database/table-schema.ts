import { sql } from 'kysely'
import type { Columns } from './bulk.ts'
import type { Database } from './database.ts'
import { engineOf } from './engine.ts'

export type TableSchema = {
  name: string
  columns: Columns
  /** The columns of the primary key, in its order. */
  key: string[]
  /** The tables that its foreign keys refer to. */
  references: string[]
  /** The column whose values the database generates. */
  serial: string | undefined
  /** Whether inserting a row writes other tables. */
  hasTriggers: boolean
}

/** Triggers write these from the rows of other tables, and the engines store them differently (0001-monitor-search.ts). */
export const DERIVED_TABLES: readonly string[] = ['monitor_texts']
/** The version of the schema is that of the program that migrated the database. */
const OWN_TABLES: readonly string[] = ['migrations', 'copy_progress']

/**
 * Every table of the schema that has rows to copy, each after those that it refers to. Read from the database itself, so that no table
 * can be forgotten.
 */
export async function readSchema(db: Database): Promise<TableSchema[]> {
  const rows = await (engineOf(db) === 'sqlite' ? sqliteColumns : postgresColumns).execute(db)
  const tables = new Map<string, TableSchema>()
  const keys = new Map<string, { column: string; at: number }[]>()
  for (const { table, column, type, key_at, serial, triggers } of rows.rows) {
    if (DERIVED_TABLES.includes(table) || OWN_TABLES.includes(table)) continue
    const known = tables.get(table)
    const schema = known ?? { name: table, columns: {}, key: [], references: [], serial: undefined, hasTriggers: false }
    tables.set(table, schema)
    schema.columns[column] = columnType(table, column, type)
    if (serial) schema.serial = column
    if (triggers) schema.hasTriggers = true
    if (key_at > 0) keys.set(table, [...(keys.get(table) ?? []), { column, at: key_at }])
  }
  for (const [table, columns] of keys)
    tables.get(table)!.key = columns.sort((a, b) => a.at - b.at).map(({ column }) => column)
  const references = await (engineOf(db) === 'sqlite' ? sqliteReferences : postgresReferences).execute(db)
  for (const { table, to } of references.rows) if (table !== to) tables.get(table)?.references.push(to)
  return inOrderOfReferences([...tables.values()].sort((a, b) => (a.name < b.name ? -1 : 1)))
}

type ColumnRow = {
  table: string
  column: string
  type: string
  /** Its position in the primary key, from 1; 0: not part of it. */
  key_at: number
  serial: boolean | number
  triggers: boolean | number
}

// Virtual tables, and the tables that they consist of, are of other types.
const sqliteColumns = sql<ColumnRow>`select t.name as "table", c.name as "column", c.type as type, c.pk as key_at,
    c.pk = 1 and s.sql like '%autoincrement%' as serial,
    exists (select 1 from sqlite_schema g where g.type = 'trigger' and g.tbl_name = t.name) as triggers
  from pragma_table_list t join sqlite_schema s on s.name = t.name, pragma_table_xinfo(t.name) c
  where t.schema = 'main' and t.type = 'table' and t.name not like 'sqlite!_%' escape '!' order by t.name, c.cid`

const postgresColumns = sql<ColumnRow>`select t.relname as "table", a.attname as "column",
    format_type(a.atttypid, null) as type, coalesce(array_position(k.indkey::int2[], a.attnum) + 1, 0) as key_at,
    a.attidentity <> '' as serial,
    exists (select 1 from pg_trigger g where g.tgrelid = t.oid and not g.tgisinternal) as triggers
  from pg_class t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
    left join pg_index k on k.indrelid = t.oid and k.indisprimary
  where t.relkind in ('r', 'p') and t.relnamespace = current_schema()::regnamespace order by t.relname, a.attnum`

type Reference = { table: string; to: string }

const sqliteReferences = sql<Reference>`select distinct t.name as "table", f."table" as "to"
  from sqlite_schema t, pragma_foreign_key_list(t.name) f where t.type = 'table'`

const postgresReferences = sql<Reference>`select distinct t.relname as "table", r.relname as "to" from pg_constraint c
    join pg_class t on t.oid = c.conrelid join pg_class r on r.oid = c.confrelid
  where c.contype = 'f' and c.connamespace = current_schema()::regnamespace`

const TYPES: Record<string, Columns[string]> = {
  integer: 'bigint',
  bigint: 'bigint',
  text: 'text',
  blob: 'bytea',
  bytea: 'bytea',
}

function columnType(table: string, column: string, type: string): Columns[string] {
  const known = TYPES[type.toLowerCase()]
  if (known === undefined) throw new Error(`The column ${table}.${column} has the type ${type}, which is not copied.`)
  return known
}

function inOrderOfReferences(tables: readonly TableSchema[]): TableSchema[] {
  const ordered: TableSchema[] = []
  const place = (table: TableSchema, path: readonly string[]) => {
    if (ordered.includes(table)) return
    if (path.includes(table.name)) throw new Error(`Tables refer to each other in a circle: ${path.join(', ')}.`)
    for (const name of table.references) {
      const referred = tables.find((other) => other.name === name)
      if (referred) place(referred, [...path, table.name])
    }
    ordered.push(table)
  }
  for (const table of tables) place(table, [])
  return ordered
}
