import { expect, test } from 'vitest'
import { type AppWorld, givenApp } from '../testing/app-world.ts'
import { onBothEngines } from '../testing/database.ts'

async function givenGroup(world: AppWorld): Promise<{ path: string; tag: string }> {
  const { body } = await world.call('/groups', { method: 'POST', body: { name: 'Shop' } })
  const path = `/groups/${body.id}`
  return { path, tag: (await world.call(path)).headers.etag! }
}

onBothEngines('conditional requests', (_fresh, engine) => {
  test('one resource carries an ETag, a list does not, and If-None-Match is answered without a body', async () => {
    const world = await givenApp(engine)
    const { path, tag } = await givenGroup(world)
    expect(tag).toMatch(/^"[\w.-]+"$/)
    expect((await world.call('/groups')).headers.etag).toBeUndefined()
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      for (const method of ['GET', 'HEAD']) {
        const answer = await world.call(path, { method, headers: { 'if-none-match': known } })
        expect([answer.status, answer.text, answer.headers.etag]).toEqual([304, '', tag])
      }
    }
    expect((await world.call(path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
    const head = await world.call(path, { method: 'HEAD' })
    expect([head.status, head.text, head.headers.etag]).toEqual([200, '', tag])
    expect(Number(head.headers['content-length'])).toBeGreaterThan(50)
  })

  test('If-Match lets a change of what was read through, and refuses one of what has changed since', async () => {
    const world = await givenApp(engine)
    const { path, tag } = await givenGroup(world)
    const change = (name: string, match: string) =>
      world.call(path, { method: 'PATCH', body: { name }, headers: { 'if-match': match } })
    const changed = await change('Two', tag)
    expect(changed.status).toBe(200)
    expect(changed.headers.etag).toBe((await world.call(path)).headers.etag)
    for (const match of [tag, '"other"', `W/${changed.headers.etag}`, 'nonsense', '']) {
      const refused = await change('Three', match)
      expect([refused.status, refused.body.code]).toEqual([412, 412])
    }
    expect((await change('Three', `"other", ${changed.headers.etag}`)).status).toBe(200)
    expect((await change('Four', '*')).status).toBe(200)
    const refused = await world.call(path, { method: 'DELETE', headers: { 'if-match': tag } })
    expect(refused.status).toBe(412)
    const { etag } = (await world.call(path)).headers
    expect((await world.call(path, { method: 'DELETE', headers: { 'if-match': etag! } })).status).toBe(204)
    expect((await world.call(path, { method: 'DELETE', headers: { 'if-match': etag! } })).status).toBe(404)
  })

  test('of ten changes with one ETag at the same time, one is made', async () => {
    const world = await givenApp(engine)
    const { path, tag } = await givenGroup(world)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        world.call(path, { method: 'PATCH', body: { name: `n${index}` }, headers: { 'if-match': tag } }),
      ),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array(9).fill(412)])
  })

  test('a change of what no PATCH can change makes the ETag another, and is no reason to refuse one', async () => {
    const world = await givenApp(engine)
    const { path, tag } = await givenGroup(world)
    const body = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'], group: 'shop' }
    await world.call('/monitors', { method: 'POST', body })
    const answer = await world.call(path, { headers: { 'if-none-match': tag } })
    expect([answer.status, answer.body.monitors]).toEqual([200, 1])
    expect(answer.headers.etag).not.toBe(tag)
    const change = { method: 'PATCH', body: { name: 'Two' }, headers: { 'if-match': tag } }
    expect((await world.call(path, change)).status).toBe(200)
  })

  test('an ETag remembers what the representation included', async () => {
    const world = await givenApp(engine)
    const body = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'] }
    const { id } = (await world.call('/monitors', { method: 'POST', body })).body
    const plain = (await world.call(`/monitors/${id}`)).headers.etag!
    const included = (await world.call(`/monitors/${id}?include=frequency`)).headers.etag!
    expect(included).not.toBe(plain)
    const remove = { method: 'DELETE', headers: { 'if-match': included } }
    expect((await world.call(`/monitors/${id}`, remove)).status).toBe(204)
  })

  test('looking at the resource again costs the caller nothing, and the way in is closed to others', async () => {
    const world = await givenApp(engine, { READ_LIMIT: '2', WRITE_LIMIT: '50' })
    const { path, tag } = await givenGroup(world)
    for (let turn = 0; turn < 5; turn++) {
      const headers = { 'if-match': '"other"' }
      expect((await world.call(path, { method: 'PATCH', body: { name: 'x' }, headers })).status).toBe(412)
    }
    const { status, headers } = await world.call(path, { method: 'PATCH', body: {}, headers: { 'if-match': tag } })
    expect([status, headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']]).toEqual([200, '50', '43'])
    const outside = { 'x-zonewatch-look': '7f4c1c52-8e0e-4f3c-9a39-111111111111' }
    expect((await world.call(path, { key: null, headers: outside })).status).toBe(401)
  })
})
