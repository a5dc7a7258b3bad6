import { expect, test } from 'vitest'
import { insertEvents } from '../events/store.ts'
import { newId } from '../ids.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

const PATH = '/groups/shop?monitors=delete'
const remove = (world: TestApp, path: string, headers = {}) => world.call(path, { method: 'DELETE', headers })

async function givenMonitors(world: TestApp, group: string, count: number, key?: string): Promise<string[]> {
  const expected = { record_type: 'A', expected_value: '192.0.2.1' }
  const monitors = Array.from({ length: count }, (_, at) => ({ full_domain: `n${at}.example.com`, ...expected }))
  const { body } = await world.call('/monitors/bulk', {
    method: 'POST',
    body: { group, monitors },
    ...(key === undefined ? {} : { key }),
  })
  return body.map(({ id }: { id: string }) => id)
}

async function givenEvents({ deps: { db } }: TestApp, monitorId: string, count: number): Promise<void> {
  const { organization_id, group_id } = await db
    .selectFrom('monitors')
    .selectAll()
    .where('id', '=', monitorId)
    .executeTakeFirstOrThrow()
  const event = {
    ...({ organization_id, monitor_id: monitorId, group_id, old_state: 'VALID', new_state: 'MISMATCH' } as const),
    ...{ previous_values: null, current_values: null, incidence_count: 1, domain: 'example.com', subdomain: '' },
    ...({ record_type: 'A', expected_values: '[]', is_exact_match: 1, diagnosis: null } as const),
  }
  const events = Array.from({ length: count }, (_, at) => ({ ...event, id: newId('evt', at), occurred_at: at }))
  await insertEvents(db, events)
}

onBothEngines('DELETE /groups/{group}?monitors=delete', (_fresh, engine) => {
  test('deletes the monitors of the group and their events, and no others', async () => {
    const world = await givenApp(engine)
    const { db } = world.deps
    const { key } = await world.organization('Other')
    await givenMonitors(world, 'shop', 1, key)
    const [first, second] = await givenMonitors(world, 'shop', 2)
    const [stays] = await givenMonitors(world, 'default', 1)
    await givenEvents(world, first!, 3)
    await givenEvents(world, stays!, 2)
    expect((await remove(world, PATH)).status).toBe(204)
    expect((await world.call('/groups')).body.data).toMatchObject([{ slug: 'default', monitors: 1 }])
    expect((await world.call('/monitors')).body.data).toMatchObject([{ id: stays }])
    expect((await world.call('/events')).body.data).toHaveLength(2)
    expect((await world.call('/groups/shop/monitors', { key })).body.data).toHaveLength(1)
    expect(await db.selectFrom('due_checks').select('slot').execute()).toHaveLength(2)
    const [entry] = (await world.call('/audit-log?action=group.deleted')).body.data
    expect(entry).toMatchObject({ object: { label: 'shop' }, object_count: 2, object_ids: [first, second] })
  })

  test('deletes an empty group, and with `move` keeps the monitors', async () => {
    const world = await givenApp(engine)
    await world.call('/groups', { method: 'POST', body: { name: 'Shop' } })
    expect((await remove(world, PATH)).status).toBe(204)
    await givenMonitors(world, 'shop', 2)
    expect((await remove(world, '/groups/shop?monitors=move')).status).toBe(204)
    expect((await world.call('/groups')).body.data).toMatchObject([{ slug: 'default', monitors: 2 }])
  })

  test('deletes nothing if there is too much for one request, and names the job to use', async () => {
    const world = await givenApp(engine)
    const remedy = expect.stringContaining('POST /jobs and {"action":"delete","filter":{"group":"shop"}}')
    const [first] = await givenMonitors(world, 'shop', 501)
    expect(await remove(world, PATH)).toMatchObject({ status: 409, body: { error: remedy } })
    await world.call(`/monitors/${first}`, { method: 'DELETE' })
    const [one] = (await world.call('/groups/shop/monitors?limit=1')).body.data
    await givenEvents(world, one.id, 1_001)
    expect(await remove(world, PATH)).toMatchObject({ status: 409, body: { error: remedy } })
    expect((await world.call('/groups/shop')).body.monitors).toBe(500)
    const events = await world.deps.db.selectFrom('events').select('id').execute()
    expect(events).toHaveLength(1_001)
    await world.call(`/monitors/${one.id}`, { method: 'DELETE' })
    expect((await remove(world, PATH)).status).toBe(204)
  })

  test('refuses the default group, an unknown value and an old version', async () => {
    const world = await givenApp(engine)
    await givenMonitors(world, 'shop', 1)
    expect((await remove(world, '/groups/default?monitors=delete')).status).toBe(409)
    const refused = await remove(world, '/groups/shop?monitors=all')
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, ['monitors']])
    expect((await remove(world, PATH, { 'if-match': '"v7"' })).status).toBe(412)
    expect((await world.call('/groups/shop')).body.monitors).toBe(1)
  })
})
