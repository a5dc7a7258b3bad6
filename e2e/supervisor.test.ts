import { expect, onTestFinished, test } from 'vitest'
import type { Monitor } from '#contract/monitors.ts'
import { openDatabase } from '#server/database/open.ts'
import { createApi } from '#server/testing/api-client.ts'
import { isRunning } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

const WORKERS = 2
const MONITORS = 10

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`a server on ${engine} loses no check or delivery when each of its processes is killed`, async () => {
    const { dns, receiver, settings, databaseUrl } = await givenEnvironment(engine)
    const db = openDatabase(databaseUrl, { connections: 2 })
    onTestFinished(() => db.destroy())
    const server = await givenServer({ ...settings, ...ADMIN, WORKERS: String(WORKERS) })
    const api = createApi(server.url, ADMIN_KEY)
    const instances = async () =>
      await eventually(
        () => db.selectFrom('processes').select(['id', 'pid']).orderBy('id').execute(),
        (rows) => rows.filter(({ pid }) => isRunning(pid)).length === WORKERS + 1,
      )
    const [front, ...workers] = await instances()
    await api.post('/webhooks', { url: receiver.url, groups: ['default'] })
    dns.set('*.example.com', 'A', ['192.0.2.1'])
    dns.delay('*', 300)
    const monitor = { record_type: 'A', expected_value: '192.0.2.1' }
    for (let at = 0; at < MONITORS; at++) await api.post('/monitors', { ...monitor, full_domain: `m${at}.example.com` })
    const claimed = () => db.selectFrom('due_checks').select('claimed_by').where('claimed_by', 'is not', null).execute()
    await eventually(claimed, (rows) => rows.length > 0)

    for (const { pid } of workers) process.kill(pid, 'SIGKILL')
    // Long before the leases expire, because the replacement processes take them over.
    await receiver.waitFor(MONITORS)
    const states = async () => (await api.get<{ data: Monitor[] }>('/monitors')).body.data.map(({ state }) => state)
    await eventually(states, (all) => all.every((state) => state === 'VALID'))
    const after = await instances()
    expect(after.map(({ id }) => id)).not.toContain(workers[0]!.id)

    process.kill(front!.pid, 'SIGKILL')
    await eventually(
      () => states().catch(() => []),
      (all) => all.length === MONITORS,
    )
    const restarts = server.stdout().match(/"A process ended unexpectedly[^"]*"/g)
    expect(restarts).toHaveLength(WORKERS + 1)
    server.send('SIGTERM')
    expect(await server.ended).toMatchObject({ code: 0, stderr: '' })
  })
}

test('all processes release their claims and end when the supervisor is killed', async () => {
  const { settings, databaseUrl } = await givenEnvironment('sqlite')
  const server = await givenServer({ ...settings, ...ADMIN, WORKERS: String(WORKERS) })
  const db = openDatabase(databaseUrl)
  onTestFinished(() => db.destroy())
  const processes = () => db.selectFrom('processes').select('pid').execute()
  await eventually(processes, (rows) => rows.length === WORKERS + 1)
  server.send('SIGKILL')
  await server.ended // after the last of its processes has closed its output
  expect(await processes()).toEqual([])
})

test('with WORKERS=0 one process does all work', async () => {
  const { dns, receiver, settings, databaseUrl } = await givenEnvironment('sqlite')
  const server = await givenServer({ ...settings, ...ADMIN, WORKERS: '0' })
  const db = openDatabase(databaseUrl)
  onTestFinished(() => db.destroy())
  const api = createApi(server.url, ADMIN_KEY)
  dns.set('www.example.com', 'A', ['192.0.2.1'])
  await api.post('/webhooks', { url: receiver.url, groups: ['default'] })
  await api.post('/monitors', { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' })
  await receiver.waitFor(1)
  expect(await db.selectFrom('processes').select('pid').execute()).toHaveLength(1)
})
