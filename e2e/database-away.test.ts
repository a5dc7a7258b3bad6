import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { Monitor } from '#contract/monitors.ts'
import { createApi } from '#server/testing/api.ts'
import { ADMIN, ADMIN_KEY, eventually, givenServer, givenWorld } from '#server/testing/server-world.ts'

test('connections that PostgreSQL ends in the middle of work cost nothing but a new try', async () => {
  const { dns, receiver, settings, databaseUrl } = await givenWorld('postgres')
  dns.set('*.example.com', 'A', ['192.0.2.1'])
  const server = await givenServer({ ...settings, ...ADMIN })
  const api = createApi(server.url, ADMIN_KEY)
  await api.post('/webhooks', { url: receiver.url, groups: ['default'] })

  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  onTestFinished(() => client.end())
  const made: string[] = []
  for (let index = 0; index < 40; index++) {
    await client.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'zonewatch' and datname = current_database()",
    )
    const monitor = { full_domain: `m${index}.example.com`, record_type: 'A', expected_value: '192.0.2.1' }
    const { status, body } = await api.post<Monitor>('/monitors', monitor)
    expect([201, 503]).toContain(status)
    if (status === 201) made.push(body.id)
  }

  expect(made.length).toBeGreaterThan(0)
  await eventually(
    () => api.get<{ data: Monitor[] }>('/monitors?state=VALID&limit=100'),
    ({ body }) => made.every((id) => body.data.some((monitor) => monitor.id === id)),
    20_000,
  )
  await receiver.waitFor(made.length, 10_000)
  expect(server.stderr()).toBe('')
}, 60_000)
