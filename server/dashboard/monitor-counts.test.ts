import { expect, test } from 'vitest'
import { givenApp } from '../testing/app-world.ts'
import { onBothEngines } from '../testing/database.ts'

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
})
