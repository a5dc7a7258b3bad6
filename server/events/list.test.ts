import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { newId } from '../ids.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { type EventRow, insertEvents } from './store.ts'

const SECOND_MS = 1_000
const AT = Date.UTC(2026, 10, 21, 9, 30)

/** Two monitors; each had four events, a second apart, and some of them at the same instant. */
async function givenEvents(world: TestApp) {
  const monitors = ['shop', 'default'].map((group) => ({
    full_domain: `${group}.example.com`,
    record_type: 'A',
    expected_value: '192.0.2.1',
    group,
  }))
  const made = (await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })).body
  const rows = await world.deps.db.selectFrom('monitors').selectAll().orderBy('id').execute()
  const events: EventRow[] = []
  for (const [turn, [old_state, new_state]] of [
    ['UNSET', 'VALID'],
    ['VALID', 'MISMATCH'],
    ['MISMATCH', 'TIMEOUT'],
    ['TIMEOUT', 'VALID'],
  ].entries()) {
    for (const row of rows) {
      const isKnown = new_state !== 'TIMEOUT'
      events.push({
        id: newId('evt', AT),
        organization_id: row.organization_id,
        monitor_id: row.id,
        group_id: row.group_id,
        occurred_at: AT + turn * SECOND_MS,
        old_state: old_state!,
        new_state: new_state!,
        previous_values: turn === 0 ? null : '["192.0.2.1"]',
        current_values: isKnown ? '["192.0.2.2"]' : null,
        incidence_count: 1,
        domain: row.domain,
        subdomain: row.subdomain,
        record_type: row.record_type,
        expected_values: row.expected_values,
        is_exact_match: row.is_exact_match,
        diagnosis: '{"reason":"because"}',
      })
    }
  }
  await insertEvents(world.deps.db, events)
  return { shop: made[0].id as string, other: made[1].id as string, events }
}

onBothEngines('events', (_fresh, engine) => {
  test('are shown with exactly the keys of the delivery, and without what was not known', async () => {
    const world = await givenApp(engine)
    const { shop, events } = await givenEvents(world)
    const { data } = (await world.call(`/monitors/${shop}/events`)).body
    expect(data[1]).toEqual({
      id: events[2]!.id,
      monitor_id: shop,
      occurred: '2026-11-21T09:30:01.000Z',
      previous_value: ['192.0.2.1'],
      current_value: ['192.0.2.2'],
      old_state: 'VALID',
      new_state: 'MISMATCH',
      incidence_count: 1,
      domain: {
        domain: 'example.com',
        subdomain: 'shop',
        record_type: 'A',
        expected_value: ['192.0.2.1'],
        is_exact_match: true,
      },
    })
    expect('previous_value' in data[0]).toBe(false)
    expect('current_value' in data[2]).toBe(false)
    expect((await world.call(`/monitors/${shop}/events/${data[1].id}`)).body).toEqual(data[1])
    expect((await world.call(`/monitors/${shop}/events/${events[1]!.id}`)).status).toBe(404)
  })

  test('one is shown with its evidence where that is asked for, with null where none is kept', async () => {
    const world = await givenApp(engine)
    const { shop, events } = await givenEvents(world)
    const path = `/monitors/${shop}/events/${events[0]!.id}`
    const plain = (await world.call(path)).body
    expect('diagnosis' in plain).toBe(false)
    // As versions without codes recorded it.
    const older = { code: 'unclassified', params: { text: 'because' }, text: 'because' }
    const { body } = await world.call(`${path}?include=Diagnosis`)
    expect(body).toMatchObject({ ...plain, diagnosis: { reason: 'because', verdict: older, decided: '', paths: [] } })
    expect((await world.call(`${path}?include=reason`)).body).toEqual({ ...plain, reason: older })
    const verdict = { code: 'no_answer', params: { name: 'shop.example.com' } }
    const diagnosis = JSON.stringify({ verdict, confirmation: [], paths: [] })
    await world.deps.db.updateTable('events').set({ diagnosis }).where('id', '=', events[0]!.id).execute()
    const text = 'shop.example.com timed out: no name server answered in time.'
    expect((await world.call(`${path}?include=reason`)).body).toEqual({ ...plain, reason: { ...verdict, text } })
    const lists = ['/events', `/monitors/${shop}/events`]
    for (const list of lists) {
      const { data } = (await world.call(`${list}?include=Reason`)).body
      expect(data.find(({ id }: { id: string }) => id === plain.id)).toEqual({ ...plain, reason: { ...verdict, text } })
      expect(data.filter((event: object) => !('reason' in event))).toEqual([])
      expect((await world.call(`${list}?include=diagnosis`)).body.errors).toEqual({
        include: 'must be a comma-separated list of reason, difference, incident, monitor.',
      })
    }
    await world.deps.db.updateTable('events').set({ diagnosis: null }).where('id', '=', events[0]!.id).execute()
    expect((await world.call(`${path}?include=diagnosis`)).body).toEqual({ ...plain, diagnosis: null })
    expect((await world.call(`${path}?include=reason`)).body).toEqual({ ...plain, reason: null })
    expect((await world.call(`${path}?include=group`)).body.errors).toEqual({
      include: 'must be a comma-separated list of reason, difference, incident, monitor, diagnosis.',
    })
  })

  test('one is shown with the external id, tags and metadata of its monitor, in lists too', async () => {
    const world = await givenApp(engine)
    const { shop, events } = await givenEvents(world)
    const labels = { external_id: 'customer-7/shop', tags: ['prod'], metadata: { plan: 'big' } }
    await world.call(`/monitors/${shop}`, { method: 'PATCH', body: labels })
    const ofShop = (data: { monitor_id: string }[]) => data.filter(({ monitor_id }) => monitor_id === shop)
    for (const path of ['/events', `/monitors/${shop}/events`]) {
      const { data } = (await world.call(`${path}?include=monitor`)).body
      expect(ofShop(data).length).toBeGreaterThan(0)
      expect(ofShop(data).filter((event) => !isDeepStrictEqual(event, { ...event, monitor: labels }))).toEqual([])
    }
    const others = (await world.call('/events?include=monitor')).body.data.find(
      ({ monitor_id }: { monitor_id: string }) => monitor_id !== shop,
    )
    expect(others.monitor).toEqual({ external_id: null, tags: [], metadata: {} })
    const one = (await world.call(`/monitors/${shop}/events/${events[0]!.id}?include=monitor,incident,reason`)).body
    expect(one).toMatchObject({ monitor: labels, incident_id: null, reason: expect.anything() })
  })

  test('are filtered by monitor, group, states and time, alone and together', async () => {
    const world = await givenApp(engine)
    const { shop, other, events } = await givenEvents(world)
    const first = Math.floor(AT / SECOND_MS)
    for (const [path, places] of [
      ['/events', [0, 1, 2, 3, 4, 5, 6, 7]],
      ['/events?order_way=desc', [7, 6, 5, 4, 3, 2, 1, 0]],
      ['/events?group=shop', [0, 2, 4, 6]],
      ['/events?group=none', []],
      [`/events?monitor_id=${other}`, [1, 3, 5, 7]],
      ['/events?monitor_id=mon_none', []],
      ['/events?new_state=timeout', [4, 5]],
      ['/events?old_state=TIMEOUT&new_state=VALID&group=default', [7]],
      [`/events?occurred_after=${first}`, [2, 3, 4, 5, 6, 7]],
      [`/events?occurred_before=${first + 1}`, [0, 1]],
      [`/events?occurred_after=2026-11-21T09:30:00Z&occurred_before=${first + 3}&new_state=MISMATCH`, [2, 3]],
      [`/monitors/${shop}/events?new_state=VALID&order_way=desc`, [6, 0]],
    ] as const) {
      const { data } = (await world.call(path)).body
      expect([path, data.map(({ id }: { id: string }) => id)]).toEqual([path, places.map((place) => events[place]!.id)])
    }
    for (const [query, field] of [
      ['occurred_after=yesterday', 'occurred_after'],
      ['new_state=GOOD', 'new_state'],
      ['colour=red', 'colour'],
    ]) {
      const answer = await world.call(`/events?${query}`)
      expect([answer.status, Object.keys(answer.body.errors)]).toEqual([400, [field]])
    }
  })

  test('belong to the group of their time, also after the monitor moved and after the group was deleted', async () => {
    const world = await givenApp(engine)
    const { shop, events } = await givenEvents(world)
    const { id: group } = (await world.call('/groups/shop')).body
    const before = events.flatMap(({ id, monitor_id }) => (monitor_id === shop ? [id] : []))
    const of = async (named: string, key?: string) => {
      const { data } = (await world.call(`/events?group=${named}`, key === undefined ? {} : { key })).body
      return data.map(({ id }: { id: string }) => id)
    }
    await world.call(`/monitors/${shop}`, { method: 'PATCH', body: { group: 'other' } })
    expect([await of('shop'), await of(group), await of('other')]).toEqual([before, before, []])
    await world.call('/groups/shop', { method: 'DELETE' })
    expect([await of(group), await of('shop'), await of('other')]).toEqual([before, [], []])
    expect(await of(group, (await world.organization('Other')).key)).toEqual([])
    // A new group of that name is another one.
    await world.call('/groups', { method: 'POST', body: { name: 'Shop', slug: 'shop' } })
    expect([await of('shop'), await of(group)]).toEqual([[], before])
  })

  test('come once each, both ways, also within bounds of time and where many occurred at once', async () => {
    const world = await givenApp(engine)
    const { events } = await givenEvents(world)
    const first = Math.floor(AT / SECOND_MS)
    for (const bounds of ['', `&occurred_after=${first}`, `&occurred_before=${first + 3}&occurred_after=${first}`]) {
      for (const way of ['asc', 'desc']) {
        const path = `/events?limit=1&order_way=${way}${bounds}`
        const all = (await world.call(`/events?limit=100&order_way=${way}${bounds}`)).body.data
        const pages = [(await world.call(path)).body]
        while (pages.at(-1).after) pages.push((await world.call(`${path}&after=${pages.at(-1).after}`)).body)
        expect(pages.flatMap(({ data }) => data)).toEqual(all)
        let page = pages.at(-1)
        for (let place = pages.length - 2; place >= 0; place--) {
          page = (await world.call(`${path}&before=${page.before}`)).body
          expect(page.data).toEqual(pages[place].data)
        }
        expect(page.before).toBe(null)
      }
    }
    expect(events).toHaveLength(8)
  })

  test("another organization's are not there", async () => {
    const world = await givenApp(engine)
    const { shop, events } = await givenEvents(world)
    const { key } = await world.organization('Other')
    for (const path of ['/events', `/events?monitor_id=${shop}`]) {
      expect((await world.call(path, { key })).body.data).toEqual([])
    }
    for (const path of [`/monitors/${shop}/events`, `/monitors/${shop}/events/${events[0]!.id}`]) {
      expect((await world.call(path, { key })).status).toBe(404)
    }
  })
})
