import { hash } from 'node:crypto'
import { sql } from 'kysely'
import { CliError } from '../cli-error.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { analyze, hasOneWriter } from '../database/dialect.ts'
import { INCOMPLETE_COPY, listMigrations, MIGRATIONS, migrate, migrationDialectOf } from '../database/migrate.ts'
import { lastSerialOf, setLastSerial } from '../database/serials.ts'
import { DERIVED_TABLES, readSchema, type TableSchema } from '../database/table-schema.ts'
import { unregisterAll } from '../queue/heartbeat.ts'
import { digestOf, insertRows, type Key, keyOf, readBatches, type TableDigest } from './rows.ts'

/** `rows`: of all rows of the step. */
export type Progress = { step: 'copy' | 'verify'; table: string; done: number; rows: number }

export type CopyOptions = {
  source: Database
  /** Where it is, for messages. */
  sourceName: string
  target: Database
  targetName: string
  now: number
  /** Called after each batch. */
  onProgress(progress: Progress): void
}

export type CopyResult = { tables: Record<string, TableDigest>; rows: number; resumed: boolean }

/** A server that wrote to the database within this time is running. */
const RECENT_MS = 10_000

/**
 * Copies every row into a database without organizations, and compares both databases afterwards. Nothing else can write to the source
 * meanwhile, and no server starts on the target before the copy is verified. After a kill it can be run again, and continues. Throws a
 * `CliError` that says what to do.
 */
export async function copyDatabase(options: CopyOptions): Promise<CopyResult> {
  const { source, sourceName, target, targetName, now } = options
  await refuseOtherVersion(source, sourceName)
  await refuseRunningServer(source, sourceName, now)
  return await source.transaction().execute(async (locked) => {
    const tables = await readSchema(locked)
    await lockTables(locked, tables, sourceName)
    const origin = await describeOrigin(locked, tables)
    const resumed = await prepareTarget(target, targetName, origin, now)
    refuseOtherColumns(tables, await readSchema(target))
    const counts = await countRows(locked, tables)
    const rows = Object.values(counts).reduce((sum, count) => sum + count, 0)
    await copyTables({ ...options, source: locked }, tables, rows)
    const digests = await compare({ ...options, source: locked }, tables, rows)
    await finish({ ...options, source: locked }, tables)
    return { tables: digests, rows, resumed }
  })
}

async function refuseOtherVersion(db: Database, name: string): Promise<void> {
  const migrations = await listMigrations(db)
  if (migrations === undefined) throw new CliError(`${name} is not a database of Zonewatch. Check the URL.`)
  if (migrations.names.includes(INCOMPLETE_COPY)) {
    throw new CliError(`${name} is itself an incomplete copy. Complete that copy first, or copy from its source.`)
  }
  if (isThisVersion(migrations.names)) return
  const isOlder = migrations.names.every((name, at) => MIGRATIONS[at]?.name === name)
  throw new CliError(
    isOlder
      ? `${name} is of an older version. Run zonewatch migrate on it with this version, then copy it.`
      : `${name} is of a newer version. Copy it with that version.`,
  )
}

const isThisVersion = (names: readonly string[]) =>
  names.length === MIGRATIONS.length && MIGRATIONS.every((migration, at) => migration.name === names[at])

async function refuseRunningServer(db: Database, name: string, now: number): Promise<void> {
  const { rows } = await sql<{ seen: number | null }>`select max(seen_at) as seen from processes`.execute(db)
  const seen = rows[0]?.seen
  if (seen == null || seen < now - RECENT_MS) return
  throw new CliError(
    `A server uses ${name}: it wrote ${Math.max(0, Math.round((now - seen) / 1000))} seconds ago. Stop it on every node, then copy. If it was killed, wait 10 seconds.`,
  )
}

/** If one transaction at a time writes, that of the copy is the lock. */
async function lockTables(db: Database, tables: readonly TableSchema[], name: string): Promise<void> {
  if (hasOneWriter(db)) return
  const names = sql.join(tables.map((table) => sql.table(table.name)))
  try {
    await sql`lock table ${names} in share mode nowait`.execute(db)
  } catch (error) {
    if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error
    throw new CliError(`Another program writes to ${name}. Stop every server and command that uses it, then copy.`)
  }
}

const LOCK_NOT_AVAILABLE = '55P03'

/** Differs between databases, and after each start of a server. */
async function describeOrigin(db: Database, tables: readonly TableSchema[]): Promise<string> {
  const migrations = await sql`select number, applied_at from migrations order by number`.execute(db)
  const serials = await Promise.all(
    tables.filter(({ serial }) => serial !== undefined).map((table) => lastSerialOf(db, table)),
  )
  const check = await db.selectFrom('secret_check').select('value').executeTakeFirst()
  const secret = check && Buffer.from(check.value).toString('hex')
  return hash('sha256', JSON.stringify([migrations.rows, serials, secret]))
}

/** Creates the tables, and marks the database so that no server uses it. Returns whether it continues a copy. */
async function prepareTarget(target: Database, name: string, origin: string, now: number): Promise<boolean> {
  const migrations = await listMigrations(target)
  if (migrations?.names.includes(INCOMPLETE_COPY)) {
    const { rows } = await sql<{ origin: string }>`select after_key as origin from copy_progress
      where table_name = ''`.execute(target)
    if (rows[0]?.origin === origin) return true
    throw new CliError(
      `${name} holds an incomplete copy of another database, or a server has used the source since. Drop the target database, create it again, then copy.`,
    )
  }
  if (migrations !== undefined && !isThisVersion(migrations.names)) {
    throw new CliError(`${name} is of another version. Copy into a database that does not exist yet or has no tables.`)
  }
  await inTransaction(target, async (transaction) => {
    await migrate(transaction, now)
    await refuseRunningServer(transaction, name, now)
    const tables = await readSchema(transaction)
    const counts = await countRows(transaction, tables)
    const used = tables.find(
      ({ name, columns }) => counts[name]! > 0 && (USED.includes(name) || 'organization_id' in columns),
    )
    if (used !== undefined) {
      throw new CliError(
        `${name} is not empty: its table ${used.name} has rows. Nothing is overwritten. Copy into an empty database.`,
      )
    }
    // What a server without organizations has written about itself.
    for (const table of tables.toReversed()) await sql`delete from ${sql.table(table.name)}`.execute(transaction)
    const { INTEGER, STRICT } = migrationDialectOf(target)
    await sql
      .raw(`create table copy_progress (
      table_name text primary key, after_key text not null, copied_rows ${INTEGER} not null
    ) ${STRICT}`)
      .execute(transaction)
    await sql`insert into copy_progress (table_name, after_key, copied_rows) values ('', ${origin}, 0)`.execute(
      transaction,
    )
    await sql`insert into migrations (number, name, applied_at, needs)
      values (${MARKER_NUMBER}, ${INCOMPLETE_COPY}, ${now}, null)`.execute(transaction)
  })
  return false
}

/** Not of an organization, and still of somebody. */
const USED = ['organizations', 'people']
const MARKER_NUMBER = 1_000_000

function refuseOtherColumns(tables: readonly TableSchema[], others: readonly TableSchema[]): void {
  for (const table of tables) {
    const other = others.find(({ name }) => name === table.name)
    const describe = (schema: TableSchema | undefined) => JSON.stringify(Object.entries(schema?.columns ?? {}).sort())
    if (describe(table) !== describe(other))
      throw new CliError(`The table ${table.name} has other columns in the two databases. Nothing was copied.`)
  }
}

async function countRows(db: Database, tables: readonly TableSchema[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(name)}`.execute(db)
    counts[name] = Number(rows[0]!.count)
  }
  return counts
}

async function copyTables({ source, target, onProgress }: CopyOptions, tables: readonly TableSchema[], rows: number) {
  let done = 0
  for (const table of tables) {
    const progress = await findProgress(target, table)
    let copied = progress?.copied ?? 0
    let analyzeAt = copied + FIRST_ANALYZE
    done += copied
    for await (const batch of readBatches(source, table, progress?.after)) {
      const before = copied
      copied += batch.length
      const after = JSON.stringify(keyOf(table, batch.at(-1)!))
      await inTransaction(target, async (transaction) => {
        await saveProgress(transaction, table, { before, after, copied })
        await insertRows(transaction, table, batch)
      })
      if (copied >= analyzeAt) {
        await analyze(target, table.name)
        analyzeAt = copied * 4
      }
      done += batch.length
      onProgress({ step: 'copy', table: table.name, done, rows })
    }
  }
}

/** PostgreSQL plans the check of a foreign key once, and would read the whole table for each row of a table that was empty then. */
const FIRST_ANALYZE = 500

async function findProgress(db: Database, { name }: TableSchema): Promise<{ after: Key; copied: number } | undefined> {
  const { rows } = await sql<{ after: string; copied: number }>`select after_key as after, copied_rows as copied
    from copy_progress where table_name = ${name}`.execute(db)
  return rows[0] && { after: JSON.parse(rows[0].after), copied: rows[0].copied }
}

/** Throws if another copy has written meanwhile. */
async function saveProgress(
  db: Database,
  { name }: TableSchema,
  { before, after, copied }: { before: number; after: string; copied: number },
): Promise<void> {
  const { rows } =
    before === 0
      ? await sql`insert into copy_progress (table_name, after_key, copied_rows) values (${name}, ${after}, ${copied})
          on conflict do nothing returning copied_rows`.execute(db)
      : await sql`update copy_progress set after_key = ${after}, copied_rows = ${copied}
          where table_name = ${name} and copied_rows = ${before} returning copied_rows`.execute(db)
  if (rows.length === 0) throw new CliError('Another copy writes to the target. Stop it, then run this again.')
}

/** Reads all of both databases again. */
async function compare(
  { source, target, sourceName, targetName, onProgress }: CopyOptions,
  tables: readonly TableSchema[],
  rows: number,
) {
  const digests: Record<string, TableDigest> = {}
  let done = 0
  for (const table of tables) {
    const onRows = (count: number) => {
      done += count
      onProgress({ step: 'verify', table: table.name, done, rows: rows * 2 })
    }
    const [given, copied] = await Promise.all([digestOf(source, table, onRows), digestOf(target, table, onRows)])
    if (given.rows !== copied.rows || given.sha256 !== copied.sha256) {
      throw new CliError(
        `The table ${table.name} differs: ${given.rows} rows in ${sourceName}, ${copied.rows} in ${targetName}. If a command changed the source during a pause of the copy, drop the target database, create it again, then copy.`,
      )
    }
    digests[table.name] = given
  }
  for (const name of DERIVED_TABLES) {
    const [given, copied] = await Promise.all([source, target].map((db) => countRows(db, [{ name } as TableSchema])))
    if (given![name] !== copied![name])
      throw new Error(`The table ${name} has ${copied![name]} rows, not ${given![name]}.`)
  }
  return digests
}

/** Makes the copy usable: from here on it is a database whose servers were stopped. */
async function finish({ source, target, now }: CopyOptions, tables: readonly TableSchema[]): Promise<void> {
  await inTransaction(target, async (transaction) => {
    for (const table of tables)
      if (table.serial !== undefined) await setLastSerial(transaction, table, await lastSerialOf(source, table))
    // The claims of a server that was killed.
    await unregisterAll(transaction, now)
    // The time of the first migration is part of the setup link.
    const { rows } = await sql<{
      number: number
      applied_at: number
    }>`select number, applied_at from migrations`.execute(source)
    for (const { number, applied_at } of rows)
      await sql`update migrations set applied_at = ${applied_at} where number = ${number}`.execute(transaction)
    await sql`delete from migrations where name = ${INCOMPLETE_COPY}`.execute(transaction)
    await sql`drop table copy_progress`.execute(transaction)
  })
  await analyze(target)
}
