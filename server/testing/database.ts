import { randomUUID } from 'node:crypto'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import pg from 'pg'
import { describe, inject, onTestFinished } from 'vitest'
import type { Database } from '../database/database.ts'
import type { Engine } from '../database/engine.ts'
import { openDatabase } from '../database/open.ts'
import { borrowDatabase } from './shared-databases.ts'

const ENGINES: Engine[] = ['sqlite', 'postgres']

/** Runs a suite on both engines. `fresh` creates an empty, migrated database that is removed after the test. */
export function onBothEngines(name: string, suite: (fresh: () => Promise<Database>, engine: Engine) => void): void {
  for (const engine of ENGINES) {
    describe(`${name} (${engine})`, () => suite(() => freshDatabase(engine), engine))
  }
}

/** Resolves when `count` transactions of this PostgreSQL database wait for locks. */
export async function waitUntilBlocked(db: Database, count = 1): Promise<void> {
  const waiting = sql`select distinct pid from pg_locks join pg_stat_activity using (pid)
    where not granted and datname = current_database()`
  for (;;) if ((await waiting.execute(db)).rows.length >= count) return
}

/** A migrated database for this test only. */
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

/** The URL of a migrated database without rows, copied from a template. */
export async function migratedDatabaseUrl(engine: Engine): Promise<DatabaseUrl> {
  const { sqlite, postgres } = inject('templates')
  if (engine === 'postgres') return await newPostgresDatabase(`template ${postgres} strategy file_copy`)
  const folder = await mkdtemp(join(dirname(sqlite), 'copy-')) // removed with the template if nobody drops it
  const path = join(folder, 'zonewatch.db')
  await copyFile(sqlite, path)
  return { url: `sqlite:${path}`, drop: () => rm(folder, { recursive: true, force: true }) }
}

/** The URL of an empty database, for tests of migrations. */
export async function newDatabaseUrl(engine: Engine): Promise<DatabaseUrl> {
  if (engine === 'postgres') return await newPostgresDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-test-'))
  return { url: `sqlite:${join(folder, 'zonewatch.db')}`, drop: () => rm(folder, { recursive: true, force: true }) }
}

async function newPostgresDatabase(template = ''): Promise<DatabaseUrl> {
  const server = inject('postgres')
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await executeOnServer(server, `create database ${name} ${template}`)
  return {
    url: `${server}/${name}`,
    drop: () => executeOnServer(server, `drop database if exists ${name} with (force)`),
  }
}

async function executeOnServer(server: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: `${server}/postgres` })
  await client.connect()
  await client.query(statement)
  await client.end()
}
