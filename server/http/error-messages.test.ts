import { expect, test } from 'vitest'
import { givenApp, type TestApp } from '../testing/test-app.ts'

// The texts of errors: for each field, what is wrong and what is allowed.

const MONITOR = { domain: 'example.com', record_type: 'A', expected_value: ['192.0.2.1'] }
const NO_GROUP = `grp_${'0'.repeat(26)}`

test('the error of a field says what is allowed and what was sent', async () => {
  const world = await givenApp('sqlite')
  const refusals: [string, unknown, Record<string, string>][] = [
    ['/monitors', { ...MONITOR, expected_value: ['192.0.2.1', 7] }, { 'expected_value.1': 'must be text, not 7.' }],
    ['/monitors', { ...MONITOR, expected_value: null }, { expected_value: 'must be a list or text, not null.' }],
    ['/monitors', { ...MONITOR, frequency: 4 }, { frequency: 'must be from 5 to 120, not 4.' }],
    ['/monitors', { ...MONITOR, frequency: '5' }, { frequency: 'must be a whole number, not "5".' }],
    ['/monitors', { ...MONITOR, notify: null }, { notify: 'must be one of immediately, on_success, after_success.' }],
    [
      '/monitors',
      { ...MONITOR, domain: 'https://example.com/' },
      { domain: expect.stringContaining('only the host name') },
    ],
    ['/monitors/bulk', [MONITOR], { body: 'must be an object with monitors, not a list.' }],
    ['/monitors/bulk', null, { body: 'is missing. Send an object with monitors.' }],
    [
      '/groups',
      { name: 'x', colour: 1 },
      { colour: 'is unknown. Allowed: name, slug, webhooks, external_id, tags, metadata.' },
    ],
    [
      '/groups',
      { name: 'x', slug: 'A b' },
      { slug: 'must be lower-case letters, digits and single hyphens, 1 to 100 characters, not "A b".' },
    ],
    ['/agents/invitations', { email: 'nobody' }, { email: 'must be an email address, not "nobody".' }],
  ]
  for (const [path, body, errors] of refusals) {
    const response = await world.call(path, { method: 'POST', body })
    expect([path, response.status, response.body.errors]).toEqual([path, 400, errors])
  }
})

test('the codes of the error and of its fields are in headers', async () => {
  const world = await givenApp('sqlite')
  const call = async (path: string, init: Parameters<typeof world.call>[1]) => {
    const { headers } = await world.call(path, init)
    return [headers['x-error-code'], headers['x-error-fields']]
  }
  const body = {
    record_type: 'A',
    expected_value: ['192.0.2.1', 'x'],
    frequency: 4,
    notify: 'never',
    state: 'VALID',
    'Ümlaut=1': 1,
    group: NO_GROUP,
  }
  const [code, fields] = await call('/monitors', { method: 'POST', body })
  expect([
    code,
    String(fields)
      .split(/, (?=\w[\w.]*=)/)
      .sort(),
  ]).toEqual([
    'invalid_request',
    [
      'domain=name_required',
      'expected_value.1=invalid_ipv4;value="x"',
      'frequency=out_of_range;min=5;max=120;given=4',
      'group=unknown_reference;resource="group"',
      'notify=invalid_choice;allowed="immediately, on_success, after_success"',
      'state=read_only',
    ],
  ])
  expect(await call('/groups', { method: 'POST', body: { slug: 'x', colour: 1 } })).toEqual([
    'invalid_request',
    'name=required, colour=unknown_field;allowed="name, slug, webhooks, external_id, tags, metadata"',
  ])
  expect(await call('/groups', { method: 'POST', body: { name: 'Default' } })).toEqual(['slug_taken', 'slug=taken'])
  expect(await call('/groups/default', { method: 'DELETE' })).toEqual(['default_group', undefined])
  expect(await call('/groups/nobody', {})).toEqual(['not_found', undefined])
  expect(await call('/monitors', { key: null })).toEqual(['unauthorized', undefined])
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`f${at}`, 1]))
  const [, first50] = await call('/groups', { method: 'POST', body: { name: 'x', ...many } })
  expect(String(first50).split(/, (?=f\d)/)).toHaveLength(50)
})

test('a repeated response has the codes of the first one', async () => {
  const world = await givenApp('sqlite')
  const headers = { 'idempotency-key': 'once' }
  const send = () => world.call('/groups', { method: 'POST', body: { name: 'Default' }, headers })
  const [first, again] = [await send(), await send()]
  expect(again.headers['idempotent-replayed']).toBe('true')
  expect([again.headers['x-error-code'], again.headers['x-error-fields']]).toEqual(['slug_taken', 'slug=taken'])
  expect(again.body).toEqual(first.body)
})

test('a name of only spaces is refused', async () => {
  const world = await givenApp('sqlite')
  const { data } = (await world.call('/agents')).body
  for (const [path, method] of [
    ['/groups', 'POST'],
    ['/groups/default', 'PATCH'],
    ['/organization', 'PATCH'],
    [`/agents/${data[0].id}`, 'PATCH'],
  ] as const) {
    const { status, body } = await world.call(path, { method, body: { name: ' \t\u00a0' } })
    expect([path, status, body.errors]).toEqual([path, 400, { name: expect.stringContaining('not only spaces') }])
  }
})

test('the error of a read-only field names the route that changes it', async () => {
  const world = await givenApp('sqlite')
  const post = async (path: string, body: unknown) => (await world.call(path, { method: 'POST', body })).body.id
  const monitor = `/monitors/${await post('/monitors', MONITOR)}`
  const webhook = `/webhooks/${await post('/webhooks', { url: 'http://127.0.0.1:2/' })}`
  const agent = `/agents/${(await world.call('/agents')).body.data[0].id}`
  const refusals: [method: string, path: string, body: object, hint: string][] = [
    ['PATCH', webhook, { secret: 'a secret of sixteen' }, 'POST /webhooks/{webhook}/rotate-secret'],
    ['PATCH', webhook, { state: 'active' }, 'POST /webhooks/{webhook}/test'],
    ['POST', '/webhooks', { url: 'http://127.0.0.1:2/', is_active: false }, 'POST /webhooks/{webhook}/disable'],
    ['PATCH', monitor, { current_value: [] }, 'POST /monitors/{monitor}/check'],
    ['PATCH', monitor, { id: 'mon_1' }, 'Leave it out'],
    ['POST', '/monitors', { ...MONITOR, state: 'VALID' }, 'Leave it out'],
    ['PATCH', '/groups/default', { monitors: [] }, 'PATCH /monitors/{monitor}'],
    ['PATCH', '/groups/default/monitors', { expected_value: [] }, 'PATCH /monitors/{monitor}'],
    ['PATCH', agent, { is_owner: true }, '`role`'],
    ['PATCH', agent, { email: 'x@example.com' }, 'dashboard'],
    ['PATCH', '/organization', { timezone: 'UTC' }, '`settings`'],
    ['PATCH', '/organization', { plan: 'x' }, 'PUT /organization/subscription'],
    ['PUT', '/organization/subscription', { plan: 'x', cancel_at: null }, 'DELETE /organization/subscription'],
  ]
  for (const [method, path, body, hint] of refusals) {
    const { errors } = (await world.call(path, { method, body })).body
    expect([path, Object.values(errors).join()]).toEqual([path, expect.stringContaining(hint)])
  }
})

test('one response has all errors, including an unknown group', async () => {
  const world = await givenApp('sqlite')
  const wrong = { ...MONITOR, domain: 'a..example', group: NO_GROUP, frequency: 1 }
  const names = ['domain', 'frequency', 'group']
  const one = await world.call('/monitors', { method: 'POST', body: wrong })
  expect(Object.keys(one.body.errors).sort()).toEqual(names)
  const many = await world.call('/monitors/bulk', { method: 'POST', body: { monitors: [MONITOR, null, wrong] } })
  expect(Object.keys(many.body.errors).sort()).toEqual(['monitors.1', ...names.map((name) => `monitors.2.${name}`)])
  const created = await world.call('/monitors', { method: 'POST', body: MONITOR })
  const changed = await world.call(`/monitors/${created.body.id}`, { method: 'PATCH', body: wrong })
  expect(Object.keys(changed.body.errors).sort()).toEqual(names)
  expect(changed.body.errors.group).toBe('Unknown group. Use the id or slug of an existing group.')
})

test('errors of a query name unknown and repeated parameters and the allowed values', async () => {
  const world = await givenApp('sqlite')
  const errorsOf = async (query: string) => (await world.call(`/groups?${query}`)).body.errors
  expect(await errorsOf('page=2')).toEqual({
    page: 'is unknown. Allowed: after, before, limit, order_by, order_way, external_id, tag, search, include.',
  })
  expect(await errorsOf('limit=1&limit=2')).toEqual({ limit: 'was given more than once. Send it once.' })
  expect(await errorsOf('order_way=asc&order_way=desc')).toEqual({
    order_way: 'was given more than once. Send it once.',
  })
  expect(await errorsOf('limit=0')).toEqual({ limit: 'must be from 1 to 100, not 0.' })
  expect(Object.keys(await errorsOf('=1'))).toEqual(['query'])
})

test('a list names every wrong parameter at once, those of the schema and those that only its handler knows', async () => {
  const world = await givenApp('sqlite')
  const webhook = (await world.call('/webhooks', { method: 'POST', body: { url: 'https://a.example' } })).body.id
  const monitor = (await world.call('/monitors', { method: 'POST', body: MONITOR })).body.id
  const wrong: Record<string, string> = {
    '/monitors': 'state=x&limit=0&include=y&colour=red&full_domain=a..b',
    '/monitors?group=none': 'state=x,VALID&limit=x&order_by=colour&order_way=up',
    '/groups/default/monitors': 'state=x&limit=0&subdomain=a..b',
    '/events': 'occurred_after=soon&limit=0&new_state=x',
    [`/monitors/${monitor}/events`]: 'occurred_before=soon&limit=101&old_state=x',
    [`/webhooks/${webhook}/requests`]: 'created_after=soon&limit=0&status=LOST',
    '/webhook-requests': 'since=soon&limit=0&status=LOST',
    '/audit-log': 'limit=0&colour=red',
    // Not lists, and their handlers run for long or stream.
    [`/monitors/${monitor}`]: 'include=y&colour=red',
    '/groups/default': 'include=y&colour=red',
    [`/monitors/${monitor}/checks`]: 'since=soon&until=late&colour=red',
    '/organization/checks': 'since=soon&until=late&colour=red',
  }
  for (const [path, query] of Object.entries(wrong)) {
    const answer = await world.call(`${path}${path.includes('?') ? '&' : '?'}${query}`)
    const names = query.split('&').map((each) => each.split('=')[0])
    expect([path, answer.status, Object.keys(answer.body.errors ?? {}).sort()]).toEqual([path, 400, names.sort()])
  }
  const errorsOf = async (query: string) => Object.keys((await world.call(`/monitors?${query}`)).body.errors).sort()
  expect(await errorsOf('after=x&before=y&limit=0')).toEqual(['after', 'before', 'limit'])
  expect(await errorsOf('after=x&include=y&colour=red')).toEqual(['after', 'colour', 'include'])
  // Whether a cursor is right depends on the filters.
  expect(await errorsOf('after=x&state=y')).toEqual(['state'])
  expect((await world.call('/webhooks/whk_none/requests?limit=0')).status).toBe(400)
})

test('a number in a query has only decimal digits', async () => {
  const { call } = await givenApp('sqlite')
  expect((await call('/groups?limit=010')).body.limit).toBe(10)
  for (const text of ['0x10', '1e1', ' 10', '+5', '5.0', '', '٣', '9'.repeat(30)]) {
    const { status, body } = await call(`/groups?limit=${encodeURIComponent(text)}`)
    expect([status, body.errors]).toEqual([400, { limit: `must be a whole number, not "${text}".` }])
  }
  expect((await call('/groups?limit=-1')).body.errors).toEqual({ limit: 'must be from 1 to 100, not -1.' })
})

test('a query accepts true and false in any letter case', async () => {
  const world = await givenApp('sqlite')
  await world.call('/monitors', { method: 'POST', body: MONITOR })
  expect((await world.call('/monitors?is_active=True')).body.data).toHaveLength(1)
  expect((await world.call('/monitors?is_active=FALSE')).body.data).toEqual([])
  expect((await world.call('/monitors?is_active=1')).body.errors).toEqual({
    is_active: 'must be true or false, not "1".',
  })
})

test('the error of invalid JSON names the position', async () => {
  const world = await givenApp('sqlite')
  const post = async (raw: string | Buffer) => await sendRaw(world, '/groups', raw, 'application/json')
  const comma = await post('{"name":"x",}')
  expect([comma.status, comma.body.error]).toEqual([400, 'The body is not valid JSON. See errors.'])
  expect(comma.body.errors.body).toMatch(/^is not JSON: .*line 1 column 13/)
  expect((await post('{"__proto__":{}}')).body.errors.body).toContain('__proto__')
  expect((await post(Buffer.from('{"name":"caf\xe9"}', 'latin1'))).body.errors).toEqual({ body: 'is not UTF-8.' })
})

test('a request without a body is accepted with any content type', async () => {
  const world = await givenApp('sqlite')
  const { id } = (await world.call('/monitors', { method: 'POST', body: MONITOR })).body
  const form = 'application/x-www-form-urlencoded'
  expect((await sendRaw(world, `/monitors/${id}/disable`, '', form)).status).toBe(200)
  expect((await sendRaw(world, `/monitors/${id}/disable`, 'a=1', form)).status).toBe(415)
})

test('a compressed body is refused for every method', async () => {
  const world = await givenApp('sqlite')
  const headers = { 'content-encoding': 'gzip' }
  for (const [method, path] of [
    ['POST', '/groups'],
    ['DELETE', '/groups/default'],
  ] as const) {
    const { status, body } = await world.call(path, { method, raw: Buffer.from('1f8b', 'hex'), headers })
    expect([status, body.error]).toEqual([415, 'Content-Encoding is not supported. Send the body uncompressed.'])
  }
  const plain = { 'content-encoding': 'Identity' }
  expect((await world.call('/groups', { method: 'POST', body: { name: 'x' }, headers: plain })).status).toBe(201)
})

async function sendRaw({ call }: TestApp, path: string, raw: string | Buffer, type: string) {
  return await call(path, { method: 'POST', raw: raw as string, headers: { 'content-type': type } })
}
