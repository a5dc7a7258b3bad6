import { expect, onTestFinished, test } from 'vitest'
import type { Monitor } from '#contract/monitors.ts'
import { systemClock } from '#server/clock.ts'
import { openDatabase } from '#server/database/open.ts'
import { createApi } from '#server/testing/api-client.ts'
import { NPM_START } from '#server/testing/server-process.ts'
import {
  ADMIN,
  ADMIN_KEY,
  eventually,
  givenEnvironment,
  givenServer,
  SEVERAL_PROCESSES,
} from '#server/testing/test-server.ts'

test.each([
  { signal: 'SIGTERM', how: 'the server', engine: 'postgres', options: {} },
  { signal: 'SIGHUP', how: 'the server', engine: 'sqlite', options: {} },
  { signal: 'SIGTERM', how: 'npm start', engine: 'sqlite', options: { command: NPM_START } },
] as const)(
  '$signal to $how on $engine during a check and a delivery leaves no claims',
  async ({ signal, engine, options }) => {
    const { dns, receiver, databaseUrl, ...world } = await givenEnvironment(engine)
    const settings = { ...world.settings, ...SEVERAL_PROCESSES }
    dns.set('*.example.com', 'A', ['192.0.2.1'])
    const server = await givenServer({ ...settings, ...ADMIN }, options)
    const api = createApi(server.url, ADMIN_KEY)
    receiver.hang()
    await api.post('/webhooks', { url: receiver.url, groups: ['default'] })
    const monitor = { record_type: 'A', expected_value: '192.0.2.1' }
    await api.post<Monitor>('/monitors', { ...monitor, full_domain: 'delivered.example.com' })
    await receiver.waitFor(1)
    dns.drop('silent.example.com')
    await api.post<Monitor>('/monitors', { ...monitor, full_domain: 'silent.example.com' })
    await eventually(
      async () => dns.queries.count('silent.example.com'),
      (count) => count > 0,
    )

    server.send(signal)
    expect(await server.ended).toMatchObject({ code: 0, signal: null })

    const db = openDatabase(databaseUrl)
    onTestFinished(() => db.destroy())
    const claimed = [
      await db.selectFrom('due_checks').select('owner').where('claimed_by', 'is not', null).execute(),
      await db.selectFrom('due_requests').selectAll().where('claimed_by', 'is not', null).execute(),
      await db.selectFrom('processes').selectAll().execute(),
    ]
    expect(claimed).toEqual([[], [], []])

    receiver.reset()
    dns.recover('silent.example.com')
    await givenServer(settings)
    await receiver.waitFor(2) // the aborted one, and that of the other monitor
  },
)

test('a stopping server is not ready, answers every request, and then closes its port', async () => {
  const { settings } = await givenEnvironment('sqlite')
  const server = await givenServer({ ...settings, ...ADMIN })
  const headers = { 'X-Api-Key': ADMIN_KEY }
  const statusesOf = async (path: string) => {
    const statuses: number[] = []
    for (;;) {
      const response = await fetch(server.url + path, { headers }).catch(() => undefined)
      if (!response) return statuses
      await response.body?.cancel()
      statuses.push(response.status)
      await systemClock.sleep(5)
    }
  }
  const statuses = Promise.all(['/readyz', '/monitors'].map(statusesOf))
  server.send('SIGTERM')
  const [ready, monitors] = await statuses
  expect(ready!.at(-1)).toBe(503)
  expect(new Set(monitors)).toEqual(new Set([200]))
  expect(await server.ended).toMatchObject({ code: 0 })
})

test('Ctrl-C stops the server cleanly, even twice as npm sends it', async () => {
  const { receiver, dns, settings } = await givenEnvironment('sqlite')
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  const server = await givenServer({ ...settings, ...ADMIN })
  const api = createApi(server.url, ADMIN_KEY)
  receiver.answers(async () => {
    await systemClock.sleep(500)
    return 200
  })
  await api.post('/webhooks', { url: receiver.url, groups: ['default'] })
  await api.post('/monitors', { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' })
  await receiver.waitFor(1)

  server.send('SIGINT')
  await systemClock.sleep(100)
  server.send('SIGINT')
  expect(await server.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('Stopped.') })
})

test.each(['sqlite', 'postgres'] as const)(
  'processes for the API, checks and delivery share one database (%s)',
  async (engine) => {
    const { dns, receiver, settings } = await givenEnvironment(engine)
    dns.set('www.example.com', 'A', ['192.0.2.1'])
    const front = await givenServer({ ...settings, ...ADMIN, ROLES: 'api' })
    const api = createApi(front.url, ADMIN_KEY)
    await api.post('/webhooks', { url: receiver.url, groups: ['default'] })
    const monitor = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
    const { body } = await api.post<Monitor>('/monitors', monitor)
    const state = async () => (await api.get<Monitor>(`/monitors/${body.id}`)).body.state
    await systemClock.sleep(600)
    expect(await state()).toBe('UNSET') // no process runs checks yet

    const checker = await givenServer({ ...settings, ROLES: 'checker' })
    await eventually(state, (current) => current === 'VALID')
    await systemClock.sleep(600)
    expect(receiver.received).toEqual([]) // no process delivers yet

    const delivery = await givenServer({ ...settings, ROLES: 'delivery' })
    await receiver.waitFor(1)

    dns.remove('www.example.com', 'A')
    await api.post(`/monitors/${body.id}/check`)
    await receiver.waitFor(2)
    for (const server of [front, checker, delivery]) {
      server.send('SIGTERM')
      expect(await server.ended).toMatchObject({ code: 0, stderr: '' })
    }
  },
)
