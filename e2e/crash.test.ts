import { Webhook as Verifier } from 'standardwebhooks'
import { expect, onTestFinished, test } from 'vitest'
import type { Delivery, Event } from '#contract/events.ts'
import type { Monitor } from '#contract/monitors.ts'
import type { Webhook, WebhookRequest } from '#contract/webhooks.ts'
import { systemClock } from '#server/clock.ts'
import type { Database } from '#server/database/database.ts'
import { openDatabase } from '#server/database/open.ts'
import { LEASE_MS } from '#server/queue/lease-queue.ts'
import { type Api, createApi } from '#server/testing/api-client.ts'
import type { DnsServer } from '#server/testing/dns-server.ts'
import type { Receiver } from '#server/testing/receiver.ts'
import { freePort, isRunning, type ServerProcess } from '#server/testing/server-process.ts'
import {
  ADMIN,
  ADMIN_KEY,
  eventually,
  givenEnvironment,
  givenServer,
  SEVERAL_PROCESSES,
  type TestEnvironment,
} from '#server/testing/test-server.ts'

/** Kills on each engine. `KILLS` in the environment sets more: a fifth of them are done here. */
const ROUNDS = Math.max(2, Math.ceil(Number(process.env.KILLS ?? 0) / 5))
const MONITORS = 20
const EXPECTED = '192.0.2.1'
/** Covers the time from the first claim to the last. */
const KILL_WITHIN_MS = 500
/** Only for a test that hangs. */
const TIMEOUT_MS = 360_000 + ROUNDS * 30_000

test(
  `a server on SQLite that is killed ${ROUNDS} times during work loses, repeats and delays nothing`,
  async () => {
    const random = givenRandom()
    const { world, monitors, webhook, ...given } = await givenMonitors('sqlite')
    const settings = { ...given.settings, ...SEVERAL_PROCESSES }
    let server = await givenServer(settings)
    await waitForValues(createApi(server.url, ADMIN_KEY), monitors)
    for (let round = 0; round < ROUNDS; round++) {
      await waitForRunningChecks(world.db)
      change(world.dns, monitors, round, random)
      const pending = new Set(monitors)
      const killMoment = waitForMomentToKill(world.db, random)
      const requesting = requestChecks([server], pending)
      await killMoment
      await server.kill()
      await requesting
      server = await givenServer(settings)
      await requestChecks([server], pending)
      // In less than a lease, because the new process takes over the claims of the killed one at once.
      await waitForValues(createApi(server.url, ADMIN_KEY), monitors)
    }
    await waitUntilIdle(world.db)
    await expectAllReported(createApi(server.url, ADMIN_KEY), monitors, webhook, world.receiver)
  },
  TIMEOUT_MS,
)

test(
  'two servers on PostgreSQL, one of which is killed repeatedly, lose and repeat nothing',
  async () => {
    const random = givenRandom()
    const { world, monitors, webhook, settings } = await givenMonitors('postgres')
    const other = { ...settings, PORT: String(await freePort()) }
    let servers = [await givenServer(settings), await givenServer(other)]
    await waitForValues(createApi(servers[0]!.url, ADMIN_KEY), monitors)
    for (let round = 0; round < ROUNDS; round++) {
      await waitForRunningChecks(world.db)
      change(world.dns, monitors, round, random)
      const pending = new Set(monitors)
      const killMoment = waitForMomentToKill(world.db, random)
      const requesting = requestChecks(servers, pending)
      await killMoment
      const [killed, running] = random() < 0.5 ? [servers[0]!, servers[1]!] : [servers[1]!, servers[0]!]
      await killed.kill()
      await requesting
      await expireLeases(world.db)
      servers = [running, await givenServer(killed.url.endsWith(settings.PORT) ? settings : other)]
      await requestChecks(servers, pending)
      await waitForValues(createApi(running.url, ADMIN_KEY), monitors)
    }
    await waitUntilIdle(world.db)
    await expectAllReported(createApi(servers[0]!.url, ADMIN_KEY), monitors, webhook, world.receiver)
  },
  TIMEOUT_MS,
)

/** A monitor and all values of its record so far. */
type MonitorHistory = { id: string; owner: string; history: string[][] }

async function givenMonitors(engine: 'sqlite' | 'postgres') {
  const world: TestEnvironment & { db: Database } = { ...(await givenEnvironment(engine)), db: undefined as never }
  world.db = openDatabase(world.databaseUrl, { connections: 2 })
  onTestFinished(() => world.db.destroy())
  // Time to kill a process during a query, or between a delivery and its recording.
  world.dns.delay('*', 30)
  world.receiver.answers(async () => {
    await systemClock.sleep((world.receiver.received.length * 37) % 100)
    return 200
  })
  const settings = { ...world.settings, ...ADMIN, PORT: String(await freePort()) }
  const server = await givenServer(settings)
  const api = createApi(server.url, ADMIN_KEY)
  const { body: webhook } = await api.post<Webhook>('/webhooks', { url: world.receiver.url, groups: ['default'] })
  const monitors = await Promise.all(
    Array.from({ length: MONITORS }, async (_, index) => {
      const owner = `m${index}.example.com`
      world.dns.set(owner, 'A', [EXPECTED])
      const monitor = { full_domain: owner, record_type: 'A', expected_value: [EXPECTED] }
      const { body } = await api.post<Monitor>('/monitors', monitor)
      return { id: body.id, owner, history: [[EXPECTED]] }
    }),
  )
  server.send('SIGTERM')
  await server.ended
  return { world, monitors, webhook, settings }
}

/** Waits for running checks: one that sees old and new records would confirm the change half a minute later. */
async function waitForRunningChecks(db: Database): Promise<void> {
  const inProgress = () =>
    db
      .selectFrom('due_checks')
      .select('monitor_id')
      .where((where) => where.or([where('claimed_by', 'is not', null), where('due_at', '<=', Date.now())]))
      .execute()
  await eventually(inProgress, (rows) => rows.length === 0)
}

/** Changes every record: to the expected value, to two others, or to none. */
function change(dns: DnsServer, monitors: MonitorHistory[], round: number, random: () => number): void {
  for (const { owner, history } of monitors) {
    const others = [`198.51.100.${round}`, `203.0.113.${round}`]
    const choices = [[EXPECTED], others, []].filter((values) => values.join() !== history.at(-1)!.join())
    const values = choices[Math.floor(random() * choices.length)]!
    history.push(values)
    if (values.length > 0) dns.set(owner, 'A', values)
    else dns.remove(owner, 'A')
  }
}

/** Resolves after a random time, or as soon as the database has a new event or delivery attempt. */
async function waitForMomentToKill(db: Database, random: () => number): Promise<void> {
  const choice = Math.floor(random() * 3)
  if (choice === 0) return await systemClock.sleep(random() * KILL_WITHIN_MS)
  const { sum } = db.fn
  const written = async () =>
    choice === 1
      ? await db.selectFrom('monitors').select(sum('incidence_count').as('sum')).executeTakeFirst()
      : await db.selectFrom('webhook_requests').select(sum('attempts').as('sum')).executeTakeFirst()
  const before = await written()
  const giveUpAt = systemClock.elapsed() + 3_000
  while ((await written())?.sum === before?.sum && systemClock.elapsed() < giveUpAt) await systemClock.sleep(1)
}

/** Requests a check of each monitor, and removes it from `pending` if a server accepted. A killed server accepts none. */
async function requestChecks(servers: ServerProcess[], pending: Set<MonitorHistory>): Promise<void> {
  const apis = servers.map(({ url }) => createApi(url, ADMIN_KEY))
  for (const [index, monitor] of [...pending].entries()) {
    const api = apis[index % apis.length]!
    const status = await api.post(`/monitors/${monitor.id}/check`).then(
      (answer) => answer.status,
      () => 0,
    )
    if (status === 202) pending.delete(monitor)
  }
}

/** Waits until every monitor has the values of the DNS. */
async function waitForValues(api: Api, monitors: MonitorHistory[], withinMs = LEASE_MS - 10_000): Promise<void> {
  const currentValues = async () => {
    const { body } = await api.get<{ data: Monitor[] }>('/monitors?limit=100')
    return body.data.map((monitor) => [monitor.id, monitor.current_value?.join()])
  }
  const expected = new Map(monitors.map(({ id, history }) => [id, history.at(-1)!.join()]))
  await eventually(currentValues, (rows) => rows.every(([id, values]) => expected.get(id!) === values), withinMs)
}

/** Moves the leases of killed processes into the past, and checks that none is longer than `LEASE_MS`. */
async function expireLeases(db: Database): Promise<void> {
  const rows = await db.selectFrom('processes').select(['id', 'pid']).execute()
  const killed = rows.filter(({ pid }) => !isRunning(pid)).map(({ id }) => id)
  expect(killed.length).toBeGreaterThan(0)
  for (const table of ['due_checks', 'due_rounds', 'due_requests'] as const) {
    const leases = await db.selectFrom(table).select('due_at').where('claimed_by', 'in', killed).execute()
    for (const { due_at } of leases) expect(due_at).toBeLessThanOrEqual(Date.now() + LEASE_MS)
    await db
      .updateTable(table)
      .set((columns) => ({ due_at: columns('due_at', '-', LEASE_MS) }))
      .where('claimed_by', 'in', killed)
      .execute()
  }
  await db
    .updateTable('due_webhooks')
    .set((columns) => ({ due_at: columns('due_at', '-', LEASE_MS) }))
    .execute()
}

/** Waits until every request is delivered, the queue is empty and nothing is claimed. */
async function waitUntilIdle(db: Database): Promise<void> {
  const unfinished = async () => [
    ...(await db.selectFrom('webhook_requests').select(['id', 'status']).where('status', '!=', 'DELIVERED').execute()),
    ...(await db.selectFrom('due_requests').selectAll().execute()),
    ...(await db.selectFrom('due_checks').selectAll().where('claimed_by', 'is not', null).execute()),
  ]
  await eventually(unfinished, (rows) => rows.length === 0)
}

/** Expects one event for each change in an unbroken chain, one request for each event, and identical bodies on repeats. */
async function expectAllReported(
  api: Api,
  monitors: MonitorHistory[],
  webhook: Webhook,
  receiver: Receiver,
): Promise<void> {
  const notified = new Map<string, Delivery>()
  const bodies = new Map<string, string>()
  const verifier = new Verifier(webhook.secret)
  for (const { headers, body } of receiver.received) {
    // Not `verify`, which refuses signatures older than five minutes: many rounds take longer.
    const sentAt = new Date(Number(headers['webhook-timestamp']) * 1_000)
    const signature = verifier.sign(String(headers['webhook-id']), sentAt, body.toString())
    expect(headers['webhook-signature']).toBe(signature)
    const delivery: Delivery = JSON.parse(body.toString())
    expect(headers['webhook-id']).toBe(delivery.id)
    expect(bodies.get(delivery.id) ?? body.toString()).toBe(body.toString())
    bodies.set(delivery.id, body.toString())
    expect(notified.get(delivery.event.id)?.id ?? delivery.id).toBe(delivery.id)
    notified.set(delivery.event.id, delivery)
  }
  for (const { id, history } of monitors) {
    const events = (await api.get<{ data: Event[] }>(`/monitors/${id}/events?limit=100`)).body.data
    expect(events.map(({ current_value }) => current_value)).toEqual(history)
    expect(events.map(({ previous_value }) => previous_value)).toEqual([undefined, ...history.slice(0, -1)])
    expect(events.map(({ new_state }) => new_state)).toEqual(history.map(stateOf))
    expect(events.map(({ old_state }) => old_state)).toEqual(['UNSET', ...history.slice(0, -1).map(stateOf)])
    for (const event of events) expect(notified.get(event.id)?.event).toEqual(event)
    const { body } = await api.get<Monitor>(`/monitors/${id}`)
    expect(body).toMatchObject({ state: stateOf(history.at(-1)!), incidence_count: history.length - 1 })
  }
  const requests = await allRequests(api, `/webhooks/${webhook.id}/requests?limit=100`)
  expect(requests.map(({ id }) => id).sort()).toEqual([...bodies.keys()].sort())
  expect(requests).toHaveLength(monitors.reduce((sum, { history }) => sum + history.length, 0))
  console.log(`${requests.length} events, ${receiver.received.length - requests.length} delivered more than once`)
}

async function allRequests(api: Api, path: string): Promise<WebhookRequest[]> {
  const all: WebhookRequest[] = []
  for (let after: string | null = ''; after !== null; ) {
    const cursor: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`
    const { body } = await api.get<{ data: WebhookRequest[]; after: string | null }>(`${path}${cursor}`)
    all.push(...body.data)
    after = body.after
  }
  return all
}

function stateOf(values: string[]): string {
  if (values.length === 0) return 'NOT_FOUND'
  return values.join() === EXPECTED ? 'VALID' : 'MISMATCH'
}

/** Random numbers from 0 to 1. `SEED` in the environment repeats them, but not the timing of processes. */
function givenRandom(): () => number {
  let state = Number(process.env.SEED ?? Date.now() % 1_000_000)
  console.log(`SEED=${state}`)
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
