import { expect, onTestFinished, test } from 'vitest'
import type { Job } from '#contract/jobs.ts'
import type { Monitor } from '#contract/monitors.ts'
import { systemClock } from '#server/clock.ts'
import { openDatabase } from '#server/database/open.ts'
import { createApi } from '#server/testing/api.ts'
import { freePort } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually, givenServer, givenWorld } from '#server/testing/server-world.ts'

const MONITORS = 3_000
const AT_ONCE = 1_000

test('a job and its undo, whose processes are killed in the middle, change each monitor exactly once', async () => {
  const world = await givenWorld('sqlite')
  const settings = { ...world.settings, ...ADMIN, PORT: String(await freePort()) }
  const db = openDatabase(world.databaseUrl)
  onTestFinished(() => db.destroy())
  let server = await givenServer(settings)
  const api = createApi(server.url, ADMIN_KEY)
  for (let from = 0; from < MONITORS; from += AT_ONCE) {
    const monitors = Array.from({ length: AT_ONCE }, (_, at) => ({
      ...{ full_domain: `n${from + at}.example.com`, record_type: 'A', expected_value: '192.0.2.1', is_active: false },
    }))
    expect((await api.post<Monitor[]>('/monitors/bulk', { monitors })).status).toBe(201)
  }

  async function killedAndEnded(start: () => Promise<{ body: Job }>): Promise<{ job: Job; doneAtKill: number }> {
    const { id } = (await start()).body
    const progress = () => db.selectFrom('jobs').select('done').where('id', '=', id).executeTakeFirstOrThrow()
    for (let { done } = await progress(); done === 0; { done } = await progress()) await systemClock.sleep(1)
    await server.kill()
    const { done: doneAtKill } = await progress()
    server = await givenServer(settings)
    const read = async () => (await api.get<Job>(`/jobs/${id}`)).body
    return { job: await eventually(read, ({ finished }) => finished !== null), doneAtKill }
  }
  const versions = () =>
    db
      .selectFrom('monitors')
      .select(['version', 'expected_values', db.fn.countAll<number>().as('count')])
      .groupBy(['version', 'expected_values'])
      .execute()

  const change = { expected_value: ['192.0.2.2'] }
  const changed = await killedAndEnded(() => api.post<Job>('/jobs', { action: 'update', all: true, change }))
  const all = { state: 'finished', total: MONITORS, done: MONITORS, changed: MONITORS, failed: 0 }
  expect(changed.job).toMatchObject(all)
  expect(changed.doneAtKill).toBeLessThan(MONITORS)
  expect(await versions()).toEqual([{ version: 2, expected_values: '["192.0.2.2"]', count: MONITORS }])

  const undone = await killedAndEnded(() => api.post<Job>(`/jobs/${changed.job.id}/undo`))
  expect(undone.job).toMatchObject(all)
  expect(await versions()).toEqual([{ version: 3, expected_values: '["192.0.2.1"]', count: MONITORS }])
})
