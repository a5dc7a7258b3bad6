import { expect, test } from 'vitest'
import type { MonitorResponse } from '#contract/monitors.ts'
import { systemContext } from '../context.ts'
import { onBothEngines, waitUntilBlocked } from '../testing/database.ts'
import { type AppResponse, givenApp, type TestApp } from '../testing/test-app.ts'
import { deleteMonitor } from './delete.ts'

const WWW = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'] }
const LABELS = { external_id: 'c300/www', tags: ['prod', 'eu'], metadata: { plan: 'business', customer: 'acme' } }
const INCLUDE = 'include=external_id,tags,metadata'

const post = ({ call }: TestApp, path: string, body: unknown) => call(path, { method: 'POST', body })
const put = ({ call }: TestApp, id: string, body: unknown, headers = {}) =>
  call(`/monitors/external/${encodeURIComponent(id)}?${INCLUDE}`, { method: 'PUT', body, headers })
const idsOf = async ({ call }: TestApp, query: string) => {
  const answer = await call(`/monitors?limit=100&${query}`)
  expect([query, answer.status]).toEqual([query, 200])
  return answer.body.data.map(({ id }: MonitorResponse) => id)
}

onBothEngines('external ids, tags and metadata', (_fresh, engine) => {
  test('a list has at most as many filters of tags and of metadata as a monitor can have', async () => {
    const world = await givenApp(engine)
    const tags = Array.from({ length: 21 }, (_, index) => `t${index}`)
    const metadata = tags.map((name) => `metadata.${name}=x`)
    for (const list of ['/monitors', '/groups']) {
      const answer = await world.call(`${list}?tag=${tags.join()}&${metadata.join('&')}`)
      expect([list, answer.status, answer.body.errors]).toEqual([
        list,
        400,
        { tag: 'must have at most 20 entries.', 'metadata.t20': expect.stringContaining('At most 20 pairs') },
      ])
      expect((await world.call(`${list}?tag=${tags.slice(1)}&${metadata.slice(1).join('&')}`)).status).toBe(200)
    }
  })

  test('are stored, included on request, changed and cleared', async () => {
    const world = await givenApp(engine)
    const made = await post(world, `/monitors?${INCLUDE}`, { ...WWW, ...LABELS, tags: ['prod', 'eu', 'prod'] })
    expect([made.status, made.body]).toMatchObject([201, LABELS])
    const path = `/monitors/${made.body.id}`
    expect((await world.call(path)).body).not.toHaveProperty('tags')
    expect((await world.call(`/monitors/external/c300%2Fwww?${INCLUDE}`)).body).toEqual(made.body)
    const change = { external_id: 'other', tags: ['new'], metadata: null }
    const changed = await world.call(`${path}?${INCLUDE}`, { method: 'PATCH', body: change })
    expect(changed.body).toMatchObject({ external_id: 'other', tags: ['new'], metadata: {}, state: 'UNSET' })
    expect(await idsOf(world, 'tag=new')).toEqual([made.body.id])
    expect(await idsOf(world, 'tag=prod')).toEqual([])
    expect((await world.call('/monitors/external/c300%2Fwww')).status).toBe(404)
    const cleared = await world.call(`${path}?${INCLUDE}`, { method: 'PATCH', body: { external_id: null, tags: [] } })
    expect(cleared.body).toMatchObject({ external_id: null, tags: [], metadata: {} })
    await world.call(path, { method: 'PATCH', body: { tags: ['gone'] } })
    await world.call(path, { method: 'DELETE' })
    expect(await world.deps.db.selectFrom('monitor_labels').selectAll().execute()).toEqual([])
  })

  test('on_conflict: ignore returns the new or the existing monitor for each item', async () => {
    const world = await givenApp(engine)
    const one = { full_domain: 'one.example.com', record_type: 'A', expected_value: ['192.0.2.1'] }
    const two = { ...one, full_domain: 'two.example.com', external_id: 'two' }
    const [first, second] = (await post(world, '/monitors/bulk', { monitors: [one, two] })).body
    const body = {
      on_conflict: 'ignore',
      monitors: [
        { ...one, full_domain: 'new.example.com', external_id: 'new' },
        { ...one, external_id: 'other' },
        { ...two, full_domain: 'else.example.com' },
        { ...one, full_domain: 'again.example.com', external_id: 'new' },
        { ...one, external_id: 'other', full_domain: 'third.example.com' },
      ],
    }
    const answer = await post(world, '/monitors/bulk', body)
    const ids = (each: typeof answer) => each.body.map(({ id }: { id: string }) => id)
    const made = answer.body[0].id
    expect([answer.status, ids(answer)]).toEqual([201, [made, first.id, second.id, made, first.id]])
    const again = await post(world, '/monitors/bulk', body)
    expect([again.status, ids(again).slice(0, 4)]).toEqual([200, [made, first.id, second.id, made]])
    expect((await world.call('/monitors')).body.data).toHaveLength(3)
    const { key } = await world.organization('Other')
    const foreign = await world.call('/monitors/bulk', { method: 'POST', key, body })
    expect(ids(foreign).filter((id: string) => [first.id, second.id, made].includes(id))).toEqual([])
    const refused = await post(world, '/monitors/bulk', { monitors: [one], on_conflict: 'replace' })
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, ['on_conflict']])
  })

  test('on_conflict: update creates new monitors and updates those with the external id, all or none', async () => {
    const world = await givenApp(engine)
    const bulk = (monitors: object[], more: object = {}) =>
      post(world, '/monitors/bulk?include=group,frequency,tags', { on_conflict: 'update', monitors, ...more })
    const one = { ...WWW, external_id: 'one', tags: ['old'], group: 'shop' }
    const two = { ...WWW, full_domain: 'two.example.com', external_id: 'two', tags: ['kept'] }
    const made = await bulk([one, two])
    expect(made.status).toBe(201)
    const changed = await bulk(
      [
        { ...WWW, external_id: 'three' },
        { ...one, expected_value: ['192.0.2.7'], tags: ['new'] },
        { ...WWW, full_domain: 'two.example.com', external_id: 'two' },
      ],
      { group: 'moved', frequency: 30 },
    )
    expect([changed.status, changed.body.slice(1).map(({ id }: MonitorResponse) => id)]).toEqual([
      201,
      made.body.map(({ id }: MonitorResponse) => id),
    ])
    expect(changed.body).toMatchObject([
      { group: 'moved', frequency: 30, tags: [] },
      { group: 'shop', frequency: 30, tags: ['new'], expected_value: ['192.0.2.7'], state: 'UNSET' },
      { group: 'moved', frequency: 30, tags: ['kept'] },
    ])
    expect(await idsOf(world, 'tag=new')).toEqual([made.body[0].id])
    expect((await world.call('/groups/moved')).body.monitors).toBe(2)
    const { data } = (await world.call('/audit-log?action=monitor.updated')).body
    const entries = new Map(data.map((entry: { object: { id: string } }) => [entry.object.id, entry]))
    expect([data.length, made.body.map(({ id }: MonitorResponse) => entries.get(id))]).toMatchObject([
      2,
      [
        {
          before: { expected_value: ['192.0.2.1'], frequency: 5, tags: ['old'] },
          after: { expected_value: ['192.0.2.7'], frequency: 30, tags: ['new'] },
        },
        { before: { group: 'default', frequency: 5 }, after: { group: 'moved', frequency: 30 } },
      ],
    ])
    const same = await bulk([{ ...two, tags: ['kept'] }])
    expect([same.status, (await world.call('/audit-log?action=monitor.updated')).body.data]).toEqual([200, data])

    for (const [monitors, status, field] of [
      [[{ ...one, expected_value: ['192.0.2.9'] }, WWW], 400, 'monitors.1.external_id'],
      [[one, two, one], 409, 'monitors.2.external_id'],
      [[one, { ...two, record_type: 'MX' }], 400, 'monitors.1.expected_value.0'],
      [[{ ...one, group: 'grp_01kaj3x7v8q2n5m4r6t9w0y1zb' }], 400, 'monitors.0.group'],
      [[one, { ...two, until: 'valid', record_type: 'MX' }], 400, 'monitors.1.expected_value.0'],
      [[one, { ...two, until: 'valid', group: 'grp_01kaj3x7v8q2n5m4r6t9w0y1zb' }], 400, 'monitors.1.group'],
    ] as const) {
      const refused = await bulk([...monitors])
      expect([refused.status, Object.keys(refused.body.errors)]).toEqual([status, [field]])
    }
    expect(await idsOf(world, 'full_domain=www.example.com')).toHaveLength(2)
  })

  test('a taken external id is a 409 that names each field; ignore skips the item', async () => {
    const world = await givenApp(engine)
    const first = await post(world, '/monitors', { ...WWW, external_id: 'one' })
    const again = await post(world, '/monitors', { ...WWW, external_id: 'one' })
    expect([again.status, again.headers['x-error-code'], Object.keys(again.body.errors)]).toEqual([
      ...[409, 'external_id_taken'],
      ['external_id'],
    ])
    const monitors = ['two', 'one', 'three', 'two'].map((external_id) => ({ ...WWW, external_id }))
    const bulk = await post(world, '/monitors/bulk', { monitors })
    expect([bulk.status, Object.keys(bulk.body.errors)]).toEqual([
      409,
      ['monitors.1.external_id', 'monitors.3.external_id'],
    ])
    const different = monitors.map((monitor, at) => ({ ...monitor, full_domain: `n${at}.example.com` }))
    const ignored = await post(world, `/monitors/bulk?${INCLUDE}`, { monitors: different, ignore: true })
    expect(ignored.body.map(({ external_id }: MonitorResponse) => external_id)).toEqual(['two', 'three'])
    const other = ignored.body[0].id
    const patched = await world.call(`/monitors/${other}`, { method: 'PATCH', body: { external_id: 'one' } })
    expect(patched.status).toBe(409)
    expect(await idsOf(world, 'external_id=one')).toEqual([first.body.id])
    expect(await idsOf(world, 'external_id=one&include=group')).toEqual([first.body.id])
    const { key } = await world.organization('Other')
    const foreign = await world.call('/monitors', { method: 'POST', key, body: { ...WWW, external_id: 'one' } })
    expect(foreign.status).toBe(201)
    const put = await world.call('/monitors/external/one', { method: 'PUT', key, body: { ...WWW, frequency: 60 } })
    expect([put.status, put.body.id]).toEqual([200, foreign.body.id])
    expect((await world.call('/monitors/external/one?include=frequency')).body).toMatchObject({
      id: first.body.id,
      frequency: 5,
    })
    expect((await world.call('/monitors/external/two', { key })).status).toBe(404)
  })

  test('invalid labels are refused with the field and the allowed values', async () => {
    const world = await givenApp(engine)
    const many = Array.from({ length: 21 }, (_, at) => `t${at}`)
    for (const [given, field] of [
      [{ external_id: 'a b' }, 'external_id'],
      [{ external_id: '' }, 'external_id'],
      [{ external_id: 'x'.repeat(129) }, 'external_id'],
      [{ tags: many }, 'tags'],
      [{ tags: ['a,b'] }, 'tags.0'],
      [{ tags: ['x'.repeat(51)] }, 'tags.0'],
      [{ tags: 'prod' }, 'tags'],
      [{ metadata: Object.fromEntries(many.map((key) => [key, ''])) }, 'metadata'],
      [{ metadata: { 'a b': '' } }, 'metadata'],
      [{ metadata: { a: 'line\nbreak' } }, 'metadata.a'],
      [{ metadata: { a: 'x'.repeat(256) } }, 'metadata.a'],
      [{ metadata: { a: 1 } }, 'metadata.a'],
    ] as const) {
      const answer = await post(world, '/monitors', { ...WWW, ...given })
      expect([given, answer.status, Object.keys(answer.body.errors)]).toEqual([given, 400, [field]])
    }
    const kept = { metadata: { constructor: 'a', toString: 'ü' }, tags: ['#=:/*'] }
    expect((await post(world, `/monitors?${INCLUDE}`, { ...WWW, ...kept })).body).toMatchObject(kept)
    expect(await idsOf(world, `tag=${encodeURIComponent('#=:/*')}&metadata.constructor=a`)).toHaveLength(1)
    expect((await put(world, 'a b', WWW)).body.errors).toHaveProperty('external_id')
    expect((await put(world, 'a', { ...WWW, external_id: 'b' })).body.errors).toHaveProperty('external_id')
  })

  test('PUT creates or updates the monitor, once for each Idempotency-Key, and only in the version of If-Match', async () => {
    const world = await givenApp(engine)
    const made = await put(world, 'c1', { ...WWW, tags: ['prod'] }, { 'idempotency-key': 'one' })
    expect([made.status, made.body]).toMatchObject([201, { external_id: 'c1', tags: ['prod'] }])
    const repeated = await put(world, 'c1', { ...WWW, tags: ['prod'] }, { 'idempotency-key': 'one' })
    expect([repeated.status, repeated.body, repeated.headers['idempotent-replayed']]).toEqual([201, made.body, 'true'])
    const changed = await put(world, 'c1', { ...WWW, frequency: 30, metadata: { plan: 'b' } })
    expect([changed.status, changed.body]).toMatchObject([200, { id: made.body.id, tags: ['prod'] }])
    expect(changed.body.metadata).toEqual({ plan: 'b' })
    expect((await put(world, 'c1', WWW, { 'if-match': made.headers.etag })).status).toBe(412)
    expect((await put(world, 'c2', WWW, { 'if-match': made.headers.etag })).status).toBe(412)
    expect((await put(world, 'c1', WWW, { 'if-match': changed.headers.etag })).status).toBe(200)
    const racing = await Promise.all(Array.from({ length: 5 }, () => put(world, 'race', WWW)))
    expect(racing.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 201])
    expect(new Set(racing.map(({ body }) => body.id)).size).toBe(1)
  })

  test('filters by states, tags, metadata, external id and customer, alone and combined', async () => {
    const world = await givenApp(engine)
    const shop = await post(world, '/groups', { name: 'Acme', external_id: 'acme' })
    const monitors = [
      { ...WWW, tags: ['prod', 'eu'], metadata: { customer: 'beta' } },
      { ...WWW, tags: ['prod'], metadata: { customer: 'acme' }, external_id: 'x' },
      { ...WWW, tags: ['eu'], group: shop.body.id },
      WWW,
    ]
    const made = (await post(world, '/monitors/bulk', { monitors })).body.map(({ id }: MonitorResponse) => id)
    for (const [at, state] of ['VALID', 'MISMATCH', 'NOT_FOUND', 'TIMEOUT'].entries()) {
      await world.deps.db.updateTable('monitors').set({ state }).where('id', '=', made[at]).execute()
    }
    for (const [query, places] of [
      ['state=MISMATCH,not_found', [1, 2]],
      ['tag=prod', [0, 1]],
      ['tag=prod,eu', [0]],
      ['tag=prod&state=MISMATCH,TIMEOUT', [1]],
      ['metadata.customer=beta', [0]],
      ['metadata[customer]=beta', [0]],
      ['metadata%5Bcustomer%5D=beta&tag=prod', [0]],
      ['metadata.customer=nobody', []],
      ['external_id=x', [1]],
      ['customer=acme', [2]],
      ['customer=beta', [0]],
      ['customer=acme&tag=prod', []],
      ['customer=acme&group=default', []],
    ] as const) {
      for (const order of ['created', 'domain', 'name', 'state']) {
        const found = (await idsOf(world, `${query}&order_by=${order}`)).sort()
        expect([query, order, found]).toEqual([query, order, places.map((at) => made[at]).sort()])
      }
      const counts = await world.call(`/monitors/counts?${query}`)
      expect([query, counts.body.active]).toEqual([query, places.length])
    }
    expect((await world.call('/monitors?state=VALID,GOOD')).body.errors.state).toContain(
      'comma-separated list of UNSET',
    )
    expect((await world.call('/monitors?metadata.a%20b=c')).status).toBe(400)
    expect((await world.call('/monitors?metadata.a=b&metadata.a=c')).status).toBe(400)
    for (const query of [
      'metadata[a b]=c',
      'metadata[]=c',
      'metadata=c',
      'metadata[a]=b&metadata.a=b',
      'metadata[a]=b&metadata[a]=c',
    ])
      expect([query, (await world.call(`/monitors?${query}`)).status]).toEqual([query, 400])
    const page = (await world.call('/monitors?tag=prod&limit=1')).body
    const next = (await world.call(`/monitors?tag=prod&limit=1&after=${page.after}`)).body
    expect([page.data[0].id, next.data[0].id, next.has_more]).toEqual([made[0], made[1], false])
    expect((await world.call(`/monitors?tag=eu&limit=1&after=${page.after}`)).status).toBe(400)
  })

  test('groups have labels too', async () => {
    const world = await givenApp(engine)
    const made = await post(world, `/groups?${INCLUDE}`, { name: 'Acme', ...LABELS })
    expect([made.status, made.body]).toMatchObject([201, { name: 'Acme', ...LABELS }])
    const path = `/groups/${made.body.id}`
    expect(Object.keys((await world.call(path)).body)).toEqual([
      ...['id', 'slug', 'name', 'is_default', 'monitors', 'webhooks'],
    ])
    expect((await world.call(`${path}?${INCLUDE}`)).body).toEqual(made.body)
    for (const [query, count] of [
      ['tag=prod', 1],
      ['tag=prod,none', 0],
      ['metadata.plan=business', 1],
      ['external_id=c300%2Fwww', 1],
      ['external_id=c', 0],
    ] as const) {
      expect([query, (await world.call(`/groups?${query}`)).body.data.length]).toEqual([query, count])
    }
    const taken = await post(world, '/groups', { name: 'Other', external_id: LABELS.external_id })
    expect([taken.status, taken.headers['x-error-code']]).toEqual([409, 'external_id_taken'])
    const renamed = await world.call(`${path}?${INCLUDE}`, { method: 'PATCH', body: { name: 'New', tags: ['a'] } })
    expect(renamed.body).toMatchObject({ name: 'New', ...LABELS, tags: ['a'] })
    const cleared = { external_id: null, tags: null, metadata: {} }
    const patched = await world.call(`${path}?${INCLUDE}`, { method: 'PATCH', body: cleared })
    expect(patched.body).toMatchObject({ external_id: null, tags: [], metadata: {} })
    expect((await world.call('/groups?tag=a')).body.data).toEqual([])
    expect((await post(world, '/groups', { name: 'x', metadata: { 'a b': '' } })).body.errors).toHaveProperty(
      'metadata',
    )
    expect((await world.call('/groups?include=secret')).body.errors.include).toContain('external_id, tags, metadata')
  })
})

test('on_conflict: update recreates a monitor that is deleted at the same time (postgres)', async () => {
  const world = await givenApp('postgres')
  const { db, clock } = world.deps
  const { id: organizationId } = await world.organization()
  const bulk = () =>
    post(world, '/monitors/bulk', { on_conflict: 'update', monitors: [{ ...WWW, external_id: 'one' }] })
  const [{ id }] = (await bulk()).body
  let again: Promise<AppResponse> | undefined
  await db.transaction().execute(async (deletion) => {
    await deleteMonitor(deletion, systemContext(organizationId, clock.now()), id)
    again = bulk()
    await waitUntilBlocked(db)
  })
  const { status, body } = await again!
  expect([status, body]).toMatchObject([201, [{ subdomain: 'www' }]])
  expect(body[0].id).not.toBe(id)
})
