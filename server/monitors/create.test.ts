import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { RECORD_TYPES } from '#contract/record-types.ts'
import { migratedDatabaseUrl, onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

const KEYS = [
  'id',
  'created',
  'domain',
  'subdomain',
  'record_type',
  'expected_value',
  'current_value',
  'is_exact_match',
  'state',
  'incidence_count',
  'last_checked',
  'is_active',
  'notify',
]
const WWW = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'] }

const post = (world: TestApp, path: string, body: unknown) => world.call(path, { method: 'POST', body })
const counts = async (world: TestApp) =>
  Object.fromEntries(
    (await world.call('/groups')).body.data.map((group: { slug: string; monitors: number }) => [
      group.slug,
      group.monitors,
    ]),
  )

onBothEngines('POST /monitors', (_fresh, engine) => {
  test('returns exactly the keys of the specification and the included ones', async () => {
    const world = await givenApp(engine)
    const made = await post(world, '/monitors', WWW)
    expect(made.status).toBe(201)
    expect(Object.keys(made.body)).toEqual(KEYS)
    expect(made.body).toMatchObject({
      domain: 'example.com',
      subdomain: 'www',
      expected_value: ['192.0.2.1'],
      current_value: null,
      is_exact_match: true,
      state: 'UNSET',
      incidence_count: 0,
      last_checked: null,
      is_active: true,
      notify: 'immediately',
    })
    expect(made.headers.location).toBe(`/monitors/${made.body.id}`)
    expect((await world.call(made.headers.location!)).body).toEqual(made.body)
    const more = await post(world, '/monitors?include=frequency,Group,reason,diagnosis', { ...WWW, group: 'shop' })
    expect(Object.keys(more.body)).toEqual([...KEYS, 'frequency', 'group', 'reason', 'diagnosis'])
    expect(more.body).toMatchObject({ frequency: 5, group: 'shop', reason: null, diagnosis: null })
    expect(await counts(world)).toEqual({ default: 1, shop: 1 })
  })
})

describe('errors of POST /monitors', () => {
  const engine = 'sqlite'

  test('refuses expected values that no record can match, and suggests valid ones', async () => {
    const world = await givenApp(engine)
    for (const [given, field, remedy] of [
      [{ record_type: 'MX', expected_value: ['10'] }, 'expected_value.0', 'Use both, as in 10 mail.example.com'],
      [{ record_type: 'MX', expected_value: ['10 20'] }, 'expected_value.0', 'Use one like host.example.com'],
      [{ record_type: 'PTR', expected_value: ['300.1.1.1'] }, 'expected_value.0', 'Use one like host.example.com'],
      [{ record_type: 'PTR', full_domain: '300.1.1.1' }, 'full_domain', 'for PTR, a complete IP address'],
      [
        { record_type: 'CNAME', expected_value: ['a.example', 'b.example'] },
        'expected_value',
        'Use one expected value',
      ],
      [{ record_type: 'SPF', expected_value: ['v=spf1 a', 'v=spf1 mx'] }, 'expected_value', 'Use one expected value'],
    ] as const) {
      const body = { full_domain: 'www.example.com', expected_value: ['host.example.com'], ...given }
      const answer = await world.call('/monitors', { method: 'POST', body })
      expect([given, answer.status, answer.body.errors]).toEqual([
        given,
        400,
        { [field]: expect.stringContaining(remedy) },
      ])
    }
    const space = { full_domain: 'www.example.com', record_type: 'TXT', expected_value: [' '] }
    const { status, body } = await world.call('/monitors', { method: 'POST', body: space })
    expect([status, body.expected_value]).toEqual([201, ['" "']])
  })

  test('reports the errors of the schema and of the handler in one response', async () => {
    const world = await givenApp(engine)
    const answer = await post(world, '/monitors', {
      full_domain: 'a..b',
      record_type: 'A',
      expected_value: ['192.0.2.1', 'x'],
      frequency: 3,
      notify: 'never',
      group: 'Not A Slug',
      colour: 'red',
    })
    expect(answer.status).toBe(400)
    expect(Object.keys(answer.body.errors).sort()).toEqual([
      'colour',
      'expected_value.1',
      'frequency',
      'full_domain',
      'group',
      'notify',
    ])
    expect(answer.body.errors.notify).toBe('must be one of immediately, on_success, after_success.')
    const bare = await post(world, '/monitors', {})
    expect(Object.keys(bare.body.errors).sort()).toEqual(['domain', 'expected_value', 'record_type'])
    expect((await post(world, '/monitors', { ...WWW, record_type: 'DNSKEY' })).body.errors).toEqual({
      record_type: `must be one of ${RECORD_TYPES.join(', ')}.`,
    })
    for (const group of [`grp_${'0'.repeat(26)}`, 'grp_1']) {
      const answer = await post(world, '/monitors', { ...WWW, group })
      expect([answer.status, Object.keys(answer.body.errors)]).toEqual([400, ['group']])
    }
    for (const body of [null, [], 'text', 5]) expect((await post(world, '/monitors', body)).status).toBe(400)
    expect(await counts(world)).toEqual({ default: 0 })
  })
})

onBothEngines('POST /monitors/bulk', (_fresh, engine) => {
  test("makes all in the order of the request, an item's own value before the one beside the list", async () => {
    const world = await givenApp(engine)
    const answer = await post(world, '/monitors/bulk?include=frequency,resolution,group', {
      group: 'shop',
      notify: 'on_success',
      frequency: 30,
      resolution: 'public',
      monitors: [
        { ...WWW, full_domain: 'b.example.com' },
        {
          ...WWW,
          full_domain: 'a.example.com',
          group: 'other',
          notify: 'after_success',
          frequency: 60,
          resolution: 'auto',
        },
        { ...WWW, full_domain: 'c.example.com', is_active: false, is_exact_match: false },
      ],
    })
    expect(answer.status).toBe(201)
    expect(answer.body.map((each: object) => Object.keys(each))).toEqual(
      Array(3).fill([...KEYS, 'frequency', 'resolution', 'group']),
    )
    expect(answer.body).toMatchObject([
      { subdomain: 'b', notify: 'on_success', frequency: 30, resolution: 'public', group: 'shop' },
      { subdomain: 'a', notify: 'after_success', frequency: 60, resolution: 'auto', group: 'other' },
      { subdomain: 'c', notify: 'on_success', frequency: 30, group: 'shop', is_active: false, is_exact_match: false },
    ])
    const listed = (await world.call('/monitors?include=frequency,resolution,group')).body.data
    expect(listed).toEqual(answer.body)
    expect(await counts(world)).toEqual({ default: 0, shop: 2, other: 1 })
  })

  test('creates nothing if one item is invalid, and reports every error at the path of its item', async () => {
    const world = await givenApp(engine)
    const answer = await post(world, '/monitors/bulk', {
      group: 'new-group',
      monitors: [
        WWW,
        { ...WWW, full_domain: 'a..b' },
        { ...WWW, frequency: 1 },
        { ...WWW, record_type: 'MX', expected_value: ['mx.example.com', 'a b'] },
        { ...WWW, colour: 'red' },
        'text',
        { ...WWW, group: 'A B' },
      ],
    })
    expect(answer.status).toBe(400)
    expect(Object.keys(answer.body.errors).sort()).toEqual([
      'monitors.1.full_domain',
      'monitors.2.frequency',
      'monitors.3.expected_value.1',
      'monitors.4.colour',
      'monitors.5',
      'monitors.6.group',
    ])
    expect(await counts(world)).toEqual({ default: 0 })
    const group = `grp_${'0'.repeat(26)}`
    const foreign = await post(world, '/monitors/bulk', {
      group,
      monitors: [WWW, { ...WWW, group: 'x' }, { ...WWW, group }],
    })
    expect(Object.keys(foreign.body.errors)).toEqual(['group', 'monitors.2.group'])
    expect(await counts(world)).toEqual({ default: 0 })
  })

  test('accepts 1 to 1000 items, and a body of more than a mebibyte', async () => {
    const world = await givenApp(engine)
    const value = `v=spf1 ${'include:spf.example.com '.repeat(35)}-all`
    const many = (count: number) => ({
      monitors: Array.from({ length: count }, (_, index) => ({
        full_domain: `n${index}.example.com`,
        record_type: 'TXT',
        expected_value: [value, `${value} `, `n${index}`],
        group: `g${index % 50}`,
      })),
    })
    const made = await post(world, '/monitors/bulk', many(1000))
    expect(made.status).toBe(201)
    expect(made.body).toHaveLength(1000)
    expect((await world.call('/groups?limit=100')).body.data).toHaveLength(51)
    expect((await world.call('/groups/g7')).body.monitors).toBe(20)
    for (const [count, error] of [
      [0, 'must have at least 1 entry.'],
      [1001, 'must have at most 1000 entries.'],
    ] as const) {
      const refused = await post(world, '/monitors/bulk', many(count))
      expect([refused.status, refused.body.errors]).toEqual([400, { monitors: error }])
    }
  })

  test('ignore skips monitors that exist in the same group, and repeated items', async () => {
    const world = await givenApp(engine)
    const pair = { full_domain: 'pair.example.com', record_type: 'A', expected_value: ['192.0.2.1', '192.0.2.2'] }
    await post(world, '/monitors/bulk', { monitors: [WWW, pair] })
    const answer = await post(world, '/monitors/bulk', {
      ignore: true,
      monitors: [
        WWW,
        { domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' },
        { ...pair, expected_value: ['192.0.2.2', '192.0.2.1', '192.0.2.2'] },
        { ...pair, expected_value: ['192.0.2.2'] },
        { ...pair, is_exact_match: false },
        { ...pair, group: 'other' },
        { ...pair, group: 'other', frequency: 60 },
      ],
    })
    expect(answer.status).toBe(201)
    expect(answer.body).toHaveLength(3)
    expect(await counts(world)).toEqual({ default: 4, other: 1 })
    const again = await post(world, '/monitors/bulk', { monitors: [WWW, pair] })
    expect(again.body).toHaveLength(2)
  })

  test('one of two simultaneous requests with ignore creates the monitor', async () => {
    const world = await givenApp(engine)
    const monitors = Array.from({ length: 50 }, (_, index) => ({ ...WWW, full_domain: `n${index}.example.com` }))
    const body = { ignore: true, monitors }
    const answers = await Promise.all([1, 2, 3].map(() => post(world, '/monitors/bulk', body)))
    expect(answers.map(({ body }) => body.length).sort()).toEqual([0, 0, 50])
    expect(await counts(world)).toEqual({ default: 50 })
  })
})

test('a full disk is a 503 that stores nothing, and the request succeeds when there is space', async () => {
  const { url, drop } = await migratedDatabaseUrl('sqlite') // its file has no free pages that another test left
  onTestFinished(drop)
  const world = await givenApp('sqlite', {}, url)
  const letThereBePages = (most: number) => sql`pragma max_page_count = ${sql.lit(most)}`.execute(world.deps.db)
  const monitors = Array.from({ length: 500 }, (_, at) => ({
    ...WWW,
    full_domain: `w${at}.example.com`,
    group: 'shop',
  }))
  await letThereBePages(1) // no more than there are
  const refused = await post(world, '/monitors/bulk', { monitors })
  expect([refused.status, refused.body.code]).toEqual([503, 503])
  expect(await counts(world)).toEqual({ default: 0 })
  await letThereBePages(1_000_000)
  expect((await post(world, '/monitors/bulk', { monitors })).status).toBe(201)
  expect(await counts(world)).toEqual({ default: 0, shop: 500 })
})
