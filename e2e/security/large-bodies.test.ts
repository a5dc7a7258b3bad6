import { expect, test } from 'vitest'
import { givenApp } from '#server/testing/test-app.ts'

const TOO_MANY = { body: 'must have at most 100000 values.' }

test('a bulk request with too many values is refused before its monitors are validated', async () => {
  const world = await givenApp('sqlite')
  const answer = await world.call('/monitors/bulk', { method: 'POST', body: { monitors: Array(100_001).fill({}) } })
  expect([answer.status, answer.body.errors]).toEqual([400, TOO_MANY])
})

test('the monitors beyond the limit of a bulk request are not validated', async () => {
  const world = await givenApp('sqlite')
  const monitors = Array(20_000).fill({ full_domain: 'a b', record_type: 'A', expected_value: 'x' })
  const answer = await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })
  expect(answer.status).toBe(400)
  expect(answer.body.errors.monitors).toBe('must have at most 1000 entries.')
  const places = Object.keys(answer.body.errors).map((field) => Number(/^monitors\.(\d+)/.exec(field)?.[1] ?? 0))
  expect(Math.max(...places)).toBe(999)
})

test.each([
  ['POST', '/monitors', { expected_value: Array(100_001).fill(0) }],
  ['POST', '/webhooks', { groups: Array(100_001).fill('none') }],
  ['POST', '/groups', { webhooks: Array(100_001).fill('none') }],
])('%s %s is refused for the number of its values before anything is looked up', async (method, path, body) => {
  const world = await givenApp('sqlite')
  const answer = await world.call(path, { method, body })
  expect([answer.status, answer.body.errors]).toEqual([400, TOO_MANY])
})
