import { expect, onTestFinished, test } from 'vitest'
import type { Job } from '#contract/jobs.ts'
import type { Monitor } from '#contract/monitors.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { systemClock } from '#server/clock.ts'
import type { Engine } from '#server/database/engine.ts'
import { openDatabase } from '#server/database/open.ts'
import { createApi } from '#server/testing/api-client.ts'
import { freePort } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

const ENGINES: Engine[] = ['sqlite', 'postgres']
const MONITORS = 3_000
/** Each round kills a job and its undo. `KILLS` in the environment sets more. */
const ROUNDS = Math.max(1, Math.ceil(Number(process.env.KILLS ?? 0) / 2))
/** On PostgreSQL a job continues after its lease, 15 seconds after each kill. */
const TIMEOUT_MS = 120_000 + ROUNDS * 120_000
const BULK_SIZE = 1_000

/** A server that can be killed during a job. */
async function givenKillableServer(engine: Engine) {
  const { settings: common, databaseUrl, receiver } = await givenEnvironment(engine)
  const settings = { ...common, ...ADMIN, PORT: String(await freePort()) }
  const db = openDatabase(databaseUrl)
  onTestFinished(() => db.destroy())
  let server = await givenServer(settings)
  const api = createApi(server.url, ADMIN_KEY)

  /** Kills the server after the job processed `atLeast` objects, and returns the job when it is finished. */
  async function killDuring(
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
  return { db, api, receiver, killDuring }
}

test.each(ENGINES)(
  'a job and its undo change each monitor exactly once although their processes are killed (%s)',
  async (engine) => {
    const { db, api, killDuring } = await givenKillableServer(engine)
    for (let from = 0; from < MONITORS; from += BULK_SIZE) {
      const monitors = Array.from({ length: BULK_SIZE }, (_, index) => ({
        ...{
          full_domain: `n${from + index}.example.com`,
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
      const changed = await killDuring(
        () => api.post<Job>('/jobs', { action: 'update', all: true, change }),
        1 + (round % 4) * 500,
      )
      const all = { state: 'finished', total: MONITORS, done: MONITORS, changed: MONITORS, failed: 0 }
      expect(changed.job).toMatchObject(all)
      expect(changed.doneAtKill).toBeLessThan(MONITORS)
      expect(await versions()).toEqual([{ version: 2 * round + 2, expected_values: '["192.0.2.2"]', count: MONITORS }])

      const undone = await killDuring(() => api.post<Job>(`/jobs/${changed.job.id}/undo`))
      expect(undone.job).toMatchObject(all)
      expect(await versions()).toEqual([{ version: 2 * round + 3, expected_values: '["192.0.2.1"]', count: MONITORS }])
    }
  },
  TIMEOUT_MS,
)

test.each(ENGINES)(
  'a job that resends requests queues each once with an unchanged body although its processes are killed (%s)',
  async (engine) => {
    const { db, api, receiver, killDuring } = await givenKillableServer(engine)
    const { id: webhookId } = (await api.post<Webhook>('/webhooks', { url: receiver.url })).body
    // Disabled, so that the test can count the queued requests before they are sent.
    await api.post(`/webhooks/${webhookId}/disable`)
    const { id: organizationId } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
    const rows = Array.from({ length: MONITORS }, (_, index) => {
      const id = `req_${String(index).padStart(26, '0')}`
      const keys = {
        id,
        organization_id: organizationId,
        webhook_id: webhookId,
        event_id: `evt_${index}`,
        monitor_id: 'mon_1',
      }
      const attempts = { status: 'FAILED' as const, attempts: 10, retries: 9, timings: '{}' }
      const createdAt = systemClock.now()
      return {
        ...keys,
        ...attempts,
        created_at: createdAt,
        last_attempt_at: createdAt,
        body: Buffer.from(JSON.stringify({ id })),
      }
    })
    for (let from = 0; from < MONITORS; from += 500) {
      await db
        .insertInto('webhook_requests')
        .values(rows.slice(from, from + 500))
        .execute()
    }

    const body = { action: 'retry_requests', requests: { status: 'FAILED' } }
    const { job, doneAtKill } = await killDuring(() => api.post<Job>('/jobs', body))
    expect(job).toMatchObject({ state: 'finished', total: MONITORS, done: MONITORS, changed: MONITORS, failed: 0 })
    expect(doneAtKill).toBeLessThan(MONITORS)
    const queued = await db.selectFrom('due_requests').select('request_id').orderBy('request_id').execute()
    expect(queued.map(({ request_id }) => request_id)).toEqual(rows.map(({ id }) => id))
    await api.post(`/webhooks/${webhookId}/enable`)
    await eventually(
      () => db.selectFrom('due_requests').select('request_id').limit(1).execute(),
      (queue) => queue.length === 0,
    )
    const arrived = receiver.received.map((request) => request.body.toString()).toSorted()
    expect(arrived).toEqual(rows.map((row) => row.body.toString()))
  },
)
