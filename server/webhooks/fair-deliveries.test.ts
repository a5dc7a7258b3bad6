import { expect, test } from 'vitest'
import { systemContext } from '../context.ts'
import { onBothEngines } from '../testing/database.ts'
import { type Deliveries, givenDeliveries } from '../testing/deliveries.ts'
import { createTestRequest } from './manual-attempts.ts'

const LIMITS = { total: 8, perWebhook: 4 }
/** How many slow requests there may be. */
const SLOW = 10 * LIMITS.total
/** More requests than can be in progress, slow ones included. */
const SILENT_WEBHOOKS = 60

/** `host`: of each webhook. */
async function givenSilentWebhooks(world: Deliveries, host: (number: number) => string) {
  const tenant = await world.tenant()
  const silent: Awaited<ReturnType<Deliveries['webhook']>>[] = []
  for (let number = 0; number < SILENT_WEBHOOKS; number++) {
    const webhook = await world.webhook({ tenant, url: `https://${host(number)}/${number}` })
    webhook.answers('hang')
    silent.push(webhook)
  }
  return { tenant, silent, connections: () => silent.reduce((sum, webhook) => sum + webhook.sent().length, 0) }
}

/** Time for requests to become slow, but not to end: they end after 30 seconds. */
async function passSeconds(world: Deliveries, count: number) {
  for (let half = 0; half < 2 * count; half++) {
    world.clock.moveTo(world.clock.now() + 500)
    await world.settle()
  }
}

onBothEngines('fair deliveries', (fresh) => {
  test('hundreds of webhooks to one silent host open few connections, and another organization is not delayed', async () => {
    const world = await givenDeliveries(await fresh(), { limits: LIMITS })
    const { tenant, connections } = await givenSilentWebhooks(world, () => 'silent.example')
    const other = await world.webhook()
    await world.events(3, tenant)
    await passSeconds(world, 3)
    expect(connections()).toBeLessThanOrEqual(SLOW / 8 + LIMITS.total)

    await world.events(2)
    await world.settle()

    expect(other.sent()).toHaveLength(2)
  })

  test('an organization with many silent hosts leaves half of the slots', async () => {
    const world = await givenDeliveries(await fresh(), { limits: LIMITS })
    const { tenant, connections } = await givenSilentWebhooks(world, (number) => `silent-${number}.example`)
    const other = await world.webhook()
    await world.events(3, tenant)
    await passSeconds(world, 5)
    expect(connections()).toBeLessThanOrEqual(SLOW / 2 + LIMITS.total)
    expect(connections()).toBeGreaterThan(SLOW / 4)

    await world.events(2)
    await world.settle()

    expect(other.sent()).toHaveLength(2)
  })

  test('tests and manual retries have no slots of their own', async () => {
    const world = await givenDeliveries(await fresh(), { limits: LIMITS })
    const { tenant, silent, connections } = await givenSilentWebhooks(world, () => 'silent.example')
    const other = await world.webhook()
    const context = systemContext(tenant.organizationId, world.clock.now())
    for (const { id } of silent) await createTestRequest(world.db, context, id)
    await passSeconds(world, 3)
    expect(connections()).toBeLessThanOrEqual(SLOW / 8 + LIMITS.total)

    await world.events(1)
    await world.settle()

    expect(other.sent()).toHaveLength(1)
  })

  test('tests and manual retries of one organization leave half of what may be claimed', async () => {
    const limits = { total: 2, perWebhook: 2 }
    const maxClaimed = 16 * limits.total
    const world = await givenDeliveries(await fresh(), { limits })
    const { tenant, silent } = await givenSilentWebhooks(world, (number) => `silent-${number}.example`)
    const other = await world.webhook()
    const context = systemContext(tenant.organizationId, world.clock.now())
    for (const { id } of [...silent, ...silent]) await createTestRequest(world.db, context, id)
    await passSeconds(world, 5)
    const claimed = await world.db.selectFrom('due_requests').selectAll().where('claimed_by', 'is not', null).execute()
    expect(claimed.length).toBeLessThanOrEqual(maxClaimed / 2)

    await world.events(1)
    await world.settle()

    expect(other.sent()).toHaveLength(1)
  })

  test('requests that wait for a slot of their host are sent when it answers', async () => {
    const world = await givenDeliveries(await fresh(), { limits: LIMITS })
    const { tenant, silent } = await givenSilentWebhooks(world, () => 'silent.example')
    await world.events(1, tenant)
    await passSeconds(world, 1)
    for (const webhook of silent) webhook.answers(200)

    await world.pass(world.HOUR_MS)

    const delivered = await world.db
      .selectFrom('webhook_requests')
      .select('id')
      .where('organization_id', '=', tenant.organizationId)
      .where('status', '=', 'DELIVERED')
      .execute()
    expect(delivered).toHaveLength(SILENT_WEBHOOKS)
  })
})
