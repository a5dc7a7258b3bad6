import { expect, onTestFinished, test } from 'vitest'
import type { AlertRule, Channel } from '#contract/alerts.ts'
import type { Monitor } from '#contract/monitors.ts'
import { systemClock } from '#server/clock.ts'
import type { Database } from '#server/database/database.ts'
import type { Engine } from '#server/database/engine.ts'
import { openDatabase } from '#server/database/open.ts'
import { LEASE_MS } from '#server/queue/lease-queue.ts'
import { recordChanges } from '#server/testing/alerts.ts'
import { createApi } from '#server/testing/api-client.ts'
import { isRunning } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

/** Kills on each engine. `KILLS` in the environment sets more. */
const ROUNDS = Math.max(4, Number(process.env.KILLS ?? 0))
const INCIDENTS = 24
const HOUR_MS = 60 * 60_000
const KILL_WITHIN_MS = 400
/** Only for a test that hangs. */
const TIMEOUT_MS = 180_000 + ROUNDS * 40_000

for (const engine of ['sqlite', 'postgres'] as const) {
  test(
    `repeated and escalated alerts on ${engine} are each sent and recorded once although their processes are killed ${ROUNDS} times`,
    () => runRounds(engine),
    TIMEOUT_MS,
  )
}

/** Each round is an hour later. The rule repeats every hour, and escalates after 90 minutes: in the third round. */
async function runRounds(engine: Engine): Promise<void> {
  const random = givenRandom()
  const { receiver, settings: common, databaseUrl } = await givenEnvironment(engine)
  // Time to kill a process while it sends a message. Some messages fail.
  receiver.answers(async ({ body }) => {
    await systemClock.sleep(body.length % 23)
    return random() < 0.05 ? 503 : 200
  })
  const settings = { ...common, ...ADMIN, ROLES: 'api,delivery', WORKERS: '2', ALERTS_PER_HOUR: '0' }
  let server = await givenServer(settings)
  const db = openDatabase(databaseUrl, { connections: 2 })
  onTestFinished(() => db.destroy())
  const monitors = await givenMonitors(server.url, receiver.url)
  await recordChanges(
    { deps: { db, clock: systemClock } },
    monitors.map((monitor) => ({ monitor, to: 'MISMATCH' })),
  )
  await db.updateTable('due_evaluations').set({ due_at: systemClock.now() }).execute()

  for (let round = 0; round < ROUNDS; round++) {
    const before = receiver.received.length
    if (round === 0) {
      await systemClock.sleep(random() * KILL_WITHIN_MS) // while the incidents are created
    } else {
      await advanceOneHour(db)
      await receiver.waitFor(before + 1 + Math.floor((random() * INCIDENTS) / 2))
    }
    await server.kill()
    server = await givenServer(settings)
    const expected = [INCIDENTS * (round + 1), INCIDENTS * Math.max(0, round - 1)]
    await eventually(
      async () => {
        await makeWaitingAlertsDue(db)
        return await countSent(db)
      },
      ({ sent, waiting }) => waiting === 0 && sent.every((count, index) => count >= expected[index]!),
    )
    expect((await countSent(db)).sent).toEqual(expected)
  }
  await server.kill()

  const alerts = await db.selectFrom('alerts').selectAll().where('kind', '=', 'failing').execute()
  const received = Map.groupBy(
    receiver.received.map(({ body }): { id: string } => JSON.parse(body.toString())),
    ({ id }) => id,
  )
  const alertsOfRule = alerts.filter(({ id }) => received.has(id))
  expect(alertsOfRule).toHaveLength(2 * INCIDENTS)
  const log = await db.selectFrom('alert_attempts').select(['alert_id', 'status_code']).execute()
  let repeated = 0
  for (const { id, attempts, escalated } of alertsOfRule) {
    const count = received.get(id)!.length
    const messages = log.filter(({ alert_id, status_code }) => alert_id === id && status_code === 200).length
    const failed = log.filter(({ alert_id, status_code }) => alert_id === id && status_code !== 200).length
    expect(messages, id).toBe(escalated === 1 ? ROUNDS - 2 : ROUNDS)
    // Each attempt is recorded before it starts, so an attempt without a result was interrupted by a kill.
    const interrupted = attempts - messages - failed
    expect(count, id).toBeGreaterThanOrEqual(messages + failed)
    expect(count, id).toBeLessThanOrEqual(messages + failed + interrupted)
    repeated += count - messages - failed
  }
  console.log(`${engine}: ${receiver.received.length} messages, ${repeated} of them sent again after a kill`)
}

async function givenMonitors(url: string, receiver: string): Promise<string[]> {
  const api = createApi(url, ADMIN_KEY)
  const channel = async (name: string) => {
    const settings = { endpoint: `${receiver}/${name}` }
    return (await api.post<Channel>('/channels', { name, type: 'http', settings })).body.id
  }
  const rule = { name: 'A', channels: [await channel('first')], delay: 0, repeat_every: 1 }
  const escalation = { escalate_after: 90, escalation_channel: await channel('chief') }
  expect((await api.post<AlertRule>('/alert-rules', { ...rule, ...escalation })).status).toBe(201)
  const monitors = Array.from({ length: INCIDENTS }, (_, index) => ({
    ...{ full_domain: `www.example${index}.com`, record_type: 'A', expected_value: '192.0.2.1' },
  }))
  return (await api.post<Monitor[]>('/monitors/bulk', { monitors })).body.map(({ id }) => id)
}

/** Moves all times in the database back by an hour. Nothing is in progress at this time. */
async function advanceOneHour(db: Database): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const rows = await transaction.selectFrom('alerts').select(['id', 'sent_at', 'last_attempt_at']).execute()
    for (const { id, sent_at, last_attempt_at } of rows) {
      const set = {
        sent_at: sent_at === null ? null : sent_at - HOUR_MS,
        last_attempt_at: last_attempt_at === null ? null : last_attempt_at - HOUR_MS,
      }
      await transaction.updateTable('alerts').set(set).where('id', '=', id).execute()
    }
    await transaction
      .updateTable('incident_monitors')
      .set(({ eb }) => ({ failing_since: eb('failing_since', '-', HOUR_MS) }))
      .execute()
    await transaction
      .updateTable('incident_entries')
      .set(({ eb }) => ({ occurred_at: eb('occurred_at', '-', HOUR_MS) }) as never)
      .execute()
    await transaction
      .updateTable('due_alerts')
      .set(({ eb }) => ({ due_at: eb('due_at', '-', HOUR_MS) }))
      .execute()
  })
}

/** The number of messages recorded as sent to the first channel and as escalations, and of alerts still in progress. */
async function countSent(db: Database) {
  const entries = await db
    .selectFrom('incident_entries')
    .innerJoin('alerts', 'alerts.id', 'incident_entries.alert_id')
    .innerJoin('channels', 'channels.id', 'alerts.channel_id')
    .select('alerts.escalated')
    .where('incident_entries.kind', '=', 'sent')
    .where('channels.type', '=', 'http')
    .execute()
  const due = await db
    .selectFrom('due_alerts')
    .select('alert_id')
    .where((where) =>
      where.or([
        where('claimed_by', 'is not', null),
        where('due_at', '<=', systemClock.now()),
        where('due_at', 'is', null),
      ]),
    )
    .execute()
  const escalations = entries.filter(({ escalated }) => escalated === 1).length
  return { sent: [entries.length - escalations, escalations], waiting: due.length }
}

/** Makes claims of killed processes and retries due now, and checks that no lease is longer than `LEASE_MS`. */
async function makeWaitingAlertsDue(db: Database): Promise<void> {
  const claimed = await db.selectFrom('due_alerts').selectAll().where('claimed_by', 'is not', null).execute()
  const now = systemClock.now()
  for (const { due_at } of claimed) expect(due_at).toBeLessThanOrEqual(now + LEASE_MS)
  const rows = await db.selectFrom('processes').select(['id', 'pid']).execute()
  const living = rows.filter(({ pid }) => isRunning(pid)).map(({ id }) => id)
  for (const table of ['due_alerts', 'due_evaluations'] as const)
    await db.updateTable(table).set({ due_at: now }).where('claimed_by', 'not in', living).execute()
  // First messages wait for others of their incident. Escalations wait for their time.
  const retrying = db
    .selectFrom('alerts')
    .select('id')
    .where((where) =>
      where.or([where('status', '=', 'RETRYING'), where.and({ status: 'PENDING', escalated: 0, kind: 'failing' })]),
    )
  await db
    .updateTable('due_alerts')
    .set({ due_at: now })
    .where('claimed_by', 'is', null)
    .where('alert_id', 'in', retrying)
    .execute()
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
