import { expect, onTestFinished, test } from 'vitest'
import type { Event } from '#contract/events.ts'
import { insertOrganization } from '#server/accounts/organizations.ts'
import { systemClock } from '#server/clock.ts'
import { systemContext } from '#server/context.ts'
import type { Database } from '#server/database/database.ts'
import type { Engine } from '#server/database/engine.ts'
import { migrate } from '#server/database/migrate.ts'
import { openDatabase } from '#server/database/open.ts'
import { createKeyring } from '#server/keyring.ts'
import { LEASE_MS } from '#server/queue/lease-queue.ts'
import { isRunning, type ServerProcess } from '#server/testing/server-process.ts'
import { eventually, givenEnvironment, givenServer } from '#server/testing/test-server.ts'
import { insertRequests } from '#server/webhooks/new-requests.ts'
import { readBody } from '#server/webhooks/request-body.ts'
import { insertWebhook } from '#server/webhooks/webhook-store.ts'

/** Kills on each engine. `KILLS` in the environment sets more. */
const KILLS = Number(process.env.KILLS ?? 4)
const WEBHOOKS = 4
const EVENTS_EACH = 12
/** Covers the time from the first claim to the last recording of a round. */
const KILL_WITHIN_MS = 120
/** Only for a test that hangs. */
const BOUND_MS = 120_000 + KILLS * 20_000

for (const [engine, processes] of [
  ['sqlite', 1],
  ['postgres', 2],
] as const) {
  test(
    `webhook requests on ${engine} are neither lost nor changed by ${KILLS} kills between claim, sending and recording`,
    () => killAgainAndAgain(engine, processes),
    BOUND_MS,
  )
}

async function killAgainAndAgain(engine: Engine, processes: number): Promise<void> {
  const random = givenRandom()
  const { db, settings, receiver, events, written } = await givenRequests(engine)
  // Time to kill a process during a request. Some requests fail.
  receiver.answers(async ({ body }) => {
    await systemClock.sleep(body.length % 23)
    return random() < 0.02 ? 503 : 200
  })
  const start = () => givenServer(settings)
  let workers: ServerProcess[] = await Promise.all(Array.from({ length: processes }, start))
  for (let kill = 0; kill < KILLS; kill++) {
    await events(EVENTS_EACH)
    await systemClock.sleep(random() * KILL_WITHIN_MS)
    const victim = workers[Math.floor(random() * workers.length)]!
    await victim.kill()
    workers = [...workers.filter((worker) => worker !== victim), await start()]
    if (kill % 10 === 2) await comeBack(db)
  }
  await everythingIsDelivered(db)

  const rows = await db
    .selectFrom('webhook_requests')
    .select(['id', 'organization_id', 'body', 'event_offset', 'event_id', 'attempts', 'events'])
    .execute()
  expect(rows.filter(({ events }) => events === null)).toHaveLength(KILLS * EVENTS_EACH * WEBHOOKS)
  const arrived = Map.groupBy(receiver.received, ({ headers }) => String(headers['webhook-id']))
  for (const row of rows) {
    const { id } = row
    const bodies = (arrived.get(id) ?? []).map((received) => received.body.toString())
    expect(new Set(bodies), id).toEqual(new Set([(await readBody(db, row)).toString()]))
  }
  expect(arrived.size).toBe(rows.length)
  const batches = rows
    .filter(({ events }) => events !== null)
    .map(({ body }) => JSON.parse(Buffer.from(body).toString()))
  const batched = batches.flatMap(({ events }) => events.map(({ event }: { event: { id: string } }) => event.id))
  expect(batched.toSorted()).toEqual(written())
  console.log(`${engine}: ${rows.length} requests, ${receiver.received.length - rows.length} sent more than once`)
}

/** Webhooks of one group, and a function that inserts events with their requests in one transaction, as checks do. */
async function givenRequests(engine: Engine) {
  const { settings, databaseUrl, receiver } = await givenEnvironment(engine)
  const db = openDatabase(databaseUrl, { connections: 2 })
  onTestFinished(() => db.destroy())
  await migrate(db, systemClock.now())
  const given = { name: 'Crash', email: 'owner@example.com', passwordHash: '' }
  const { id: organizationId } = await insertOrganization(db, given, systemClock.now())
  const { id: groupId } = await db.selectFrom('groups').select('id').executeTakeFirstOrThrow()
  const keyring = createKeyring(settings.SECRET!)
  for (let index = 0; index < WEBHOOKS; index++) {
    const webhook = { url: `${receiver.url}/${index}`, groups: [groupId] }
    await insertWebhook(db, keyring, systemContext(organizationId, systemClock.now()), webhook)
  }
  const batching = { url: `${receiver.url}/batches`, groups: [groupId], batch: { max_events: 5, max_wait_seconds: 1 } }
  await insertWebhook(db, keyring, systemContext(organizationId, systemClock.now()), batching)
  let made = 0
  const idOf = (number: number) => `evt_${String(number).padStart(6, '0')}`
  const written = () => Array.from({ length: made }, (_, at) => idOf(at + 1))
  const newEvent = (): Event => ({
    id: idOf(++made),
    monitor_id: 'mon_1',
    occurred: new Date(systemClock.now()).toISOString(),
    current_value: ['192.0.2.1'.padEnd(10 + (made % 13), '0')],
    old_state: 'VALID',
    new_state: 'MISMATCH',
    incidence_count: 1,
    domain: {
      domain: 'example.com',
      subdomain: '',
      record_type: 'A',
      expected_value: ['192.0.2.1'],
      is_exact_match: true,
    },
  })
  const events = async (count: number) => {
    const reported = Array.from({ length: count }, () => ({ organizationId, groupId, event: newEvent() }))
    await db.transaction().execute((transaction) => insertRequests(transaction, reported, systemClock.now()))
  }
  // Two worker processes in each server.
  return { db, settings: { ...settings, ROLES: 'delivery', WORKERS: '2' }, receiver, events, written }
}

/** Makes claims of killed processes and retries due now, and checks that no lease is longer than `LEASE_MS`. */
async function comeBack(db: Database): Promise<void> {
  const claimed = await db.selectFrom('due_requests').selectAll().where('claimed_by', 'is not', null).execute()
  const now = systemClock.now()
  for (const { due_at } of claimed) expect(due_at).toBeLessThanOrEqual(now + LEASE_MS)
  await db.updateTable('due_requests').set({ due_at: now }).where('claimed_by', 'is', null).execute()
  const rows = await db.selectFrom('processes').select(['id', 'pid']).execute()
  const living = rows.filter(({ pid }) => isRunning(pid)).map(({ id }) => id)
  await db.updateTable('due_requests').set({ due_at: now }).where('claimed_by', 'not in', living).execute()
  await db.updateTable('due_webhooks').set({ due_at: now }).execute()
}

async function everythingIsDelivered(db: Database): Promise<void> {
  const left = async () => {
    await comeBack(db)
    const queue = await db.selectFrom('due_requests').selectAll().execute()
    const undelivered = db.selectFrom('webhook_requests').select(['id', 'status']).where('status', '!=', 'DELIVERED')
    const waiting = db.selectFrom('batched_events').select('event_id').where('request_id', 'is', null)
    return [...queue, ...(await undelivered.execute()), ...(await waiting.execute())]
  }
  await eventually(left, (rows) => rows.length === 0)
}

/** Random numbers from 0 to 1. `SEED` in the environment repeats them, but not the timing of processes. */
function givenRandom(): () => number {
  let state = Number(process.env.SEED ?? systemClock.now() % 1_000_000)
  console.log(`SEED=${state}`)
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
