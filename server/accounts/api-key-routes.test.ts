import { expect, test } from 'vitest'
import type { ApiKey } from '#contract/api-keys.ts'
import { givenSignedInBrowser } from '../testing/accounts.ts'
import { onBothEngines } from '../testing/database.ts'
import { type Call, givenApp, type TestApp } from '../testing/test-app.ts'
import { MAX_LIVE_KEYS } from './api-key-store.ts'

const KEYS = '/api-keys'
const HOUR_MS = 3_600_000

onBothEngines('an API key from the dashboard', (_fresh, engine) => {
  test('is shown once, works, is listed with its creator, and stops working when revoked', async () => {
    const world = await givenApp(engine)
    const browser = await givenSignedInBrowser(world, { name: 'Ada', role: 'admin' })
    const created = await browser.call(KEYS, { body: { name: 'Deploy', role: 'write' } })
    expect(created).toMatchObject({ status: 201, body: { name: 'Deploy', role: 'write', created_by: 'Ada' } })
    const { key, ...shown } = created.body
    expect((await world.call('/monitors', { key })).status).toBe(200)

    const listed = (await browser.call(`${KEYS}?order_way=desc`)).body.data
    expect(listed[0]).toMatchObject({ id: shown.id, last_used: expect.any(String), revoked: null })
    expect(JSON.stringify(listed)).not.toContain(key)

    expect((await browser.call(`${KEYS}/${shown.id}`, { method: 'DELETE' })).status).toBe(204)
    expect((await world.call('/monitors', { key })).status).toBe(401)
    expect((await browser.call(`${KEYS}/${shown.id}`, { method: 'DELETE' })).status).toBe(404)
    expect((await browser.call(`${KEYS}?order_way=desc`)).body.data[0].revoked).not.toBeNull()
  })

  test('is refused while an organization has 500 that are not revoked and have not expired', async () => {
    const world = await givenApp(engine)
    const browser = await givenSignedInBrowser(world, { name: 'Ada', role: 'admin' })
    const create = () => browser.call(KEYS, { body: { name: 'Deploy', role: 'write' } })
    const { db } = world.deps
    const { id } = (await create()).body
    const row = await db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    const { length } = await db.selectFrom('api_keys').select('id').execute()
    const rows = Array.from({ length: MAX_LIVE_KEYS - length }, (_, index) => ({
      ...row,
      id: `key_${index}`,
      hash: `hash ${index}`,
    }))
    for (let at = 0; at < rows.length; at += 50)
      await db
        .insertInto('api_keys')
        .values(rows.slice(at, at + 50))
        .execute()

    const refused = await create()
    expect([refused.status, refused.body.error]).toEqual([
      409,
      'Limit reached: an organization has at most 500 API keys that are not revoked and have not expired. Revoke one first.',
    ])
    await browser.call(`${KEYS}/${id}`, { method: 'DELETE' })
    expect((await create()).status).toBe(201)
  })

  test('expires at the requested time', async () => {
    const world = await givenApp(engine)
    const browser = await givenSignedInBrowser(world, { name: 'Ada', role: 'admin' })
    const create = (expires: string) => browser.call(KEYS, { body: { name: 'Short', role: 'read', expires } })
    expect((await create('2020-01-01T00:00:00Z')).body.errors).toHaveProperty('expires')
    expect((await create('tomorrow')).body.errors).toHaveProperty('expires')
    const { key } = (await create(new Date(world.deps.clock.now() + 60_000).toISOString())).body
    expect((await world.call('/monitors', { key })).status).toBe(200)
    world.pass(60_000)
    expect((await world.call('/monitors', { key })).status).toBe(401)
  })

  test('is managed by admins, while only owners manage admin keys and limits', async () => {
    const world = await givenApp(engine)
    const { id } = await world.key('admin')
    for (const [name, role, list, write, admin, limits] of [
      ['Mia', 'member', 403, 403, 403, 403],
      ['Ada', 'admin', 200, 201, 403, 403],
      ['Olga', 'owner', 200, 201, 201, 201],
    ] as const) {
      const browser = await givenSignedInBrowser(world, { name, role })
      const create = (fields: object) => browser.call(KEYS, { body: { name: 'Deploy', role: 'write', ...fields } })
      const responses = [
        await browser.call(KEYS),
        await create({}),
        await create({ role: 'admin' }),
        await create({ limits: { read: 60 } }),
      ]
      expect([name, ...responses.map(({ status }) => status)]).toEqual([name, list, write, admin, limits])
      const change = (method: string, path: string, body?: object) =>
        browser.call(`${KEYS}/${id}${path}`, { method, body })
      if (role === 'owner') continue
      const refused = [
        await change('PATCH', '', { name: 'x' }),
        await change('POST', '/rotate'),
        await change('DELETE', ''),
      ]
      expect([name, ...refused.map(({ status }) => status)]).toEqual([name, 403, 403, 403])
    }
    for (const role of ['read', 'write'] as const) {
      const { key } = await world.key(role)
      const create = { method: 'POST', body: { name: 'Deploy', role: 'read' }, key }
      expect([(await world.call(KEYS, create)).status, (await world.call(KEYS, { key })).status]).toEqual([403, 403])
    }
  })

  test('is a 404 in another organization', async () => {
    const world = await givenApp(engine)
    const { id } = await world.key('read', { organizationName: 'Second' })
    const browser = await givenSignedInBrowser(world, { name: 'Ada', role: 'owner' })
    expect((await browser.call(`${KEYS}/${id}`, { method: 'DELETE' })).status).toBe(404)
    expect(JSON.stringify((await browser.call(KEYS)).body)).not.toContain(id)
  })

  test('counts toward the limit of the plan', async () => {
    const limits = { monitors: 10, min_frequency: 5, event_retention_days: 30, webhooks: 10, agents: 10, api_keys: 2 }
    const plans = [{ id: 'small', name: 'Small', limits, prices: [] }]
    const world = await givenApp(engine, { PLANS: JSON.stringify(plans) })
    const browser = await givenSignedInBrowser(world, { name: 'Ada', role: 'owner' })
    const create = { body: { name: 'Deploy', role: 'read' } }
    expect((await browser.call(KEYS, create)).status).toBe(201)
    expect((await browser.call(KEYS, create)).status).toBe(402)
  })
})

onBothEngines('an API key', (_fresh, engine) => {
  const create = async ({ call }: TestApp, body: object, more: Call = {}) =>
    await call(KEYS, { method: 'POST', body: { name: 'Deploy', role: 'admin', ...body }, ...more })
  /** By an owner, who can set limits above the defaults. */
  const createByOwner = async (world: TestApp, body: object) => {
    const owner = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner' })
    return await owner.call(KEYS, { body: { name: 'Deploy', role: 'admin', ...body } })
  }
  const change = async ({ call }: TestApp, id: string, body: object, more: Call = {}) =>
    await call(`${KEYS}/${id}`, { method: 'PATCH', body, ...more })
  const rotate = async ({ call }: TestApp, id: string, body?: object, more: Call = {}) =>
    await call(`${KEYS}/${id}/rotate`, { method: 'POST', ...(body && { body }), ...more })
  const works = async ({ call }: TestApp, key: string) => (await call('/groups', { key })).status === 200

  test('can be rotated: the previous key works until its expiry, and id and name stay', async () => {
    const world = await givenApp(engine)
    const { id, key: first } = (await create(world, {})).body
    const rotated = await rotate(world, id, { grace_hours: 2 })
    const { key: second, previous_expires } = rotated.body
    expect([rotated.status, rotated.body.id, rotated.body.name]).toEqual([200, id, 'Deploy'])
    const hours = (Date.parse(previous_expires) - world.deps.clock.now()) / HOUR_MS
    expect([Math.ceil(hours * 1_000) / 1_000, second === first]).toEqual([2, false])
    expect([await works(world, first), await works(world, second)]).toEqual([true, true])
    world.pass(2 * HOUR_MS)
    expect([await works(world, first), await works(world, second)]).toEqual([false, true])
    const shown = (await world.call(`${KEYS}/${id}`)).body
    expect([shown.previous_expires, typeof shown.rotated, 'key' in shown]).toEqual([null, 'string', false])
  })

  test('stops working at once if it is rotated without a grace period, rotated again, or revoked', async () => {
    const world = await givenApp(engine)
    const { id, key: first } = (await create(world, {})).body
    const second = (await rotate(world, id)).body.key
    const third = (await rotate(world, id)).body.key
    expect([await works(world, first), await works(world, second), await works(world, third)]).toEqual([
      false,
      true,
      true,
    ])
    const fourth = (await rotate(world, id, { grace_hours: 0 })).body.key
    expect([await works(world, third), await works(world, fourth)]).toEqual([false, true])
    const fifth = (await rotate(world, id)).body.key
    expect((await world.call(`${KEYS}/${id}`, { method: 'DELETE' })).status).toBe(204)
    expect([await works(world, fourth), await works(world, fifth)]).toEqual([false, false])
    expect([(await rotate(world, id)).status, (await change(world, id, { name: 'x' })).status]).toEqual([409, 409])
    expect((await rotate(world, id, { grace_hours: 169 })).body.errors).toHaveProperty('grace_hours')
  })

  test('shares its rate limits with the previous key after a rotation', async () => {
    const world = await givenApp(engine, { READ_LIMIT: '2' })
    const { id, key } = (await create(world, {})).body
    const second = (await rotate(world, id)).body.key
    expect([await works(world, key), await works(world, second), await works(world, key)]).toEqual([true, true, false])
  })

  test('can have its own limits, with separate windows and headers', async () => {
    const world = await givenApp(engine, { READ_LIMIT: '2', WRITE_LIMIT: '2', CREATE_LIMIT: '2' })
    const limits = { read: 3, page: 5, check: 4 }
    const created = (await createByOwner(world, { limits })).body
    expect(created.limits).toEqual({ read: 3, page: 5, write: null, create: null, check: 4 })
    const { key } = created
    const request = async (path: string, method = 'GET', body?: object) => {
      const { status, headers } = await world.call(path, { key, method, ...(body && { body }) })
      return [status, headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']]
    }
    expect(await request('/groups')).toEqual([200, '3', '2'])
    expect(await request('/groups?after=x')).toEqual([400, '5', '4'])
    expect(await request('/groups?before=x', 'HEAD')).toEqual([400, '5', '3'])
    expect(await request('/monitors/mon_1/check', 'POST')).toEqual([404, '4', '3'])
    expect(await request('/zones/example.com/check', 'POST')).toEqual([404, '4', '2'])
    expect(await request('/monitors/mon_1/enable', 'POST')).toEqual([404, '2', '1'])
    expect(await request('/monitors', 'POST', {})).toEqual([400, '2', '1'])
    await request('/groups')
    await request('/groups')
    const refused = await world.call('/groups', { key })
    expect([refused.status, refused.headers['x-ratelimit-limit']]).toEqual([429, '3'])
    expect(refused.body.error).toContain('An owner of the organization can raise limits.read of the key')
    expect(await request('/groups?after=x')).toEqual([400, '5', '2'])
    // A higher limit applies to the next request, even in a full window.
    await world.deps.db.updateTable('api_keys').set({ limits: '{"read":4}' }).where('id', '=', created.id).execute()
    expect(await request('/groups')).toEqual([200, '4', '0'])
  })

  test('has the limits of the server by default: pages count as reads, checks as writes', async () => {
    const world = await givenApp(engine, { READ_LIMIT: '2', WRITE_LIMIT: '2' })
    const { key } = (await create(world, {})).body
    const statuses = async (...requests: [path: string, method?: string][]) => {
      const responses = []
      for (const [path, method = 'GET'] of requests) responses.push((await world.call(path, { key, method })).status)
      return responses
    }
    expect(await statuses(['/groups'], ['/groups?after=x'], ['/groups?after=x'])).toEqual([200, 400, 429])
    const check = ['/monitors/mon_1/check', 'POST'] as [string, string]
    expect(await statuses(check, ['/monitors/mon_1/enable', 'POST'], check)).toEqual([404, 404, 429])
  })

  test('cannot have a limit above KEY_LIMIT_MAX, even if that is lowered later', async () => {
    const world = await givenApp(engine, { KEY_LIMIT_MAX: '100', READ_LIMIT: '20', CHECK_LIMIT: '7' })
    const owner = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner' })
    const refused = await owner.call(KEYS, {
      body: { name: 'x', role: 'read', limits: { read: 101, write: 0, check: 100 } },
    })
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, ['limits.read', 'limits.write']])
    expect(refused.headers['x-error-fields']).toContain('limits.read=above_key_limit;max=100;given=101')
    const { id, key } = (await owner.call(KEYS, { body: { name: 'x', role: 'read', limits: { read: 100 } } })).body
    const lower = await givenApp(engine, { KEY_LIMIT_MAX: '50', READ_LIMIT: '20' }, world.url)
    const response = await lower.call('/groups', { key })
    expect(response.headers['x-ratelimit-limit']).toBe('50')
    // The limit of an operator may exceed it.
    await world.deps.db.updateTable('api_keys').set({ limits_by: 'operator' }).where('id', '=', id).execute()
    expect((await lower.call('/groups', { key })).headers['x-ratelimit-limit']).toBe('100')
    // A key that it creates may not.
    await world.deps.db.updateTable('api_keys').set({ role: 'admin' }).where('id', '=', id).execute()
    const child = (await create(lower, {}, { key })).body
    expect((await lower.call('/groups', { key: child.key })).headers['x-ratelimit-limit']).toBe('50')
  })

  test('can be changed field by field, with If-Match', async () => {
    const world = await givenApp(engine)
    const { id } = (await create(world, { limits: { read: 60, page: 60 } })).body
    const { headers } = await world.call(`${KEYS}/${id}`)
    const changed = await change(
      world,
      id,
      { limits: { read: null, write: 30 } },
      { headers: { 'if-match': headers.etag! } },
    )
    expect(changed.body.limits).toEqual({ read: null, page: 60, write: 30, create: null, check: null })
    expect((await change(world, id, { name: 'x' }, { headers: { 'if-match': headers.etag! } })).status).toBe(412)
    expect(
      (await change(world, id, { limits: null, role: 'read', expires: '2100-01-01T00:00:00Z' })).body,
    ).toMatchObject({
      ...{ name: 'Deploy', role: 'read', expires: '2100-01-01T00:00:00.000Z' },
      limits: { read: null, page: null, write: null },
    })
    for (const [body, field] of [
      [{ expires: '2020-01-01T00:00:00Z' }, 'expires'],
      [{ role: 'owner' }, 'role'],
      [{ limits: { reads: 1 } }, 'limits.reads'],
      [{ limits: { read: -1 } }, 'limits.read'],
      [{ limits: { read: 1.5 } }, 'limits.read'],
      [{ hash: 'x' }, 'hash'],
      [{ revoked: null }, 'revoked'],
    ] as const) {
      expect([field, Object.keys((await change(world, id, body)).body.errors)]).toEqual([field, [field]])
    }
  })

  test('cannot give another key more than it has, and passes on its own limits and expiry by default', async () => {
    const world = await givenApp(engine, { READ_LIMIT: '20', WRITE_LIMIT: '50' })
    const expires = new Date(world.deps.clock.now() + HOUR_MS).toISOString()
    const { id, key } = (await createByOwner(world, { limits: { read: 10, check: 30 }, expires })).body
    const child = await create(world, {}, { key })
    expect(child.body).toMatchObject({ limits: { read: 10, check: 30, page: null }, expires, created_by_key_id: id })
    for (const [fields, field] of [
      [{ limits: { read: 11 } }, 'limits.read'],
      [{ limits: { read: null } }, 'limits.read'],
      [{ limits: { write: 51 } }, 'limits.write'],
      [{ limits: { page: 1 } }, 'limits.page'],
      // Without a limit of their own, checks count as writes, whose limit is 50.
      [{ limits: { check: null } }, 'limits.check'],
      [{ limits: null }, 'limits.read'],
      [{ expires: null }, 'expires'],
      [{ expires: '2100-01-01T00:00:00Z' }, 'expires'],
    ] as const) {
      const refused = [await create(world, fields, { key }), await change(world, id, fields, { key })]
      expect(refused.map(({ status, body }) => [status, body.error.includes(field)])).toEqual([
        [403, true],
        [403, true],
      ])
    }
    const other = (await world.key('admin')).id
    expect([(await rotate(world, other, {}, { key })).status, (await rotate(world, id, {}, { key })).status]).toEqual([
      403, 200,
    ])
    expect((await create(world, { limits: { read: 9 }, role: 'read' }, { key })).status).toBe(201)
  })

  test('of a demoted agent cannot get a higher role than the agent has', async () => {
    const world = await givenApp(engine)
    const owner = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner' })
    const eve = await givenSignedInBrowser(world, { name: 'Eve', role: 'owner' })
    const { id, created_by_id } = (await eve.call(KEYS, { body: { name: 'All', role: 'admin' } })).body
    await owner.call(`/agents/${created_by_id}`, { method: 'PATCH', body: { role: 'member' } })
    const back = await owner.call(`${KEYS}/${id}`, { method: 'PATCH', body: { role: 'admin' } })
    expect([back.status, back.body.error]).toEqual([409, expect.stringContaining('at most the role write')])
  })

  test('is revoked with the agent who rotated it last, and so are keys that it created', async () => {
    const world = await givenApp(engine)
    const owner = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner' })
    const eve = await givenSignedInBrowser(world, { name: 'Eve', role: 'owner' })
    const { id } = (await owner.call(KEYS, { body: { name: 'All', role: 'admin' } })).body
    const { key, created_by_id } = (await eve.call(`${KEYS}/${id}/rotate`, { body: {} })).body
    const child = (await create(world, {}, { key })).body
    expect([await works(world, key), await works(world, child.key)]).toEqual([true, true])
    await owner.call(`/agents/${created_by_id}`, { method: 'DELETE' })
    expect([await works(world, key), await works(world, child.key)]).toEqual([false, false])
  })

  test('is revoked with the keys that it created, and those that they created, if the request says so', async () => {
    const world = await givenApp(engine)
    const first = (await create(world, {})).body
    const second = (await create(world, { name: 'second' }, { key: first.key })).body
    const third = (await create(world, { name: 'third' }, { key: second.key })).body
    // It does not become the creator of the key that created it: nothing would lead to them from the first one.
    await rotate(world, second.id, {}, { key: third.key })
    const { key: foreign } = await world.organization('Second')
    const createdBy = async (id: string, key?: string) =>
      (await world.call(`${KEYS}?created_by_key=${id}`, key === undefined ? {} : { key })).body.data.map(
        ({ name }: ApiKey) => name,
      )
    expect([await createdBy(first.id), await createdBy(first.id, foreign)]).toEqual([['second'], []])
    await world.call(`${KEYS}/${second.id}`, { method: 'DELETE' })
    expect([await works(world, second.key), await works(world, third.key)]).toEqual([false, true])

    const admin = await givenSignedInBrowser(world, { name: 'Ada', role: 'admin' })
    const writer = (await create(world, { role: 'write' }, { key: first.key })).body
    const path = `${KEYS}/${first.id}?created_keys=revoke`
    expect((await admin.call(path, { method: 'DELETE' })).status).toBe(403)
    expect([await works(world, third.key), await works(world, writer.key)]).toEqual([true, true])
    expect((await world.call(path, { method: 'DELETE' })).status).toBe(204)
    for (const { key } of [first, third, writer]) expect(await works(world, key)).toBe(false)
  })

  test('shows that its previous key ends with it', async () => {
    const world = await givenApp(engine)
    const expires = new Date(world.deps.clock.now() + HOUR_MS).toISOString()
    const { id } = (await create(world, { expires })).body
    expect((await rotate(world, id, { grace_hours: 24 })).body.previous_expires).toBe(expires)
    world.pass(HOUR_MS)
    expect((await world.call(`${KEYS}/${id}`)).body.previous_expires).toBeNull()
  })

  test('is listed by state and in pages, only in its organization', async () => {
    const world = await givenApp(engine)
    const { id } = (await create(world, { name: 'a' })).body
    await create(world, { name: 'b', expires: new Date(world.deps.clock.now() + HOUR_MS).toISOString() })
    const gone = (await create(world, { name: 'c' })).body.id
    await world.call(`${KEYS}/${gone}`, { method: 'DELETE' })
    world.pass(HOUR_MS)
    const namesOf = async (query: string) =>
      (await world.call(`${KEYS}?${query}`)).body.data.map(({ name }: ApiKey) => name)
    expect(await namesOf('state=revoked')).toEqual(['c'])
    expect(await namesOf('state=expired')).toEqual(['b'])
    expect((await namesOf('state=ACTIVE')).sort()).toEqual(['First key', 'a'])
    expect(await namesOf('order_way=desc&limit=2')).toEqual(['c', 'b'])
    const { key } = await world.organization('Second')
    const responses = [
      await world.call(`${KEYS}/${id}`, { key }),
      await change(world, id, { name: 'x' }, { key }),
      await rotate(world, id, {}, { key }),
      await world.call(`${KEYS}/${id}`, { key, method: 'DELETE' }),
    ]
    expect(responses.map(({ status }) => status)).toEqual([404, 404, 404, 404])
    expect((await world.call(KEYS, { key })).body.data).toHaveLength(1)
  })

  test('is never stored in plain text, not even for an Idempotency-Key', async () => {
    const world = await givenApp(engine)
    const headers = { 'idempotency-key': 'one' }
    const first = await create(world, {}, { headers })
    const again = await create(world, {}, { headers })
    expect([again.body.key, again.headers['idempotent-replayed']]).toEqual([first.body.key, 'true'])
    const path = { headers: { 'idempotency-key': 'two' } }
    const rotated = await rotate(world, first.body.id, {}, path)
    expect((await rotate(world, first.body.id, {}, path)).body.key).toBe(rotated.body.key)
    for (const table of ['api_keys', 'idempotent_requests', 'audit_log'] as const) {
      const rows = await world.deps.db.selectFrom(table).selectAll().execute()
      const text = rows.flatMap((row) =>
        Object.values(row).map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value))),
      )
      expect(text.filter((each) => each.includes(first.body.key) || each.includes(rotated.body.key))).toEqual([])
    }
  })
})
