import { expect, test } from 'vitest'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

const made = async ({ call }: TestApp) =>
  (await call('/webhooks', { method: 'POST', body: { url: 'http://127.0.0.1:8/hook' } })).body.id as string

onBothEngines('POST and DELETE /webhooks/{webhook}/groups/{group}', (_fresh, engine) => {
  test('add or remove one group by id or slug, keep the others, and change nothing when repeated', async () => {
    const world = await givenApp(engine)
    const webhook = await made(world)
    const ids: string[] = []
    for (const name of ['Shop', 'Mail']) {
      ids.push((await world.call('/groups', { method: 'POST', body: { name } })).body.id)
    }
    const send = async (method: string, group: string) => {
      const { status, text } = await world.call(`/webhooks/${webhook}/groups/${group}`, { method })
      expect([status, text]).toEqual([204, ''])
      return await world.call(`/webhooks/${webhook}`)
    }
    expect((await send('POST', 'shop')).body.groups).toEqual([ids[0]])
    const group = await world.call('/groups/mail')
    const both = await send('POST', ids[1]!)
    expect(both.body.groups).toEqual(ids.toSorted())
    expect((await world.call('/groups/mail')).body.webhooks).toEqual([webhook])
    expect((await world.call('/groups/mail')).headers.etag).not.toBe(group.headers.etag)
    expect((await send('POST', 'mail')).headers.etag).toBe(both.headers.etag)
    const one = await send('DELETE', 'shop')
    expect([one.body.groups, one.headers.etag === both.headers.etag]).toEqual([[ids[1]], false])
    expect((await send('DELETE', 'shop')).headers.etag).toBe(one.headers.etag)
    const { data } = (await world.call('/audit-log?action=webhook.updated')).body
    expect(data.map(({ after }: { after: object }) => after)).toEqual([
      { groups: [ids[0]] },
      { groups: ids.toSorted() },
      { groups: [ids[1]] },
    ])
  })

  test('respond with 404 for an unknown group or webhook, also of another organization, and with 409 beyond a limit', async () => {
    const world = await givenApp(engine, { WEBHOOKS_PER_GROUP: '1' })
    const [webhook, second] = [await made(world), await made(world)]
    const { key } = await world.organization('Other')
    const foreign = (await world.call('/groups', { method: 'POST', key, body: { name: 'Foreign' } })).body.id
    for (const method of ['POST', 'DELETE']) {
      for (const path of [`${webhook}/groups/${foreign}`, `${webhook}/groups/none`, `whk_1/groups/default`]) {
        expect([path, (await world.call(`/webhooks/${path}`, { method })).status]).toEqual([path, 404])
      }
      expect((await world.call(`/webhooks/${webhook}/groups/default`, { method, key })).status).toBe(404)
    }
    expect((await world.call(`/webhooks/${webhook}/groups/default`, { method: 'POST' })).status).toBe(204)
    const full = await world.call(`/webhooks/${second}/groups/default`, { method: 'POST' })
    expect([full.status, full.body.error]).toEqual([409, expect.stringContaining('Remove one of them first.')])
    expect((await world.call('/groups/default')).body.webhooks).toEqual([webhook])
  })
})
