import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '#server/database/open.ts'
import { freePort, run, runCommand, type Settings, zonewatch } from '#server/testing/server-process.ts'
import {
  ADMIN,
  eventually,
  givenEnvironment,
  givenFolder,
  givenServer,
  SEVERAL_PROCESSES,
} from '#server/testing/test-server.ts'

test('a port in use is reported in one sentence', async () => {
  const port = await freePort()
  const other = createServer().listen(port, '127.0.0.1')
  onTestFinished(() => void other.close())
  const said = await refused({ DATA_DIR: await givenFolder(), PORT: String(port) })
  expect(said).toBe(`Port ${port} on 127.0.0.1 is already in use. Set PORT to a free port.\n`)
})

test('a data folder that cannot be written is reported in one sentence', async () => {
  const file = join(await givenFolder(), 'a-file')
  await writeFile(file, '')
  const said = await refused({ DATA_DIR: join(file, 'data') })
  expect(said).toMatch(
    /^The data folder \S+a-file\/data cannot be written \(.+\)\. Set DATA_DIR to a writable folder\.\n$/,
  )
})

test('an unreachable PostgreSQL is reported in one sentence, without its password', async () => {
  const port = await freePort()
  const url = `postgres://zonewatch:hunter2@127.0.0.1:${port}/zonewatch`
  const said = await refused({ DATA_DIR: await givenFolder(), DATABASE_URL: url, SECRET: 'x'.repeat(32) })
  expect(said).toMatch(new RegExp(`^The database at 127.0.0.1:${port} cannot be used: .+ Check DATABASE_URL .+\\.\n$`))
  expect(said).not.toContain('hunter2')
})

test('a file that is not SQLite is reported in one sentence', async () => {
  const file = join(await givenFolder(), 'notes.txt')
  await writeFile(file, 'milk, bread, and more text than the header of a database has octets; '.repeat(20))
  const said = await refused({ DATA_DIR: await givenFolder(), DATABASE_URL: `sqlite:${file}` })
  expect(said).toMatch(
    /^sqlite:\S+ cannot be used: file is not a database\. Stop the server, .+ restore the last good backup: .+\.\n$/,
  )
})

test('all invalid settings are reported together, one line each', async () => {
  const wrong = { PORT: 'eighty', ROLES: 'api,chef', DNS_SERVERS: '999.1.1.1', LOG_LEVEL: 'loud', SECRET: 'short' }
  const lines = (await refused(wrong)).trimEnd().split('\n')
  expect(lines[0]).toBe('Invalid settings:')
  expect(
    lines
      .slice(1)
      .map((line) => line.trim().split(' ')[0])
      .sort(),
  ).toEqual(Object.keys(wrong).sort())
  expect(lines.find((line) => line.includes('PORT'))).toContain('must be a whole number from 1 to 65535, not "eighty".')
})

test('a server that waits for its database is alive and answers with Retry-After', async () => {
  const { settings } = await givenEnvironment('postgres')
  const db = openDatabase(settings.DATABASE_URL!, { connections: 1 })
  onTestFinished(() => db.destroy())
  await sql`select pg_advisory_lock(7209461)`.execute(db) // the lock of a server that migrates
  const port = await freePort()
  const server = run(zonewatch('serve'), { ...settings, PORT: String(port) })
  onTestFinished(async () => {
    server.send('SIGKILL')
    await server.ended
  })
  const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined)

  await eventually(
    () => ask('/healthz'),
    (answer) => answer?.status === 200,
  )
  const refused = await ask('/monitors')
  expect(refused?.status).toBe(503)
  expect(refused?.headers.get('retry-after')).toBe('2')

  await sql`select pg_advisory_unlock(7209461)`.execute(db)
  await eventually(
    () => ask('/readyz'),
    (answer) => answer?.status === 200,
  )
  expect((await ask('/monitors'))?.status).toBe(401)
})

test('the server becomes ready on a new and on an existing database', async () => {
  const world = await givenEnvironment('sqlite', { isMigrated: false })
  const settings = { ...world.settings, ...SEVERAL_PROCESSES }
  const first = await givenServer({ ...settings, ...ADMIN })
  first.send('SIGTERM')
  await first.ended
  const second = await givenServer(settings)
  await expect.poll(second.stdout).toContain(`Zonewatch runs at ${second.url.replace('127.0.0.1', 'localhost')}`)
})

test('the log of a server without an organization says how to create one', async () => {
  const { settings } = await givenEnvironment('sqlite', { isMigrated: false })
  const server = await givenServer(settings)
  await expect.poll(server.stdout).toContain('command line: zonewatch setup')
})

/** Expects exit code 1 and returns standard error, which has no stack trace. */
async function refused(settings: Settings): Promise<string> {
  const { code, stderr } = await runCommand(['serve'], settings)
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.not.stringMatching(/^\s+at /m) })
  return stderr
}
