import { expect, test } from 'vitest'
import type { Engine } from '../database/engine.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenJobs, givenMonitors } from '../testing/jobs.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

const DAY_MS = 24 * 60 * 60_000
const [OLD, NEW] = ['192.0.2.1', '192.0.2.2']
const at = (world: TestApp, ms: number) => new Date(world.deps.clock.now() + ms).toISOString()

async function givenWorld(engine: Engine, count: number) {
  const world = await givenApp(engine)
  const ids = await givenMonitors(world, count)
  const plan = { action: 'plan', all: true, value: OLD, replacement: NEW, to: at(world, 30 * DAY_MS) }
  const open = async (query = '') => (await world.call(`/planned-changes?is_open=true&limit=100${query}`)).body.data
  return { world, ids, plan, open, ...givenJobs(world) }
}

onBothEngines('a change that is planned for many', (_fresh, engine) => {
  test('is one call: monitors with the value get a change, the others stay, and the counts show the progress', async () => {
    const { world, ids, plan, open, run, results } = await givenWorld(engine, 120)
    await world.call(`/monitors/${ids[0]}`, { method: 'PATCH', body: { expected_value: '192.0.2.9' } })
    const both = { expected_value: [OLD, '192.0.2.9'] }
    await world.call(`/monitors/${ids[1]}`, { method: 'PATCH', body: both })
    const own = { monitor_id: ids[2], new_value: '192.0.2.7', to: plan.to }
    expect((await world.call('/planned-changes', { method: 'POST', body: own })).status).toBe(201)

    const from = at(world, DAY_MS)
    expect(await run({ ...plan, from, dry_run: true })).toMatchObject({ changed: 118, failed: 1 })
    expect(await open()).toHaveLength(1)
    const job = await run({ ...plan, from })
    expect(job).toMatchObject({ total: 120, done: 120, changed: 118, failed: 1, undo_until: null })
    expect(job.change).toEqual({ value: OLD, replacement: NEW, from, to: plan.to })
    const [unchanged, mixed, refused] = await results(job.id)
    expect(unchanged).toMatchObject({ id: ids[0], state: 'unchanged' })
    expect(mixed).toMatchObject({
      ...{ id: ids[1], state: 'changed', before: both },
      after: { expected_value: [NEW, '192.0.2.9'], from, to: plan.to },
    })
    expect(refused).toMatchObject({ id: ids[2], state: 'failed', code: 'planned_change_open' })
    expect(await open(`&job_id=${job.id}`)).toHaveLength(100)
    expect((await open(`&monitor_id=${ids[5]}`))[0]).toMatchObject({
      ...{ job_id: job.id, state: 'SCHEDULED', old_value: [OLD], new_value: [NEW], from, to: plan.to },
    })
    const counts = async (query: string) => (await world.call(`/planned-changes/counts${query}`)).body
    const none = { scheduled: 0, in_progress: 0, done: 0, not_arrived: 0, canceled: 0 }
    expect(await counts(`?job_id=${job.id}`)).toEqual({ ...none, total: 118, scheduled: 118 })
    expect(await counts('')).toEqual({ ...none, total: 119, scheduled: 118, in_progress: 1 })
    world.pass(DAY_MS)
    expect(await counts(`?job_id=${job.id}`)).toEqual({ ...none, total: 118, in_progress: 118 })
    const { key } = await world.organization('Other')
    expect((await world.call('/planned-changes/counts', { key })).body).toEqual({ ...none, total: 0 })
    // The limit of changes planned one by one does not count those of jobs.
    const another = { monitor_id: ids[0], new_value: '192.0.2.7', to: plan.to }
    expect((await world.call('/planned-changes', { method: 'POST', body: another })).status).toBe(201)
  })

  test('can be canceled by a filter, and the monitors are checked against the old values', async () => {
    const { world, ids, plan, open, run } = await givenWorld(engine, 3)
    const { db, clock } = world.deps
    const job = await run(plan)
    const due = () =>
      db.selectFrom('due_checks').select(['monitor_id', 'planned_change_id', 'fingerprint', 'due_at']).execute()
    expect((await due()).every(({ planned_change_id }) => planned_change_id !== null)).toBe(true)
    await db
      .updateTable('due_checks')
      .set({ fingerprint: 7, due_at: clock.now() + DAY_MS })
      .execute()
    const unplan = { action: 'unplan', monitors: [ids[0], ids[1], 'mon_unknown'] }
    expect(await run({ ...unplan, dry_run: true })).toMatchObject({ changed: 2 })
    expect(await open()).toHaveLength(3)
    expect(await run(unplan)).toMatchObject({ changed: 2, failed: 1 })
    expect((await open()).map(({ monitor_id }: { monitor_id: string }) => monitor_id)).toEqual([ids[2]])
    const canceled = (await due()).filter(({ planned_change_id }) => planned_change_id === null)
    expect(canceled.map(({ monitor_id }) => monitor_id).sort()).toEqual(ids.slice(0, 2))
    for (const { fingerprint, due_at } of canceled)
      expect([fingerprint, due_at! <= clock.now() + 1_000]).toEqual([null, true])
    const counts = await world.call(`/planned-changes/counts?job_id=${job.id}`)
    expect(counts.body).toMatchObject({ total: 3, in_progress: 1, canceled: 2 })
    expect(await run({ action: 'unplan', all: true })).toMatchObject({ changed: 1 })
  })

  test('what does not fit is refused, before the job for its fields and in its results for a monitor', async () => {
    const { world, plan, run, results } = await givenWorld(engine, 1)
    const refused = async (fields: object) => {
      const { action, all } = plan
      const { body } = await world.call('/jobs', { method: 'POST', body: { action, all, ...fields } })
      return Object.keys(body.errors ?? {}).sort()
    }
    const values = { value: OLD, replacement: NEW }
    expect(await refused({})).toEqual(['replacement', 'to', 'value'])
    expect(await refused({ ...values, to: 'soon' })).toEqual(['to'])
    expect(await refused({ ...values, to: at(world, -DAY_MS) })).toEqual(['to'])
    expect(await refused({ ...values, to: at(world, 91 * DAY_MS) })).toEqual(['to'])
    expect(await refused({ ...values, from: at(world, 2 * DAY_MS), to: at(world, DAY_MS) })).toEqual(['to'])
    expect(await refused({ ...values, from: {}, to: plan.to })).toEqual(['from'])
    expect(await refused({ action: 'check', to: plan.to, from: plan.to })).toEqual(['from', 'to'])
    const job = await run({ ...plan, replacement: 'www' })
    expect(job).toMatchObject({ changed: 0, failed: 1 })
    expect((await results(job.id))[0]).toMatchObject({ code: 'invalid_change' })
    expect((await world.call(`/jobs/${job.id}/undo`, { method: 'POST' })).status).toBe(409)
  })
})
