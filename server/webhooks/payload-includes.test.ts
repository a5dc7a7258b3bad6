import { expect, test } from 'vitest'
import { PAYLOAD_INCLUDES } from '#contract/webhooks.ts'
import { reportEvents } from '../checks/report.ts'
import { inTransaction } from '../database/database.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { fanOut } from './deferred-fan-out.ts'

const KEYS = ['id', 'webhook_id', 'event', 'created']
const LABELS = { external_id: 'w1', tags: ['prod'], metadata: { plan: 'a' } }

async function givenWebhooks({ call }: TestApp, count: number, more: object): Promise<string[]> {
  const ids: string[] = []
  for (let at = 0; at < count; at++) {
    const body = { url: `http://127.0.0.1:9999/${at}`, groups: ['default'], ...more }
    const made = await call('/webhooks', { method: 'POST', body })
    expect([made.status, made.body.error]).toEqual([201, undefined])
    ids.push(made.body.id)
  }
  return ids
}

/** What the only request of a webhook sends. */
async function payloadOf({ call }: TestApp, webhook: string) {
  const [request] = (await call(`/webhooks/${webhook}/requests`)).body.data
  return (await call(`/webhooks/${webhook}/requests/${request.id}`)).body.payload
}

onBothEngines('payload_includes', (_fresh, engine) => {
  test('adds the fields of the monitor as they were at the event, also to requests that are written later', async () => {
    const world = await givenApp(engine)
    const { db, clock } = world.deps
    const settings = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'], ...LABELS }
    const { id } = (await world.call('/monitors', { method: 'POST', body: settings })).body
    const [plain] = await givenWebhooks(world, 1, {})
    const all = await givenWebhooks(world, 51, { payload_includes: PAYLOAD_INCLUDES })
    const [last] = await givenWebhooks(world, 1, { payload_includes: ['tags'] })
    expect((await world.call(`/webhooks/${plain}`)).body).not.toHaveProperty('payload_includes')
    expect((await world.call(`/webhooks/${last}`)).body.payload_includes).toEqual(['tags'])
    const row = await db.selectFrom('monitors').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    const event = {
      ...{ organization_id: row.organization_id, monitor_id: id, group_id: row.group_id, occurred_at: clock.now() },
      ...{ old_state: 'VALID', new_state: 'MISMATCH', previous_values: null, current_values: '["192.0.2.9"]' },
      ...{ incidence_count: 1, domain: row.domain, subdomain: row.subdomain, record_type: 'A', diagnosis: null },
      ...{ expected_values: row.expected_values, is_exact_match: 1 as const },
    }
    await inTransaction(db, (tx) => reportEvents(tx, [{ event, notify: 'immediately' }], clock.now()))
    await world.call(`/monitors/${id}`, { method: 'PATCH', body: { tags: ['later'] } })
    await fanOut(db, { after: '' }, clock.now())

    expect(Object.keys(await payloadOf(world, plain!))).toEqual(KEYS)
    for (const webhook of [all[0]!, all.at(-1)!]) {
      const payload = await payloadOf(world, webhook)
      expect(Object.keys(payload)).toEqual([...KEYS, 'monitor'])
      expect(payload.monitor).toMatchObject({ ...LABELS, group: { id: row.group_id, slug: 'default' }, reason: null })
    }
    expect((await payloadOf(world, last!)).monitor).toEqual({ tags: ['prod'] })

    const change = { payload_includes: null }
    const cleared = await world.call(`/webhooks/${last}`, { method: 'PATCH', body: change })
    expect([cleared.status, 'payload_includes' in cleared.body]).toEqual([200, false])
    const wrong = await world.call(`/webhooks/${last}`, { method: 'PATCH', body: { payload_includes: ['secret'] } })
    expect([wrong.status, Object.keys(wrong.body.errors)]).toEqual([400, ['payload_includes.0']])
    const sent = await world.call(`/webhooks/${all[0]}/test`, { method: 'POST' })
    const test = await world.call(`/webhooks/${all[0]}/requests/${sent.body.id}`)
    expect(Object.keys(test.body.payload.monitor)).toEqual([...PAYLOAD_INCLUDES])
  })

  test('say with the event of the last record that a customer is complete', async () => {
    const world = await givenApp(engine)
    const { db, clock } = world.deps
    const page = { until: 'valid', setup_page: 'customer-1', expected_value: '192.0.2.1', record_type: 'A' }
    const names = ['a.example.com', 'b.example.com', 'c.example.com']
    const monitors = names.map((full_domain, at) => ({
      full_domain,
      ...page,
      ...(at === 2 && { setup_page: 'other' }),
    }))
    const made = (await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })).body
    const [webhook] = await givenWebhooks(world, 1, { payload_includes: ['setup_page'] })
    const becomeValid = async (id: string) => {
      await db.updateTable('monitors').set({ state: 'VALID' }).where('id', '=', id).execute()
      const row = await db.selectFrom('monitors').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
      const event = {
        ...{ organization_id: row.organization_id, monitor_id: id, group_id: row.group_id, occurred_at: clock.now() },
        ...{ old_state: 'UNSET', new_state: 'VALID', previous_values: null, current_values: null },
        ...{ incidence_count: 1, domain: row.domain, subdomain: row.subdomain, record_type: 'A', diagnosis: null },
        ...{ expected_values: row.expected_values, is_exact_match: 1 as const },
      }
      await inTransaction(db, (tx) => reportEvents(tx, [{ event, notify: 'immediately' }], clock.now()))
      world.pass(1)
      const [sent] = (await world.call(`/webhooks/${webhook}/requests?order_way=desc`)).body.data
      return (await world.call(`/webhooks/${webhook}/requests/${sent.id}`)).body.payload.monitor
    }
    const { id } = made[0].wait.setup_page
    const listed = async () => (await world.call('/setup-pages?key=customer-1')).body.data[0].is_done
    const about = { id, key: 'customer-1' }
    expect(await becomeValid(made[0].id)).toEqual({ setup_page: { ...about, is_done: false } })
    expect(await listed()).toBe(false)
    expect(await becomeValid(made[1].id)).toEqual({ setup_page: { ...about, is_done: true } })
    expect(await listed()).toBe(true)
    await world.call(`/setup-pages/${id}`, { method: 'DELETE' })
    expect(await becomeValid(made[0].id)).toEqual({ setup_page: null })
  })
})
