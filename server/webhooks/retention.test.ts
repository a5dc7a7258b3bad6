import { sql } from 'kysely'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { systemContext } from '../context.ts'
import { SELF_HOSTED } from '../plan.ts'
import { onBothEngines } from '../testing/database.ts'
import { type Deliveries, givenDeliveries } from '../testing/deliveries.ts'
import { replay } from '../testing/replay.ts'
import { deleteExpired, deleteRequestsOfDeletedWebhooks, enforceStorageLimits } from './retention.ts'
import { deleteWebhook, setActive } from './webhook-store.ts'

const DAY_MS = 24 * 60 * 60_000
const never = new AbortController().signal

const KEEP = { waitingRequests: 0, waitingDays: 0, storedBytes: 0 }

function retentionDeps({ db, clock }: Deliveries, keep: Partial<typeof KEEP> = {}) {
  const webhookKeep = { ...KEEP, ...keep }
  return { db, clock, log: pino({ level: 'silent' }), config: { plans: SELF_HOSTED, webhookKeep } }
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

onBothEngines('retention', (fresh) => {
  test('a deleted webhook receives nothing more, and its requests are deleted in batches', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    const other = await world.webhook()
    webhook.answers(500)
    await world.events(450)
    world.clock.moveTo(world.clock.now() + 6 * 60_000)
    await world.settle()
    const sent = webhook.sent().length

    await deleteWebhook(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id)
    world.clock.moveTo(world.clock.now() + DAY_MS)
    await world.settle()
    await deleteRequestsOfDeletedWebhooks(retentionDeps(world), never)

    expect(webhook.sent()).toHaveLength(sent)
    expect(await rowsIn(world)).toEqual({ requests: 450, attempts: 0, due: 0, removed: 0 })
    expect((await other.requests()).map(({ status }) => status)).toEqual(Array(450).fill('DELIVERED'))
  })

  test('the requests of a webhook that a process of the previous version deleted are deleted too', async () => {
    const world = await givenDeliveries(await fresh())
    const { id } = await world.webhook()
    await world.events(3)
    await deleteWebhook(world.db, systemContext(world.organizationId, world.clock.now()), id)
    await sql`update removed_webhooks set organization_id = null`.execute(world.db)
    await deleteRequestsOfDeletedWebhooks(retentionDeps(world), never)
    expect(await rowsIn(world)).toEqual({ requests: 0, attempts: 0, due: 0, removed: 1 })
    world.clock.moveTo(world.clock.now() + DAY_MS)
    await deleteRequestsOfDeletedWebhooks(retentionDeps(world), never)
    expect(await rowsIn(world)).toEqual({ requests: 0, attempts: 0, due: 0, removed: 0 })
  })

  test('requests that a check writes for a webhook that was just deleted are deleted too', async () => {
    const world = await givenDeliveries(await fresh())
    const { id } = await world.webhook()
    await world.events(1)
    await world.settle()
    const [row] = await world.db.selectFrom('webhook_requests').selectAll().execute()
    await deleteWebhook(world.db, systemContext(world.organizationId, world.clock.now()), id)
    await deleteRequestsOfDeletedWebhooks(retentionDeps(world), never)

    await world.db
      .insertInto('webhook_requests')
      .values({ ...row!, id: 'req_late' })
      .execute()
    await world.pass(10 * 60_000)
    await deleteRequestsOfDeletedWebhooks(retentionDeps(world), never)

    expect(await rowsIn(world)).toEqual({ requests: 0, attempts: 0, due: 0, removed: 0 })
  })

  test('finished requests are kept for 90 days, or as long as the organization sets, and queued ones are kept', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    await world.events(250)
    await world.settle()
    webhook.answers(410)
    await world.events(3)
    await world.settle()

    world.clock.moveTo(world.clock.now() + 89 * DAY_MS)
    await deleteExpired(retentionDeps(world), never)
    expect((await rowsIn(world)).requests).toBe(253)
    world.clock.moveTo(world.clock.now() + 2 * DAY_MS)
    await world.settle()
    await deleteExpired(retentionDeps(world), never)
    expect((await webhook.requests()).map(({ status }) => status)).not.toContain('DELIVERED')
    expect((await rowsIn(world)).requests).toBe(3)

    webhook.answers(200)
    await world.pass(DAY_MS)
    await world.db.updateTable('organizations').set({ event_retention_days: 7 }).execute()
    await deleteExpired(retentionDeps(world), never)
    expect((await rowsIn(world)).requests).toBe(0)
  })
})

onBothEngines('the queue', (fresh) => {
  test('of a paused webhook is limited by age and by number: the oldest request is dropped first, counted and reported', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    webhook.answers(410)
    await world.events(1)
    await world.settle()
    await world.events(300)
    await world.settle()
    const ids = (await webhook.requests()).map(({ id }) => id)
    const kept = async () => (await webhook.requests()).map(({ id }) => id)

    await deleteExpired(retentionDeps(world), never)
    expect(await kept()).toEqual(ids)
    await deleteExpired(retentionDeps(world, { waitingRequests: 250 }), never)
    expect(await kept()).toEqual(ids.slice(51))
    expect(await webhook.row()).toMatchObject({ dropped: 51, state: 'paused' })
    const mails = (await world.mails()).map(({ content }) => JSON.parse(content))
    expect(mails.at(-1)).toMatchObject({ kind: 'webhook_dropped', dropped: 51 })

    world.clock.moveTo(world.clock.now() + 31 * DAY_MS)
    await world.settle()
    await deleteExpired(retentionDeps(world, { waitingDays: 30 }), never)
    expect(await kept()).toEqual([])
    expect(await webhook.row()).toMatchObject({ dropped: 301 })
    expect(await world.db.selectFrom('event_bodies').selectAll().execute()).toEqual([])
  })

  test('keeps a replayed request that was delivered before in the log when it drops it', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    await world.events(2)
    await world.settle()
    await setActive(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id, false)
    const period = { since: 0, until: world.clock.now() + 1 }
    await replay(world.db, world.organizationId, webhook.id, period, world.clock.now())
    world.clock.moveTo(world.clock.now() + 31 * DAY_MS)
    await deleteExpired(retentionDeps(world, { waitingDays: 30 }), never)

    expect(await webhook.requests()).toMatchObject([{ status: 'DELIVERED' }, { status: 'DELIVERED' }])
    expect(await world.db.selectFrom('due_requests').selectAll().execute()).toEqual([])
  })

  test('is shortened at the limit of storage only if deleting finished requests is not enough', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    await world.events(300)
    await world.settle()
    const stored = async () => (await world.db.selectFrom('webhook_storage').select('octets').execute())[0]!.octets
    const before = await stored()
    await setActive(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id, false)
    const period = { since: 0, until: world.clock.now() + 1 }
    expect(await replay(world.db, world.organizationId, webhook.id, period, world.clock.now())).toBe(300)
    await setActive(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id, true)
    await world.settle()
    await setActive(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id, false)
    const other = await world.webhook()
    other.answers(410)
    await world.events(250)
    await world.settle()
    expect(await stored()).toBeGreaterThan(before + 250 * 1_024)

    await enforceStorageLimits(retentionDeps(world, { storedBytes: 400 * 1_024 }), never)
    expect(await webhook.requests()).toEqual([])
    expect(await other.requests()).toHaveLength(250)
    await enforceStorageLimits(retentionDeps(world, { storedBytes: 100 * 1_024 }), never)
    expect((await other.row()).dropped).toBe(200)
    expect(await stored()).toBeLessThanOrEqual(100 * 1_024)
  })
})
