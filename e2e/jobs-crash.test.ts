import { expect, onTestFinished, test } from 'vitest'
import type { Job } from '#contract/jobs.ts'
import type { Monitor } from '#contract/monitors.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { systemClock } from '#server/clock.ts'
import type { Engine } from '#server/database/database.ts'
import { openDatabase } from '#server/database/open.ts'
import { createApi } from '#server/testing/api-client.ts'
import { freePort } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

const ENGINES: Engine[] = ['sqlite', 'postgres']
const MONITORS = 3_000
/** Each kills a job and its undo. `KILLS` in the environment asks for more. */
const ROUNDS = Math.max(1, Math.ceil(Number(process.env.KILLS ?? 0) / 2))
/** On PostgreSQL a job goes on when the lease has ended: a quarter of a minute after each kill. */
const BOUND_MS = 120_000 + ROUNDS * 120_000
const AT_ONCE = 1_000

/** A server whose jobs are killed in the middle, and what there is around it. */
async function givenKills(engine: Engine) {
  const { settings: own, databaseUrl, receiver } = await givenEnvironment(engine)
  const settings = { ...own, ...ADMIN, PORT: String(await freePort()) }
  const db = openDatabase(databaseUrl)
  onTestFinished(() => db.destroy())
  let server = await givenServer(settings)
  const api = createApi(server.url, ADMIN_KEY)

  /** Kills it in the batch after `done`. */
  async function killedAndEnded(
    start: () => Promise<{ body: Job }>,
    atLeast = 1,
  ): Promise<{ job: Job; doneAtKill: number }> {
    const { id } = (await start()).body
    const progress = () => db.selectFrom('jobs').select('done').where('id', '=', id).executeTakeFirstOrThrow()
    for (let { done } = await progress(); done < atLeast; { done } = await progress()) await systemClock.sleep(1)
    await server.kill()
    const { done: doneAtKill } = await progress()
    server = await givenServer(settings)
    const read = async () => (await api.get<Job>(`/jobs/${id}`)).body
    return { job: await eventually(read, ({ finished }) => finished !== null), doneAtKill }
  }
  return { db, api, receiver, killedAndEnded }
}

test.each(ENGINES)(
  'a job and its undo change each monitor exactly once although their processes are killed (%s)',
  async (engine) => {
    const { db, api, killedAndEnded } = await givenKills(engine)
    for (let from = 0; from < MONITORS; from += AT_ONCE) {
      const monitors = Array.from({ length: AT_ONCE }, (_, at) => ({
        ...{
          full_domain: `n${from + at}.example.com`,
          record_type: 'A',
          expected_value: '192.0.2.1',
          is_active: false,
        },
      }))
      expect((await api.post<Monitor[]>('/monitors/bulk', { monitors })).status).toBe(201)
    }
    const versions = () =>
      db
        .selectFrom('monitors')
        .select(['version', 'expected_values', db.fn.countAll<number>().as('count')])
        .groupBy(['version', 'expected_values'])
        .execute()

    for (let round = 0; round < ROUNDS; round++) {
      const change = { expected_value: ['192.0.2.2'] }
      const changed = await killedAndEnded(
        () => api.post<Job>('/jobs', { action: 'update', all: true, change }),
        1 + (round % 4) * 500,
      )
      const all = { state: 'finished', total: MONITORS, done: MONITORS, changed: MONITORS, failed: 0 }
      expect(changed.job).toMatchObject(all)
      expect(changed.doneAtKill).toBeLessThan(MONITORS)
      expect(await versions()).toEqual([{ version: 2 * round + 2, expected_values: '["192.0.2.2"]', count: MONITORS }])

      const undone = await killedAndEnded(() => api.post<Job>(`/jobs/${changed.job.id}/undo`))
      expect(undone.job).toMatchObject(all)
      expect(await versions()).toEqual([{ version: 2 * round + 3, expected_values: '["192.0.2.1"]', count: MONITORS }])
    }
  },
  BOUND_MS,
)

test.each(ENGINES)(
  'a job that resends requests queues each once with an unchanged body although its processes are killed (%s)',
  async (engine) => {
    const { db, api, receiver, killedAndEnded } = await givenKills(engine)
    const { id: webhookId } = (await api.post<Webhook>('/webhooks', { url: receiver.url })).body
    // Until the job has ended nothing is sent, so that what is queued can be counted.
    await api.post(`/webhooks/${webhookId}/disable`)
    const { id: organizationId } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
    const rows = Array.from({ length: MONITORS }, (_, at) => {
      const id = `req_${String(at).padStart(26, '0')}`
      const of = {
        id,
        organization_id: organizationId,
        webhook_id: webhookId,
        event_id: `evt_${at}`,
        monitor_id: 'mon_1',
      }
      const tried = { status: 'FAILED' as const, attempts: 10, retries: 9, timings: '{}' }
      const madeAt = systemClock.now()
      return { ...of, ...tried, created_at: madeAt, last_attempt_at: madeAt, body: Buffer.from(JSON.stringify({ id })) }
    })
    for (let from = 0; from < MONITORS; from += 500) {
      await db
        .insertInto('webhook_requests')
        .values(rows.slice(from, from + 500))
        .execute()
    }

    const body = { action: 'retry_requests', requests: { status: 'FAILED' } }
    const { job, doneAtKill } = await killedAndEnded(() => api.post<Job>('/jobs', body))
    expect(job).toMatchObject({ state: 'finished', total: MONITORS, done: MONITORS, changed: MONITORS, failed: 0 })
    expect(doneAtKill).toBeLessThan(MONITORS)
    const queued = await db.selectFrom('due_requests').select('request_id').orderBy('request_id').execute()
    expect(queued.map(({ request_id }) => request_id)).toEqual(rows.map(({ id }) => id))
    await api.post(`/webhooks/${webhookId}/enable`)
    await eventually(
      () => db.selectFrom('due_requests').select('request_id').limit(1).execute(),
      (left) => left.length === 0,
    )
    const arrived = receiver.received.map((request) => request.body.toString()).toSorted()
    expect(arrived).toEqual(rows.map((row) => row.body.toString()))
  },
)
