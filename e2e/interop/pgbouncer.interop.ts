import { randomUUID } from 'node:crypto'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Delivery } from '#contract/events.ts'
import type { Monitor } from '#contract/monitors.ts'
import { createApi } from '#server/testing/api-client.ts'
import { startDnsServer } from '#server/testing/dns-server.ts'
import { startReceiver } from '#server/testing/receiver.ts'
import { runCommand } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually, givenFolder, givenServer, serverSettings } from '#server/testing/test-server.ts'
import { Postgres, startPgBouncer } from './postgres.ts'
import { createFolder, createWorkspace, type Workspace } from './workspace.ts'

const MONITORS = 25
const POOL_SIZE = 3

let workspace: Workspace
let postgres: Postgres
let pooler: Awaited<ReturnType<typeof startPgBouncer>>
beforeAll(async () => {
  workspace = await createWorkspace()
  await chmod(workspace.folder, 0o755)
  postgres = await Postgres.create(await createFolder(workspace, 'postgres'))
  pooler = await startPgBouncer(join(workspace.folder, 'pgbouncer'), postgres, POOL_SIZE)
})
afterAll(async () => {
  await pooler?.stop()
  await postgres?.stop()
  await workspace.remove()
})

test('two nodes start at the same time and work through PgBouncer in transaction mode', {
  timeout: 300_000,
}, async () => {
  await postgres.query('create database zonewatch')
  const [dns, receiver] = await Promise.all([startDnsServer(), startReceiver()])
  onTestFinished(async () => {
    await Promise.all([dns.close(), receiver.close()])
  })
  const databaseUrl = pooler.url('zonewatch')
  const settingsIn = async () => ({ ...serverSettings({ dns, databaseUrl, folder: await givenFolder() }), ...ADMIN })
  const settings = await settingsIn()
  // Both find an empty database: one migrates it, under a lock of the transaction, and the other waits.
  const [api, worker] = await Promise.all([
    givenServer({ ...settings, ROLES: 'api' }),
    givenServer({ ...(await settingsIn()), ROLES: 'checker,delivery', WORKERS: '2' }),
  ])
  const { get, post } = createApi(api.url, ADMIN_KEY)
  await post('/webhooks', { url: receiver.url, groups: ['default'] })
  const names = Array.from({ length: MONITORS }, (_, index) => `m${index}.example.com`)
  for (const name of names) dns.set(name, 'A', ['192.0.2.1'])
  const created = await Promise.all(
    names.map((name) =>
      post<Monitor>('/monitors', { full_domain: name, record_type: 'A', expected_value: '192.0.2.1' }),
    ),
  )
  expect(created.map(({ status }) => status)).toEqual(names.map(() => 201))
  await receiver.waitFor(MONITORS)

  // Requests with one Idempotency-Key wait for each other by a lock.
  dns.set('once.example.com', 'A', ['192.0.2.1'])
  const body = JSON.stringify({ full_domain: 'once.example.com', record_type: 'A', expected_value: '192.0.2.1' })
  const headers = { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json', 'idempotency-key': randomUUID() }
  const same = await Promise.all(
    Array.from({ length: 10 }, () => fetch(`${api.url}/monitors`, { method: 'POST', headers, body })),
  )
  const ids = new Set<unknown>()
  for (const answer of same) if (answer.status === 201) ids.add(((await answer.json()) as Monitor).id)
  expect(ids.size).toBe(1)
  expect(same.every(({ status }) => [201, 409].includes(status))).toBe(true)
  await receiver.waitFor(MONITORS + 1)

  const [pool] = (await pooler.show<Record<string, string>>('pools')).filter(({ database }) => database === 'zonewatch')
  expect(pool).toMatchObject({ pool_mode: 'transaction' })
  expect(Number(pool!.sv_active) + Number(pool!.sv_idle) + Number(pool!.sv_used)).toBeLessThanOrEqual(POOL_SIZE)
  expect(Number(pool!.cl_active) + Number(pool!.cl_waiting)).toBeGreaterThan(POOL_SIZE)
  await eventually(
    async () => worker.stdout(),
    (text) => text.includes('PostgreSQL notifications do not arrive'),
  )

  await pooler.restart()
  for (const name of names) dns.set(name, 'A', ['192.0.2.2'])
  for (const { body } of created) {
    await eventually(
      () => post(`/monitors/${body.id}/check`),
      ({ status }) => status === 202,
    )
  }
  const received = await receiver.waitFor(2 * MONITORS + 1)
  const requests = new Set(received.map(({ body }) => (JSON.parse(body.toString()) as Delivery).id))
  expect(requests.size).toBe(2 * MONITORS + 1)
  const events = await get<{ data: unknown[] }>('/events?limit=100')
  expect(events.body.data).toHaveLength(2 * MONITORS + 1)

  expect((await runCommand(['keys', 'list'], settings)).stdout).toContain('First key')
  const found = JSON.parse((await runCommand(['doctor', '--json'], settings)).stdout) as {
    check: string
    status: string
    detail: string
  }[]
  expect(found.find(({ check }) => check === 'connections')?.detail).toMatch(/ to a pooler, whose max_client_conn/)
  for (const check of ['database', 'migrations', 'secret', 'instances'])
    expect(found.find((finding) => finding.check === check)).toMatchObject({ status: 'ok' })
  for (const server of [api, worker]) {
    expect(server.stderr()).toBe('')
    expect(server.stdout()).not.toContain('prepared statement')
    server.send('SIGTERM')
    expect((await server.ended).code).toBe(0)
  }
})
