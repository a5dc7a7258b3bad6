import { expect, onTestFinished, test, vi } from 'vitest'
import { findTooLarge } from '#server/http/json.ts'
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

const names = (count: number) => Array.from({ length: count }, (_, index) => `"${index.toString(36)}":0`).join()

test('a body with too many names or values is refused before it is parsed', async () => {
  const world = await givenApp('sqlite')
  const parse = givenCountedParse()
  for (const raw of [`{"monitors":{${names(1_500_000)}}}`, `{"monitors":[${'[],'.repeat(60_000)}0]}`]) {
    const answer = await world.call('/monitors/bulk', { method: 'POST', raw })
    expect([answer.status, answer.body.errors]).toEqual([400, TOO_MANY])
  }
  expect(parse.requests()).toBe(0)
})

test('a body that is nested too deeply is refused before it is parsed', async () => {
  const world = await givenApp('sqlite')
  const parse = givenCountedParse()
  const raw = '['.repeat(8_000_000)
  const answer = await world.call('/monitors/bulk', { method: 'POST', raw })
  expect([answer.status, answer.body.errors]).toEqual([400, { body: expect.stringContaining('32') }])
  expect(parse.requests()).toBe(0)
})

test('invalid JSON is parsed once', async () => {
  const world = await givenApp('sqlite')
  const parse = givenCountedParse()
  const raw = `{"monitors":[{${names(50_000)}}]`
  const answer = await world.call('/monitors/bulk', { method: 'POST', raw })
  expect([answer.status, answer.body.error]).toEqual([400, 'The body is not valid JSON. See errors.'])
  expect(parse.requests()).toBe(1)
})

test('each octet of a body is looked at once at most, and none beyond the limit', () => {
  const stepsOf = (json: string) => {
    const steps = { taken: 0 }
    const error = findTooLarge(Buffer.from(json), steps)
    return [error?.code, steps.taken]
  }
  const text = JSON.stringify({ value: `a "quoted\\" [{[{,,,,` })
  expect(stepsOf(text)).toEqual([undefined, expect.toSatisfy((taken: number) => taken <= text.length)])
  expect(stepsOf(`"${'[,'.repeat(200_000)}"`)).toEqual([undefined, 400_002])
  expect(stepsOf(`[${'0,'.repeat(1_000_000)}0]`)).toEqual(['too_many_values', 2 * 99_999 + 1])
  expect(stepsOf('['.repeat(1_000_000))).toEqual(['too_deep', 33])
})

/** Counts how often a body of a request is parsed. */
function givenCountedParse() {
  const spy = vi.spyOn(JSON, 'parse')
  onTestFinished(() => spy.mockRestore())
  return { requests: () => spy.mock.calls.filter(([text]) => /^[{[](?:"monitors"|\[)/.test(text)).length }
}
