import { expect, test } from 'vitest'
import { givenApp } from '../testing/test-app.ts'
import { eventually } from '../testing/test-server.ts'

test('a listening server deletes expired request data', async () => {
  const world = await givenApp('sqlite', { READ_LIMIT: '20' })
  const { db } = world.deps
  const left = async () => [
    await db.selectFrom('rate_log').selectAll().execute(),
    await db.selectFrom('idempotent_requests').selectAll().execute(),
  ]
  await world.call('/groups')
  await world.call('/groups', { method: 'POST', body: { name: 'x' }, headers: { 'idempotency-key': 'one' } })
  expect((await left()).map(({ length }) => length)).toEqual([2, 1])

  world.pass(25 * 60 * 60 * 1_000)
  await world.app.listen({ host: '127.0.0.1', port: 0 })

  await eventually(left, (rows) => rows.every(({ length }) => length === 0))
})
