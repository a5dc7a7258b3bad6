import { utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { readConfig } from '../config/config.ts'
import { openDatabase } from '../database/open.ts'
import { migratedDatabaseUrl } from '../testing/database.ts'
import { runCommand } from '../testing/server-process.ts'
import { givenFolder } from '../testing/test-server.ts'
import { checkConnections } from './connections.ts'
import { checkDatabase } from './database.ts'
import type { Finding } from './finding.ts'

const lineOf = ([found]: Finding[]) => `${found!.status}: ${found!.detail}. ${found!.remedy ?? ''}`

test('connections: enough, too few for the pools of all processes, none left', async () => {
  const { url, drop } = await migratedDatabaseUrl('postgres')
  const own = openDatabase(url)
  const user = `limited_${new URL(url).pathname.slice(1)}`
  await sql.raw(`create role ${user} login password 'x' connection limit 25`).execute(own)
  await sql.raw(`grant select on all tables in schema public to ${user}`).execute(own)
  onTestFinished(async () => {
    await sql.raw(`drop owned by ${user}; drop role ${user}`).execute(own)
    await own.destroy()
    await drop()
  })
  const limited = Object.assign(new URL(url), { username: user, password: 'x' }).href
  const settings = { DATABASE_URL: limited, SECRET: 's'.repeat(40), ROLES: 'api,checker', WORKERS: '1' }
  const config = readConfig(settings)
  const line = async () => lineOf(await checkConnections(own, config))
  // What the settings of this machine will open.
  expect(await line()).toMatch(/^ok: 2 processes open up to 21; PostgreSQL allows 25, and other programs use \d+\. $/)
  const now = systemClock.now()
  for (const roles of [['api'], ['checker'], null]) {
    const report = roles && JSON.stringify({ roles })
    await own.insertInto('processes').values({ pid: 1, machine: 'm', started_at: now, seen_at: now, report }).execute()
  }
  expect(await line()).toMatch(/^warning: 3 processes open up to 32; PostgreSQL allows 25.*Raise max_connections/)
  await sql.raw(`alter role ${user} connection limit 0`).execute(own)
  const refused = openDatabase(limited)
  onTestFinished(() => refused.destroy())
  expect(lineOf(await checkDatabase({ db: refused, config, clock: systemClock }))).toMatch(
    /^failure: too many connections for role .*Raise max_connections/,
  )
})

test('the size of a database and what it was', async () => {
  const { url, drop } = await migratedDatabaseUrl('postgres')
  const db = openDatabase(url)
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  const config = readConfig({ DATABASE_URL: url, SECRET: 's'.repeat(40) })
  const line = async (name: string) =>
    lineOf((await checkDatabase({ db, config, clock: systemClock })).filter(({ check }) => check === name))
  expect(await line('free disk')).toMatch(/^ok: the database takes \d+\.\d [KM]iB; PostgreSQL does not report its/)
  const row = { measured_at: systemClock.now() - 7.5 * 24 * 60 * 60_000, octets: 3 * 1_024 ** 2 }
  await db.insertInto('database_sizes').values(row).execute()
  expect(await line('free disk')).toMatch(/^ok: the database takes \d+\.\d [KM]iB, 3\.0 MiB 7 d ago; Post/)
})

test('no dump, one that another program made, one that failed, and one that is too old', async () => {
  const { url, drop } = await migratedDatabaseUrl('postgres')
  const db = openDatabase(url)
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  const settings = { DATABASE_URL: url, SECRET: 's'.repeat(40) }
  const line = async () => {
    const findings = await checkDatabase({ db, config: readConfig(settings), clock: systemClock })
    return lineOf(findings.filter(({ check }) => check === 'backup'))
  }
  const record = (...args: string[]) => runCommand(['record-backup', ...args], settings)
  expect(await line()).toMatch(/^warning: PostgreSQL does not archive its log, and no dump is recorded\. Dump the/)
  const dump = join(await givenFolder(), 'one.dump')
  expect(await record(dump)).toMatchObject({ code: 1, stderr: expect.stringContaining(`${dump} cannot be read`) })
  expect(await record()).toMatchObject({ code: 1, stderr: expect.stringContaining('Give either a file or --failed') })
  writeFileSync(dump, '')
  expect(await record(dump)).toMatchObject({ code: 1, stderr: expect.stringContaining('has no content') })
  expect(await record(dirname(dump))).toMatchObject({ code: 1, stderr: expect.stringContaining('is not a file') })
  writeFileSync(dump, 'x'.repeat(2_048))
  expect(await record(dump)).toMatchObject({ code: 0, stdout: '', stderr: '' })
  expect(await line()).toMatch(/^ok: .*\/one\.dump, 2\.0 KiB, \d+ s ago/)
  expect(await record('--failed', 'The disk is full.')).toMatchObject({ code: 0 })
  expect(await line()).toMatch(/^failure: the last one failed: The disk is full\. Before that: .*\/one\.dump/)
  expect(await record('--failed', ' ')).toMatchObject({ code: 0 })
  expect(await line()).toMatch(/^failure: the last one failed: No reason was given\. Before/)
  utimesSync(dump, 0, Date.now() / 1_000 - 49 * 60 * 60)
  expect(await record(dump)).toMatchObject({ code: 0 })
  expect(await line()).toMatch(/^failure: the last is too old: .*, 2 d 1 h ago\. Check zonewatch-dump\.timer/)
})
