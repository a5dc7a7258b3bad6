import fc from 'fast-check'
import { expect, test } from 'vitest'
import { insertOrganization } from '../accounts/organizations.ts'
import { systemContext } from '../context.ts'
import { createKeyring } from '../keyring.ts'
import { insertMonitors } from '../monitors/insert.ts'
import { ORDERS, type OrderName } from '../monitors/list/indexes.ts'
import { listMonitors } from '../monitors/list/list.ts'
import { INCLUDE_NOTHING } from '../monitors/monitor.ts'
import { parseMonitor } from '../monitors/parse-monitor.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp } from '../testing/test-app.ts'
import type { Database } from './database.ts'
import type { Engine } from './engine.ts'

const keyring = createKeyring('a secret of the test, longer than 32 characters')

/** What a monitor is ordered by. Few values, so that many are equal. */
type Values = {
  domain: string
  subdomain: string
  record_type: 'A' | 'AAAA'
  state: string
  incidence_count: number
}
type Known = Values & { id: string }

const values: fc.Arbitrary<Values> = fc.record({
  domain: fc.constantFrom('a.example', 'b.example'),
  subdomain: fc.constantFrom('', 'www'),
  record_type: fc.constantFrom('A', 'AAAA'),
  state: fc.constantFrom('UNSET', 'VALID'),
  incidence_count: fc.constantFrom(0, 1),
})
const query = fc.record({
  order_by: fc.constantFrom(...(Object.keys(ORDERS) as OrderName[])),
  order_way: fc.constantFrom('asc' as const, 'desc' as const),
  limit: fc.integer({ min: 1, max: 4 }),
  filter: fc.constantFrom({}, { state: 'VALID' as const }, { domain: 'a.example', record_type: 'A' as const }),
})
type Query = { order_by: OrderName; order_way: 'asc' | 'desc'; limit: number; filter: Partial<Values> }

/** `RUNS=1000` asks for more. PostgreSQL differs in how it compares, which the first lists show. */
const RUNS: Record<Engine, number> = {
  sqlite: Number(process.env.RUNS ?? 60),
  postgres: Number(process.env.RUNS ?? 20),
}

onBothEngines('pages', (fresh, engine) => {
  test('forwards and backwards every item comes once and in order, with the right ends', async () => {
    const db = await fresh()
    const property = fc.asyncProperty(fc.array(values, { maxLength: 15 }), query, async (all, asked) => {
      const world = await givenOrganization(db)
      for (const each of all) await world.create(each)
      const expected = inOrder(world.rows(), asked)
      const pages = [await world.page(asked, {})]
      while (pages.at(-1)!.after) pages.push(await world.page(asked, { after: pages.at(-1)!.after! }))
      expect(pages.flatMap(({ ids }) => ids)).toEqual(expected)
      expect(pages.map(({ before }) => before !== null)).toEqual(pages.map((_, at) => at > 0))
      expect(pages.map(({ has_more }) => has_more)).toEqual(pages.map((_, at) => at < pages.length - 1))
      let last = pages.pop()!
      while (last.before) {
        const page = await world.page(asked, { before: last.before })
        const known = pages.pop()!
        expect(page.ids).toEqual(known.ids)
        expect([page.before !== null, page.has_more]).toEqual([pages.length > 0, true])
        last = page
      }
      expect(pages).toEqual([])
    })
    await fc.assert(property, { numRuns: RUNS[engine] })
  })

  test('while monitors come, change and go, each that stays as it is comes exactly once, both ways', async () => {
    const db = await fresh()
    const step = fc.oneof(
      fc.record({ do: fc.constant('create' as const), values }),
      fc.record({ do: fc.constant('change' as const), at: fc.nat(), values }),
      fc.record({ do: fc.constant('delete' as const), at: fc.nat() }),
      fc.record({ do: fc.constant('nothing' as const) }),
    )
    const property = fc.asyncProperty(
      fc.array(values, { minLength: 3, maxLength: 15 }),
      query,
      fc.array(step, { maxLength: 12 }),
      async (all, asked, steps) => {
        const world = await givenOrganization(db)
        for (const each of all) await world.create(each)
        const readAll = async (start: { before?: string }, way: 'after' | 'before') => {
          const untouched = new Set(inOrder(world.rows(), asked))
          const seen: string[] = []
          let cursor: { after?: string; before?: string } = start
          for (let turn = 0; ; turn++) {
            const page = await world.page(asked, cursor)
            seen.push(...(way === 'after' ? page.ids : page.ids.toReversed()))
            const next = page[way]
            if (!next) return { untouched, seen }
            cursor = { [way]: next }
            const change = steps[turn]
            const touched = change && (await world.apply(change))
            if (touched) untouched.delete(touched)
          }
        }
        for (const way of ['after', 'before'] as const) {
          const start = way === 'after' ? {} : await world.endCursor(asked)
          if (way === 'before' && !start) return
          const { untouched, seen } = await readAll(start ?? {}, way)
          const staying = seen.filter((id) => untouched.has(id))
          expect(new Set(staying).size).toBe(staying.length)
          // The last page is where the readAll back starts and is not read again.
          const reachable = way === 'after' ? untouched : untouched.difference(world.onLastPage)
          expect(new Set(staying).isSupersetOf(reachable)).toBe(true)
          const sorted = inOrder(world.rows(), asked).filter((id) => untouched.has(id) && staying.includes(id))
          expect(staying).toEqual(way === 'after' ? sorted : sorted.toReversed())
        }
      },
    )
    await fc.assert(property, { numRuns: RUNS[engine] })
  })
})

async function givenOrganization(db: Database) {
  const { id: organizationId } = await insertOrganization(
    db,
    { name: 'Test', email: 'a@example.com', passwordHash: '' },
    0,
  )
  const known = new Map<string, Known>()
  const world = {
    onLastPage: new Set<string>(),
    rows: () => [...known.values()],
    async create(given: Values): Promise<string> {
      const { domain, subdomain, record_type } = given
      const expected_value = record_type === 'A' ? '192.0.2.1' : '2001:db8::1'
      const parsed = parseMonitor({ domain, subdomain, record_type, expected_value })
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
      const [made] = await insertMonitors(db, systemContext(organizationId, known.size), [parsed.draft])
      await world.change(made!.id, given)
      return made!.id
    },
    async change(id: string, given: Values): Promise<void> {
      const owner = ownerOf(given)
      await db
        .updateTable('monitors')
        .set({ ...given, owner })
        .where('id', '=', id)
        .execute()
      known.set(id, { id, ...given })
    },
    /** Returns the monitor that is no more what it was. */
    async apply(step: { do: string; at?: number; values?: Values }): Promise<string | undefined> {
      const id = [...known.keys()].at((step.at ?? 0) % Math.max(1, known.size))
      if (step.do === 'create') return await world.create(step.values!)
      if (step.do === 'nothing' || id === undefined) return undefined
      if (step.do === 'change') await world.change(id, step.values!)
      else {
        await db.deleteFrom('due_checks').where('monitor_id', '=', id).execute()
        await db.deleteFrom('monitors').where('id', '=', id).execute()
        known.delete(id)
      }
      return id
    },
    async page({ filter, ...asked }: Query, cursor: { after?: string; before?: string }) {
      const query = { ...asked, ...filter, ...cursor } as Parameters<typeof listMonitors>[3]['query']
      const page = await listMonitors(db, keyring, { organizationId }, { query, included: INCLUDE_NOTHING })
      return { ...page, ids: page.data.map(({ id }) => id) }
    },
    /** Where the last page begins. */
    async endCursor(asked: Query): Promise<{ before: string } | undefined> {
      let page = await world.page(asked, {})
      while (page.after) page = await world.page(asked, { after: page.after })
      world.onLastPage = new Set(page.ids)
      return page.before === null ? undefined : { before: page.before }
    },
  }
  return world
}

const ownerOf = ({ domain, subdomain }: Pick<Values, 'domain' | 'subdomain'>) =>
  subdomain === '' ? domain : `${subdomain}.${domain}`

/** The ids that a query finds, in its order. */
function inOrder(rows: Known[], { filter, order_by, order_way }: Query): string[] {
  const value = (row: Known) => {
    if (order_by === 'created') return row.id
    return order_by === 'name' ? ownerOf(row).split('.').toReversed().join(' ') : row[order_by]
  }
  const sign = order_way === 'asc' ? 1 : -1
  const compare = (one: Known, other: Known): number => {
    const [a, b] = [value(one), value(other)]
    if ((a === null) !== (b === null)) return a === null ? 1 : -1
    if (a !== b) return a! < b! ? -sign : sign
    return one.id < other.id ? -sign : sign
  }
  const meets = (row: Known) => Object.entries(filter).every(([name, wanted]) => row[name as keyof Known] === wanted)
  return rows
    .filter(meets)
    .sort(compare)
    .map(({ id }) => id)
}

onBothEngines('cursors', (_fresh, engine) => {
  test('an altered cursor, or one of another list, filter, order or organization, is refused', async () => {
    const world = await givenApp(engine)
    for (const key of [undefined, (await world.organization('Other')).key]) {
      const monitors = ['a', 'b', 'c'].map((name) => ({
        full_domain: `${name}.example.com`,
        record_type: 'A',
        expected_value: '192.0.2.1',
      }))
      await world.call('/monitors/bulk', { method: 'POST', body: { monitors }, ...(key ? { key } : {}) })
    }
    const { after } = (await world.call('/monitors?limit=1')).body
    const { before } = (await world.call(`/monitors?limit=1&after=${after}`)).body
    const other = (await world.organization('Other')).key
    const refusals: [string, object?][] = [
      [`/monitors?limit=1&after=${before}`],
      [`/monitors?limit=1&before=${after}`],
      [`/monitors?limit=1&after=${after}&order_way=desc`],
      [`/monitors?limit=1&after=${after}&order_by=domain`],
      [`/monitors?limit=1&after=${after}&state=UNSET`],
      [`/groups/default/monitors?limit=1&after=${after}`],
      [`/groups?limit=1&after=${after}`],
      [`/events?limit=1&after=${after}`],
      [`/monitors?limit=1&after=${after}`, { key: other }],
      ['/monitors?after='],
      ['/monitors?after=a.b'],
      [`/monitors?after=${after}&before=${before}`],
      ...Array.from(after as string, (_, at): [string] => {
        const character = after[at] === 'A' ? 'B' : 'A'
        return [`/monitors?limit=1&after=${after.slice(0, at)}${character}${after.slice(at + 1)}`]
      }),
      ...[`${after}A`, `${after}=`, `${after}.`, `.${after}`, ` ${after}`].map((each): [string] => [
        `/monitors?limit=1&after=${encodeURIComponent(each)}`,
      ]),
    ]
    for (const [path, options] of refusals) {
      const answer = await world.call(path, options)
      expect([path, answer.status]).toEqual([path, 400])
      expect(Object.keys(answer.body.errors)[0]).toMatch(/^(after|before)$/)
    }
    expect(
      (await world.call(`/monitors?limit=50&after=${after}&order_way=ASC&order_by=Created`)).body.data,
    ).toHaveLength(2)
  })

  test('a page with nothing before or after it has null cursors', async () => {
    const world = await givenApp(engine)
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) {
      const body = { full_domain: `${name}.example.com`, record_type: 'A', expected_value: '192.0.2.1' }
      ids.push((await world.call('/monitors', { method: 'POST', body })).body.id)
    }
    const { after } = (await world.call('/monitors?limit=1')).body
    const second = (await world.call(`/monitors?limit=1&after=${after}`)).body
    expect([second.before !== null, second.has_more]).toEqual([true, true])
    await world.call(`/monitors/${ids[0]}`, { method: 'DELETE' })
    await world.call(`/monitors/${ids[2]}`, { method: 'DELETE' })
    const alone = (await world.call(`/monitors?limit=1&after=${after}`)).body
    expect(alone).toMatchObject({ before: null, after: null, has_more: false, data: [{ id: ids[1] }] })
    await world.call(`/monitors/${ids[1]}`, { method: 'DELETE' })
    const none = (await world.call(`/monitors?limit=1&after=${after}`)).body
    expect(none).toEqual({ limit: 1, before: null, after: null, has_more: false, data: [] })
  })

  test('an order that a list does not have is refused with those that it has', async () => {
    const world = await givenApp(engine)
    for (const [path, allowed] of [
      ['/monitors', 'one of created, name, domain, subdomain, record_type, state, incidence_count'],
      ['/groups/default/monitors', 'one of created, name, domain, subdomain, record_type, state, incidence_count'],
      ['/groups', 'one of created, name, slug'],
      ['/events', 'one of occurred, recorded'],
    ]) {
      const answer = await world.call(`${path}?order_by=colour`)
      expect([answer.status, answer.body.errors]).toEqual([400, { order_by: `must be ${allowed}.` }])
    }
    for (const limit of ['0', '101', 'x', '1.5']) {
      expect((await world.call(`/monitors?limit=${limit}`)).body.errors).toHaveProperty('limit')
    }
  })
})
