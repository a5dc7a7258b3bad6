import { expect, test } from 'vitest'
import type { Engine } from '../database/engine.ts'
import { onBothEngines, waitUntilBlocked } from '../testing/database.ts'
import { givenJobs, givenMonitors } from '../testing/jobs.ts'
import { givenApp } from '../testing/test-app.ts'
import { deleteOldJobs } from './retention.ts'

const HOUR_MS = 60 * 60_000
const NEW = { expected_value: ['192.0.2.2'] }

async function givenWorld(engine: Engine, count = 3) {
  const world = await givenApp(engine)
  const ids = await givenMonitors(world, count)
  return { world, ids, ...givenJobs(world) }
}

onBothEngines('retention of jobs', (_fresh, engine) => {
  test('jobs are deleted with their results 7 days after their end', async () => {
    const { world, run, create } = await givenWorld(engine, 300)
    await run({ action: 'update', all: true, change: NEW })
    const waiting = await create({ action: 'check', all: true })
    world.pass(8 * 24 * HOUR_MS)
    await deleteOldJobs(world.deps, new AbortController().signal)
    expect((await world.call('/jobs')).body.data.map(({ id }: { id: string }) => id)).toEqual([waiting.id])
    expect(await world.deps.db.selectFrom('job_results').select('job_id').execute()).toEqual([])
  })

  test('the results that an unfinished undo needs are kept; what is missing nevertheless is a failed result', async () => {
    const { world, ids, run, pass, finish, results } = await givenWorld(engine, 600)
    const { db } = world.deps
    const job = await run({ action: 'delete', all: true })
    const { body: undo } = await world.call(`/jobs/${job.id}/undo`, { method: 'POST' })
    await pass() // lists
    await pass() // the first 200
    world.pass(8 * 24 * HOUR_MS)
    await deleteOldJobs(world.deps, new AbortController().signal)
    await db.deleteFrom('job_results').where('object_id', '=', ids.at(-1)!).execute()
    expect(await finish(undo.id)).toMatchObject({ state: 'finished', done: 600, changed: 599, failed: 1 })
    expect((await results(undo.id, '&state=failed'))[0]).toMatchObject({
      ...{ id: ids.at(-1), name: null },
      error: 'What the job changed here is no longer stored, so it cannot be undone.',
    })
    world.pass(8 * 24 * HOUR_MS)
    await deleteOldJobs(world.deps, new AbortController().signal)
    expect((await world.call('/jobs')).body.data).toEqual([])
  })

  test('a job is deleted before its undo, so that none names one that is gone', async () => {
    const { world, run } = await givenWorld(engine, 300)
    const job = await run({ action: 'update', all: true, change: NEW })
    const { body: undo } = await world.call(`/jobs/${job.id}/undo`, { method: 'POST' })
    await world.call(`/jobs/${undo.id}/cancel`, { method: 'POST' })
    world.pass(8 * 24 * HOUR_MS)
    const stop = new AbortController()
    // After the first batch of results.
    const clock = { ...world.deps.clock, sleep: async () => stop.abort() }
    await deleteOldJobs({ ...world.deps, clock }, stop.signal)
    expect((await world.call(`/jobs/${job.id}/undo`, { method: 'POST' })).status).toBe(409)
  })
})

test('a job stays while another process deletes its results (postgres)', async () => {
  const { world, run } = await givenWorld('postgres', 450)
  const { db } = world.deps
  await run({ action: 'update', all: true, change: NEW })
  world.pass(8 * 24 * HOUR_MS)
  const deleting = await db.transaction().execute(async (other) => {
    const first = other.selectFrom('job_results').select('object_id').orderBy('object_id').limit(200)
    await other.deleteFrom('job_results').where('object_id', 'in', first).execute()
    const ended = deleteOldJobs(world.deps, new AbortController().signal)
    await waitUntilBlocked(db, 1)
    return { ended }
  })
  await deleting.ended
  expect(await db.selectFrom('job_results').select('object_id').execute()).toHaveLength(250)
  expect((await world.call('/jobs')).body.data).toHaveLength(1)
})
