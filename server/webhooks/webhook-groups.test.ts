import { expect, test } from 'vitest'
import { systemContext } from '../context.ts'
import { insertGroup } from '../groups/store.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

const URL_OK = 'http://127.0.0.1:8/hook'

async function made(world: TestApp) {
  const answer = await world.call('/webhooks', { method: 'POST', body: { url: URL_OK } })
  expect(answer.status).toBe(201)
  return answer.body
}

onBothEngines('limits of webhooks and groups', (_fresh, engine) => {
  test('PATCH accepts the groups and webhooks that GET returns, however they were linked and whatever the limits became', async () => {
    const world = await givenApp(engine, { WEBHOOKS_PER_GROUP: '2' })
    const { db, clock } = world.deps
    const { id: organizationId } = await world.organization()
    const [first, second, third] = [await made(world), await made(world), await made(world)]
    const groups: string[] = []
    for (let count = 0; count < 150; count++) {
      const given = { name: `Group ${count}`, webhooks: [first.id] }
      groups.push(await insertGroup(db, systemContext(organizationId, clock.now()), given))
    }
    const all = [first.id, second.id, third.id].toSorted()
    const crowded = await insertGroup(db, systemContext(organizationId, clock.now()), {
      name: 'Crowded',
      webhooks: all,
    })
    const patch = (path: string, body: object) => world.call(path, { method: 'PATCH', body })

    const shown = (await world.call(`/webhooks/${first.id}`)).body.groups
    expect(shown).toEqual([...groups, crowded].toSorted())
    expect(await patch(`/webhooks/${first.id}`, { groups: shown })).toMatchObject({
      status: 200,
      body: { groups: shown },
    })
    expect((await world.call(`/groups/${crowded}`)).body.webhooks).toEqual(all)
    expect(await patch(`/groups/${crowded}`, { webhooks: all })).toMatchObject({ status: 200, body: { webhooks: all } })

    const fourth = await made(world)
    expect((await patch(`/groups/${crowded}`, { webhooks: [...all, fourth.id] })).body.errors).toEqual({
      webhooks: 'has 4 entries. At most 2 are allowed.',
    })
    expect((await patch(`/webhooks/${fourth.id}`, { groups: ['default', crowded] })).body.errors).toEqual({
      'groups.1': 'has 3 webhooks, which is the limit for one group. Remove one of them first.',
    })
    const one = await world.call('/webhooks', { method: 'POST', body: { url: URL_OK, groups: [crowded] } })
    expect(one.status).toBe(400)
  })

  test('the limit of the server applies to the webhooks of an organization if its plan has none', async () => {
    const world = await givenApp(engine, { WEBHOOKS_PER_ORGANIZATION: '1' })
    await made(world)
    const refused = await world.call('/webhooks', { method: 'POST', body: { url: URL_OK } })
    expect([refused.status, refused.body.error]).toEqual([402, expect.stringContaining('1 of 1 webhooks are in use')])
    expect((await world.call('/organization/subscription')).body.limits.webhooks).toBe(1)
  })
})
