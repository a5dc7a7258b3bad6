import { expect, test } from 'vitest'
import { onBothEngines } from '../testing/database.ts'
import { givenJobs, givenMonitors } from '../testing/jobs.ts'
import { givenApp } from '../testing/test-app.ts'
import { deleteOldJobs } from './retention.ts'

const HOUR_MS = 60 * 60_000
const MEBIBYTE = 1024 * 1024

onBothEngines('what jobs store to be undone', (_fresh, engine) => {
  test('is bounded in bytes for each organization, and a job says what it cannot undo', async () => {
    const world = await givenApp(engine, { JOB_STORED_MB: '1' })
    const { db } = world.deps
    const jobs = givenJobs(world)
    await givenMonitors(world, 20)
    const large = JSON.stringify(['x'.repeat(100_000)])
    await db.updateTable('monitors').set({ current_values: large, state: 'MISMATCH' }).execute()

    const deletion = await jobs.run({ action: 'delete', all: true })
    const { undo_missing } = deletion
    expect(deletion).toMatchObject({ state: 'finished', changed: 20 })
    expect(undo_missing).toBeGreaterThanOrEqual(10)
    expect(undo_missing).toBeLessThan(15)
    const rows = await db.selectFrom('job_results').select(['changed_from', 'changed_to', 'snapshot']).execute()
    const bytes = rows.flatMap((row) => Object.values(row)).reduce((sum, value) => sum + (value?.length ?? 0), 0)
    expect(bytes).toBeLessThanOrEqual(MEBIBYTE)

    expect(await jobs.undo(deletion.id)).toMatchObject({ changed: 20 - undo_missing, failed: undo_missing })
    const later = await jobs.run({ action: 'update', all: true, change: { metadata: { note: 'y'.repeat(200) } } })
    expect(later).toMatchObject({ changed: 20 - undo_missing })
  })

  test('no longer limits new jobs when the old ones can no longer be undone', async () => {
    const world = await givenApp(engine, { JOB_STORED_MB: '1' })
    const { db } = world.deps
    const jobs = givenJobs(world)
    await givenMonitors(world, 3)
    const first = await jobs.run({ action: 'tag', all: true, tags: ['a'] })
    await db.updateTable('jobs').set({ result_bytes: MEBIBYTE }).where('id', '=', first.id).execute()
    const full = await jobs.run({ action: 'tag', all: true, tags: ['b'] })
    expect(full).toMatchObject({ changed: 3, undo_missing: 3, undo_until: null })
    const refused = await world.call(`/jobs/${full.id}/undo`, { method: 'POST' })
    expect([refused.status, refused.body.error]).toEqual([409, expect.stringContaining('storage limit')])

    const stop = new AbortController().signal
    await deleteOldJobs(world.deps, stop)
    expect(await jobs.run({ action: 'tag', all: true, tags: ['c'] })).toMatchObject({ undo_missing: 3 })
    world.pass(25 * HOUR_MS)
    await deleteOldJobs(world.deps, stop)
    expect(await jobs.run({ action: 'tag', all: true, tags: ['d'] })).toMatchObject({ changed: 3, undo_missing: 0 })
  })
})
