import { expect, onTestFinished, test } from 'vitest'
import type { AlertRule, Channel } from '#contract/alerts.ts'
import type { Monitor } from '#contract/monitors.ts'
import { systemClock } from '#server/clock.ts'
import type { Database, Engine } from '#server/database/database.ts'
import { LEASE_MS } from '#server/database/lease-queue.ts'
import { openDatabase } from '#server/database/open.ts'
import { recordChanges } from '#server/testing/alerts.ts'
import { createApi } from '#server/testing/api-client.ts'
import { isRunning } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

/** On each engine. `KILLS` in the environment asks for more. */
const ROUNDS = Math.max(4, Number(process.env.KILLS ?? 0))
const INCIDENTS = 24
const HOUR_MS = 60 * 60_000
const KILL_WITHIN_MS = 400
/** For what hangs. */
const BOUND_MS = 180_000 + ROUNDS * 40_000

for (const engine of ['sqlite', 'postgres'] as const) {
  test(
    `repeated and escalated alerts on ${engine} are each sent and recorded once although their processes are killed ${ROUNDS} times`,
    () => killAgainAndAgain(engine),
    BOUND_MS,
  )
}

/** Each round is an hour later. The rule repeats every hour, and escalates after 90 minutes: in the third round. */
async function killAgainAndAgain(engine: Engine): Promise<void> {
  const random = givenRandom()
  const { receiver, settings: given, databaseUrl } = await givenEnvironment(engine)
  // Time in which a process can die with a message in progress, and some that fail.
  receiver.answers(async ({ body }) => {
    await systemClock.sleep(body.length % 23)
    return random() < 0.05 ? 503 : 200
  })
  const settings = { ...given, ...ADMIN, ROLES: 'api,delivery', WORKERS: '2', ALERTS_PER_HOUR: '0' }
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
      await systemClock.sleep(random() * KILL_WITHIN_MS) // while the incidents are made
    } else {
      await anHourPasses(db)
      await receiver.waitFor(before + 1 + Math.floor((random() * INCIDENTS) / 2))
    }
    await server.kill()
    server = await givenServer(settings)
    const wanted = [INCIDENTS * (round + 1), INCIDENTS * Math.max(0, round - 1)]
    await eventually(
      async () => {
        await comeBack(db)
        return await recorded(db)
      },
      ({ sent, waiting }) => waiting === 0 && sent.every((count, at) => count >= wanted[at]!),
    )
    expect((await recorded(db)).sent).toEqual(wanted)
  }
  await server.kill()

  const alerts = await db.selectFrom('alerts').selectAll().where('kind', '=', 'failing').execute()
  const received = Map.groupBy(
    receiver.received.map(({ body }): { id: string } => JSON.parse(body.toString())),
    ({ id }) => id,
  )
  const ofRule = alerts.filter(({ id }) => received.has(id))
  expect(ofRule).toHaveLength(2 * INCIDENTS)
  const log = await db.selectFrom('alert_attempts').select(['alert_id', 'status_code']).execute()
  let repeated = 0
  for (const { id, attempts, escalated } of ofRule) {
    const count = received.get(id)!.length
    const messages = log.filter(({ alert_id, status_code }) => alert_id === id && status_code === 200).length
    const failed = log.filter(({ alert_id, status_code }) => alert_id === id && status_code !== 200).length
    expect(messages, id).toBe(escalated === 1 ? ROUNDS - 2 : ROUNDS)
    // Each attempt was noted before it was made: one without a result was interrupted by a kill.
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
  const monitors = Array.from({ length: INCIDENTS }, (_, at) => ({
    ...{ full_domain: `www.example${at}.com`, record_type: 'A', expected_value: '192.0.2.1' },
  }))
  return (await api.post<Monitor[]>('/monitors/bulk', { monitors })).body.map(({ id }) => id)
}

/** In the database instead of on the clock. Nothing is being sent at this time. */
async function anHourPasses(db: Database): Promise<void> {
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

/** What was recorded as sent, to the first channel and as escalation, and how many alerts are not done with this hour. */
async function recorded(db: Database) {
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

/** Instead of waiting for leases and retries: what anyone waits for is due now. No lease may be longer than it says. */
async function comeBack(db: Database): Promise<void> {
  const claimed = await db.selectFrom('due_alerts').selectAll().where('claimed_by', 'is not', null).execute()
  const now = systemClock.now()
  for (const { due_at } of claimed) expect(due_at).toBeLessThanOrEqual(now + LEASE_MS)
  const rows = await db.selectFrom('processes').select(['id', 'pid']).execute()
  const living = rows.filter(({ pid }) => isRunning(pid)).map(({ id }) => id)
  for (const table of ['due_alerts', 'due_evaluations'] as const)
    await db.updateTable(table).set({ due_at: now }).where('claimed_by', 'not in', living).execute()
  // First messages wait a moment for others of their incident. Escalations wait for their time.
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

/** Numbers from 0 to 1 that `SEED` in the environment repeats; what happens at the same time it cannot. */
function givenRandom(): () => number {
  let state = Number(process.env.SEED ?? systemClock.now() % 1_000_000)
  console.log(`SEED=${state}`)
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
