import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { Monitor } from '#contract/monitors.ts'
import { systemClock } from '#server/clock.ts'
import { createApi } from '#server/testing/api-client.ts'
import { startPostgres } from '#server/testing/postgres.ts'
import { ADMIN, ADMIN_KEY, eventually, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

test('connections that PostgreSQL ends during work only cause retries', async () => {
  const { dns, receiver, settings, databaseUrl } = await givenEnvironment('postgres')
  dns.set('*.example.com', 'A', ['192.0.2.1'])
  const server = await givenServer({ ...settings, ...ADMIN })
  const api = createApi(server.url, ADMIN_KEY)
  await api.post('/webhooks', { url: receiver.url, groups: ['default'] })

  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  onTestFinished(() => client.end())
  const created: string[] = []
  for (let index = 0; index < 40; index++) {
    await client.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'zonewatch' and datname = current_database()",
    )
    const monitor = { full_domain: `m${index}.example.com`, record_type: 'A', expected_value: '192.0.2.1' }
    const { status, body } = await api.post<Monitor>('/monitors', monitor)
    expect([201, 503]).toContain(status)
    if (status === 201) created.push(body.id)
  }

  expect(created.length).toBeGreaterThan(0)
  await eventually(
    () => api.get<{ data: Monitor[] }>('/monitors?state=VALID&limit=100'),
    ({ status, body }) => status === 200 && created.every((id) => body.data.some((monitor) => monitor.id === id)),
  )
  await receiver.waitFor(created.length)
  expect(server.stderr()).toBe('')
})

test('a PostgreSQL that is read-only is read, and limits of reads hold', async () => {
  const { settings, databaseUrl } = await givenEnvironment('postgres')
  const server = await givenServer({ ...settings, ...ADMIN, READ_LIMIT: '30' })
  const api = createApi(server.url, ADMIN_KEY)
  const monitor = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
  const { id } = (await api.post<Monitor>('/monitors', monitor)).body
  const unused = await api.post<{ key: string }>('/api-keys', { name: 'unused', role: 'read' })
  const reader = createApi(server.url, unused.body.key)
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  onTestFinished(() => client.end())
  const { database } = new pg.Client({ connectionString: databaseUrl })
  const setReadOnly = async (value: 'on' | 'off') => {
    // In a transaction of its own kind, because the database itself is read-only.
    await client.query('set default_transaction_read_only = off')
    await client.query(`alter database "${database}" set default_transaction_read_only = ${value}`)
    await client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()',
    )
  }

  await setReadOnly('on')
  await eventually(
    () => api.post('/monitors', { ...monitor, full_domain: 'other.example.com' }),
    ({ status }) => status === 503,
  )
  // The connections that ended with the change are replaced.
  await eventually(
    () => api.get('/groups'),
    ({ status }) => status === 200,
  )
  // The time of a key's first use cannot be written.
  expect((await reader.get('/groups')).status).toBe(200)
  const reads = [`/monitors/${id}`, '/monitors', '/events', '/groups', '/incidents', '/organization']
  for (const path of reads) {
    const { status, headers } = await api.get(path)
    expect([path, status, headers.get('x-ratelimit-limit')]).toEqual([path, 200, '30'])
  }
  const statuses = await Promise.all(Array.from({ length: 40 }, async () => (await api.get('/groups')).status))
  expect(new Set(statuses)).toEqual(new Set([200, 429]))

  await setReadOnly('off')
  await eventually(
    () => api.post('/monitors', { ...monitor, full_domain: 'other.example.com' }),
    ({ status }) => status === 201 || status === 409,
  )
})

test('/readyz reports a PostgreSQL that is down, and changes found during the outage are reported afterwards', async () => {
  const postgres = await startPostgres()
  onTestFinished(() => postgres.stop())
  const { dns, receiver, settings } = await givenEnvironment('sqlite')
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  const server = await givenServer({ ...settings, ...ADMIN, DATABASE_URL: `${postgres.url}/postgres` })
  const api = createApi(server.url, ADMIN_KEY)
  await api.post('/webhooks', { url: receiver.url, groups: ['default'] })
  const monitor = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
  const { id } = (await api.post<Monitor>('/monitors', monitor)).body
  await receiver.waitFor(1)

  dns.set('www.example.com', 'A', ['192.0.2.2'])
  dns.delay('www.example.com', 700) // the check is in progress when the database stops
  expect((await api.post(`/monitors/${id}/check`)).status).toBe(202)
  await eventually(
    async () => dns.queries.count('www.example.com'),
    (count) => count > 2,
  )
  await postgres.halt()

  const outage = await eventually(
    () => api.get<{ problems: string[] }>('/readyz'),
    ({ status }) => status === 503,
  )
  expect(outage.body.problems).toEqual(['the database does not answer'])
  expect(outage.headers.get('retry-after')).toBe('5')
  expect(await api.get('/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect(await api.get('/monitors')).toMatchObject({ status: 503, body: { code: 503 } })
  await systemClock.sleep(1_500)
  await postgres.resume()

  await eventually(
    () => api.get('/readyz'),
    ({ status }) => status === 200,
  )
  const [, changed] = await receiver.waitFor(2)
  expect(JSON.parse(changed!.body.toString()).event).toMatchObject({ current_value: ['192.0.2.2'] })
  expect(receiver.received).toHaveLength(2)
  // Each process logs its own outage.
  const lines = (pattern: RegExp) => server.stdout().match(new RegExp(pattern, 'g'))?.length ?? 0
  await eventually(
    async () => lines(/"The database is available again\."/),
    (ended) => ended > 0 && ended === lines(/"The database is unavailable\./),
  )
  server.send('SIGTERM')
  const { code, stdout, stderr } = await server.ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(lines(/"The database is unavailable\./)).toBeLessThanOrEqual(2)
  expect(stdout).not.toContain('"stack"')
})
