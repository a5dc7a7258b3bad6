import { spawn } from 'node:child_process'
import { appendFileSync, copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import type { Database } from '../database/database.ts'
import { openDatabase } from '../database/open.ts'
import { sqlitePathOf } from '../database/url.ts'
import { migratedDatabaseUrl } from '../testing/database.ts'
import { createManualClock } from '../testing/manual-clock.ts'
import { PROJECT, run } from '../testing/server-process.ts'
import { formatBytes, readManifest } from './archive.ts'
import { backUp } from './back-up.ts'
import { findLastBackup, recordFailedBackup, recordMadeBackup } from './last-backup.ts'
import { restore } from './restore.ts'
import { backupNameOf, deleteOldBackups, deleteUnfinished, newestBackup, RETRY_MS, runSchedule } from './schedule.ts'

const NOW = Date.UTC(2026, 10, 22, 20, 5)

async function givenFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function givenDatabase(): Promise<{ db: Database; source: string; folder: string }> {
  const [{ url, drop }, folder] = await Promise.all([migratedDatabaseUrl('sqlite'), givenFolder()])
  const db = openDatabase(url)
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  return { db, source: sqlitePathOf(url)!, folder }
}

const insert = (db: Database, number: number, size = 10) =>
  db
    .insertInto('organizations')
    .values({ id: `org_${number}`, created_at: 0, name: 'x'.repeat(size), slug: `org-${number}` })
    .execute()

async function givenBackup(secret: string | null = 's'.repeat(40)) {
  const { db, source, folder } = await givenDatabase()
  for (let number = 0; number < 30; number++) await insert(db, number, 1_000)
  const target = join(folder, 'one.backup')
  const made = await backUp({ source, target, secret, version: '1.2.3', now: NOW })
  return { db, source, folder, target, made }
}

const put = (archive: string, target: string) => restore({ archive, target, now: NOW, accept: () => {} })

test('a backup is one file that only its owner may read, and gives back every row', async () => {
  const { folder, target, made } = await givenBackup()
  expect((await stat(target)).mode & 0o777).toBe(0o600)
  expect(await readdir(folder)).toEqual(['one.backup'])
  expect(made).toMatchObject({ bytes: (await stat(target)).size, rows: { organizations: 30 } })
  const restored = join(folder, 'zonewatch.db')
  const manifest = await put(target, restored)
  expect(manifest).toEqual({ version: '1.2.3', madeAt: NOW, secret: 's'.repeat(40), rows: made.rows })
  expect((await readdir(folder)).sort()).toEqual(['one.backup', 'zonewatch.db'])
  expect((await stat(restored)).mode & 0o777).toBe(0o600)
  const database = new DatabaseSync(restored, { readOnly: true })
  expect(database.prepare('select count(*) as count from organizations').get()).toEqual({ count: 30 })
  expect(database.prepare("select name from sqlite_schema where name = 'zonewatch_backup'").get()).toBeUndefined()
  database.close()
})

test('a backup without the secret does not contain it', async () => {
  const secret = 'the secret that must not be in it, anywhere'
  const { target } = await givenBackup(secret)
  expect(readFileSync(target).includes(secret)).toBe(true)
  expect(readFileSync((await givenBackup(null)).target).includes(secret)).toBe(false)
})

test('any SQLite can read a backup, with or without the last line', async () => {
  const { target } = await givenBackup()
  const database = new DatabaseSync(target, { readOnly: true })
  expect(database.prepare('select count(*) as count from organizations').get()).toEqual({ count: 30 })
  expect(readManifest(database, target).version).toBe('1.2.3')
  database.close()
})

test('a backup is a consistent snapshot, and finishes while another process keeps writing', async () => {
  const { db, source, folder } = await givenDatabase()
  for (let number = 0; number < 300; number++) await insert(db, number, 10_000)
  // Each transaction writes a pair; half a pair would be of no moment.
  const script = `
    const { DatabaseSync } = require('node:sqlite')
    const db = new DatabaseSync(${JSON.stringify(source)}, { timeout: 10000 })
    const insert = db.prepare("insert into organizations (id, created_at, name, slug) values (?, 0, 'pair', ?)")
    let pairs = 0
    const write = () => {
      db.exec('begin immediate'); insert.run('a' + pairs, 'a' + pairs); insert.run('b' + pairs, 'b' + pairs); db.exec('commit')
      pairs++
      process.stdout.write('.')
      setTimeout(write, 1)
    }
    write()`
  const writer = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] })
  let written = 0
  writer.stdout.on('data', (dots: Buffer) => {
    written += dots.length
  })
  onTestFinished(() => void writer.kill('SIGKILL'))
  await expect.poll(() => written).toBeGreaterThan(5)
  const target = join(folder, 'one.backup')
  const before = written
  const { rows } = await backUp({ source, target, secret: null, version: '1', now: NOW })
  await expect.poll(() => written).toBeGreaterThan(before)
  const pairs = (rows.organizations! - 300) / 2
  expect(pairs).toBeGreaterThanOrEqual(5)
  expect(Number.isInteger(pairs)).toBe(true)
})

test('a backup never overwrites a file, and leaves no file when it fails', async () => {
  const { source, folder, target } = await givenBackup()
  const again = (to: string, more = {}) => backUp({ source, target: to, secret: null, version: '1', now: NOW, ...more })
  const before = readFileSync(target)
  await expect(again(target)).rejects.toThrow(`${target} already exists. Use another file name, or remove that file.`)
  expect(readFileSync(target).equals(before)).toBe(true)
  await expect(again(join(folder, 'none', 'x.backup'))).rejects.toThrow(
    /none cannot be written \(ENOENT.*Use a writable folder\./,
  )
  const full = again(join(folder, 'two.backup'), { freeBytes: () => 1_000 })
  await expect(full).rejects.toThrow(/has 1000 bytes free, and the backup takes up to \d+(\.\d)? MiB\. Free some space/)
  expect(await readdir(folder)).toEqual(['one.backup'])
})

test('a damaged database is not backed up', async () => {
  const { db, source, folder } = await givenDatabase()
  for (let number = 0; number < 300; number++) await insert(db, number, 1_000)
  await sql`pragma wal_checkpoint(truncate)`.execute(db)
  await db.destroy()
  const bytes = readFileSync(source)
  // The pages of the table in the middle of the file: their headers point nowhere.
  for (let page = 60; page < 90; page++) bytes.fill(0xee, page * 4_096, page * 4_096 + 200)
  writeFileSync(source, bytes)
  const target = join(folder, 'one.backup')
  await expect(backUp({ source, target, secret: null, version: '1', now: NOW })).rejects.toThrow()
  expect(await readdir(folder)).toEqual([])
})

test.each([
  'cut in the middle',
  'without its last octet',
  'one bit flipped',
  'one octet more',
  'empty',
  'another file',
])('a backup that is %s is refused, and the restore leaves no file', async (fault) => {
  const { folder, target } = await givenBackup()
  const { size } = await stat(target)
  const bytes = readFileSync(target)
  if (fault === 'cut in the middle') truncateSync(target, Math.floor(size / 2))
  if (fault === 'without its last octet') truncateSync(target, size - 1)
  if (fault === 'one octet more') appendFileSync(target, 'x')
  if (fault === 'empty') truncateSync(target, 0)
  if (fault === 'another file') writeFileSync(target, 'milk, bread')
  if (fault === 'one bit flipped') {
    bytes[bytes.lastIndexOf('xxxxxxxx')]! ^= 1
    writeFileSync(target, bytes)
  }
  const sentence =
    fault === 'one bit flipped'
      ? /is damaged: its checksum is wrong\. Restore another backup\.$/
      : /is (incomplete|not a Zonewatch backup)/
  await expect(put(target, join(folder, 'zonewatch.db'))).rejects.toThrow(sentence)
  expect(await readdir(folder)).toEqual(['one.backup'])
})

test('a backup of a newer version is refused with the number of that version', async () => {
  const { db, source, folder } = await givenDatabase()
  await sql`insert into migrations (number, name, applied_at) values (99, 'of tomorrow', 0)`.execute(db)
  const target = join(folder, 'one.backup')
  await backUp({ source, target, secret: null, version: '9.0.0', now: NOW })
  await expect(put(target, join(folder, 'zonewatch.db'))).rejects.toThrow(
    `${target} was made by Zonewatch 9.0.0, which is newer (its migration "of tomorrow" is not known here). Restore it with that version or a newer one.`,
  )
  expect(await readdir(folder)).toEqual(['one.backup'])
})

test('a folder with a database is refused, with another message if the database is in use', async () => {
  const { db, source, target, folder } = await givenBackup()
  await expect(put(target, source)).rejects.toThrow(
    /zonewatch\.db already exists, and restore overwrites nothing\. Move it/,
  )
  await db
    .insertInto('processes')
    .values({ pid: 1, machine: 'm', started_at: NOW, seen_at: NOW - 2_000 })
    .execute()
  await expect(put(target, source)).rejects.toThrow(`${source} is in use by a running server. Stop that server`)
  // What SQLite kept beside a database that is gone would be taken for part of the restored one.
  writeFileSync(join(folder, 'new.db-wal'), 'x')
  await expect(put(target, join(folder, 'new.db'))).rejects.toThrow(/new\.db-wal already exists/)
})

test('rows that processes had claimed at the time of the backup are due again at once', async () => {
  const { db, source, folder } = await givenDatabase()
  const { id } = await db
    .insertInto('processes')
    .values({ pid: 1, machine: 'm', started_at: NOW, seen_at: NOW })
    .returning('id')
    .executeTakeFirstOrThrow()
  await sql`pragma foreign_keys = off`.execute(db)
  await sql`insert into due_mails (mail_id, organization_id, due_at, claimed_by) values ('m1', 'org_1', ${NOW + 40_000}, ${id})`.execute(
    db,
  )
  const target = join(folder, 'one.backup')
  await backUp({ source, target, secret: null, version: '1', now: NOW })
  await put(target, join(folder, 'zonewatch.db'))
  const restored = new DatabaseSync(join(folder, 'zonewatch.db'))
  expect(restored.prepare('select due_at, claimed_by from due_mails').all()).toEqual([
    { due_at: NOW, claimed_by: null },
  ])
  expect(restored.prepare('select count(*) as count from processes').get()).toEqual({ count: 0 })
  restored.close()
})

test('a backup that is killed leaves no file that looks complete, and the next one deletes its partial file', async () => {
  const { db, source, folder } = await givenDatabase()
  for (let number = 0; number < 2_000; number++) await insert(db, number, 10_000)
  const script = `
    import { backUp } from ${JSON.stringify(`${PROJECT}server/backup/back-up.ts`)}
    process.stdout.write('begins')
    await backUp({ source: ${JSON.stringify(source)}, target: ${JSON.stringify(join(folder, 'one.backup'))}, secret: null, version: '1', now: 0 })`
  for (const delayMs of [0, 20, 60, 120]) {
    const child = run([process.execPath, '--input-type=module-typescript', '-e', script], {})
    await expect.poll(child.stdout, { interval: 1 }).toContain('begins')
    await sleep(delayMs)
    child.send('SIGKILL')
    await child.ended
    for (const name of await readdir(folder)) {
      const path = join(folder, name)
      // The kill may have come after its end.
      if (name === 'one.backup') await put(path, join(folder, `whole-${delayMs}.db`))
      else if (name.includes('partial')) await expect(put(path, join(folder, 'new.db'))).rejects.toThrow(/backup/)
    }
    await rm(join(folder, 'one.backup'), { force: true })
  }
  writeFileSync(join(folder, `.other.backup.partial-${process.pid}`), '')
  deleteUnfinished(folder, (pid) => pid === process.pid, Date.now())
  const left = (await readdir(folder)).filter((name) => name.includes('partial'))
  expect(left).toEqual([`.other.backup.partial-${process.pid}`])
  deleteUnfinished(folder, () => true, Date.now() + 25 * 60 * 60_000)
  expect((await readdir(folder)).filter((name) => name.includes('partial'))).toEqual([])
})

test('a backup that is stopped by a signal removes its partial file', async () => {
  const { db, source, folder } = await givenDatabase()
  for (let number = 0; number < 2_000; number++) await insert(db, number, 10_000)
  const target = join(folder, 'one.backup')
  const script = `
    import { backUp } from ${JSON.stringify(`${PROJECT}server/backup/back-up.ts`)}
    await backUp({ source: ${JSON.stringify(source)}, target: ${JSON.stringify(target)}, secret: null, version: '1', now: 0 })`
  const partials = async () => (await readdir(folder)).filter((name) => name.includes('partial'))
  for (const [signal, status] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    const child = run([process.execPath, '--input-type=module-typescript', '-e', script], {})
    await expect.poll(partials, { interval: 1 }).not.toEqual([])
    child.send(signal)
    expect(await child.ended).toMatchObject({ code: status, stderr: '' })
    expect(await readdir(folder)).not.toContain('one.backup')
    expect(await partials()).toEqual([])
  }
})

test('a file of another program whose name looks like a partial backup stays', async () => {
  const { folder } = await givenDatabase()
  writeFileSync(join(folder, '.notes.partial-999999999'), 'not a database')
  deleteUnfinished(folder, () => false, Date.now())
  expect(await readdir(folder)).toContain('.notes.partial-999999999')
})

test('the newest scheduled backups are kept, and other files are not deleted', async () => {
  const folder = await givenFolder()
  const day = 24 * 60 * 60_000
  const names = [0, 1, 2, 3].map((days) => backupNameOf(NOW + days * day))
  expect(names[0]).toBe('zonewatch-20261122T200500Z.backup')
  for (const name of [...names, 'mine.backup', 'zonewatch-notes.backup']) writeFileSync(join(folder, name), '')
  expect(newestBackup(folder, NOW + 3 * day)).toBe(NOW + 3 * day)
  expect(newestBackup(folder, NOW + 2 * day + 1)).toBe(NOW + 2 * day)
  expect(newestBackup(join(folder, 'none'), NOW)).toBeUndefined()
  expect(deleteOldBackups(folder, 2)).toEqual(names.slice(0, 2))
  expect((await readdir(folder)).sort()).toEqual(['mine.backup', ...names.slice(2), 'zonewatch-notes.backup'].sort())
  expect(deleteOldBackups(folder, 2)).toEqual([])
})

test('a backup is created when the newest is old enough, and sooner after a failure', async () => {
  const folder = await givenFolder()
  const clock = createManualClock(NOW)
  const times: number[] = []
  let works = true
  const run = async () => {
    times.push(clock.now() - NOW)
    if (works) copyFileSync('/dev/null', join(folder, backupNameOf(clock.now())))
    return works
  }
  const hour = 60 * 60_000
  const stop = new AbortController()
  const schedule = runSchedule({ folder, everyMs: 6 * hour, clock, run }, stop.signal)
  const advance = async (toMs: number) => {
    while (clock.now() - NOW < toMs) {
      clock.moveTo(Math.min(clock.now() + 60_000, NOW + toMs))
      for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await advance(7 * hour)
  expect(times).toEqual([0, 6 * hour])
  works = false
  await advance(12 * hour + 25 * 60_000)
  expect(times.slice(2)).toEqual([12 * hour, 12 * hour + RETRY_MS, 12 * hour + 2 * RETRY_MS])
  stop.abort()
  clock.moveTo(NOW + 100 * hour)
  await schedule
})

test('the last successful backup is still known when a later one fails', async () => {
  const { db } = await givenDatabase()
  expect(await findLastBackup(db)).toBeUndefined()
  await recordFailedBackup(db, 'The disk is full.', NOW)
  expect(await findLastBackup(db)).toEqual({ triedAt: NOW, error: 'The disk is full.', made: null })
  const made = { at: NOW + 1, path: '/backups/one', bytes: 5, durationMs: 7 }
  await recordMadeBackup(db, made)
  expect(await findLastBackup(db)).toEqual({ triedAt: NOW + 1, error: null, made })
  await recordFailedBackup(db, 'The disk is full.', NOW + 2)
  expect(await findLastBackup(db)).toEqual({ triedAt: NOW + 2, error: 'The disk is full.', made })
})

test.each([
  [0, '0 bytes'],
  [1_023, '1023 bytes'],
  [1_024, '1.0 KiB'],
  [150 * 1_024 * 1_024, '150 MiB'],
])('%i bytes are shown as %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text))
