import { expect, test } from 'vitest'
import { MAX_VIEWS } from '#contract/views.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

const FAILING = {
  name: 'Failing mail',
  filter: { state: 'MISMATCH,NOT_FOUND', record_type: 'MX', is_active: true, 'metadata.customer': 'Acme Inc' },
  order_by: 'incidence_count',
  order_way: 'desc',
  columns: ['name', 'state', 'metadata.customer'],
  density: 'compact',
}
const post = ({ call }: TestApp, body: unknown) => call('/views', { method: 'POST', body })

onBothEngines('views', (_fresh, engine) => {
  test('a view has filters, order, columns and density, and each can be changed', async () => {
    const world = await givenApp(engine)
    const made = await post(world, FAILING)
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({ ...FAILING, created_by: expect.any(String) })
    const path = `/views/${made.body.id}`
    expect(made.headers.location).toBe(path)
    const changed = await world.call(path, { method: 'PATCH', body: { filter: { tag: 'prod' }, columns: null } })
    expect(changed.body).toEqual({ ...made.body, filter: { tag: 'prod' }, columns: null })
    expect((await world.call(path)).body).toEqual(changed.body)
    const plain = (await post(world, { name: 'All' })).body
    expect(plain).toMatchObject({ filter: {}, order_by: 'created', order_way: 'asc', columns: null, density: null })
    const names = async (query: string) =>
      (await world.call(`/views?${query}`)).body.data.map(({ name }: { name: string }) => name)
    expect(await names('')).toEqual(['Failing mail', 'All'])
    expect(await names('order_by=name')).toEqual(['All', 'Failing mail'])
    expect((await world.call(path, { method: 'DELETE' })).status).toBe(204)
    expect((await world.call(path)).status).toBe(404)
  })

  test('filters that GET /monitors refuses are refused with the field', async () => {
    const world = await givenApp(engine)
    const refused = async (body: object) => (await post(world, { name: 'View', ...body })).body.errors
    expect(await refused({ filter: { state: 'BROKEN' } })).toHaveProperty(['filter.state'])
    expect(await refused({ filter: { group: 'none' } })).toHaveProperty(['filter.group'])
    expect(await refused({ filter: { search: ' ' } })).toHaveProperty(['filter.search'])
    expect(await refused({ filter: { limit: '5' } })).toHaveProperty(['filter.limit'])
    expect(await refused({ order_by: 'size' })).toHaveProperty('order_by')
    expect(await refused({ columns: ['<b>'] })).toHaveProperty(['columns.0'])
    expect(await refused({ name: ' ' })).toHaveProperty('name')
    const { id } = (await post(world, FAILING)).body
    const change = await world.call(`/views/${id}`, { method: 'PATCH', body: { filter: { state: 'BROKEN' } } })
    expect(change.body.errors).toHaveProperty(['filter.state'])
  })

  test('other organizations cannot see a view', async () => {
    const world = await givenApp(engine)
    const { id } = (await post(world, FAILING)).body
    const { key } = await world.organization('Other')
    expect((await world.call('/views', { key })).body.data).toEqual([])
    for (const [method, body] of [['GET'], ['PATCH', { name: 'Mine' }], ['DELETE']] as const) {
      expect((await world.call(`/views/${id}`, { key, method, body })).status).toBe(404)
    }
    expect((await world.call(`/views/${id}`)).body.name).toBe('Failing mail')
  })

  test('an organization has a limited number of views', async () => {
    const world = await givenApp(engine)
    const { id: organization_id } = await world.organization()
    const view = { organization_id, created_at: 0, created_by: 'Ada', name: 'View', filter: '{}' }
    const rows = Array.from({ length: MAX_VIEWS }, (_, number) => ({ ...view, id: `viw_${number}` }))
    const orders = { order_by: 'created', order_way: 'asc' } as const
    await world.deps.db
      .insertInto('views')
      .values(rows.map((row) => ({ ...row, ...orders, columns: null, density: null })))
      .execute()
    const answer = await post(world, FAILING)
    expect([answer.status, answer.body.error]).toEqual([409, expect.stringContaining(`at most ${MAX_VIEWS} views`)])
  })
})
