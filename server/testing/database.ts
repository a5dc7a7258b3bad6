import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { describe, inject, onTestFinished } from 'vitest'
import { type Database, type Engine, openDatabase } from '../database/database.ts'
import { migrate } from '../database/migrate.ts'

const ENGINES: Engine[] = ['sqlite', 'postgres']

/** Runs one suite on both engines. `fresh` gives an empty, migrated database that goes away with the test. */
export function onBothEngines(name: string, suite: (fresh: () => Promise<Database>, engine: Engine) => void): void {
  for (const engine of ENGINES) {
    describe(`${name} (${engine})`, () => suite(() => freshDatabase(engine), engine))
  }
}

/** A migrated database of the test's own. */
export async function freshDatabase(engine: Engine): Promise<Database> {
  const { url, drop } = await newDatabaseUrl(engine)
  const db = openDatabase(url, { connections: 4 })
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  await migrate(db, 0)
  return db
}

/** An empty database's address, for tests that open it themselves or in another process. */
export async function newDatabaseUrl(engine: Engine): Promise<{ url: string; drop: () => Promise<void> }> {
  if (engine === 'sqlite') {
    const folder = await mkdtemp(join(tmpdir(), 'zonewatch-test-'))
    return { url: `sqlite:${join(folder, 'zonewatch.db')}`, drop: () => rm(folder, { recursive: true, force: true }) }
  }
  const server = inject('postgres')
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await onServer(server, `create database ${name}`)
  return { url: `${server}/${name}`, drop: () => onServer(server, `drop database if exists ${name} with (force)`) }
}

async function onServer(server: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: `${server}/postgres` })
  await client.connect()
  await client.query(statement)
  await client.end()
}
