import { describe, expect, test } from 'vitest'
import type { Agent } from '#contract/agents.ts'
import { givenAgent } from '../testing/accounts.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

describe.each(['sqlite', 'postgres'] as const)('agents (%s)', (engine) => {
  test('a response has exactly the fields of an agent', async () => {
    const world = await givenApp(engine)
    const { body: list } = await world.call('/agents')
    const [owner] = list.data

    const { status, body } = await world.call(`/agents/${owner.id}`)

    expect(status).toBe(200)
    expect(body).toEqual({
      id: expect.stringMatching(/^agt_[0-9a-z]{26}$/),
      name: 'owner',
      email: 'owner@first.example',
      role: 'owner',
      is_owner: true,
      notification_email: null,
      created: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/),
      last_seen: null,
    })
    expect(list).toEqual({ limit: 20, after: null, before: null, has_more: false, data: [body] })
  })

  test.each(['created', 'name', 'email'])(
    'agents are paged in the order of %s in both directions',
    async (order_by) => {
      const world = await givenApp(engine)
      for (const name of ['Mara', 'Ada', 'Zoe', 'Bob']) await givenAgent(world, { name })
      const list = (query: string) => world.call(`/agents?limit=2&order_by=${order_by}&order_way=desc${query}`)

      const first = (await list('')).body
      const second = (await list(`&after=${first.after}`)).body
      const third = (await list(`&after=${second.after}`)).body
      const back = (await list(`&before=${third.before}`)).body

      const field = order_by as keyof Agent
      const values = [first, second, third].flatMap(({ data }) => data.map((agent: Agent) => agent[field]))
      expect(values).toHaveLength(5)
      expect(values).toEqual([...values].sort().reverse())
      expect(back.data).toEqual(second.data)
      expect(third.has_more).toBe(false)
    },
  )

  test('an unknown order is refused with the allowed ones', async () => {
    const { body } = await (await givenApp(engine)).call('/agents?order_by=role')

    expect(body.errors.order_by).toBe('must be one of created, name, email.')
  })

  test('name, role and notification_email can be changed, and null clears notification_email', async () => {
    const world = await givenApp(engine)
    const id = await givenAgent(world, { name: 'Ada' })
    const change = (body: object) => world.call(`/agents/${id}`, { method: 'PATCH', body })

    const changed = await change({ name: 'Ada B.', role: 'admin', notification_email: 'pager@example.com' })
    expect(changed.body).toMatchObject({ name: 'Ada B.', role: 'admin', notification_email: 'pager@example.com' })
    expect((await change({ notification_email: null })).body).toMatchObject({ role: 'admin', notification_email: null })

    const refused = await change({ role: 'king', notification_email: 'nobody', email: 'a@b.example' })
    expect(Object.keys(refused.body.errors).sort()).toEqual(['email', 'notification_email', 'role'])
  })

  test('the last owner can neither be demoted nor removed', async () => {
    const world = await givenApp(engine)
    const owner = await ownerOf(world)

    const demoted = await world.call(`/agents/${owner}`, { method: 'PATCH', body: { role: 'admin' } })
    const removed = await world.call(`/agents/${owner}`, { method: 'DELETE' })

    expect([demoted.status, removed.status]).toEqual([409, 409])
    expect(removed.body.error).toBe('This is the last owner. Give another agent the role owner first.')
    expect((await world.call(`/agents/${owner}`)).body.role).toBe('owner')
  })

  test('an owner can be removed if there is another owner', async () => {
    const world = await givenApp(engine)
    const owner = await ownerOf(world)
    await givenAgent(world, { name: 'Ada', role: 'owner' })
    const { key } = await world.key('admin')

    expect((await world.call(`/agents/${owner}`, { method: 'DELETE', key })).status).toBe(204)
    expect((await world.call(`/agents/${owner}`, { key })).status).toBe(404)
  })

  test('of owners who are removed concurrently, one stays', async () => {
    const world = await givenApp(engine)
    const owners = [await ownerOf(world)]
    for (const name of ['Ada', 'Bob', 'Cleo', 'Dan', 'Eli', 'Fay', 'Gus'])
      owners.push(await givenAgent(world, { name, role: 'owner' }))
    const { key } = await world.key('admin')

    const left = await Promise.all(
      owners.map((id, index) =>
        index % 2 === 0
          ? world.call(`/agents/${id}`, { method: 'DELETE', key })
          : world.call(`/agents/${id}`, { method: 'PATCH', key, body: { role: 'viewer' } }),
      ),
    )

    expect(left.map(({ status }) => status).filter((status) => status === 409)).toHaveLength(1)
    const { data } = (await world.call('/agents', { key })).body
    expect(data.filter(({ is_owner }: Agent) => is_owner)).toHaveLength(1)
  })

  test('an agent of another organization is a 404 for every request', async () => {
    const world = await givenApp(engine)
    const foreign = await givenAgent(world, { name: 'Eve', organizationName: 'Second' })
    await world.organization()

    const responses = [
      await world.call(`/agents/${foreign}`),
      await world.call(`/agents/${foreign}`, { method: 'PATCH', body: { role: 'owner' } }),
      await world.call(`/agents/${foreign}`, { method: 'DELETE' }),
      await world.call('/agents/agt_nothing'),
    ]

    expect(responses.map(({ status }) => status)).toEqual([404, 404, 404, 404])
    expect((await world.call('/agents')).body.data).toHaveLength(1)
  })

  test('read and write keys can read agents and invitations, but not change them', async () => {
    const world = await givenApp(engine)
    const owner = await ownerOf(world)
    for (const role of ['read', 'write'] as const) {
      const { key } = await world.key(role)
      expect((await world.call('/agents', { key })).status).toBe(200)
      expect((await world.call('/agents/invitations', { key })).status).toBe(200)
      const changes = [
        await world.call(`/agents/${owner}`, { key, method: 'PATCH', body: { nonsense: true } }),
        await world.call(`/agents/${owner}`, { key, method: 'DELETE' }),
        await world.call('/agents/invitations', { key, method: 'POST', body: { email: 'a@b.example' } }),
      ]
      expect(changes.map(({ status }) => status)).toEqual([403, 403, 403])
    }
  })
})

async function ownerOf(world: TestApp): Promise<string> {
  return (await world.call('/agents')).body.data[0].id
}
