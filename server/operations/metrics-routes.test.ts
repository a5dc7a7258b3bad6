import { expect, test } from 'vitest'
import { givenApp } from '../testing/test-app.ts'

const TOKEN = 'a-token-of-the-test'

test('the metrics are returned only with the token', async () => {
  const { call } = await givenApp('sqlite', { METRICS_TOKEN: TOKEN })
  const asked = (authorization?: string) =>
    call('/metrics', { key: null, headers: authorization === undefined ? {} : { authorization } })

  for (const wrong of [undefined, '', 'Bearer', 'Bearer ', `Bearer ${TOKEN}x`, `Basic ${TOKEN}`, TOKEN]) {
    const { status, headers } = await asked(wrong)
    expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer'])
  }
  const { status, headers, text } = await asked(`Bearer ${TOKEN}`)
  expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  expect(text).toContain('zonewatch_http_requests_total{method="GET",route="/metrics",status="401"} 7')
})

test('a network that sends wrong tokens is refused for a minute, but not the right token, and not other networks', async () => {
  const { call, pass } = await givenApp('sqlite', { METRICS_TOKEN: TOKEN })
  const asked = (token: string, from: string) =>
    call('/metrics', { key: null, headers: { authorization: `Bearer ${token}` }, from })
  const statuses: number[] = []
  for (let guess = 0; guess < 25; guess++) statuses.push((await asked(`guess-${guess}`, '2001:db8::1')).status)
  expect(statuses).toEqual([...Array(20).fill(401), ...Array(5).fill(429)])

  // The same network, as anyone who has one address of it has them all.
  const { status, headers, body } = await asked('guess', '2001:db8::2')
  expect([status, body.error]).toEqual([
    429,
    expect.stringMatching(/^Too many wrong tokens\. Try again in \d+ seconds?\.$/),
  ])
  expect(Number(headers['retry-after'])).toBeGreaterThan(0)
  expect((await asked(TOKEN, '2001:db8::2')).status).toBe(200)
  expect((await asked('guess', '2001:db8:0:1::1')).status).toBe(401)
  pass(60_000)
  expect((await asked('guess', '2001:db8::1')).status).toBe(401)
})

test('an API key is not accepted as the token, and without METRICS_TOKEN the route does not exist', async () => {
  const { call, key } = await givenApp('sqlite')
  const { key: admin } = await key('admin')
  expect((await call('/metrics', { key: null, headers: { authorization: `Bearer ${admin}` } })).status).toBe(404)
})

test('no metric contains a tenant, a domain or a requested path', async () => {
  const { call, organization } = await givenApp('sqlite', { METRICS_TOKEN: TOKEN })
  const { id } = await organization('Acme')
  const { body } = await call('/monitors', {
    method: 'POST',
    key: (await organization('Acme')).key,
    body: { full_domain: 'secret-name.example.com', record_type: 'A', expected_value: '192.0.2.1' },
  })
  await call(`/monitors/${body.id}`)
  await call('/somewhere/else')
  const { text } = await call('/metrics', { key: null, headers: { authorization: `Bearer ${TOKEN}` } })

  expect(text).toContain('route="/monitors/:monitor"')
  for (const secret of [id, body.id, 'acme', 'Acme', 'secret-name', 'somewhere']) expect(text).not.toContain(secret)
})
