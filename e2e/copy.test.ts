import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import type { Delivery, Event } from '#contract/events.ts'
import type { Monitor } from '#contract/monitors.ts'
import type { Webhook, WebhookRequest } from '#contract/webhooks.ts'
import { systemClock } from '#server/clock.ts'
import type { Database } from '#server/database/database.ts'
import { openDatabase } from '#server/database/open.ts'
import { type Api, createApi } from '#server/testing/api-client.ts'
import { newDatabaseUrl } from '#server/testing/database.ts'
import type { Received } from '#server/testing/receiver.ts'
import { run, runCommand, type Settings, zonewatch } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

/** `COPY_MONITORS` in the environment sets more. */
const MONITORS = Number(process.env.COPY_MONITORS ?? 1_000)
/** Monitors whose records change: a tenth. */
const CHANGED = MONITORS / 10
const TIMEOUT_MS = 120_000 + MONITORS * 20

test(
  `${MONITORS} monitors move from SQLite to PostgreSQL and back: no event, request or check is lost or doubled, though the copy is killed`,
  async () => {
    const { dns, receiver, settings: given } = await givenEnvironment('sqlite', { isMigrated: false })
    const { SECRET: _, DATABASE_URL: __, ...common } = given
    const folder = join(common.DATA_DIR!, 'data')
    const onSqlite: Settings = { ...common, ...ADMIN, DATA_DIR: folder }
    const { url: postgres, drop } = await newDatabaseUrl('postgres')
    onTestFinished(drop)
    receiver.answers(({ path }) => (path === '/down' ? 503 : 200))

    // On SQLite: history, and requests that wait for a retry.
    const first = await givenServer(onSqlite)
    const api = createApi(first.url, ADMIN_KEY)
    await createMonitors(api, (name) => dns.set(name, 'A', ['192.0.2.1']))
    await eventually(
      () => totalOf(api, 'state=VALID'),
      (total) => total === MONITORS,
      TIMEOUT_MS,
    )
    const createWebhook = async (path: string) =>
      (await api.post<Webhook>('/webhooks', { url: `${receiver.url}${path}`, groups: ['default'] })).body
    const webhooks = [await createWebhook('/up'), await createWebhook('/down')]
    const changed = (await list<Monitor>(api, '/monitors?limit=100')).slice(0, CHANGED)
    await change(api, changed, (name) => dns.set(name, 'A', ['192.0.2.2']))
    await eventually(
      async () => sentTo('/down').length,
      (count) => count >= CHANGED,
      TIMEOUT_MS,
    )
    await eventually(
      async () => sentTo('/up').length,
      (count) => count === CHANGED,
      TIMEOUT_MS,
    )
    const before = await readAll(api, webhooks)
    const { after: cursor } = (await api.get<{ after: string }>('/monitors?limit=10')).body
    first.send('SIGTERM')
    await first.ended

    // The copy is killed, and continues.
    const secret = (await readFile(join(folder, 'secret'), 'utf8')).trim()
    const onPostgres: Settings = { ...common, ...ADMIN, DATA_DIR: folder, DATABASE_URL: postgres, SECRET: secret }
    const refused = await runCommand(['migrate'], onPostgres)
    expect(refused.stderr).toContain(`has ${MONITORS.toLocaleString('en')} monitors of 1 organization`)
    const target = openDatabase(postgres, { connections: 1 })
    onTestFinished(() => target.destroy())
    const file = `sqlite:${join(folder, 'zonewatch.db')}`
    await killDuring(['copy', '--from', file], onPostgres, target)
    expect((await runCommand(['migrate'], onPostgres)).stderr).toContain('Run zonewatch copy again')
    const startedAt = systemClock.elapsed()
    const copied = await runCommand(['copy', '--from', file, '--json'], onPostgres)
    expect(copied, copied.stderr).toMatchObject({ code: 0 })
    const result = JSON.parse(copied.stdout)
    expect(result.resumed).toBe(true)
    expect(result.tables.monitors.rows).toBe(MONITORS)
    console.log(`${result.rows} rows in ${((systemClock.elapsed() - startedAt) / 1000).toFixed(1)} s`)
    expect((await runCommand(['copy', '--from', file], onPostgres)).stderr).toContain('is not empty')
    // Without statistics during the copy, PostgreSQL would read the whole table for each row that refers to it.
    const analyzed = sql<{
      count: number
    }>`select analyze_count as count from pg_stat_user_tables where relname = 'monitors'`
    expect((await analyzed.execute(target)).rows[0]!.count).toBeGreaterThan(1)

    // On PostgreSQL everything goes on with the same ids.
    await rename(join(folder, 'zonewatch.db'), join(folder, 'moved.db'))
    const second = await givenServer(onPostgres)
    const moved = createApi(second.url, ADMIN_KEY)
    expect(await readAll(moved, webhooks)).toEqual(before)
    expect((await moved.get(`/monitors?limit=10&after=${encodeURIComponent(cursor)}`)).status).toBe(200)
    expect(await totalOf(moved, `search=${changed[0]!.subdomain}`)).toBe(1)
    receiver.answers(200)
    const waiting = before.requests[1]!
    for (const { id } of waiting) await moved.post(`/webhooks/${webhooks[1]!.id}/requests/${id}/retry`)
    await eventually(
      async () => distinct(sentTo('/down')).size,
      (count) => count === CHANGED,
      TIMEOUT_MS,
    )
    await change(moved, changed, (name) => dns.set(name, 'A', ['192.0.2.3']))
    await eventually(
      async () => distinct(sentTo('/up')).size,
      (count) => count === 2 * CHANGED,
      TIMEOUT_MS,
    )
    await eventually(
      async () => distinct(sentTo('/down')).size,
      (count) => count === 2 * CHANGED,
      TIMEOUT_MS,
    )
    await expectChains(moved, changed, ['192.0.2.1', '192.0.2.2', '192.0.2.3'])
    // A delivered request was sent once, and a retried one had the same bytes and signature.
    expect(sentTo('/up')).toHaveLength(2 * CHANGED)
    for (const requests of distinct(sentTo('/down')).values()) {
      expect(new Set(requests.map(({ body }) => body.toString())).size).toBe(1)
      expect(new Set(requests.map(({ headers }) => headers['x-service-signature'])).size).toBe(1)
    }
    const due = await target.selectFrom('due_checks').select('monitor_id').distinct().execute()
    expect(due).toHaveLength(MONITORS)
    const last = await readAll(moved, webhooks)
    second.send('SIGTERM')
    await second.ended

    // And back.
    const back = join(folder, 'zonewatch.db')
    const copiedBack = await runCommand(['copy', '--to', `sqlite:${back}`], onPostgres)
    expect(copiedBack, copiedBack.stderr).toMatchObject({ code: 0 })
    expect(copiedBack.stdout).toContain(`Set DATABASE_URL to ${back}`)
    expect(copiedBack.stdout).not.toContain(new URL(postgres).password || 'a password')
    const third = createApi((await givenServer(onSqlite)).url, ADMIN_KEY)
    expect(await readAll(third, webhooks)).toEqual(last)
    expect(await totalOf(third, `search=${changed[0]!.subdomain}`)).toBe(1)
    await change(third, changed.slice(0, 5), (name) => dns.set(name, 'A', ['192.0.2.4']))
    await eventually(
      async () => sentTo('/up').length,
      (count) => count === 2 * CHANGED + 5,
    )

    function sentTo(path: string): Received[] {
      return receiver.received.filter((request) => request.path === path)
    }
  },
  TIMEOUT_MS * 4,
)

async function createMonitors(api: Api, set: (name: string) => void): Promise<void> {
  for (let from = 0; from < MONITORS; from += 1_000) {
    const names = Array.from(
      { length: Math.min(1_000, MONITORS - from) },
      (_, index) => `m${from + index}x.example.com`,
    )
    for (const name of names) set(name)
    const monitors = names.map((name) => ({ full_domain: name, record_type: 'A', expected_value: ['192.0.2.1'] }))
    expect((await api.post('/monitors/bulk', { monitors })).status).toBe(201)
  }
}

async function change(api: Api, monitors: readonly Monitor[], set: (name: string) => void): Promise<void> {
  for (const { subdomain, domain } of monitors) set(`${subdomain}.${domain}`)
  for (const { id } of monitors) expect((await api.post(`/monitors/${id}/check`)).status).toBe(202)
}

const totalOf = async (api: Api, filter: string) => (await list(api, `/monitors?limit=100&${filter}`)).length

/** All pages. */
async function list<T>(api: Api, path: string): Promise<T[]> {
  const all: T[] = []
  for (let after: string | null = ''; after !== null; ) {
    const cursor: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`
    const { body } = await api.get<{ data: T[]; after: string | null }>(`${path}${cursor}`)
    all.push(...body.data)
    after = body.after
  }
  return all
}

/** What a caller reads, without what later attempts change. */
async function readAll(api: Api, webhooks: readonly Webhook[]) {
  const monitors = await list<Monitor>(api, '/monitors?limit=100')
  const requests = []
  for (const { id } of webhooks) {
    const rows = await list<WebhookRequest>(api, `/webhooks/${id}/requests?limit=100`)
    requests.push(rows.map(({ id, event_id, created }) => ({ id, event_id, created })))
  }
  return {
    monitors: monitors.map(({ last_checked: _, ...monitor }) => monitor),
    events: await list<Event>(api, '/events?limit=100'),
    requests,
  }
}

/** Requests by their id. */
function distinct(received: readonly Received[]): Map<string, Received[]> {
  return Map.groupBy(received, ({ body }) => (JSON.parse(body.toString()) as Delivery).id)
}

async function expectChains(api: Api, monitors: readonly Monitor[], values: string[]): Promise<void> {
  for (const { id } of monitors) {
    const events = await list<Event>(api, `/monitors/${id}/events?limit=100`)
    expect(events.map(({ current_value }) => current_value).toSorted()).toEqual(values.map((value) => [value]))
  }
}

/** Kills the copy when it has copied some tables. */
async function killDuring(command: string[], settings: Settings, target: Database): Promise<void> {
  const copying = run(zonewatch(...command), settings)
  const copiedTables = () =>
    sql<{ count: number }>`select count(*) as count from copy_progress`.execute(target).then(
      ({ rows }) => Number(rows[0]!.count),
      () => 0, // not created yet
    )
  await eventually(copiedTables, (count) => count >= 5)
  copying.send('SIGKILL')
  expect((await copying.ended).signal).toBe('SIGKILL')
}
