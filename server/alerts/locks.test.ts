import { expect, test } from 'vitest'
import { forUpdate } from '../database/dialect.ts'
import { claimDue } from '../queue/lease-queue.ts'
import { givenAlertReceiver, type Json } from '../testing/alerts.ts'
import { waitUntilBlocked } from '../testing/database.ts'
import { beginAttempt } from './alert-attempts.ts'

type World = Awaited<ReturnType<typeof givenAlertReceiver>>

const alertOf = async ({ world, rule }: World): Promise<Json> =>
  (await world.call('/alerts')).body.data.find((alert: Json) => alert.rule_id === rule)

/** What needs the lock of an alert and of when it is due; made ready first. */
const OTHERS: Record<string, (given: World) => Promise<() => Promise<unknown>>> = {
  'somebody retries it': async (given) => {
    const { id } = await alertOf(given)
    return async () => expect((await given.world.call(`/alerts/${id}/retry`, { method: 'POST' })).status).toBe(202)
  },
  'somebody takes an acknowledgement back': async ({ world, incidentOf }) => {
    const path = `/incidents/${(await incidentOf()).id}`
    const body = { acknowledged: false }
    return async () => expect((await world.call(path, { method: 'PATCH', body })).status).toBe(200)
  },
  'its next attempt begins': async ({ world }) => {
    const { db, clock, config } = world.deps
    const now = clock.now() + 24 * 60 * 60_000
    const claims = await claimDue(db, 'due_alerts', { now, process: 7, limit: 9 })
    const beginning = { ...config, hasMailServer: false, acknowledgeLink: () => '', now }
    return async () => {
      for (const claim of claims) await beginAttempt(db, claim, beginning)
    }
  },
}

test.each(Object.entries(OTHERS))('recording an attempt does not deadlock while %s (postgres)', async (_, other) => {
  const given = await givenAlertReceiver('postgres', { delay: 0, repeat_every: 2 })
  const { world, incidentOf } = given
  const { db } = world.deps
  await given.fail('shop.example.com')
  await world.call(`/incidents/${(await incidentOf()).id}`, { method: 'PATCH', body: { acknowledged: true } })
  const { id, channel_id } = await alertOf(given)
  const run = await other(given)
  const doing = await db.transaction().execute(async (recording) => {
    await recording.updateTable('due_alerts').set({ was_due_at: null }).where('alert_id', '=', id).execute()
    const done = run()
    await waitUntilBlocked(db)
    await recording.updateTable('alerts').set({ error: 'slow' }).where('id', '=', id).execute()
    await recording.selectFrom('channels').select('id').where('id', '=', channel_id).modifyEnd(forUpdate(db)).execute()
    return { done }
  })
  await doing.done
})
