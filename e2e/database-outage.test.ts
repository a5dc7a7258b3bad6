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
