import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { MonitorResponse } from '#contract/monitors.ts'
import { insertOrganization } from '../../accounts/organizations.ts'
import { systemContext } from '../../context.ts'
import { SCANNED_ROWS_PER_RESULT } from '../../database/pagination.ts'
import { createKeyring } from '../../keyring.ts'
import { onBothEngines } from '../../testing/database.ts'
import { givenRecordingDatabase } from '../../testing/query-plans.ts'
import { givenApp, type TestApp } from '../../testing/test-app.ts'
import { insertMonitors } from '../insert.ts'
import { INCLUDE_NOTHING } from '../monitor.ts'
import { parseMonitor } from '../parse-monitor.ts'
import { listMonitors } from './list.ts'
import { parseSearch, withRareTrigrams } from './search.ts'

const A = { record_type: 'A', expected_value: ['192.0.2.1'] }
const found = async ({ call }: TestApp, search: string, more = '') => {
  const { body } = await call(`/monitors?search=${encodeURIComponent(search)}${more}`)
  return body.data.map(({ domain }: MonitorResponse) => domain)
}

onBothEngines('a search', (fresh, engine) => {
  test('finds every word in names, values, external ids, tags and metadata', async () => {
    const world = await givenApp(engine)
    const monitors = [
      { ...A, domain: 'one.example', tags: ['Production', 'wörk'], metadata: { customer: 'Acme "Inc"', path: 'a\\b' } },
      { ...A, domain: 'two.example', external_id: 'crm-4711', expected_value: ['203.0.113.77'] },
      { domain: 'three.example', record_type: 'TXT', expected_value: ['v=spf1 include:_spf.example.net ~all'] },
      { ...A, domain: 'bücher.example', tags: ['100%_off'] },
      { ...A, domain: 'x'.repeat(60), metadata: { long: 'y'.repeat(255) } },
    ]
    await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })
    const all = ['one.example', 'two.example', 'three.example', 'xn--bcher-kva.example']
    for (const [search, expected] of [
      ['xample', all],
      ['PRODUCT', ['one.example']],
      ['acme', ['one.example']],
      ['customer', ['one.example']],
      ['"inc"', ['one.example']],
      ['a\\b', ['one.example']],
      ['wörk', ['one.example']],
      ['acme 192.0.2', ['one.example']],
      ['acme 203.0', []],
      ['rm-47', ['two.example']],
      ['113.77', ['two.example']],
      ['spf1 _spf.', ['three.example']],
      ['v=spf1 include:_spf.example.net ~all', ['three.example']],
      ['~all a', ['three.example']],
      ['bücher.example', ['xn--bcher-kva.example']],
      ['https://Bücher.example/path', ['xn--bcher-kva.example']],
      ['two.example.', ['two.example']],
      ['two.exam.', []],
      ['0%_o', ['xn--bcher-kva.example']],
      ['0_%o', []],
      ['e__mple', []],
      ['tw', ['two.example']],
      ['t', ['two.example', 'three.example']],
      ['wo', []],
      ['t 71', ['two.example']],
      ['y'.repeat(200), ['x'.repeat(60)]],
      ['y'.repeat(256), []],
      ["' or 1=1 --", []],
      ['" OR "exa', []],
    ] as const) {
      expect([search, (await found(world, search)).sort()]).toEqual([search, [...expected].sort()])
    }
    expect((await world.call('/monitors?search=%20')).body.errors.search).toBeDefined()
    const stranger = await world.organization('Strangers')
    await world.call('/monitors', { method: 'POST', key: stranger.key, body: { ...A, domain: 'other.example' } })
    expect(await found(world, 'xample')).toHaveLength(4)
    expect((await world.call('/monitors?search=xample', { key: stranger.key })).body.data).toHaveLength(1)
    expect((await world.call('/monitors/counts?search=xample', { key: stranger.key })).body.active).toBe(1)
  })

  test('for a value searches only expected values, also combined with words', async () => {
    const world = await givenApp(engine)
    const txt = { record_type: 'TXT', domain: 'txt.example' }
    const monitors = [
      { ...A, domain: 'www.example', expected_value: ['192.0.2.1', '198.51.100.7'] },
      {
        ...A,
        domain: '198.51.100.7.example',
        external_id: '[198.51.100.7',
        tags: ['198.51.100.7'],
        metadata: { '198.51.100.7': '198.51.100.7' },
      },
      { ...txt, expected_value: ['Say "Hi" \\o/ 100%', 'größe'], external_id: '{a}' },
    ]
    await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })
    for (const [query, expected] of [
      ['value=51.100', ['www.example']],
      ['value=198.51.100.7&search=example', ['www.example']],
      ['value=192.0.2&search=51.100', ['198.51.100.7.example', 'www.example']],
      ['value=192.0.2.1&search=w', ['www.example']],
      ['value=192.0.2.1&search=t', []],
      ['value=say%20%22hi%22', ['txt.example']],
      ['value=%20%5Co%2F%20', ['txt.example']],
      ['value=gr%C3%B6%C3%9Fe', ['txt.example']],
      ['value=100%25', ['txt.example']],
      ['value=1%25%25', []],
      ['value=www', []],
    ] as const) {
      const { body } = await world.call(`/monitors?order_by=domain&${query}`)
      expect([
        query,
        body.data.map(({ domain, subdomain }: MonitorResponse) => [subdomain, domain].filter(Boolean).join('.')),
      ]).toEqual([query, expected])
      expect((await world.call(`/monitors/counts?${query}`)).body.active).toBe(expected.length)
    }
    expect((await world.call('/monitors?value=19')).body.errors.value).toBeDefined()
  })

  test('follows every change of a monitor', async () => {
    const world = await givenApp(engine)
    const { id } = (await world.call('/monitors', { method: 'POST', body: { ...A, domain: 'one.example' } })).body
    const patch = (body: object) => world.call(`/monitors/${id}`, { method: 'PATCH', body })
    for (const [change, old, now] of [
      [{ full_domain: 'renamed.example' }, 'one.ex', 'renamed'],
      [{ expected_value: ['198.51.100.9'] }, '192.0.2.1', '51.100'],
      [{ tags: ['blue'] }, 'renamed green', 'blue'],
      [{ tags: ['green'] }, 'blue', 'green'],
      [{ metadata: { owner: 'erika' } }, 'max', 'erika'],
      [{ external_id: 'crm-1' }, 'crm-2', 'crm-1'],
    ] as const) {
      expect((await patch(change)).status).toBe(200)
      expect([change, await found(world, old), await found(world, now)]).toEqual([change, [], ['renamed.example']])
    }
    const { db } = world.deps
    await world.call(`/monitors/${id}`, { method: 'DELETE' })
    expect(await found(world, 'renamed')).toEqual([])
    expect(await db.selectFrom('monitor_texts').selectAll().execute()).toEqual([])
    if (engine === 'sqlite')
      await sql`insert into monitor_search (monitor_search, rank) values ('integrity-check', 1)`.execute(db)
  })

  test('returns pages in any order, whether matches are common or rare', async () => {
    const db = await fresh()
    const { id: organizationId } = await insertOrganization(
      db,
      { name: 'T', email: 'a@example.com', passwordHash: '' },
      0,
    )
    const many = 4 * SCANNED_ROWS_PER_RESULT
    // Those that are found are the last in two of the orders.
    const drafts = Array.from({ length: many }, (_, at) => {
      const text = at >= many - 7 ? 'needle' : 'hay'
      const parsed = parseMonitor({
        ...A,
        domain: `${text}-${String(at).padStart(4, '0')}.example`,
        tags: ['all'],
      } as never)
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
      return parsed.draft
    })
    await insertMonitors(db, systemContext(organizationId, 0), drafts)
    const keyring = createKeyring('a secret of the test, longer than 32 characters')
    const page = (query: object) =>
      listMonitors(db, keyring, { organizationId }, { query: { limit: 2, ...query }, included: INCLUDE_NOTHING })
    for (const search of ['needle', 'example', 'needle all', 'ne']) {
      const wanted = search === 'example' ? many : 7
      for (const order_by of ['created', 'domain', 'name', 'state']) {
        for (const order_way of ['asc', 'desc'] as const) {
          const asked = { search, order_by, order_way, ...(wanted === many ? { limit: 100 } : {}) }
          const names: string[] = []
          let last: Awaited<ReturnType<typeof page>> | undefined
          for (let after: string | null | undefined; after !== null; after = last.after) {
            const next = await page({ ...asked, ...(after === undefined ? {} : { after }) })
            if (last) expect((await page({ ...asked, before: next.before! })).data).toEqual(last.data)
            names.push(...next.data.map(({ id }) => id))
            last = next
          }
          expect([asked, names.length, new Set(names).size]).toEqual([asked, wanted, wanted])
        }
      }
    }
  })
})

onBothEngines('a page of a search', (_fresh, engine) => {
  test('reads a limited part of the order, even after the rows behind the cursor are deleted', async () => {
    const { db, plansOf } = await givenRecordingDatabase(engine)
    const given = { name: 'T', email: 'a@example.com', passwordHash: '' }
    const { id: organizationId } = await insertOrganization(db, given, 0)
    const drafts = Array.from({ length: 1_300 }, (_, at) => {
      const parsed = parseMonitor({ ...A, domain: `${at < 1_270 ? 'hay' : 'needle'}-${at}.example` } as never)
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
      return parsed.draft
    })
    await insertMonitors(db, systemContext(organizationId, 0), drafts)
    const keyring = createKeyring('a secret of the test, longer than 32 characters')
    const page = (query: object) =>
      listMonitors(
        db,
        keyring,
        { organizationId },
        { query: { search: 'needle', ...query }, included: INCLUDE_NOTHING },
      )
    const first = await page({})
    const ids = first.data.map(({ id }) => id)
    await db.deleteFrom('monitors').where('id', 'in', ids).execute()
    let second: Awaited<ReturnType<typeof page>> | undefined
    const plans = await plansOf(async () => {
      second = await page({ after: first.after! })
    })
    expect([second!.data.length, second!.before]).toEqual([10, null])
    const isProbe = (sql: string) => sql.startsWith('select "monitors"."id" as "id"') && / like /.test(sql)
    const probes = plans.filter(({ sql }) => isProbe(sql) && !/"ids"/.test(sql))
    expect(probes.length).toBeGreaterThan(0)
    for (const { sql } of probes) expect(sql).toMatch(/"id" [<>]=? .*"id" [<>]=? /)
  })
})

onBothEngines('the index of a search', (_fresh, engine) => {
  test('is not queried for trigrams that most texts have', async () => {
    const world = await givenApp(engine)
    const { db } = world.deps
    const { id: organizationId } = await world.organization()
    const lookedUp = async (text: string) =>
      (await withRareTrigrams(db, { organizationId }, parseSearch(text))).trigrams!.get(text)
    expect(await lookedUp('shop')).toEqual(['sho', 'hop'])
    const monitors = Array.from({ length: 120 }, (_, at) => ({ ...A, domain: `shop-${at}.exämple.example` }))
    await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })
    expect(await lookedUp('shop-77.ex')).toEqual(['p-7', '-77', '77.', '7.e'])
    expect((await lookedUp('example'))!.length).toBe(1)
    for (const text of ['shop-77', 'hop-77 ample', 'example 77']) {
      expect([text, await found(world, text)]).toEqual([text, ['shop-77.xn--exmple-cua.example']])
    }
  })
})

onBothEngines('counts', (_fresh, engine) => {
  test('of all monitors, of a filter and of each group equal those of the list', async () => {
    const world = await givenApp(engine)
    const { db } = world.deps
    const monitors = Array.from({ length: 24 }, (_, at) => ({
      ...A,
      domain: `n${at}.example`,
      group: at % 2 === 0 ? 'even' : 'odd',
      is_active: at % 8 !== 0,
      tags: at % 3 === 0 ? ['third'] : [],
    }))
    const made = (await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })).body
    for (const [at, { id }] of made.entries()) {
      const state = (['VALID', 'VALID', 'MISMATCH', 'UNSET'] as const)[Math.floor(at / 2) % 4]!
      await db.updateTable('monitors').set({ state }).where('id', '=', id).execute()
    }
    const groups = (await world.call('/groups?include=counts&order_by=slug')).body.data
    for (const query of [
      '',
      'group=even',
      'group=odd',
      'group=none',
      'tag=third',
      'search=n1',
      'search=exam&group=odd',
      'state=VALID,UNSET',
    ]) {
      const counts = (await world.call(`/monitors/counts?${query}`)).body
      const list: MonitorResponse[] = (await world.call(`/monitors?limit=100&${query}`)).body.data
      const active = list.filter(({ is_active }) => is_active)
      const states = Object.fromEntries(
        Map.groupBy(active, ({ state }) => state)
          .entries()
          .map(([state, some]) => [state, some.length]),
      )
      const expected = { states, active: active.length, disabled: list.length - active.length, is_partial: false }
      expect([query, counts]).toEqual([query, expected])
      const group = groups.find(({ slug }: { slug: string }) => query === `group=${slug}`)
      if (group) expect(group.counts).toEqual(expected)
    }
    expect((await world.call('/groups/even?include=counts')).body.counts.disabled).toBe(3)
    const search = async (text: string) =>
      (await world.call(`/groups?search=${encodeURIComponent(text)}`)).body.data.map(
        ({ slug }: { slug: string }) => slug,
      )
    expect([
      await search('VEN'),
      await search('efau'),
      await search('d'),
      await search('even odd'),
      await search('e_en'),
    ]).toEqual([['even'], ['default'], ['default', 'odd'], [], []])
    await world.call('/groups', {
      method: 'POST',
      body: {
        name: 'Ärzte',
        slug: 'a',
        external_id: 'Ext-1',
        tags: ['Prod'],
        metadata: { owner: 'Max "M"', path: 'x\\y' },
      },
    })
    for (const text of ['Ärzte', 'rzte', '"m"', 'x\\y', 'eXt-1', 'pro'])
      expect([text, await search(text)]).toEqual([text, ['a']])
  })
})
