import { expect, test } from 'vitest'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { insertRequests } from './new-requests.ts'

const HOUR = 3_600_000

/** A webhook with one request for each of `statuses`, an hour apart, the newest a minute old. Nothing is sent. */
async function givenLog(engine: Parameters<typeof givenApp>[0], statuses: readonly string[]) {
  const world = await givenApp(engine)
  const { body } = await world.call('/webhooks', {
    method: 'POST',
    body: { url: 'http://127.0.0.1:65000/', groups: ['default'] },
  })
  const now = world.deps.clock.now()
  for (const [index, status] of statuses.toReversed().entries()) {
    await report(world, { groupId: body.groups[0], index, at: now - 60_000 - index * HOUR })
    await world.deps.db
      .updateTable('webhook_requests')
      .set({ status: status as 'FAILED', attempts: index + 3, retries: 1 })
      .where('event_id', '=', `evt_${index}`)
      .execute()
  }
  return { world, path: `/dashboard/api/webhooks/${body.id}`, now }
}

async function report(world: TestApp, { groupId, index, at }: { groupId: string; index: number; at: number }) {
  const { id: organizationId } = await world.organization()
  const event = {
    id: `evt_${index}`,
    monitor_id: 'mon_1',
    occurred: new Date(at).toISOString(),
    old_state: 'VALID' as const,
    new_state: 'TIMEOUT' as const,
    incidence_count: 1,
    domain: {
      domain: 'example.com',
      subdomain: '',
      record_type: 'A' as const,
      expected_value: ['192.0.2.1'],
      is_exact_match: true,
    },
  }
  await world.deps.db
    .transaction()
    .execute((transaction) => insertRequests(transaction, [{ organizationId, groupId, event }], at))
}

onBothEngines('the log of a webhook in the dashboard', (_fresh, engine) => {
  test('counts the requests of a period by status, and sends those of several statuses again', async () => {
    const { world, path, now } = await givenLog(engine, ['FAILED', 'DELIVERED', 'RETRYING', 'RETRYING', 'DELIVERED'])
    const since = new Date(now - 4 * HOUR).toISOString()
    const counts = async (query: string) => (await world.call(`${path}/replay?${query}`)).body
    expect(await counts(`since=${since}`)).toEqual({ PENDING: 0, RETRYING: 2, FAILED: 0, DELIVERED: 2 })
    expect(await counts('since=1')).toEqual({ PENDING: 0, RETRYING: 2, FAILED: 1, DELIVERED: 2 })

    const body = { since: '1', statuses: ['PENDING', 'RETRYING', 'FAILED'] }
    expect(await world.call(`${path}/replay`, { method: 'POST', body })).toMatchObject({
      status: 202,
      body: { count: 3 },
    })
    expect(await counts('since=1')).toEqual({ PENDING: 3, RETRYING: 0, FAILED: 0, DELIVERED: 2 })
    const wrong = await world.call(`${path}/replay?since=yesterday`)
    expect([wrong.status, Object.keys(wrong.body.errors)]).toEqual([400, ['since']])
  })

  test('tells how many attempts were made, and the body as every attempt sends it', async () => {
    const { world, path } = await givenLog(engine, ['FAILED', 'DELIVERED'])
    const { data } = (await world.call(`${path}/requests`)).body
    expect(data.map(({ attempts, retries }: Record<string, number>) => [attempts, retries])).toEqual([
      [4, 1],
      [3, 1],
    ])
    const request = `${path}/requests/${data[0].id}/body`
    const sent = await world.call(request)
    const row = await world.deps.db
      .selectFrom('webhook_requests')
      .select('body')
      .where('id', '=', data[0].id)
      .executeTakeFirstOrThrow()
    expect(sent.body.body).toBe(Buffer.from(row.body).toString())

    const stranger = await world.organization('Strangers')
    for (const other of [request, `${path}/requests`, `${path}/replay?since=1`]) {
      expect((await world.call(other, { key: stranger.key })).status).toBe(404)
    }
  })
})
