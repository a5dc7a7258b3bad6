import { expect, test } from 'vitest'
import { onBothEngines } from '../testing/database.ts'
import { givenApp } from '../testing/test-app.ts'
import { type KnownLabelsRequest, knownLabels } from './known-labels.ts'

onBothEngines('the labels that complete a filter', (_fresh, engine) => {
  test('are tags, keys and values of the organization, each once and in order', async () => {
    const world = await givenApp(engine)
    const { id: organizationId } = await world.organization()
    const stranger = await world.organization('Strangers')
    const monitor = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
    const monitors = [
      {
        ...monitor,
        tags: ['prod', 'eu', 'größe', '100%'],
        metadata: { plan: 'business', 'plan.since': '2025', tag: 'no' },
      },
      { ...monitor, tags: ['prod', 'preview'], metadata: { plan: 'free', customer: 'Acme "Inc"', planet: 'mars' } },
      ...Array.from({ length: 25 }, (_, at) => ({ ...monitor, tags: [`many-${at}`], metadata: { many: `${at}` } })),
    ]
    await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })
    const other = { ...monitor, tags: ['product'], metadata: { secret: 'x', plan: 'other' } }
    await world.call('/monitors', { method: 'POST', key: stranger.key, body: other })
    const known = (request: KnownLabelsRequest) => knownLabels(world.deps.db, { organizationId }, request)
    for (const [written, expected] of [
      [{ of: 'tag', begin: 'pr' }, ['preview', 'prod']],
      [{ of: 'tag', begin: 'prod' }, ['prod']],
      [{ of: 'tag', begin: '1' }, ['100%']],
      [{ of: 'tag', begin: 'größ' }, ['größe']],
      [{ of: 'tag', begin: '%' }, []],
      [{ of: 'metadata', begin: '' }, ['customer', 'many', 'plan.since', 'plan', 'planet', 'tag']],
      [{ of: 'metadata', begin: 'plan' }, ['plan.since', 'plan', 'planet']],
      [{ of: 'metadata', begin: 'secret' }, []],
      [{ of: 'metadata.plan' }, ['business', 'free']],
      [{ of: 'metadata.plan', begin: 'b' }, ['business']],
      [{ of: 'metadata.customer', begin: 'Acme "' }, ['Acme "Inc"']],
      [{ of: 'metadata.pla' }, []],
    ] as const) {
      expect([written, await known(written)]).toEqual([written, expected])
    }
    expect(await known({ of: 'tag' })).toHaveLength(20)
    expect(await known({ of: 'metadata.many' })).toHaveLength(20)
  })
})
