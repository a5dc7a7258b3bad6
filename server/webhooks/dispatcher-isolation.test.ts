import { expect, test } from 'vitest'
import { systemContext } from '../context.ts'
import { createKeyring } from '../keyring.ts'
import { releaseUnknown } from '../queue/lease-queue.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenDeliveries } from '../testing/deliveries.ts'
import { givenRecordingDatabase } from '../testing/query-plans.ts'
import { replay } from '../testing/replay.ts'
import { claimRequests } from './claim-requests.ts'
import { makeWebhooksDue } from './due-webhooks.ts'
import { createTestRequest } from './manual-attempts.ts'
import { headersContext, secretContext } from './webhook.ts'
import { setActive } from './webhook-store.ts'

onBothEngines('several webhooks', (fresh, engine) => {
  test('a webhook with thousands of hanging requests delays no other', async () => {
    const world = await givenDeliveries(await fresh(), { limits: { total: 10, perWebhook: 8 } })
    const hanging = await world.webhook()
    hanging.answers('hang')
    await world.events(3_000)
    await world.settle()
    const healthy = await world.webhook()
    await world.db.deleteFrom('group_webhooks').where('webhook_id', '=', hanging.id).execute()

    const startedAt = world.clock.elapsed()
    await world.events(20)
    await world.settle()

    expect(healthy.sent()).toHaveLength(20)
    expect(world.clock.elapsed() - startedAt).toBeLessThanOrEqual(1_000)
    expect(hanging.sent().length).toBeLessThanOrEqual(8)
  })

  test('more hanging webhooks than the capacity leave capacity for others once they are known to be slow', async () => {
    const world = await givenDeliveries(await fresh(), { limits: { total: 4, perWebhook: 8 } })
    for (let count = 0; count < 6; count++) (await world.webhook()).answers('hang')
    await world.events(5)
    await world.settle()
    const healthy = await world.webhook()

    await world.events(1)
    await world.settle()
    for (let tenth = 0; tenth < 20 && healthy.sent().length === 0; tenth++) {
      world.clock.moveTo(world.clock.now() + 250)
      await world.settle()
    }

    expect(healthy.sent()).toHaveLength(1)
    expect(world.clock.elapsed()).toBeLessThanOrEqual(5_000)
  })

  test('hundreds of manual retries of one webhook do not delay those of another', async () => {
    const world = await givenDeliveries(await fresh())
    const crowd = await world.webhook()
    await world.events(300)
    await world.settle()
    const single = await world.webhook()
    await createTestRequest(world.db, systemContext(world.organizationId, world.clock.now()), single.id)
    await world.settle()
    crowd.answers('hang')
    for (const { id } of [crowd, single])
      await setActive(world.db, systemContext(world.organizationId, world.clock.now()), id, false)
    const requests = [...(await crowd.requests()), ...(await single.requests())]
    const asked = requests.map(({ webhook_id, id }) => {
      return { webhook_id, request_id: id, due_at: world.clock.now(), is_manual: 1 as const }
    })
    await world.db.transaction().execute(async (transaction) => {
      await transaction.insertInto('due_requests').values(asked).execute()
      await makeWebhooksDue(transaction, [crowd.id, single.id], world.clock.now())
    })
    await world.settle()

    expect(single.sent()).toHaveLength(2)
  })

  test('two processes share the work and send every request once', async () => {
    const world = await givenDeliveries(await fresh(), { processes: 2 })
    const webhooks = [await world.webhook(), await world.webhook(), await world.webhook()]

    for (let count = 0; count < 5; count++) await world.events(60)
    await world.settle()

    for (const webhook of webhooks) {
      expect(webhook.sent()).toHaveLength(300)
      expect(new Set(webhook.sent().map(({ id }) => id)).size).toBe(300)
    }
  })

  test('a request whose process died is sent again when its lease expires, with the same bytes', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    webhook.answers(500)
    await world.events()
    await world.settle()
    webhook.answers(200)
    const [request] = await webhook.requests()
    // What a process leaves that claimed the request and died.
    const now = world.clock.now()
    await world.db
      .updateTable('due_requests')
      .set({ claimed_by: 99, due_at: now + 60_000 })
      .execute()
    await world.db
      .updateTable('due_webhooks')
      .set({ due_at: now + 60_000 })
      .execute()

    await world.pass(61_000)

    const [first, second] = webhook.sent()
    expect(second).toMatchObject({ id: request!.id, body: first!.body })
    expect(await world.db.selectFrom('due_requests').selectAll().execute()).toEqual([])
  })

  test('claims that a process does not know of, because the response of the database was lost, are released at once', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    webhook.answers(500)
    await world.events(3)
    await world.settle()
    const claimed = { claimed_by: 1, due_at: world.clock.now() + 60_000 }
    await world.db.updateTable('due_requests').set(claimed).execute()
    const [held, orphan, others] = (await webhook.requests()).map(({ id }) => id)
    await world.db.updateTable('due_requests').set({ claimed_by: 2 }).where('request_id', '=', others!).execute()
    const before = webhook.sent().length

    await releaseUnknown(world.db, 'due_requests', { process: 1, held: new Set([held]), now: world.clock.now() })
    await world.settle()

    expect(
      webhook
        .sent()
        .slice(before)
        .map(({ id }) => id),
    ).toEqual([orphan])
  })

  test('a replay of a long period queues its requests in order, each with its own schedule', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    await world.events(700)
    await world.settle()
    const before = webhook.sent().length
    const period = { since: 0, until: world.clock.now() + 1 }

    expect(await replay(world.db, world.organizationId, webhook.id, period, world.clock.now())).toBe(700)
    await world.settle()

    expect(webhook.sent()).toHaveLength(before + 700)
    expect((await webhook.requests()).every(({ status, attempts }) => status === 'DELIVERED' && attempts === 2)).toBe(
      true,
    )
  })

  test('a claim does not read the backlog: every statement reads an index in order', async () => {
    const recording = await givenRecordingDatabase(engine)
    const { db } = recording
    await db
      .insertInto('organizations')
      .values({ id: 'org_1', created_at: 0, name: 'Test', slug: 'test', event_retention_days: null })
      .execute()
    const keyring = createKeyring('x'.repeat(32))
    for (const id of ['whk_open', 'whk_paused', 'whk_drained']) {
      const state = id === 'whk_paused' ? 'paused' : 'active'
      const row = {
        id,
        organization_id: 'org_1',
        created_at: 0,
        url: '',
        secret: keyring.encrypt('secret', secretContext(id)),
        headers: keyring.encrypt('{}', headersContext(id)),
        is_active: 1,
      } as const
      await db
        .insertInto('webhooks')
        .values({ ...row, state })
        .execute()
      const drain = id === 'whk_drained' ? { drain_after: 'req_', drain_to: 'req_9' } : {}
      await db
        .insertInto('due_webhooks')
        .values({ webhook_id: id, due_at: 1, ...drain })
        .execute()
      const due = Array.from({ length: 50 }, (_, index) => ({ webhook_id: id, request_id: `req_${index}`, due_at: 1 }))
      await db
        .insertInto('due_requests')
        .values(due.map((each) => ({ ...each, is_manual: 0 as const })))
        .execute()
    }

    const plans = await recording.plansOf(() =>
      claimRequests(db, keyring, {
        now: 100,
        process: 1,
        refill: [{ organizationId: 'org_1', id: 'whk_open' }],
        capacity: 100,
        capacityOf: () => 8,
        capacityOfOrganization: () => 8,
      }),
    )

    expect(plans.length).toBeGreaterThanOrEqual(5)
    for (const { sql, plan } of plans) {
      const tables = plan.replaceAll(/SCAN (queues|json_each|value)\b.*/g, '')
      expect(tables, `${sql}\n${plan}`).not.toMatch(/SCAN due_requests|Seq Scan on due_requests/)
      if (!sql.includes('is_manual = 1')) expect(plan, `${sql}\n${plan}`).not.toMatch(/TEMP B-TREE|Sort Key/)
    }
  })
})
