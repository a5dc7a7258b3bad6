import { expect, test } from 'vitest'
import { onBothEngines } from '../../testing/database.ts'
import { givenApp, type TestApp } from '../../testing/test-app.ts'

/** In the canonical order of RFC 4034 section 6.1: a zone, then what is below it, then the next one. */
const IN_ORDER = [
  'example.com',
  '*.example.com',
  '_dmarc.example.com',
  'a.example.com',
  'b.a.example.com',
  'a-b.example.com',
  'b.example.com',
  'example-a.com',
  'www.example-a.com',
  'example.net',
]

const namesOf = async ({ call }: TestApp, query = '') =>
  (await call(`/monitors?order_by=name&limit=100${query}`)).body.data.map(
    ({ subdomain, domain }: { subdomain: string; domain: string }) => [subdomain, domain].filter(Boolean).join('.'),
  )

async function givenMonitors(world: TestApp, names: readonly string[]): Promise<Map<string, string>> {
  const monitors = names.map((full_domain) => ({ full_domain, record_type: 'TXT', expected_value: ['text'] }))
  const made = (await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })).body
  return new Map(names.map((name, at) => [name, made[at].id]))
}

onBothEngines('monitors ordered by name', (_fresh, engine) => {
  test('are sorted by zone and label, in both directions, over several pages and after a rename', async () => {
    const world = await givenApp(engine)
    const ids = await givenMonitors(world, IN_ORDER.toSorted())
    expect(await namesOf(world)).toEqual(IN_ORDER)
    expect(await namesOf(world, '&order_way=desc')).toEqual(IN_ORDER.toReversed())
    const first = (await world.call('/monitors?order_by=name&limit=4')).body
    const second = (await world.call(`/monitors?order_by=name&limit=4&after=${first.after}`)).body
    expect(second.data.map(({ id }: { id: string }) => id)).toEqual(IN_ORDER.slice(4, 8).map((name) => ids.get(name)))

    const body = { full_domain: 'zz.example.net' }
    await world.call(`/monitors/${ids.get('example.com')}`, { method: 'PATCH', body })
    expect(await namesOf(world)).toEqual([...IN_ORDER.slice(1), 'zz.example.net'])
  })
})
