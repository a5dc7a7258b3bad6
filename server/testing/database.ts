import { randomUUID } from 'node:crypto'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import pg from 'pg'
import { describe, inject, onTestFinished } from 'vitest'
import type { Database, Engine } from '../database/database.ts'
import { openDatabase } from '../database/open.ts'
import { borrowDatabase } from './shared-databases.ts'

const ENGINES: Engine[] = ['sqlite', 'postgres']

/** Runs one suite on both engines. `fresh` gives an empty, migrated database that goes away with the test. */
export function onBothEngines(name: string, suite: (fresh: () => Promise<Database>, engine: Engine) => void): void {
  for (const engine of ENGINES) {
    describe(`${name} (${engine})`, () => suite(() => freshDatabase(engine), engine))
  }
}

/** Until one transaction of this PostgreSQL database, or `count`, waits for a lock of another. */
export async function waitUntilBlocked(db: Database, count = 1): Promise<void> {
  const waiting = sql`select distinct pid from pg_locks join pg_stat_activity using (pid)
    where not granted and datname = current_database()`
  for (;;) if ((await waiting.execute(db)).rows.length >= count) return
}

/** A migrated database of the test's own. */
export async function freshDatabase(engine: Engine): Promise<Database> {
  const { db, release } = engine === 'postgres' ? await borrowDatabase(engine) : await openCopy()
  onTestFinished(async () => {
    await db.destroy()
    await release()
  })
  return db
}

async function openCopy() {
  const { url, drop } = await migratedDatabaseUrl('sqlite')
  return { db: openDatabase(url), release: drop }
}

type DatabaseUrl = { url: string; drop: () => Promise<void> }

/** The address of a migrated database without rows: a copy of one that was migrated before all tests. */
export async function migratedDatabaseUrl(engine: Engine): Promise<DatabaseUrl> {
  const { sqlite, postgres } = inject('templates')
  if (engine === 'postgres') return await newPostgresDatabase(`template ${postgres} strategy file_copy`)
  const folder = await mkdtemp(join(dirname(sqlite), 'copy-')) // goes away with the template where nobody drops it
  const path = join(folder, 'zonewatch.db')
  await copyFile(sqlite, path)
  return { url: `sqlite:${path}`, drop: () => rm(folder, { recursive: true, force: true }) }
}

/** The address of an empty database, for tests of what happens before or during the migrations. */
export async function newDatabaseUrl(engine: Engine): Promise<DatabaseUrl> {
  if (engine === 'postgres') return await newPostgresDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-test-'))
  return { url: `sqlite:${join(folder, 'zonewatch.db')}`, drop: () => rm(folder, { recursive: true, force: true }) }
}

async function newPostgresDatabase(template = ''): Promise<DatabaseUrl> {
  const server = inject('postgres')
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await onServer(server, `create database ${name} ${template}`)
  return { url: `${server}/${name}`, drop: () => onServer(server, `drop database if exists ${name} with (force)`) }
}

async function onServer(server: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: `${server}/postgres` })
  await client.connect()
  await client.query(statement)
  await client.end()
}
