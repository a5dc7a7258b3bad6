import { expect, test } from 'vitest'
import { revokeKey } from '../accounts/api-key-store.ts'
import { systemContext } from '../context.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { clientNetwork } from './auth-and-rate-limit.ts'

const LIMITS = { READ_LIMIT: '20', WRITE_LIMIT: '5', CREATE_LIMIT: '250' }
const limitsOf = ({ headers }: { headers: Record<string, string | undefined> }) =>
  ['limit', 'remaining', 'reset'].map((name) => Number(headers[`x-ratelimit-${name}`]))

onBothEngines('authentication and rate limits', (_fresh, engine) => {
  test('a read above the limit is refused, and body and headers state the same number of seconds', async () => {
    const { call } = await givenApp(engine, LIMITS)
    for (let left = 19; left >= 0; left--) {
      const { status, headers } = await call(left % 2 ? '/monitors' : '/groups', {
        method: left === 7 ? 'HEAD' : 'GET',
      })
      expect([status, headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']]).toEqual([
        200,
        '20',
        String(left),
      ])
    }
    const refused = await call('/monitors')
    const seconds = Number(refused.headers['retry-after'])
    expect(refused.status).toBe(429)
    expect(refused.body).toEqual({
      code: 429,
      error: `The rate limit for reads (GET, HEAD) is reached: 20 per minute for each API key. The operator of the server can raise READ_LIMIT. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
    })
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(60)
    expect(limitsOf(refused)[1]).toBe(0)
  })

  test.each([
    [
      'WRITE_LIMIT',
      'for writes (POST, PUT, PATCH, DELETE) is reached: 1 per minute for each API key.',
      '/groups',
      undefined,
    ],
    [
      'CREATE_LIMIT',
      'for requests that create monitors is reached: 1 per minute for each API key.',
      '/monitors',
      undefined,
    ],
    [
      'WRITE_LIMIT',
      'for writes (POST, PUT, PATCH, DELETE) without a valid API key is reached: 1 per minute for each address.',
      '/groups',
      null,
    ],
  ] as const)('a 429 names the limit and the setting %s: %s', async (setting, sentence, path, key) => {
    const { call } = await givenApp(engine, { [setting]: '1' })
    const request = () => call(path, { method: 'POST', body: {}, ...(key === undefined ? {} : { key }) })
    await request()
    const { status, body } = await request()
    expect([status, body.error]).toEqual([429, expect.stringContaining(sentence)])
    expect(body.error).toContain(setting)
  })

  test('an invalid request is counted, a request above the limit is not', async () => {
    const { call, pass } = await givenApp(engine, LIMITS)
    for (let turn = 0; turn < 5; turn++) expect((await call('/groups', { method: 'POST', body: {} })).status).toBe(400)
    for (let turn = 0; turn < 50; turn++) {
      expect((await call('/groups', { method: 'POST', body: { name: 'x' } })).status).toBe(429)
    }
    pass(60_000)
    expect((await call('/groups', { method: 'POST', body: { name: 'x' } })).status).toBe(201)
  })

  test('requests that create monitors have a separate window', async () => {
    const { call } = await givenApp(engine, { ...LIMITS, CREATE_LIMIT: '7' })
    const { headers } = await call('/monitors', { method: 'POST', body: {} })
    expect(headers['x-ratelimit-limit']).toBe('7')
    const other = await call('/groups', { method: 'POST', body: {} })
    expect(limitsOf(other).slice(0, 2)).toEqual([5, 4])
  })

  test('every response of the API has the limits and a request id', async () => {
    const { call } = await givenApp(engine, LIMITS)
    const responses = await Promise.all([
      call('/monitors'),
      call('/monitors', { key: null }),
      call('/nothing'),
      call('/nothing', { key: null }),
      call('/monitors', { method: 'PUT' }),
      call('/%zz'),
      call(`/monitors/${'x'.repeat(2_000)}`),
      call('/monitors?limit=0'),
      call('/monitors', { method: 'POST', raw: '{' }),
      call('/monitors', { method: 'POST', raw: 'x', headers: { 'content-type': 'text/plain' } }),
    ])
    expect(responses.map(({ status }) => status)).toEqual([200, 401, 404, 404, 405, 404, 404, 400, 400, 415])
    for (const response of responses) {
      expect(limitsOf(response).every((value) => Number.isInteger(value))).toBe(true)
      expect(response.headers['x-request-id']).toBeTruthy()
      if (response.status >= 400) expect(response.body.code).toBe(response.status)
    }
  })

  test('requests without a valid key are counted by address, and do not affect requests with a key', async () => {
    const { call } = await givenApp(engine, LIMITS)
    const wrong = { key: `zw_${'x'.repeat(43)}` }
    for (let turn = 0; turn < 20; turn++) expect((await call('/monitors', wrong)).status).toBe(401)
    expect((await call('/monitors', wrong)).status).toBe(429)
    expect((await call('/monitors', { key: null })).status).toBe(429)
    expect((await call('/monitors', { ...wrong, from: '127.0.0.2' })).status).toBe(401)
    expect((await call('/monitors')).status).toBe(200)
    expect((await call('/healthz', { key: null })).status).toBe(200)
    expect((await call('/readyz', { key: null })).status).toBe(200)
  })

  test('two servers with one database share the limit', async () => {
    const one = await givenApp(engine, LIMITS)
    const two = await givenApp(engine, LIMITS, one.url)
    const { key } = await one.organization()
    const responses = await Promise.all(
      Array.from({ length: 30 }, (_, index) => (index % 2 ? one : two).call('/groups', { key })),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(20)
  })

  test('all keys of an organization together have ten times the limit of one key', async () => {
    const world = await givenApp(engine, { ...LIMITS, READ_LIMIT: '2' })
    const keys = await Promise.all(Array.from({ length: 12 }, async () => (await world.key('read')).key))
    const statuses: number[] = []
    for (const key of keys)
      for (let turn = 0; turn < 2; turn++) statuses.push((await world.call('/groups', { key })).status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(20)
    const refused = await world.call('/groups', { key: keys[11]! })
    expect(refused.body.error).toMatch(
      /^The rate limit of the organization for reads \(GET, HEAD\) is reached: 20 per minute for all of its API keys, 10 times the limit of this key\. The operator of the server can raise READ_LIMIT\. Try again in \d+ seconds\.$/,
    )
    expect(limitsOf(refused).slice(0, 2)).toEqual([20, 0])

    const other = (await world.organization('Second')).key
    expect((await world.call('/groups', { key: other })).status).toBe(200)
    world.pass(60_000)
    expect(limitsOf(await world.call('/groups', { key: keys[11]! })).slice(0, 2)).toEqual([2, 1])
  })

  test('what the organization has left is shown if it is less than what the key has left', async () => {
    const world = await givenApp(engine, { ...LIMITS, READ_LIMIT: '3' })
    const keys = await Promise.all(Array.from({ length: 11 }, async () => (await world.key('read')).key))
    for (const key of keys.slice(0, 9)) for (let turn = 0; turn < 3; turn++) await world.call('/groups', { key })
    await world.call('/groups', { key: keys[9]! })
    expect(limitsOf(await world.call('/groups', { key: keys[9]! })).slice(0, 2)).toEqual([3, 1])
    expect(limitsOf(await world.call('/groups', { key: keys[10]! })).slice(0, 2)).toEqual([30, 0])
  })

  test('responses outside of the API have no headers of a limit', async () => {
    const { call } = await givenApp(engine, LIMITS)
    for (const path of ['/healthz', '/openapi.json', '/docs/', '/dashboard/']) {
      expect([path, (await call(path)).headers['x-ratelimit-limit']]).toEqual([path, undefined])
    }
    expect((await call('/unknown')).headers['x-ratelimit-limit']).toBe('20')
  })

  test('a limit of 0 means no limit, and the headers have the highest number', async () => {
    const { call } = await givenApp(engine)
    for (let turn = 0; turn < 30; turn++) {
      const response = await call('/monitors')
      expect([response.status, ...limitsOf(response).slice(0, 2)]).toEqual([200, 2_147_483_647, 2_147_483_647])
    }
  })

  test('a missing, unknown, expired or revoked key is a 401, and a write with a read-only key is a 403', async () => {
    const { call, key, deps, pass, organization } = await givenApp(engine)
    const reader = await key('read')
    const writer = await key('write')
    const soon = await key('write', { expiresAt: deps.clock.now() + 5_000 })
    expect((await call('/groups', { key: reader.key })).status).toBe(200)
    expect((await call('/groups', { key: reader.key, method: 'HEAD' })).status).toBe(200)
    const refused = await call('/groups', { key: reader.key, method: 'POST', body: { name: 'x' } })
    expect([refused.status, refused.body.code]).toEqual([403, 403])
    expect((await call('/groups', { key: soon.key })).status).toBe(200)
    pass(5_000)
    expect((await call('/groups', { key: soon.key })).status).toBe(401)
    expect((await call('/groups', { key: writer.key })).status).toBe(200)
    await revokeKey(deps.db, systemContext((await organization()).id, deps.clock.now()), writer.id)
    for (const sent of [writer.key, null, '', 'zw_short', `zw_${'é'.repeat(43)}`, `${writer.key} `]) {
      const response = await call('/groups', { key: sent })
      expect([response.status, response.body]).toEqual([401, { code: 401, error: 'Unauthorized' }])
      expect(response.headers['www-authenticate']).toBe('ApiKey realm="zonewatch", header="X-Api-Key"')
    }
  })

  test('the last use of a key is written once a minute, even with concurrent requests', async () => {
    const world = await givenApp(engine)
    const { id, key } = await world.key('write')
    await Promise.all(Array.from({ length: 20 }, () => world.call('/groups', { key })))
    const first = await lastUsed(world, id)
    expect(first).not.toBeNull()
    world.pass(59_000)
    await world.call('/groups', { key })
    expect(await lastUsed(world, id)).toBe(first)
    world.pass(2_000)
    await world.call('/groups', { key })
    expect(await lastUsed(world, id)).toBeGreaterThan(first!)
  })
})

test('the network of a client is its IPv4 address, or the /64 of its IPv6 address', () => {
  expect(clientNetwork('192.0.2.1')).toBe('192.0.2.1')
  expect(clientNetwork('::ffff:192.0.2.1')).toBe('192.0.2.1')
  expect(clientNetwork('2001:db8:1:2:3:4:5:6')).toBe(clientNetwork('2001:db8:1:2::1'))
  expect(clientNetwork('2001:db8:1:2::1')).not.toBe(clientNetwork('2001:db8:1:3::1'))
})

async function lastUsed({ deps }: TestApp, id: string): Promise<number | null> {
  const query = deps.db.selectFrom('api_keys').select('last_used_at').where('id', '=', id)
  return (await query.executeTakeFirstOrThrow()).last_used_at
}
