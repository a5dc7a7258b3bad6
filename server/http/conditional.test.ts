import { expect, test } from 'vitest'
import { givenAgent } from '../testing/accounts.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

async function givenGroup(world: TestApp): Promise<{ path: string; tag: string }> {
  const { body } = await world.call('/groups', { method: 'POST', body: { name: 'Shop' } })
  const path = `/groups/${body.id}`
  return { path, tag: (await world.call(path)).headers.etag! }
}

const WWW = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'] }
const NTFY = { name: 'Phone', type: 'ntfy', settings: { topic: 'zonewatch' } }
const FUTURE = { from: '2030-01-01T02:00:00Z', to: '2030-01-01T04:00:00Z' }
const DELETED = [
  ...['/monitors/{monitor}', '/groups/{group}', '/webhooks/{webhook}', '/agents/{agent}'],
  ...['/alert-rules/{rule}', '/channels/{channel}', '/setup-pages/{setup_page}'],
  ...['/maintenance-windows/{window}', '/planned-changes/{change}', '/views/{view}'],
  '/zones/{zone}',
  '/api-keys/{key}',
]

type Resource = [path: string, change: (number: number) => unknown, name: string]

/** One resource of each kind that PATCH can change. */
async function resourcesOf(world: TestApp): Promise<Resource[]> {
  const make = async (path: string, body: unknown) =>
    `${path}/${(await world.call(path, { method: 'POST', body })).body.id}`
  const [channel] = (await world.call('/channels')).body.data
  const other = (await world.call('/monitors', { method: 'POST', body: WWW })).body.id
  return [
    [await make('/monitors', WWW), (number) => ({ frequency: 10 + number }), '/monitors/{monitor}'],
    [await make('/groups', { name: 'Shop' }), (number) => ({ name: `Shop ${number}` }), '/groups/{group}'],
    [
      await make('/webhooks', { url: 'http://127.0.0.1:9999/' }),
      (number) => ({ url: `http://127.0.0.1:9999/${number}` }),
      '/webhooks/{webhook}',
    ],
    [
      `/agents/${await givenAgent(world, { name: 'Second' })}`,
      (number) => ({ name: `Second ${number}` }),
      '/agents/{agent}',
    ],
    [
      await make('/alert-rules', { name: 'Shop', channels: [channel.id] }),
      (number) => ({ delay: number }),
      '/alert-rules/{rule}',
    ],
    [await make('/channels', NTFY), (number) => ({ name: `Phone ${number}` }), '/channels/{channel}'],
    [
      await make('/maintenance-windows', { name: 'Updates', ...FUTURE }),
      (number) => ({ name: `Updates ${number}` }),
      '/maintenance-windows/{window}',
    ],
    [
      await make('/planned-changes', { monitor_id: other, new_value: '192.0.2.9', ...FUTURE }),
      (number) => ({ new_value: `192.0.2.1${number}` }),
      '/planned-changes/{change}',
    ],
    [await make('/views', { name: 'Failing' }), (number) => ({ name: `Failing ${number}` }), '/views/{view}'],
    [
      await make('/zones', { name: 'example.com' }),
      (number) => ({ expected_name_servers: [`ns${number}.example.com`] }),
      '/zones/{zone}',
    ],
    [await givenIncident(world), (number) => ({ note: `Note ${number}` }), '/incidents/{incident}'],
    [
      await make('/api-keys', { name: 'Deploy', role: 'write' }),
      (number) => ({ name: `Deploy ${number}` }),
      '/api-keys/{key}',
    ],
    ['/organization', (number) => ({ name: `Acme ${number}` }), '/organization'],
    ['/organization/billing', (number) => ({ city: `City ${number}` }), '/organization/billing'],
  ]
}

async function givenIncident(world: TestApp): Promise<string> {
  const { id: organization_id } = await world.organization()
  const place = { organization_id, id: 'inc_1', cause: 'c', zone: 'example.com', state: 'TIMEOUT' }
  const row = { ...place, opened_at: 0, monitors: 1, failing: 1 }
  await world.deps.db.insertInto('incidents').values(row).execute()
  return `/incidents/${place.id}`
}

onBothEngines('conditional requests', (_fresh, engine) => {
  test('a resource has an ETag, and a matching If-None-Match gets no body', async () => {
    const world = await givenApp(engine)
    const { path, tag } = await givenGroup(world)
    expect(tag).toMatch(/^"[\w.-]+"$/)
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const response = await world.call(path, { method, headers: { 'if-none-match': known } })
        expect([response.status, response.text, response.headers.etag]).toEqual([304, '', tag])
      }
    }
    expect((await world.call(path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
    const head = await world.call(path, { method: 'HEAD' })
    expect([head.status, head.text, head.headers.etag]).toEqual([200, '', tag])
    expect(Number(head.headers['content-length'])).toBeGreaterThan(50)
  })

  test('If-Match allows a change of the version that was read, and refuses it after another change', async () => {
    const world = await givenApp(engine)
    const { path, tag } = await givenGroup(world)
    const change = (name: string, match: string) =>
      world.call(path, { method: 'PATCH', body: { name }, headers: { 'if-match': match } })
    const changed = await change('Two', tag)
    expect(changed.status).toBe(200)
    expect(changed.headers.etag).toBe((await world.call(path)).headers.etag)
    for (const match of [tag, '"other"', `W/${changed.headers.etag}`, 'nonsense', '']) {
      const refused = await change('Three', match)
      expect([refused.status, refused.body.code]).toEqual([412, 412])
    }
    expect((await change('Three', `"other", ${changed.headers.etag}`)).status).toBe(200)
    expect((await change('Four', '*')).status).toBe(200)
    const refused = await world.call(path, { method: 'DELETE', headers: { 'if-match': tag } })
    expect(refused.status).toBe(412)
    const { etag } = (await world.call(path)).headers
    expect((await world.call(path, { method: 'DELETE', headers: { 'if-match': etag! } })).status).toBe(204)
    expect((await world.call(path, { method: 'DELETE', headers: { 'if-match': etag! } })).status).toBe(404)
  })

  test('a page of every list has a weak ETag and is a 304 until it changes', async () => {
    const world = await givenApp(engine)
    const { paths } = (await world.call('/openapi.json', { key: null })).body
    const lists = Object.keys(paths).filter((path) => JSON.stringify(paths[path].get ?? {}).includes('Page"'))
    expect(lists).toEqual(
      expect.arrayContaining(['/monitors', '/groups', '/webhooks', '/events', '/api-keys', '/agents']),
    )
    for (const path of lists.filter((path) => !path.includes('{'))) {
      const { headers } = await world.call(path)
      expect([path, headers.etag]).toEqual([path, expect.stringMatching(/^W\/"[\w-]{16}"$/)])
    }
    const read = async (path: string, tag?: string, method = 'GET') => {
      const response = await world.call(path, { method, headers: tag === undefined ? {} : { 'if-none-match': tag } })
      return { status: response.status, text: response.text, tag: response.headers.etag! }
    }
    const one = await read('/groups')
    for (const method of ['GET', 'HEAD']) {
      for (const known of [one.tag, one.tag.slice(2), `"other", ${one.tag}`]) {
        expect(await read('/groups', known, method)).toEqual({ status: 304, text: '', tag: one.tag })
      }
    }
    expect((await read('/groups?order_way=desc&limit=1', one.tag)).status).toBe(200)
    await world.call('/groups', { method: 'POST', body: { name: 'Shop' } })
    const two = await read('/groups', one.tag)
    expect([two.status, two.tag === one.tag]).toEqual([200, false])
    await world.call('/monitors', { method: 'POST', body: { ...WWW, group: 'shop' } })
    expect((await read('/groups', two.tag)).status).toBe(200)
    // The list of another organization has another tag.
    const other = await world.organization('Second')
    const response = await world.call('/groups', { key: other.key, headers: { 'if-none-match': two.tag } })
    expect(response.status).toBe(200)
  })

  test('of ten concurrent changes with one ETag, one succeeds', async () => {
    const world = await givenApp(engine)
    const { path, tag } = await givenGroup(world)
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        world.call(path, { method: 'PATCH', body: { name: `n${index}` }, headers: { 'if-match': tag } }),
      ),
    )
    const statuses = responses.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array(9).fill(412)])
  })

  test('a change of read-only fields changes the ETag, but does not make If-Match fail', async () => {
    const world = await givenApp(engine)
    const { path, tag } = await givenGroup(world)
    const body = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'], group: 'shop' }
    await world.call('/monitors', { method: 'POST', body })
    const response = await world.call(path, { headers: { 'if-none-match': tag } })
    expect([response.status, response.body.monitors]).toEqual([200, 1])
    expect(response.headers.etag).not.toBe(tag)
    const change = { method: 'PATCH', body: { name: 'Two' }, headers: { 'if-match': tag } }
    expect((await world.call(path, change)).status).toBe(200)
  })

  test('an ETag depends on the included fields', async () => {
    const world = await givenApp(engine)
    const body = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'] }
    const { id } = (await world.call('/monitors', { method: 'POST', body })).body
    const plain = (await world.call(`/monitors/${id}`)).headers.etag!
    const included = (await world.call(`/monitors/${id}?include=frequency`)).headers.etag!
    expect(included).not.toBe(plain)
    const remove = { method: 'DELETE', headers: { 'if-match': included } }
    expect((await world.call(`/monitors/${id}`, remove)).status).toBe(204)
  })

  test('of concurrent changes with one ETag on two servers, one succeeds', async () => {
    const world = await givenApp(engine)
    const other = await givenApp(engine, {}, world.url)
    const { key } = await world.organization()
    for (const [path, change] of await resourcesOf(world)) {
      const tag = (await world.call(path)).headers.etag!
      const responses = await Promise.all(
        [1, 2, 3, 4].map((number) =>
          (number % 2 === 0 ? world : other).call(path, {
            method: 'PATCH',
            key,
            body: change(number),
            headers: { 'if-match': tag },
          }),
        ),
      )
      expect([path, responses.map(({ status }) => status).sort()]).toEqual([path, [200, 412, 412, 412]])
    }
  })

  test('PUT by external id refuses an outdated ETag', async () => {
    const world = await givenApp(engine)
    const path = '/monitors/external/shop-1'
    const put = (number: number, headers: Record<string, string> = {}) => {
      const body = { full_domain: 'www.example.com', record_type: 'A', expected_value: [`192.0.2.${number}`] }
      return world.call(path, { method: 'PUT', body, headers })
    }
    expect((await put(1)).status).toBe(201)
    const tag = (await world.call(path)).headers.etag!
    expect((await put(2, { 'if-match': tag })).status).toBe(200)
    expect((await put(3, { 'if-match': tag })).status).toBe(412)
    expect((await world.call(path)).body.expected_value).toEqual(['192.0.2.2'])
  })

  test('every change and deletion refuses an outdated ETag and accepts a current one, as OpenAPI says', async () => {
    const world = await givenApp(engine)
    const { paths } = (await world.call('/openapi.json', { key: null })).body
    const resources = await resourcesOf(world)
    const described = Object.keys(paths).flatMap((path) =>
      ['patch', 'delete', 'put']
        .filter((method) => JSON.stringify(paths[path][method]?.parameters ?? []).includes('/IfMatch'))
        .map((method) => `${method} ${path}`),
    )
    expect(described.sort()).toEqual(
      [
        ...resources.values().map(([, , name]) => `patch ${name}`),
        ...DELETED.map((name) => `delete ${name}`),
        'put /monitors/external/{external_id}',
      ].sort(),
    )
    for (const [path, change, name] of resources) {
      const read = (await world.call(path)).headers.etag!
      const patch = (number: number, match: string) =>
        world.call(path, { method: 'PATCH', body: change(number), headers: { 'if-match': match } })
      const changed = await patch(1, read)
      const now = await world.call(path)
      expect([path, changed.status, changed.headers.etag]).toEqual([path, 200, now.headers.etag])
      expect([path, (await patch(2, read)).status, (await world.call(path)).text]).toEqual([path, 412, now.text])
      if (!DELETED.includes(name)) continue
      const remove = (match: string) => world.call(path, { method: 'DELETE', headers: { 'if-match': match } })
      expect([path, (await remove(read)).status, (await world.call(path)).text]).toEqual([path, 412, now.text])
      expect([path, (await remove(now.headers.etag!)).status]).toEqual([path, 204])
    }
    for (const [method, path] of [
      ['PATCH', '/groups/default/monitors'],
      ['DELETE', '/organization/subscription'],
    ] as const) {
      const headers = { 'if-match': (await world.call('/groups/default')).headers.etag! }
      const response = await world.call(path, {
        method,
        headers,
        ...(method === 'PATCH' ? { body: { frequency: 10 } } : {}),
      })
      expect([path, response.status, response.body.error]).toEqual([
        path,
        412,
        expect.stringMatching(/without If-Match/),
      ])
    }
  })

  test('the response to an action has the new ETag of the resource', async () => {
    const world = await givenApp(engine)
    const post = (path: string, body?: unknown) =>
      world.call(path, { method: 'POST', ...(body === undefined ? {} : { body }) })
    const monitor = await post('/monitors', WWW)
    expect(monitor.headers.etag).toBe((await world.call(`/monitors/${monitor.body.id}`)).headers.etag)
    const group = await post('/groups', { name: 'Shop' })
    expect(group.headers.etag).toBe((await world.call(`/groups/${group.body.id}`)).headers.etag)
    const webhook = await post('/webhooks', { url: 'http://127.0.0.1:9999/' })
    for (const path of [`/monitors/${monitor.body.id}`, `/webhooks/${webhook.body.id}`]) {
      for (const action of ['disable', 'enable']) {
        const { status, headers } = await post(`${path}/${action}`)
        expect([path, action, status, headers.etag]).toEqual([path, action, 200, (await world.call(path)).headers.etag])
      }
    }
  })

  test('a response with a new secret has the ETag that GET returns', async () => {
    const world = await givenApp(engine)
    const url = 'http://127.0.0.1:9999/'
    for (const hasKey of [false, true]) {
      const post = (path: string, body: unknown) =>
        world.call(path, { method: 'POST', body, headers: hasKey ? { 'idempotency-key': path } : {} })
      const created = await post('/webhooks', { url })
      const path = `/webhooks/${created.body.id}`
      expect((await world.call(path, { headers: { 'if-none-match': created.headers.etag! } })).status).toBe(304)
      const rotated = await post(`${path}/rotate-secret`, { grace_hours: 1 })
      expect(rotated.headers.etag).not.toBe(created.headers.etag)
      expect((await world.call(path, { headers: { 'if-none-match': rotated.headers.etag! } })).status).toBe(304)
    }
  })

  test('a change by another route outdates the ETag, a check does not', async () => {
    const world = await givenApp(engine)
    const post = async (path: string, body?: unknown) =>
      (await world.call(path, { method: 'POST', ...(body === undefined ? {} : { body }) })).body
    const group = `/groups/${(await post('/groups', { name: 'Shop' })).id}`
    const webhook = `/webhooks/${(await post('/webhooks', { url: 'http://127.0.0.1:9999/' })).id}`
    const monitor = `/monitors/${(await post('/monitors', { ...WWW, group: 'shop' })).id}`
    const patch = (path: string, body: unknown) => () => world.call(path, { method: 'PATCH', body })
    for (const [path, elsewhere] of [
      [monitor, () => post(`${monitor}/disable`)],
      [monitor, patch(`${group}/monitors`, { frequency: 30 })],
      [webhook, () => post(`${webhook}/disable`)],
      [webhook, () => post(`${webhook}/rotate-secret`)],
      [webhook, patch(group, { webhooks: [webhook.slice('/webhooks/'.length)] })],
      [group, patch(webhook, { groups: [] })],
      [webhook, patch(webhook, { groups: ['shop'] })],
      [monitor, () => world.call(group, { method: 'DELETE' })],
    ] as const) {
      const { etag } = (await world.call(path)).headers
      await elsewhere()
      const response = await world.call(path, { method: 'DELETE', headers: { 'if-match': etag! } })
      expect([path, elsewhere.toString(), response.status]).toEqual([path, elsewhere.toString(), 412])
    }
    const { etag } = (await world.call(monitor)).headers
    const id = monitor.slice('/monitors/'.length)
    await world.deps.db
      .updateTable('monitors')
      .set({ state: 'VALID', incidence_count: 1 })
      .where('id', '=', id)
      .execute()
    expect((await world.call(monitor, { headers: { 'if-none-match': etag! } })).status).toBe(200)
    expect((await world.call(monitor, { method: 'DELETE', headers: { 'if-match': etag! } })).status).toBe(204)
  })
})
