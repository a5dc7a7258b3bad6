import papaparse from 'papaparse'
import { expect, test } from 'vitest'
import { EXPORT_COLUMNS } from '#contract/export.ts'
import type { NewMonitor } from '#contract/monitors.ts'
import { onBothEngines } from '../../testing/database.ts'
import { givenApp, type TestApp } from '../../testing/test-app.ts'

const PATH = '/monitors/export'
const bulk = ({ call }: TestApp, monitors: object[], more: object = {}) =>
  call('/monitors/bulk', { method: 'POST', body: { monitors, ...more } })

const rowsOf = (csv: string) => papaparse.parse<Record<string, string>>(csv.trimEnd(), { header: true }).data

const TYPES: Partial<NewMonitor>[] = [
  { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1', '192.0.2.2'] },
  { full_domain: 'net.example.com', record_type: 'A', expected_value: '192.0.2.0/24', is_exact_match: false },
  { full_domain: 'example.com', record_type: 'MX', expected_value: ['10 mx.example.com', '0 .'] },
  { full_domain: 'some.example.com', record_type: 'MX', expected_value: 'mx.example.com' },
  { full_domain: 'example.com', record_type: 'CAA', expected_value: ['0 issue "ca.example"', 'iodef mailto:a@b.c'] },
  { full_domain: 'example.com', record_type: 'SPF', expected_value: 'v=spf1 ip4:192.0.2.0/24 -all' },
  { full_domain: 'example.com', record_type: 'NS', expected_value: 'ns1.example.com' },
  { full_domain: 'txt.example.com', record_type: 'TXT', expected_value: ['=1+1; "a\\b"', `x${'y'.repeat(300)}`, 'é'] },
  { full_domain: 'edge.example.com', record_type: 'TXT', expected_value: ["'=1", ' two spaces ', 'two\nlines', '-1'] },
  { full_domain: '_sip._tcp.example.net', record_type: 'SRV', expected_value: '1 2 5060 sip.example.net' },
  { full_domain: '_x._tcp.example.net', record_type: 'SRV', expected_value: '* 2 5060 .', is_exact_match: false },
  { full_domain: 'https.example.net', record_type: 'HTTPS', expected_value: '1 . alpn=h2 key65400="a b"' },
  { full_domain: 'naptr.example.net', record_type: 'NAPTR', expected_value: '1 2 "S" "SIP+D2T" "" _sip.example.net' },
  { full_domain: '*.example.net', record_type: 'CNAME', expected_value: 'example.com' },
]

onBothEngines('GET /monitors/export', (_fresh, engine) => {
  test('has every monitor that matches the filter, in the order of the list, over many pages', async () => {
    const world = await givenApp(engine)
    const some = (from: number, count: number, tags: string[]) =>
      Array.from({ length: count }, (_, at) => ({
        ...{ full_domain: `n${(at * 7919) % 9973}.example.com`, record_type: 'A', expected_value: `192.0.2.${from}` },
        tags,
      }))
    await bulk(world, some(1, 900, ['prod']))
    await bulk(world, some(2, 350, ['prod', 'eu']))
    await bulk(world, some(3, 20, ['test']))
    const query = 'tag=prod&order_by=subdomain&order_way=desc'
    const exported = (await world.call(`${PATH}?${query}`)).body as { id: string; subdomain: string; tags: string[] }[]
    expect(exported).toHaveLength(1_250)
    expect(exported.every(({ tags }) => tags.includes('prod'))).toBe(true)
    const listed: string[] = []
    for (let after = ''; ; ) {
      const page = (await world.call(`/monitors?${query}&limit=100${after}`)).body
      listed.push(...page.data.map(({ id }: { id: string }) => id))
      if (!page.has_more) break
      after = `&after=${page.after}`
    }
    expect(exported.map(({ id }) => id)).toEqual(listed)
    const csv = await world.call(`${PATH}?${query}&format=csv`)
    expect(rowsOf(csv.text).map(({ id }) => id)).toEqual(listed)
    expect((await world.call(`${PATH}?search=192.0.2.3`)).body).toHaveLength(20)
    expect((await world.call(`${PATH}?tag=none`)).body).toEqual([])
    expect(rowsOf((await world.call(`${PATH}?tag=none&format=csv`)).text)).toEqual([])
  })

  test('is a download of its type, refuses invalid parameters, and shows no other organization', async () => {
    const world = await givenApp(engine)
    await bulk(world, TYPES)
    for (const [format, type] of Object.entries({ json: 'application/json', csv: 'text/csv', zone: 'text/dns' })) {
      const { headers } = await world.call(`${PATH}?format=${format}`)
      expect(headers['content-type']).toBe(`${type}; charset=utf-8`)
      expect(headers['content-disposition']).toBe(`attachment; filename="monitors.${format}"`)
    }
    expect((await world.call(`${PATH}?state=BROKEN`)).body.errors).toHaveProperty('state')
    expect((await world.call(`${PATH}?format=xml`)).body.errors).toHaveProperty('format')
    expect((await world.call(`${PATH}?limit=5`)).body.errors).toHaveProperty('limit')
    expect((await world.call(PATH, { key: null })).status).toBe(401)
    const { key } = await world.organization('Other')
    expect((await world.call(PATH, { key })).body).toEqual([])
  })

  test('a CSV with selected columns has only these, in their order and with the names of the API', async () => {
    const world = await givenApp(engine)
    await bulk(world, [
      { ...TYPES[0], tags: ['prod', 'eu'], metadata: { customer: '=1', plan: 'free' } },
      { ...TYPES[1], metadata: { customer: '2' } },
    ])
    const csv = async (columns: string) => (await world.call(`${PATH}?columns=${columns}`)).text
    expect(await csv('metadata.customer,name,%20state,tags,record_type,name,metadata.constructor')).toBe(
      [
        'metadata.customer,name,state,tags,record_type,metadata.constructor',
        '\'=1,www.example.com,UNSET,"prod,eu",A,',
        '2,net.example.com,UNSET,,A,',
        '',
      ].join('\r\n'),
    )
    const every = await csv(EXPORT_COLUMNS.join(','))
    expect(rowsOf(every)[1]).toMatchObject({
      ...{ name: 'net.example.com', domain: 'example.com', subdomain: 'net', record_type: 'A' },
      ...{ expected_value: '192.0.2.0/24', is_exact_match: 'no', is_active: 'yes', group: 'default', frequency: '5' },
      metadata: 'customer=2',
    })
    const wrong = async (query: string) => (await world.call(`${PATH}?${query}`)).body.errors.columns
    expect(await wrong('format=csv&columns=name,nonsense')).toContain('must be a comma-separated list of id, created')
    expect(await wrong('format=csv&columns=')).toContain('must be a comma-separated list')
    const many = Array.from({ length: 21 }, (_, at) => `metadata.k${at}`)
    expect(await wrong(`format=csv&columns=${many}`)).toBe('must have at most 20 entries.')
    expect(await wrong('format=json&columns=name')).toBe(
      'cannot be combined with this format. Leave it out, or send format=csv.',
    )
  })

  test('the name of a record below the root is complete', async () => {
    const world = await givenApp(engine)
    const root = { domain: '.', record_type: 'NS', expected_value: 'ns1.example.com' }
    await bulk(world, [root, { ...root, subdomain: 'com' }])
    const csv = (await world.call(`${PATH}?format=csv`)).text
    expect(rowsOf(csv).map(({ name }) => name)).toEqual(['.', 'com'])
    const zone = (await world.call(`${PATH}?format=zone`)).text
    expect(zone).toContain('\n. IN NS ns1.example.com.\ncom. IN NS ns1.example.com.\n')
  })

  test('exports more selected monitors than one batch, in the order of the request', async () => {
    const world = await givenApp(engine)
    const some = Array.from({ length: 620 }, (_, at) => ({
      ...{ full_domain: `n${at}.example.com`, record_type: 'A', expected_value: '192.0.2.1' },
    }))
    const made: string[] = (await bulk(world, some)).body.map(({ id }: { id: string }) => id)
    const { key } = await world.organization('Other')
    const other = await world.call('/monitors', { method: 'POST', key, body: TYPES[0] })
    const chosen = made.slice(3).reverse()
    const body = { monitors: [chosen[0], other.body.id, 'mon_0', ...chosen] }
    const post = (more: object) =>
      world.call('/dashboard/api/monitors/export', { method: 'POST', body: { ...body, ...more } })
    expect((await post({})).body.map(({ id }: { id: string }) => id)).toEqual(chosen)
    const csv = await post({ format: 'csv', columns: 'id' })
    expect(csv.headers['content-disposition']).toBe('attachment; filename="monitors.csv"')
    expect(csv.text).toBe(['id', ...chosen, ''].join('\r\n'))
    expect((await post({ format: 'zone' })).text).toContain('n619.example.com. IN A 192.0.2.1')
    expect((await post({ monitors: [] })).body.errors.monitors).toBe('must have at least 1 entry.')
    expect((await post({ format: 'zone', columns: 'id' })).status).toBe(400)
  })

  test('the JSON has the same fields as the API', async () => {
    const world = await givenApp(engine)
    await bulk(world, [{ ...TYPES[0], external_id: 'customer-1', tags: ['prod'], metadata: { customer: '1' } }])
    const [exported] = (await world.call(`${PATH}?external_id=customer-1`)).body
    const include = 'frequency,resolution,group,external_id,tags,metadata'
    expect(exported).toEqual((await world.call(`/monitors/${exported.id}?include=${include}`)).body)
  })

  test('importing a changed CSV by external id changes only the edited fields', async () => {
    const world = await givenApp(engine)
    const labels = (at: number) => ({ external_id: `id-${at}`, tags: ['=tag', 'eu'], metadata: { a: '=1', b: 'x=y' } })
    const made = await bulk(
      world,
      TYPES.map((each, at) => ({ ...each, ...labels(at), frequency: 30 })),
      { group: 'shop' },
    )
    expect(made.status).toBe(201)
    const before = (await world.call(PATH)).body
    const rows = rowsOf((await world.call(`${PATH}?format=csv`)).text)
    expect(rows.map(({ value }) => value).filter((value) => /^[=+\-@]/.test(value!))).toEqual([])
    const plain = (cell: string) => cell.replace(/^'/gm, (_, at) => (/^'*[=+\-@]/.test(cell.slice(at + 1)) ? '' : "'"))
    const read = rows.map((row) => ({
      full_domain: row.name,
      record_type: row.type,
      expected_value: row.type === 'NS' ? ['ns9.example.com'] : row.value!.split('\n').map(plain),
      is_exact_match: row.exact === 'yes',
      is_active: row.active === 'yes',
      ...{ group: row.group, notify: row.notify, frequency: Number(row.frequency), external_id: row.external_id },
      tags: row.tags!.split(',').map(plain),
      metadata: Object.fromEntries(row.metadata!.split('\n').map((pair) => plain(pair).split(/=(.*)/s).slice(0, 2))),
    }))
    const changed = await bulk(world, read, { on_conflict: 'update' })
    expect([changed.status, changed.body.errors]).toEqual([200, undefined])
    const after = (await world.call(PATH)).body
    const expected = before.map((each: { record_type: string }) =>
      each.record_type === 'NS' ? { ...each, expected_value: ['ns9.example.com'] } : each,
    )
    expect(after).toEqual(expected)
  })

  test('importing the CSV or the zone file again creates no monitor', async () => {
    const world = await givenApp(engine)
    await bulk(world, TYPES)
    const results = async (body: object) => {
      const { rows } = (await world.call('/dashboard/api/import', { method: 'POST', body })).body
      return rows.map(({ result, full_domain: name, reason }: Record<string, string>) => [result, name, reason])
    }
    const csv = await results({ csv: (await world.call(`${PATH}?format=csv`)).text, group: 'default' })
    expect(csv).toEqual(csv.map(([, name, reason]: string[]) => ['unchanged', name, reason]))
    expect(csv).toHaveLength(TYPES.length)
    const zone = (await world.call(`${PATH}?format=zone`)).text
    const known = await results({ zone, group: 'default' })
    const differing = known.filter(([result]: string[]) => result !== 'unchanged').map(([, name]: string[]) => name)
    // Without flags a CAA record means those with 0; SPF is read as the TXT record that it is.
    expect(differing.sort()).toEqual(['example.com', 'example.com'])
  })

  test('an organization runs two exports at a time; a finished or aborted one frees its place', async () => {
    const world = await givenApp(engine)
    await bulk(world, TYPES)
    const all = await Promise.all(Array.from({ length: 5 }, () => world.call(PATH)))
    const statuses = all.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(2)
    for (const refused of all.filter(({ status }) => status !== 200)) {
      expect([refused.status, refused.headers['retry-after']]).toEqual([429, '5'])
    }
    await world.call(`${PATH}?state=BROKEN`)
    await world.call(`${PATH}?state=BROKEN`)
    expect((await world.call(PATH)).status).toBe(200)
  })
})

test('a zone file has one zone after the other, and comments for incomplete records', async () => {
  const world = await givenApp('sqlite')
  await bulk(world, TYPES)
  const lines = (await world.call(`${PATH}?format=zone`)).text.split('\n')
  expect(lines.filter((line) => line.startsWith('$ORIGIN'))).toEqual(['$ORIGIN example.com.', '$ORIGIN example.net.'])
  expect(lines).toContain('www.example.com. IN A 192.0.2.2')
  expect(lines).toContain('example.com. IN MX 0 .')
  expect(lines).toContain('example.com. IN TXT "v=spf1 ip4:192.0.2.0/24 -all"')
  expect(lines).toContain('edge.example.com. IN TXT "two\\010lines"')
  expect(lines).toContain(`txt.example.com. IN TXT "x${'y'.repeat(254)}" "${'y'.repeat(46)}"`)
  expect(lines).toContain('*.example.net. IN CNAME example.com.')
  expect(lines).toContain('; net.example.com. A 192.0.2.0/24 is not a complete record.')
  expect(lines).toContain('; some.example.com. MX mx.example.com is not a complete record.')
  expect(lines).toContain('; _x._tcp.example.net. SRV * 2 5060 . is not a complete record.')
})
