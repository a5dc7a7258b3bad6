import { expect, test } from 'vitest'
import type { Settings } from '#server/testing/server-process.ts'
import { type AppResponse, type Call, givenApp, type TestApp } from '#server/testing/test-app.ts'
import { readDocument } from './openapi-document.ts'

// conformance.test.ts compares successful responses with their examples.

test('every body in the API description has an example that matches its schema', async () => {
  const { operations, examples } = await readDocument(await givenApp('sqlite'))

  expect(examples.length).toBeGreaterThan(operations.length)
  expect(examples.filter(({ values }) => values.length === 0).map(({ pointer }) => pointer)).toEqual([])
  expect(examples.flatMap(({ pointer, problems }) => problems.map((problem) => `${pointer}: ${problem}`))).toEqual([])
})

const GROUP = { name: 'Production' }
const MONITOR = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'] }
const WEBHOOK = { url: 'http://127.0.0.1:8/' }
const SMALL = { PLANS: JSON.stringify([{ id: 'small', name: 'Small', limits: { monitors: 0 } }]) }

type Case = [status: number, send: (world: TestApp) => Promise<AppResponse>, settings?: Settings]
const ERRORS: Case[] = [
  [400, create('/monitors', { ...MONITOR, frequency: 1 })],
  [401, create('/groups', GROUP, { key: null })],
  [402, create('/monitors', MONITOR), SMALL],
  [403, async (world) => create('/groups', GROUP, { key: (await world.key('read')).key })(world)],
  [404, ({ call }) => call('/monitors/nothing')],
  [405, ({ call }) => call('/monitors/bulk')],
  [409, ({ call }) => call('/groups/default', { method: 'DELETE' })],
  [412, ({ call }) => call('/groups/default', { method: 'PATCH', body: GROUP, headers: { 'if-match': '"0"' } })],
  [413, create('/groups', { name: 'x'.repeat(1_100_000) })],
  [415, create('/groups', undefined, { raw: '<x/>', headers: { 'content-type': 'application/xml' } })],
  [422, twice((name) => create('/groups', { name }, { headers: { 'idempotency-key': 'one' } }))],
  [
    429,
    twice(
      () =>
        ({ call }) =>
          call('/groups'),
    ),
    { READ_LIMIT: '1' },
  ],
  [500, readEncrypted('a bug')],
  [503, readEncrypted('Connection terminated')],
]

test.each(ERRORS)('an error %i has the fields of its example', async (status, send, settings) => {
  const world = await givenApp('sqlite', settings)
  const { operations, differencesFromExample } = await readDocument(world)
  const response = await send(world)
  const operation = operations.find(({ responses }) => status in responses)!
  expect([response.status, response.body.code, differencesFromExample(operation, response)]).toEqual([
    status,
    status,
    [],
  ])
})

function create(path: string, body: unknown, options: Call = {}) {
  return ({ call }: TestApp) => call(path, { method: 'POST', body, ...options })
}

function twice(ask: (name: string) => (world: TestApp) => Promise<AppResponse>) {
  return async (world: TestApp) => {
    await ask('First')(world)
    return await ask('Second')(world)
  }
}

/** A webhook is read whose secret cannot be decrypted for this reason. */
function readEncrypted(reason: string) {
  return async (world: TestApp) => {
    const { body } = await create('/webhooks', WEBHOOK)(world)
    world.deps.keyring.decrypt = () => {
      throw new Error(reason)
    }
    return await world.call(`/webhooks/${body.id}`)
  }
}
