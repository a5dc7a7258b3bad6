import { expect, test } from 'vitest'
import { onBothEngines } from '../testing/database.ts'
import { givenDnsServer } from '../testing/dns.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { openHeaders } from './webhook.ts'

const URL_OK = 'http://127.0.0.1:8/hook'
const KEYS = [
  'created',
  'groups',
  'headers',
  'id',
  'is_active',
  'last_error',
  'last_executed',
  'secret',
  'state',
  'url',
]

async function made(world: TestApp, given: object = {}) {
  const answer = await world.call('/webhooks', { method: 'POST', body: { url: URL_OK, ...given } })
  expect(answer.status).toBe(201)
  return answer.body
}

onBothEngines('the webhooks API', (_fresh, engine) => {
  test('a new webhook has a secret that is returned only once', async () => {
    const world = await givenApp(engine)
    const answer = await world.call('/webhooks', { method: 'POST', body: { url: URL_OK } })

    expect(answer.status).toBe(201)
    expect(answer.headers.location).toBe(`/webhooks/${answer.body.id}`)
    expect(Object.keys(answer.body).sort()).toEqual(KEYS)
    expect(answer.body).toMatchObject({ is_active: true, state: 'active', headers: {}, groups: [], last_error: null })
    expect(answer.body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const { body } = await world.call(`/webhooks/${answer.body.id}`)
    expect(body.secret).toBe(`********${answer.body.secret.slice(-4)}`)
    expect({ ...body, secret: answer.body.secret }).toEqual(answer.body)
  })

  test('the secret and the headers are not in the database in plain text', async () => {
    const world = await givenApp(engine)
    await made(world, { secret: 'a secret of our own', headers: { Authorization: 'Bearer hush' } })

    const rows = await world.deps.db.selectFrom('webhooks').selectAll().execute()
    const text = rows.map((row) =>
      Object.values(row)
        .map((value) => Buffer.from(String(value)).toString())
        .join(),
    )
    expect(text.join()).not.toMatch(/secret of our own|hush/)
  })

  test('groups are accepted by id or slug and returned by id', async () => {
    const world = await givenApp(engine)
    const { body: group } = await world.call('/groups', { method: 'POST', body: { name: 'Shop' } })

    const webhook = await made(world, { groups: ['default', group.id, 'shop'] })
    expect(webhook.groups).toHaveLength(2)
    expect(webhook.groups).toContain(group.id)
    expect((await world.call('/webhooks?group=shop')).body.data).toHaveLength(1)
    expect((await world.call('/webhooks?group=nothing')).body.data).toEqual([])
  })

  test('all errors are reported at once, each at its path', async () => {
    const world = await givenApp(engine)
    const body = {
      url: 'http://10.0.0.1/',
      headers: { Host: 'x', 'X-Fine': 'y', 'Bad Name': 'z' },
      groups: ['none', 'default', 7],
      secret: 'short',
    }
    const { status, body: received } = await world.call('/webhooks', { method: 'POST', body })

    expect(status).toBe(400)
    expect(received.errors.url).toBe(
      '10.0.0.1 is not a public address (private). Use another one, or ask the operator to allow its network (WEBHOOK_ALLOWED_NETWORKS).',
    )
    const fields = ['groups.0', 'groups.2', 'headers.Bad Name', 'headers.Host', 'secret', 'url']
    expect(Object.keys(received.errors).sort()).toEqual(fields)
    const { id } = await made(world)
    const patched = await world.call(`/webhooks/${id}`, { method: 'PATCH', body })
    expect(Object.keys(patched.body.errors).sort()).toEqual(fields)
    for (const wrong of [null, [], { url: 5, headers: 'x', groups: 'default' }, { url: URL_OK, headers: [] }]) {
      expect((await world.call('/webhooks', { method: 'POST', body: wrong })).status).toBe(400)
    }
    const unknown = await world.call('/webhooks', {
      method: 'POST',
      body: { url: URL_OK, groups: ['default', 'none'] },
    })
    expect(unknown.body.errors).toEqual({ 'groups.1': 'Unknown group. Use the id or slug of an existing group.' })
    const short = await world.call('/webhooks', { method: 'POST', body: { url: URL_OK, secret: 'short', extra: 1 } })
    expect(Object.keys(short.body.errors).sort()).toEqual(['extra', 'secret'])
  })

  test('a webhook has at most 20 headers', async () => {
    const world = await givenApp(engine)
    const headers = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`X-${index}`, '']))

    const { id } = await made(world, { headers })
    const change = { method: 'PATCH', body: { headers: { ...headers, 'X-20': '' } } }
    expect((await world.call(`/webhooks/${id}`, change)).body.errors).toHaveProperty('headers')
  })

  test('a host name is resolved when it is saved: it is refused if one address is not allowed, and accepted if it does not resolve', async () => {
    const dns = await givenDnsServer()
    dns.set('inside.example', 'A', ['192.0.2.1', '10.1.2.3'])
    dns.set('fine.example', 'A', ['127.0.0.2'])
    const world = await givenApp(engine, { DNS_SERVERS: `127.0.0.1:${dns.address.port}` })

    const { status, body } = await world.call('/webhooks', { method: 'POST', body: { url: 'https://inside.example/' } })
    expect(status).toBe(400)
    expect(body.errors.url).toMatch(/^inside\.example has an address that is not public. /)
    const webhook = await made(world, { url: 'https://fine.example/' })
    await made(world, { url: 'https://nothing.example/' })
    const change = { method: 'PATCH', body: { url: 'https://inside.example/' } }
    expect((await world.call(`/webhooks/${webhook.id}`, change)).status).toBe(400)
  })

  test('PATCH changes only the sent fields, replaces all headers, and clears with null', async () => {
    const world = await givenApp(engine)
    const webhook = await made(world, { headers: { A: '1', B: '2' }, groups: ['default'] })
    const path = `/webhooks/${webhook.id}`
    const patch = async (body: object) => (await world.call(path, { method: 'PATCH', body })).body

    expect(await patch({ url: 'http://127.0.0.1:10/', headers: { A: '1', B: '2' } })).toMatchObject({
      url: 'http://127.0.0.1:10/',
      headers: { A: '********', B: '********' },
      groups: webhook.groups,
    })
    expect(Object.keys((await patch({ headers: { C: '3' } })).headers)).toEqual(['C'])
    expect(await patch({ headers: null, groups: null })).toMatchObject({ headers: {}, groups: [] })
    expect(await patch({ groups: ['default'] })).toMatchObject({ groups: webhook.groups })
    expect(await patch({ groups: [] })).toMatchObject({ groups: [] })
    expect(await patch({ is_active: false })).toMatchObject({ is_active: false })
    expect(await patch({})).toMatchObject({ is_active: false, url: 'http://127.0.0.1:10/' })
    expect((await patch({ url: null })).errors).toHaveProperty('url')
    expect((await patch({ secret: 'a new secret of ours' })).errors).toHaveProperty('secret')
  })

  test('a new url needs the values of the headers again, so that no stored value is sent to another place', async () => {
    const world = await givenApp(engine)
    const headers = { Authorization: 'Bearer 0123456789' }
    const { id, url } = await made(world, { headers })
    const patch = (body: object) => world.call(`/webhooks/${id}`, { method: 'PATCH', body })
    const evil = 'http://127.0.0.1:666/'

    const error = expect.stringContaining('must be sent again, because url changes')
    expect((await patch({ url: evil })).body.errors).toEqual({ headers: error })
    expect((await patch({ url: evil, headers: { authorization: '********6789' } })).body.errors).toEqual({
      'headers.authorization': error,
    })
    expect((await world.call(`/webhooks/${id}`)).body).toMatchObject({ url })

    expect((await patch({ url })).status).toBe(200)
    expect((await patch({ url: evil, headers })).body).toMatchObject({
      url: evil,
      headers: { Authorization: '********6789' },
    })
    expect((await patch({ url, headers: null })).body).toMatchObject({ url, headers: {} })
    expect((await patch({ url: evil })).status).toBe(200)
  })

  test('a header that is sent with its mask keeps its value, in any letter case, and another mask is refused', async () => {
    const world = await givenApp(engine)
    const headers = { Authorization: 'Bearer 0123456789', 'X-Team': 'operations and more' }
    const { id } = await made(world, { headers })
    const stored = async () => {
      const row = await world.deps.db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
      return openHeaders(row, world.deps.keyring)
    }
    const patch = (changed: object) => world.call(`/webhooks/${id}`, { method: 'PATCH', body: { headers: changed } })
    const { body } = await world.call(`/webhooks/${id}`)
    expect(body.headers).toEqual({ Authorization: '********6789', 'X-Team': '********more' })

    expect((await patch(body.headers)).status).toBe(200)
    expect(await stored()).toEqual(headers)
    expect((await patch({ authorization: '********6789', 'X-Team': 'another team' })).status).toBe(200)
    expect(await stored()).toEqual({ authorization: headers.Authorization, 'X-Team': 'another team' })

    for (const [name, value] of [
      ['X-Renamed', '********6789'],
      ['Authorization', '********6780'],
      ['X-Short', '********'],
    ] as const) {
      expect((await patch({ [name]: value })).body.errors).toEqual({
        [`headers.${name}`]: `${value} is a masked value. Send the real value, or the mask of ${name} to keep the current value.`,
      })
    }
    expect(await stored()).toHaveProperty('authorization', headers.Authorization)
    const copied = await world.call('/webhooks', { method: 'POST', body: { url: URL_OK, headers: body.headers } })
    expect(Object.keys(copied.body.errors)).toEqual(['headers.Authorization', 'headers.X-Team'])
  })

  test('enable and disable return the webhook', async () => {
    const world = await givenApp(engine)
    const { id } = await made(world)

    const disabled = await world.call(`/webhooks/${id}/disable`, { method: 'POST' })
    expect(disabled).toMatchObject({ status: 200, body: { is_active: false } })
    expect((await world.call('/webhooks?is_active=true')).body.data).toEqual([])
    const enabled = await world.call(`/webhooks/${id}/enable`, { method: 'POST' })
    expect(enabled).toMatchObject({ status: 200, body: { is_active: true } })
  })

  test('a rotation returns the new secret in full, generated or given', async () => {
    const world = await givenApp(engine)
    const { id, secret } = await made(world)
    const rotate = (body?: object) => world.call(`/webhooks/${id}/rotate-secret`, { method: 'POST', body })

    const first = await rotate()
    expect(first.status).toBe(200)
    expect(first.body.secret).toMatch(/^whsec_/)
    expect(first.body.secret).not.toBe(secret)
    expect((await rotate({ secret: 'chosen by ourselves', grace_hours: 72 })).body.secret).toBe('chosen by ourselves')
    expect((await rotate({ grace_hours: 73 })).body.errors).toHaveProperty('grace_hours')
    expect((await rotate({ secret: 'too short' })).body.errors).toHaveProperty('secret')
  })

  test('a deleted webhook does not exist any more', async () => {
    const world = await givenApp(engine)
    const { id } = await made(world, { groups: ['default'] })
    await world.call(`/webhooks/${id}/test`, { method: 'POST' })

    expect((await world.call(`/webhooks/${id}`, { method: 'DELETE' })).status).toBe(204)
    for (const path of ['', '/requests']) expect((await world.call(`/webhooks/${id}${path}`)).status).toBe(404)
    expect((await world.call('/groups/default')).body.webhooks).toEqual([])
    expect((await world.call(`/webhooks/${id}`, { method: 'DELETE' })).status).toBe(404)
  })

  test('a webhook of another organization is not found', async () => {
    const world = await givenApp(engine)
    const { id } = await made(world)
    const { body: request } = await world.call(`/webhooks/${id}/test`, { method: 'POST' })
    const { key } = await world.organization('Second')

    const calls: [string, string, object?][] = [
      ['GET', `/webhooks/${id}`],
      ['PATCH', `/webhooks/${id}`, { url: URL_OK }],
      ['PATCH', `/webhooks/${id}`, { is_active: false }],
      ['PATCH', `/webhooks/${id}`, {}],
      ['DELETE', `/webhooks/${id}`],
      ['POST', `/webhooks/${id}/enable`],
      ['POST', `/webhooks/${id}/disable`],
      ['POST', `/webhooks/${id}/rotate-secret`],
      ['POST', `/webhooks/${id}/test`],
      ['POST', `/webhooks/${id}/replay`, { since: '0' }],
      ['GET', `/webhooks/${id}/requests`],
      ['GET', `/webhooks/${id}/requests/${request.id}`],
      ['POST', `/webhooks/${id}/requests/${request.id}/retry`],
    ]
    for (const [method, path, body] of calls) {
      const { status } = await world.call(path, { method, key, ...(body ? { body } : {}) })
      expect([method, path, status]).toEqual([method, path, 404])
    }
    expect((await world.call('/webhooks', { key })).body.data).toEqual([])
    expect((await world.call(`/webhooks/${id}`)).body).toMatchObject({ is_active: true })
  })

  test('the list is paged in both orders, with nulls last', async () => {
    const world = await givenApp(engine)
    const ids: string[] = []
    for (let count = 0; count < 5; count++) ids.push((await made(world)).id)
    const { db } = world.deps
    await db.updateTable('webhooks').set({ last_executed_at: 5_000 }).where('id', '=', ids[3]!).execute()
    await db.updateTable('webhooks').set({ last_executed_at: 9_000 }).where('id', '=', ids[1]!).execute()

    const readAll = async (query: string) => {
      const seen: string[] = []
      let after: string | null = null
      do {
        const { body } = await world.call(`/webhooks?limit=2&${query}${after ? `&after=${after}` : ''}`)
        seen.push(...body.data.map((webhook: { id: string }) => webhook.id))
        after = body.after
      } while (after !== null)
      return seen.map((id) => ids.indexOf(id))
    }
    expect(await readAll('order_way=desc')).toEqual([4, 3, 2, 1, 0])
    expect(await readAll('order_by=last_executed')).toEqual([3, 1, 0, 2, 4])
    expect((await readAll('order_by=last_executed&order_way=desc')).slice(0, 2)).toEqual([1, 3])
  })
})
