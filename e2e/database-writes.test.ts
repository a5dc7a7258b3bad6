import { copyFile, rename, rm } from 'node:fs/promises'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { sqlitePathOf } from '#server/database/url.ts'
import { createApi } from '#server/testing/api-client.ts'
import { ADMIN, ADMIN_KEY, eventually, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

test('/readyz reports a PostgreSQL that only answers reads', async () => {
  const { settings, databaseUrl } = await givenEnvironment('postgres')
  const server = await givenServer({ ...settings, ...ADMIN })
  const api = createApi(server.url, ADMIN_KEY)
  expect((await api.get('/readyz')).status).toBe(200)

  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  onTestFinished(() => client.end())
  const setReadOnly = async (value: 'on' | 'off') => {
    const { rows } = await client.query('select current_database() as database')
    await client.query('set default_transaction_read_only = off')
    await client.query(`alter database "${rows[0].database}" set default_transaction_read_only = ${value}`)
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'zonewatch' and datname = current_database()`,
    )
  }
  await setReadOnly('on')

  // On a busy machine the server may close an idle connection at the moment in which it is used again.
  const readyz = async () =>
    await api.get<{ problems?: string[] }>('/readyz').catch(() => ({ status: 0, body: { problems: ['no answer'] } }))
  const { status } = await eventually(readyz, ({ body }) => body.problems?.join() === 'the database accepts no writes')
  expect(status).toBe(503)
  await setReadOnly('off')
  await eventually(readyz, ({ status }) => status === 200)
})

test.each([
  { what: 'was deleted or moved', lose: (path: string) => rm(path) },
  {
    what: 'was replaced by another file',
    lose: async (path: string) => {
      await copyFile(path, `${path}.copy`)
      await rename(`${path}.copy`, path)
    },
  },
])('the server stops with an error when its SQLite file $what', async ({ what, lose }) => {
  const { settings, databaseUrl } = await givenEnvironment('sqlite')
  const server = await givenServer({ ...settings, ...ADMIN })
  await lose(sqlitePathOf(databaseUrl)!)

  const { code, stderr } = await server.ended
  expect(code).toBe(1)
  expect(stderr).toContain(`${what} while the server runs. The server stops`)
})
