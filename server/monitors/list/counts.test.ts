import { expect, test } from 'vitest'
import { systemContext } from '../../context.ts'
import { isOneOf } from '../../database/bulk.ts'
import { onBothEngines } from '../../testing/database.ts'
import { givenApp } from '../../testing/test-app.ts'
import { insertMonitors } from '../insert.ts'
import { parseMonitor } from '../parse-monitor.ts'

onBothEngines('the counts of the list of monitors', (_fresh, engine) => {
  test('follow the search, the type and the group, and no other organization is counted', async () => {
    const world = await givenApp(engine)
    const monitor = (full_domain: string, more: object = {}) => ({
      full_domain,
      record_type: 'A',
      expected_value: ['192.0.2.1'],
      ...more,
    })
    const body = {
      monitors: [
        monitor('www.example.com'),
        monitor('api.example.com', { group: 'shop' }),
        monitor('example.com', { record_type: 'AAAA', expected_value: ['2001:db8::1'], group: 'shop' }),
        monitor('www.example.net', { is_active: false }),
      ],
    }
    expect((await world.call('/monitors/bulk', { method: 'POST', body })).status).toBe(201)
    const { db } = world.deps
    await db.updateTable('monitors').set({ state: 'MISMATCH' }).where('owner', '=', 'api.example.com').execute()
    const counts = async (query: string) => (await world.call(`/monitors/counts?${query}`)).body

    expect(await counts('record_type=A')).toEqual({
      states: { UNSET: 1, MISMATCH: 1 },
      active: 2,
      disabled: 1,
      is_partial: false,
    })
    expect(await counts('group=shop')).toMatchObject({ states: { UNSET: 1, MISMATCH: 1 }, active: 2, disabled: 0 })
    expect(await counts('search=www')).toMatchObject({ states: { UNSET: 1 }, active: 1, disabled: 1 })
    expect(await counts('search=example.com&record_type=A&group=shop')).toMatchObject({ states: { MISMATCH: 1 } })
    expect(await counts('group=nothing')).toMatchObject({ states: {}, active: 0, disabled: 0 })
    const stranger = await world.organization('Strangers')
    const elsewhere = await world.call('/monitors/counts?record_type=A', { key: stranger.key })
    expect(elsewhere.body).toMatchObject({ active: 0, disabled: 0 })
  })

  test('of more monitors than are counted one by one the states are exact, whichever state most are in', async () => {
    const world = await givenApp(engine)
    const { db } = world.deps
    const given = { domain: 'example.com', record_type: 'A', expected_value: '192.0.2.1' } as const
    const parsed = parseMonitor(given)
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
    const { id: organizationId, key } = await world.organization('Large')
    const context = systemContext(organizationId, world.deps.clock.now())
    const ids = (await insertMonitors(db, context, Array(10_100).fill(parsed.draft))).map(({ id }) => id)
    const set = (change: object, from: number, to: number) =>
      db
        .updateTable('monitors')
        .set(change)
        .where(isOneOf(db, 'id', ids.slice(from, to)))
        .execute()
    const counts = async (query = '') => (await world.call(`/monitors/counts${query}`, { key })).body
    await set({ is_active: 0 }, 0, 10)
    await set({ state: 'VALID' }, 5, 20)
    await set({ state: 'MISMATCH' }, 20, 23)
    const common = { active: 10_090, disabled: 10, is_partial: false }

    expect(await counts()).toEqual({ ...common, states: { VALID: 10, UNSET: 10_077, MISMATCH: 3 } })
    await set({ state: 'VALID' }, 23, 5_050)
    expect(await counts()).toEqual({ ...common, states: { VALID: 5_037, UNSET: 5_050, MISMATCH: 3 } })
    await set({ state: 'VALID' }, 5_050, 10_090)
    const states = { VALID: 10_077, UNSET: 10, MISMATCH: 3 }
    expect(await counts()).toEqual({ ...common, states })
    const exact = { disabled: 0, is_partial: false }
    expect(await counts('?state=VALID')).toEqual({ ...exact, states: { VALID: 10_077 }, active: 10_077, disabled: 5 })
    expect(await counts('?state=VALID,MISMATCH&is_active=true')).toEqual({
      ...exact,
      ...{ states: { VALID: 10_077, MISMATCH: 3 }, active: 10_080 },
    })
    expect(await counts('?is_active=false')).toEqual({ ...exact, states: {}, active: 0, disabled: 10 })
    expect(await counts('?state=NOT_FOUND')).toEqual({ ...exact, states: {}, active: 0 })
    // Among so many, the matches are lower bounds and say so.
    const partial = await counts('?record_type=A&domain=example.com')
    expect(partial.is_partial).toBe(true)
    expect(partial.active).toBeLessThanOrEqual(10_090)
    expect((await world.call('/dashboard/api/overview', { key })).body).toMatchObject({
      states,
      active: 10_090,
      disabled: 10,
    })
  })
})
