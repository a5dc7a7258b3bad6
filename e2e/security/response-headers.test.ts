import { expect, test } from 'vitest'
import { givenApp } from '#server/testing/test-app.ts'

test('API responses forbid caching and content type sniffing', async () => {
  const world = await givenApp('sqlite')
  const { body } = await world.call('/groups', { method: 'POST', body: { name: 'Web' } })
  const read = await world.call(`/groups/${body.id}`)
  const headers = { 'if-none-match': read.headers.etag! }
  const answers = {
    'a list': await world.call('/monitors'),
    'one resource': read,
    'one that did not change': await world.call(`/groups/${body.id}`, { headers }),
    'a refusal': await world.call('/groups', { method: 'POST', body: {} }),
    'no key': await world.call('/monitors', { key: null }),
    'no such path': await world.call('/nothing'),
    'the dashboard': await world.call('/dashboard/api/me', { key: null }),
  }
  expect(Object.values(answers).map(({ status }) => status)).toEqual([200, 200, 304, 400, 401, 404, 401])
  for (const [what, answer] of Object.entries(answers)) {
    expect([what, answer.headers['cache-control'], answer.headers['x-content-type-options']]).toEqual([
      what,
      'private, no-store',
      'nosniff',
    ])
  }
  const document = await world.call('/openapi.json', { key: null })
  expect([document.status, document.headers['x-content-type-options']]).toEqual([200, 'nosniff'])
  expect(document.headers['cache-control']).not.toBe('private, no-store')
})
