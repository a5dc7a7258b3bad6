import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import type { Engine } from '../database/engine.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenJobs, givenMonitors } from '../testing/jobs.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { eventually } from '../testing/test-server.ts'
import { nextSize } from './run.ts'

const NEW = { expected_value: ['192.0.2.2'] }

async function givenWorld(engine: Engine, count: number) {
  const world = await givenApp(engine)
  const ids = await givenMonitors(world, count)
  return { world, ids, ...givenJobs(world) }
}

/** The monitors that no step has changed yet, in the order in which a job reads them. */
async function undone({ deps: { db } }: TestApp): Promise<string[]> {
  const rows = await db.selectFrom('monitors').select('id').where('version', '=', 1).orderBy('id').execute()
  return rows.map(({ id }) => id)
}

onBothEngines('steps of jobs', (_fresh, engine) => {
  test('a process that dies in a batch leaves it to another, and what it wrote late changes nothing', async () => {
    const { world, create, pass, read } = await givenWorld(engine, 300)
    const { id } = await create({ action: 'update', all: true, change: NEW })
    await pass(1)
    const { db, clock } = world.deps
    const lease = { due_at: clock.now() + 60_000, claimed_by: 7 }
    await db.updateTable('due_jobs').set(lease).execute() // another process has it
    expect(await pass(1)).toBe(0)
    world.pass(60_001)
    while ((await pass(2)) > 0);
    expect(await read(id)).toMatchObject({ state: 'finished', done: 300, changed: 300 })
    expect((await world.call(`/jobs/${id}/results?limit=1`)).body.has_more).toBe(true)
  })

  test('a part of a batch that fails leaves the other as it is, and is repeated alone', async () => {
    const { world, ids, create, pass, read } = await givenWorld(engine, 100)
    const { db } = world.deps
    const { id } = await create({ action: 'update', monitors: ids, change: NEW })
    const { id: organization_id } = await world.organization()
    const obstacle = { organization_id, job_id: id, object_id: ids.at(-1)!, state: 'unchanged' as const }
    await db.insertInto('job_results').values(obstacle).execute()
    await pass()
    const done = engine === 'postgres' ? 50 : 0
    expect(await read(id)).toMatchObject({ state: done > 0 ? 'running' : 'queued', done, changed: done })
    expect(await db.selectFrom('monitors').select('version').where('version', '=', 2).execute()).toHaveLength(done)
    await db.deleteFrom('job_results').where('state', '=', 'unchanged').execute()
    world.pass(1_001)
    while ((await pass()) > 0);
    expect(await read(id)).toMatchObject({ state: 'finished', total: 100, done: 100, changed: 100, failed: 0 })
    expect(await db.selectFrom('monitors').select('version').where('version', '=', 2).execute()).toHaveLength(100)
    const entry = (await world.call('/audit-log?object=job')).body.data[0]
    expect(entry.object_count).toBe(100)
  })

  test('open pages are notified of the end of a job and of its cancellation, and not of a preview', async () => {
    const { world, create, run } = await givenWorld(engine, 2)
    const { db } = world.deps
    const { id: organization_id } = await world.organization()
    const lists = async () =>
      (await db.selectFrom('organization_changes').select('list').orderBy('list').execute()).map(({ list }) => list)
    const notified = async (expected: readonly string[]) => {
      await eventually(lists, (found) => isDeepStrictEqual(found, expected))
      await db.deleteFrom('organization_changes').where('organization_id', '=', organization_id).execute()
    }
    await notified(['groups', 'monitors']) // by the request that created the monitors
    const disable = { action: 'update', all: true, change: { is_active: false } }
    await run({ ...disable, dry_run: true })
    expect(await lists()).toEqual([])
    await run(disable)
    await notified(['groups', 'monitors'])
    const { id } = await create({ action: 'delete', all: true })
    await world.call(`/jobs/${id}/cancel`, { method: 'POST' })
    await notified(['groups', 'monitors', 'requests'])
  })

  test('a job that fails again and again is given up, and the next one runs', async () => {
    const { world, ids, create, pass, read } = await givenWorld(engine, 2)
    const { id } = await create({ action: 'update', monitors: ids, change: NEW })
    const next = await create({ action: 'check', all: true })
    await world.deps.db.deleteFrom('job_batches').execute()
    for (let failure = 1; failure <= 5; failure++) {
      expect([failure, (await read(id)).state]).toEqual([failure, 'queued'])
      await pass()
      world.pass(1_001)
    }
    while ((await pass()) > 0);
    expect(await read(id)).toMatchObject({
      state: 'failed',
      error: 'An internal error. The operator finds it in the log of the server.',
    })
    expect(await read(next.id)).toMatchObject({ state: 'finished' })
  })

  test('a step that succeeds ends the row of failures', async () => {
    const { world, create, pass, read } = await givenWorld(engine, 600)
    const { db } = world.deps
    const { id } = await create({ action: 'update', all: true, change: NEW })
    const { id: organization_id } = await world.organization()
    const fails = async (monitor: string, times: number) => {
      const obstacle = { organization_id, job_id: id, object_id: monitor, state: 'unchanged' as const }
      await db.insertInto('job_results').values(obstacle).execute()
      for (let failure = 0; failure < times; failure++) {
        await pass()
        world.pass(1_001)
      }
      await db.deleteFrom('job_results').where('state', '=', 'unchanged').execute()
    }
    await fails((await undone(world))[0]!, 4)
    await pass()
    await fails((await undone(world))[0]!, 4)
    while ((await pass()) > 0);
    expect(await read(id)).toMatchObject({ state: 'finished', done: 600, changed: 600 })
  })
})

test('a step is so large that it takes as long as it should, by the one before', () => {
  expect([nextSize(200, 80, true), nextSize(200, 25, true), nextSize(400, 190, false)]).toEqual([100, 320, 526])
  // At most twice as large or half, and within the limits.
  expect([nextSize(200, 1, true), nextSize(200, 5_000, true)]).toEqual([400, 100])
  expect([nextSize(900, 0, true), nextSize(60, 5_000, true), nextSize(0, 0, true)]).toEqual([1_000, 50, 50])
})
