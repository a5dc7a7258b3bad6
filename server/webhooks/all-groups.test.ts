import { expect, test } from 'vitest'
import { reportEvents } from '../checks/report.ts'
import { inTransaction } from '../database/database.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

const URL_OK = 'http://127.0.0.1:9999/hook'
const WWW = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'] }
const post = (world: TestApp, path: string, body: object, key?: string) =>
  world.call(path, { method: 'POST', body, ...(key === undefined ? {} : { key }) })
const patch = (world: TestApp, path: string, body: object) => world.call(path, { method: 'PATCH', body })
const made = async (world: TestApp, more: object, key?: string) =>
  (await post(world, '/webhooks', { url: URL_OK, ...more }, key)).body.id as string

/** A change of a new monitor of the group, as a check reports it. */
async function givenEvent(world: TestApp, group: string): Promise<void> {
  const { db, clock } = world.deps
  const { id } = (await post(world, '/monitors', { ...WWW, group })).body
  const row = await db.selectFrom('monitors').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const event = {
    ...{ organization_id: row.organization_id, monitor_id: id, group_id: row.group_id, occurred_at: clock.now() },
    ...({ old_state: 'VALID', new_state: 'MISMATCH', previous_values: null, current_values: '["192.0.2.9"]' } as const),
    ...{ incidence_count: 1, domain: row.domain, subdomain: row.subdomain, record_type: 'A' as const, diagnosis: null },
    ...{ expected_values: row.expected_values, is_exact_match: 1 as const },
  }
  await inTransaction(db, (tx) => reportEvents(tx, [{ event, notify: 'immediately' }], clock.now()))
}

/** How many requests each has. */
const requestsOf = (world: TestApp, webhooks: readonly string[], key?: string) =>
  Promise.all(
    webhooks.map(async (id) => {
      const { data } = (await world.call(`/webhooks/${id}/requests`, key === undefined ? {} : { key })).body
      return data.length as number
    }),
  )

onBothEngines('a webhook with all_groups', (_fresh, engine) => {
  test('receives each event of the organization once, also of groups created later, with the same payload', async () => {
    const world = await givenApp(engine)
    const { key } = await world.organization('Other')
    const foreign = await made(world, { all_groups: true }, key)
    const all = await made(world, { all_groups: true, groups: ['default'] })
    const linked = await made(world, { groups: ['default'] })
    const disabled = await made(world, { all_groups: true })
    await patch(world, `/webhooks/${disabled}`, { is_active: false })
    const webhooks = [all, linked, disabled]
    await givenEvent(world, 'default')
    expect(await requestsOf(world, webhooks)).toEqual([1, 1, 0])
    await givenEvent(world, 'later')
    expect(await requestsOf(world, webhooks)).toEqual([2, 1, 0])
    expect(await requestsOf(world, [foreign], key)).toEqual([0])
    const [request] = (await world.call(`/webhooks/${all}/requests`)).body.data
    const { payload } = (await world.call(`/webhooks/${all}/requests/${request.id}`)).body
    expect(Object.keys(payload)).toEqual(['id', 'webhook_id', 'event', 'created'])
    expect((await patch(world, `/webhooks/${all}`, { all_groups: false })).body).not.toHaveProperty('all_groups')
    await givenEvent(world, 'later')
    await givenEvent(world, 'default')
    expect(await requestsOf(world, webhooks)).toEqual([3, 2, 0])
  })

  test('shows all_groups beside its linked groups, and is found by any group', async () => {
    const world = await givenApp(engine)
    const all = await made(world, { all_groups: true })
    const plain = await made(world, {})
    expect((await world.call(`/webhooks/${all}`)).body).toMatchObject({ groups: [], all_groups: true })
    expect((await world.call(`/webhooks/${plain}`)).body).not.toHaveProperty('all_groups')
    const found = async (group: string) =>
      (await world.call(`/webhooks?group=${group}`)).body.data.map(({ id }: { id: string }) => id)
    expect([await found('default'), await found('none')]).toEqual([[all], []])
    expect((await world.call('/groups/default')).body.webhooks).toEqual([])
    const before = await world.call(`/webhooks/${plain}`)
    const changed = await patch(world, `/webhooks/${plain}`, { all_groups: true })
    expect([changed.body.all_groups, changed.headers.etag === before.headers.etag]).toEqual([true, false])
    const [entry] = (await world.call('/audit-log?action=webhook.updated')).body.data
    expect(entry.after).toEqual({ all_groups: true })
    for (const all_groups of [1, 'true', null]) {
      const refused = await patch(world, `/webhooks/${plain}`, { all_groups })
      expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, ['all_groups']])
    }
  })

  test('counts against the limit of webhooks for each group', async () => {
    const world = await givenApp(engine, { WEBHOOKS_PER_GROUP: '1' })
    const first = await made(world, { all_groups: true })
    const second = await made(world, {})
    const refused = await patch(world, `/webhooks/${second}`, { all_groups: true })
    expect([refused.status, refused.body.error]).toEqual([409, expect.stringContaining('At most 1 webhooks can')])
    expect((await post(world, '/webhooks', { url: URL_OK, all_groups: true })).status).toBe(409)
    expect((await patch(world, `/webhooks/${first}`, { all_groups: true })).status).toBe(200)
  })

  test('counts against the limit also when many requests arrive at once', async () => {
    const world = await givenApp(engine, { WEBHOOKS_PER_GROUP: '1' })
    const existing = await Promise.all(Array.from({ length: 4 }, () => made(world, {})))
    const answers = await Promise.all([
      ...existing.map((id) => patch(world, `/webhooks/${id}`, { all_groups: true })),
      ...existing.map(() => post(world, '/webhooks', { url: URL_OK, all_groups: true })),
    ])
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(1)
  })
})
