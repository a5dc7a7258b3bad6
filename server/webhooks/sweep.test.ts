import { pino } from 'pino'
import { expect, test } from 'vitest'
import { SELF_HOSTED } from '../plan.ts'
import { onBothEngines } from '../testing/database.ts'
import { type Deliveries, givenDeliveries } from '../testing/deliveries.ts'
import { deleteWebhook } from './store.ts'
import { sweepOld, sweepRemoved } from './sweep.ts'

const DAY_MS = 24 * 60 * 60_000
const never = new AbortController().signal

function sweepDoors({ db, clock }: Deliveries) {
  return { db, clock, log: pino({ level: 'silent' }), config: { plans: SELF_HOSTED } }
}

async function rowsIn({ db }: Deliveries) {
  const count = async (table: 'webhook_requests' | 'webhook_attempts' | 'due_requests' | 'removed_webhooks') =>
    (await db.selectFrom(table).selectAll().execute()).length
  return {
    requests: await count('webhook_requests'),
    attempts: await count('webhook_attempts'),
    due: await count('due_requests'),
    removed: await count('removed_webhooks'),
  }
}

onBothEngines('clearing away', (fresh) => {
  test('a deleted webhook is sent nothing more, and its requests go in batches', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    const other = await world.webhook()
    webhook.answers(500)
    await world.events(450)
    world.clock.moveTo(world.clock.now() + 6 * 60_000)
    await world.settle()
    const sent = webhook.sent().length

    await deleteWebhook(world.db, world.organizationId, webhook.id, world.clock.now())
    world.clock.moveTo(world.clock.now() + DAY_MS)
    await world.settle()
    await sweepRemoved(sweepDoors(world), never)

    expect(webhook.sent()).toHaveLength(sent)
    expect(await rowsIn(world)).toEqual({ requests: 450, attempts: 0, due: 0, removed: 0 })
    expect((await other.requests()).map(({ status }) => status)).toEqual(Array(450).fill('DELIVERED'))
  })

  test('what a check still writes for a webhook that was just deleted goes too', async () => {
    const world = await givenDeliveries(await fresh())
    const { id } = await world.webhook()
    await world.events(1)
    await world.settle()
    const [row] = await world.db.selectFrom('webhook_requests').selectAll().execute()
    await deleteWebhook(world.db, world.organizationId, id, world.clock.now())
    await sweepRemoved(sweepDoors(world), never)

    await world.db
      .insertInto('webhook_requests')
      .values({ ...row!, id: 'req_late' })
      .execute()
    await world.pass(10 * 60_000)
    await sweepRemoved(sweepDoors(world), never)

    expect(await rowsIn(world)).toEqual({ requests: 0, attempts: 0, due: 0, removed: 0 })
  })

  test('requests that are done with are kept for 90 days, or as long as the organization says; what waits is kept', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    await world.events(250)
    await world.settle()
    webhook.answers(410)
    await world.events(3)
    await world.settle()

    world.clock.moveTo(world.clock.now() + 89 * DAY_MS)
    await sweepOld(sweepDoors(world), never)
    expect((await rowsIn(world)).requests).toBe(253)
    world.clock.moveTo(world.clock.now() + 2 * DAY_MS)
    await world.settle()
    await sweepOld(sweepDoors(world), never)
    expect((await webhook.requests()).map(({ status }) => status)).not.toContain('DELIVERED')
    expect((await rowsIn(world)).requests).toBe(3)

    webhook.answers(200)
    await world.pass(DAY_MS)
    await world.db.updateTable('organizations').set({ event_retention_days: 7 }).execute()
    await sweepOld(sweepDoors(world), never)
    expect((await rowsIn(world)).requests).toBe(0)
  })
})
