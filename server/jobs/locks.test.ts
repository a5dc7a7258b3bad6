import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { systemContext } from '../context.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import { resolveGroups } from '../groups/resolve.ts'
import { restoreMonitors } from '../monitors/delete.ts'
import { updateMonitor } from '../monitors/update.ts'
import { waitUntilBlocked } from '../testing/database.ts'
import { givenJobs, givenMonitors } from '../testing/jobs.ts'
import { givenApp } from '../testing/test-app.ts'

async function givenWorld(count: number) {
  const world = await givenApp('postgres')
  const ids = await givenMonitors(world, count)
  return { world, ids, ...givenJobs(world) }
}

describe('locks of jobs (postgres)', () => {
  test('a job that is created while the worker finds no job left is carried out', async () => {
    const { world, pass, read } = await givenWorld(1)
    const { db, clock } = world.deps
    const { id: organization_id } = await world.organization()
    await db.insertInto('due_jobs').values({ organization_id, due_at: clock.now() }).execute()
    const body = { action: 'check', all: true }
    const creating = await db.transaction().execute(async (other) => {
      await sql`lock table audit_log in share mode`.execute(other)
      const answer = world.call('/jobs', { method: 'POST', body })
      await waitUntilBlocked(db) // to write its last row
      await pass()
      return { answer }
    })
    const { body: job } = await creating.answer
    while ((await pass()) > 0);
    expect(await read(job.id)).toMatchObject({ state: 'finished' })
  })

  test('a job that creates its group does not wait for who creates the same group and the other way round', async () => {
    const { world } = await givenWorld(1)
    const { db, clock } = world.deps
    const { id } = await world.organization()
    const context = systemContext(id, clock.now())
    const body = { action: 'move', all: true, group: 'new' }
    const creating = await db.transaction().execute(async (other) => {
      await lockOrganization(other, id)
      const answer = world.call('/jobs', { method: 'POST', body })
      await waitUntilBlocked(db)
      await resolveGroups(other, context, new Set(['new']))
      return { answer }
    })
    expect((await creating.answer).status).toBe(202)
  })

  test('an undo that restores monitors and a change of an external id do not wait for each other', async () => {
    const { world, ids, run, pass, read } = await givenWorld(2)
    const { db, clock } = world.deps
    const { id: organizationId } = await world.organization()
    const job = await run({ action: 'delete', all: true })
    const { body: undo } = await world.call(`/jobs/${job.id}/undo`, { method: 'POST' })
    await pass() // lists
    const [row] = await db.selectFrom('job_results').select('snapshot').where('object_id', '=', ids[0]!).execute()
    const snapshot = JSON.parse(row!.snapshot!)
    await restoreMonitors(db, { organizationId }, [{ snapshot, checkAt: 0 }], clock.now())
    const context = systemContext(organizationId, clock.now())
    const undoing = await db.transaction().execute(async (other) => {
      await lockOrganization(other, organizationId)
      const passed = pass()
      await waitUntilBlocked(db)
      await updateMonitor(other, context, ids[0]!, { external_id: 'mine' })
      return { passed }
    })
    await undoing.passed
    expect(await read(undo.id)).toMatchObject({ state: 'finished', done: 2, changed: 1 })
  })

  test('a cancel waits for the batch in progress, so that nothing changes after it', async () => {
    const { world, ids, create, pass, read } = await givenWorld(300)
    const { db } = world.deps
    const { id } = await create({ action: 'update', all: true, change: { frequency: 60 } })
    await pass() // lists
    const begun = await db.transaction().execute(async (other) => {
      await sql`select id from monitors where id = ${ids[0]!} for update`.execute(other)
      const passed = pass()
      await waitUntilBlocked(db) // one half; the other is committed or will be
      const canceled = world.call(`/jobs/${id}/cancel`, { method: 'POST' })
      await waitUntilBlocked(db, 2)
      return { passed, canceled }
    })
    await begun.passed
    expect((await begun.canceled).body).toMatchObject({ state: 'canceled', done: 150, changed: 150 })
    while ((await pass()) > 0);
    expect(await read(id)).toMatchObject({ state: 'canceled', done: 150, changed: 150 })
    const changed = await db.selectFrom('monitors').select('id').where('frequency', '=', 60).execute()
    expect(changed).toHaveLength(150)
  })
})
