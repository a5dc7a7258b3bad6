import { expect, test } from 'vitest'
import type { ImportRequest, ImportRow } from '#contract/dashboard.ts'
import { IMPORT_REASONS } from '#contract/import-codes.ts'
import { formatServer } from '../../dns/server-address.ts'
import { onBothEngines } from '../../testing/database.ts'
import { givenDnsServer } from '../../testing/dns.ts'
import { givenApp, type TestApp } from '../../testing/test-app.ts'

const PATH = '/dashboard/api/import'
const plan = async (world: TestApp, body: ImportRequest, key?: string) =>
  await world.call(PATH, { method: 'POST', body, ...(key === undefined ? {} : { key }) })
const results = (rows: ImportRow[]) =>
  rows.map(({ full_domain, record_type, result }) => [full_domain, record_type, result])

onBothEngines('POST /dashboard/api/import', (_fresh, engine) => {
  test('shortens the texts of rows that cannot be imported', async () => {
    const world = await givenApp(engine)
    const { body } = await plan(world, { zone: `$ORIGIN example.com.\nt TXT ${'"x" '.repeat(100_000)}\n` })
    expect(results(body.rows)).toEqual([['t.example.com', 'TXT', 'reject']])
    expect(JSON.stringify(body).length).toBeLessThan(4_000)
  })

  test('previews the monitors of a zone file and creates none; the preview can be sent as a bulk request', async () => {
    const world = await givenApp(engine)
    const zone = `$ORIGIN example.com.
@ SOA ns1 a 1 2 3 4 5
@ MX 10 Mail
www A 192.0.2.1
www A 192.0.2.2
bad A 192.0.2
t TXT "a" "b"
${Array.from({ length: 11 }, (_, at) => `many A 192.0.2.${at}`).join('\n')}
`
    const { status, body } = await plan(world, { zone, group: 'imported' })
    expect([status, results(body.rows)]).toEqual([
      200,
      [
        ['example.com', 'SOA', 'skip'],
        ['example.com', 'MX', 'create'],
        ['www.example.com', 'A', 'create'],
        ['bad.example.com', 'A', 'reject'],
        ['t.example.com', 'TXT', 'create'],
        ['many.example.com', 'A', 'reject'],
      ],
    ])
    const [, mx, , bad, txt, many] = body.rows
    expect(mx).toEqual({
      line: 3,
      full_domain: 'example.com',
      record_type: 'MX',
      expected_value: ['10 mail.example.com'],
      is_exact_match: true,
      group: 'imported',
      notify: null,
      frequency: null,
      external_id: null,
      tags: null,
      metadata: null,
      result: 'create',
      monitor: null,
      reason: '',
      code: null,
    })
    expect(txt.expected_value).toEqual(['ab'])
    expect(bad.reason).toContain('"192.0.2" is not an IPv4 address. Use one like 192.0.2.1')
    expect(many.reason).toContain('The record has 11 values. A monitor can have at most 10')
    expect((await world.call('/monitors')).body.data).toEqual([])
    expect((await world.call('/groups/imported')).status).toBe(404)

    const monitors = body.rows
      .filter(({ result }: ImportRow) => result === 'create')
      .map(
        ({
          line,
          reason,
          code,
          result,
          notify,
          frequency,
          external_id,
          tags,
          metadata,
          monitor: _,
          ...made
        }: ImportRow) => made,
      )
    expect((await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })).status).toBe(201)
    const again = (await plan(world, { zone, group: 'imported' })).body.rows
    expect(results(again).filter(([, , result]) => result === 'unchanged')).toHaveLength(3)
    expect(results((await plan(world, { zone })).body.rows).filter(([, , result]) => result === 'create')).toHaveLength(
      3,
    )
  })

  test('a row with the external id of a monitor is for that monitor, even if everything else differs', async () => {
    const world = await givenApp(engine)
    const monitors = [
      { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'], external_id: 'crm-1' },
      { full_domain: 'b.example.com', record_type: 'A', expected_value: ['192.0.2.2'], external_id: 'crm-2' },
    ]
    const [one, two] = (await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })).body
    const csv = `name,type,value,group,external_id
www.example.com,A,192.0.2.1,,crm-1
c.example.com,AAAA,2001:db8::1,shop,crm-2
www.example.com,A,192.0.2.1,,crm-3
d.example.com,A,192.0.2.1,,crm-2
e.example.com,A,192.0.2.1,,größe
`
    const { rows } = (await plan(world, { csv })).body
    expect(rows.map(({ result, code, monitor }: ImportRow) => [result, code, monitor?.id])).toEqual([
      ['unchanged', null, one.id],
      ['update', null, two.id],
      ['unchanged', null, undefined],
      ['reject', 'duplicate_external_id', undefined],
      ['reject', 'invalid_format', undefined],
    ])
    expect(rows[1].reason).toBe('The monitor b.example.com A expects exactly 192.0.2.2. It moves to the group shop.')
    const { full_domain, record_type, expected_value, is_exact_match, group, monitor } = rows[1]
    const was = { expected_value: monitor.expected_value, is_exact_match: true }
    const update = { id: two.id, was, full_domain, record_type, expected_value, is_exact_match, group }
    const sent = await world.call(`${PATH}/updates`, { method: 'POST', body: { updates: [update] } })
    expect(sent.body).toEqual({ updated: 1, refused: [] })
    const { body } = await world.call(`/monitors/${two.id}?include=group,external_id`)
    expect(body).toMatchObject({ subdomain: 'c', record_type: 'AAAA', group: 'shop', external_id: 'crm-2' })
    expect((await plan(world, { csv })).body.rows[1].result).toBe('unchanged')
    const stranger = await world.organization('Strangers')
    expect((await plan(world, { csv }, stranger.key)).body.rows[1]).toMatchObject({ result: 'create', monitor: null })
  })

  test('tags and metadata of a row with an external id are compared, and sent as they are in the file', async () => {
    const world = await givenApp(engine)
    const a = { record_type: 'A', expected_value: ['192.0.2.1'], full_domain: 'a.example' }
    const labels = { external_id: 'crm-1', tags: ['eu', 'prod'], metadata: { plan: 'big', customer: 'Acme = Co' } }
    const { id } = (await world.call('/monitors', { method: 'POST', body: { ...a, ...labels } })).body
    const rowsOf = async (tags: string, metadata: string) => {
      const csv = `name,type,value,external_id,tags,metadata\na.example,A,192.0.2.1,crm-1,"${tags}","${metadata}"\n`
      return (await plan(world, { csv })).body.rows as ImportRow[]
    }
    const [same] = await rowsOf('prod,eu', 'plan=big\ncustomer=Acme = Co')
    expect(same).toMatchObject({ result: 'unchanged', tags: ['prod', 'eu'], metadata: labels.metadata })
    const [other] = await rowsOf('prod', 'plan=big')
    expect(other).toMatchObject({ result: 'update', code: null })
    expect(other!.reason).toMatch(/ Its tags or metadata change\.$/)
    const update = {
      ...{ id, was: { expected_value: ['192.0.2.1'], is_exact_match: true }, expected_value: ['192.0.2.1'] },
      ...{ is_exact_match: true, tags: other!.tags, metadata: other!.metadata },
    }
    await world.call(`${PATH}/updates`, { method: 'POST', body: { updates: [update] } })
    const { body } = await world.call(`/monitors/${id}?include=tags,metadata`)
    expect([body.tags, body.metadata]).toEqual([['prod'], { plan: 'big' }])
    for (const [tags, metadata, code] of [
      ['x'.repeat(51), '', 'invalid_format'],
      [Array.from({ length: 21 }, (_, at) => `t${at}`).join(','), '', 'too_many'],
      ['', 'a b=c', 'invalid_metadata_key'],
    ] as const) {
      expect((await rowsOf(tags, metadata))[0]).toMatchObject({ result: 'reject', code })
    }
  })

  test('lists the monitors of the group or domains that the file lacks, and deletes none', async () => {
    const world = await givenApp(engine)
    const a = { record_type: 'A', expected_value: ['192.0.2.1'] }
    const monitors = [
      { ...a, full_domain: 'www.example.com' },
      { ...a, full_domain: 'old.example.com', group: 'shop' },
      { ...a, full_domain: 'bad.example.com' },
      { ...a, full_domain: 'moved.example.com', external_id: 'crm-1' },
      { full_domain: 'example.com', record_type: 'SPF', expected_value: ['v=spf1 -all'] },
      { ...a, full_domain: 'www.other.example' },
    ]
    await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })
    const stranger = await world.organization('Strangers')
    await world.call('/monitors', { method: 'POST', key: stranger.key, body: { ...a, full_domain: 'x.example.com' } })
    const csv = `name,type,value,external_id
www.example.com,A,192.0.2.77,
bad.example.com,A,nonsense,
new.example.com,A,192.0.2.1,crm-1
example.com,TXT,v=spf1 -all,
`
    const missing = async (compare: 'group' | 'domains', group?: string) =>
      (await plan(world, { csv, compare, ...(group ? { group } : {}) })).body.missing
    const names = ({ monitors }: { monitors: { name: string }[] }) => monitors.map(({ name }) => name)
    expect(names(await missing('domains'))).toEqual(['old.example.com'])
    expect(names(await missing('group'))).toEqual(['www.other.example'])
    expect(await missing('group', 'shop')).toEqual({
      monitors: [expect.objectContaining({ name: 'old.example.com', record_type: 'A', expected_value: '192.0.2.1' })],
      is_partial: false,
    })
    expect(names(await missing('group', 'none'))).toEqual([])
    expect((await plan(world, { csv })).body.missing).toBeNull()
    expect((await world.call('/monitors')).body.data).toHaveLength(6)
  })

  test('a record that a monitor expects otherwise differs from it, and the monitor can be given the expectation of the row', async () => {
    const world = await givenApp(engine)
    const zone = (address: string) => `www.example.com. A ${address}\nexample.com. MX 10 mail.example.com.\n`
    const monitor = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'] }
    const post = async (more: object) =>
      (await world.call('/monitors', { method: 'POST', body: { ...monitor, ...more } })).body.id as string
    await post({ group: 'elsewhere', expected_value: ['192.0.2.7'] })
    await post({ is_exact_match: false })
    const id = await post({})
    await world.call('/monitors', { method: 'POST', body: { ...monitor, record_type: 'TXT', expected_value: 'x' } })
    const rowsOf = async (address: string) => (await plan(world, { zone: zone(address) })).body.rows as ImportRow[]
    expect(results(await rowsOf('192.0.2.1')).map(([, , result]) => result)).toEqual(['unchanged', 'create'])

    const [row] = await rowsOf('192.0.2.2')
    const other = { id, expected_value: ['192.0.2.1'], is_exact_match: true, group: 'default' }
    const reason = 'A monitor in group default expects exactly 192.0.2.1.'
    expect(row).toMatchObject({ result: 'update', monitor: other, reason })
    const { expected_value, is_exact_match } = row!
    const was = { expected_value: other.expected_value, is_exact_match: true }
    const update = { id, was, expected_value, is_exact_match }
    const send = async (updates: object[], key?: string) =>
      await world.call(`${PATH}/updates`, { method: 'POST', body: { updates }, ...(key === undefined ? {} : { key }) })
    const wrong = { ...update, expected_value: ['nonsense'] }
    expect((await send([wrong])).body.refused[0]).toMatchObject({
      ...{ code: 'invalid_ipv4', reason: expect.stringMatching(/^"nonsense" is not an IPv4 address\. /) },
    })
    const { key } = await world.organization('Other')
    expect((await send([update], key)).body.refused).toEqual([
      { id, code: 'not_found', reason: 'The monitor was deleted since the preview.' },
    ])
    expect((await send([update], (await world.key('read')).key)).status).toBe(403)
    expect((await send([update])).body).toEqual({ updated: 1, refused: [] })
    expect((await world.call(`/monitors/${id}`)).body).toMatchObject({ expected_value: ['192.0.2.2'], state: 'UNSET' })
    expect(results(await rowsOf('192.0.2.2'))[0]![2]).toBe('unchanged')
    expect((await send([update])).body.refused).toEqual([
      {
        id,
        code: 'changed_since_preview',
        reason: 'The monitor has changed since the preview. Preview the import again.',
      },
    ])
    expect((await world.call('/monitors')).body.data).toHaveLength(4)
  })

  test('each row that becomes no monitor has a code, which the reference lists', async () => {
    const world = await givenApp(engine)
    const codes = async (body: object) => ((await plan(world, body)).body.rows as ImportRow[]).map(({ code }) => code)
    const csv = `name,type,value,exact,frequency\n,A,192.0.2.1,,\na.example,,x,,\na.example,NOPE,x,,\na.example,DNSKEY,x,,
a.example,A,x,maybe,\na.example,A,192.0.2.1,,3\nb.example,A,nonsense,,\nc.example,A,"x"y,,\nd.example,A,192.0.2.1,,\nd.example,A,192.0.2.1,no,`
    expect(await codes({ csv })).toEqual([
      ...['empty_name', 'required', 'unknown_type', 'not_monitored', 'invalid_choice', 'out_of_range'],
      ...['invalid_ipv4', 'invalid_csv', null, null],
    ])
    const zone = `$ORIGIN example.com.\n$INCLUDE x\na A 192.0.2.1\na A\nb NOPE x\nc TXT "x\nd CH A 192.0.2.1\n`
    expect(await codes({ zone })).toEqual([
      ...['unknown_directive', 'part_invalid', 'invalid_value', 'unknown_type', 'invalid_zone_file', 'not_monitored'],
    ])
    for (const code of [...(await codes({ csv })), ...(await codes({ zone }))]) {
      expect([...IMPORT_REASONS, null]).toContain(code)
    }
  })

  test('a row names another group with an equal monitor, and does not replace that monitor', async () => {
    const world = await givenApp(engine)
    const body = { full_domain: 'a.example', record_type: 'A', expected_value: '192.0.2.1', group: 'elsewhere' }
    await world.call('/monitors', { method: 'POST', body })
    const [equal] = (await plan(world, { zone: 'a.example. A 192.0.2.1' })).body.rows
    expect(equal).toMatchObject({ result: 'create', reason: 'An identical monitor exists in group elsewhere.' })
    const [own] = (await plan(world, { zone: 'a.example. A 192.0.2.1', group: 'elsewhere' })).body.rows
    expect(own).toMatchObject({ result: 'unchanged', reason: 'An identical monitor already exists.' })
  })

  test('two rows of one record never mean the same monitor', async () => {
    const world = await givenApp(engine)
    const body = { full_domain: 'a.example', record_type: 'A', expected_value: '192.0.2.1' }
    await world.call('/monitors', { method: 'POST', body })
    const csv = 'name,type,value,exact\na.example,A,192.0.2.2,yes\na.example,A,192.0.2.3,no\n'
    expect((await plan(world, { csv })).body.rows.map(({ result }: ImportRow) => result)).toEqual(['update', 'create'])
  })

  test('a row that appears twice is made once, and another organization has nothing to do with it', async () => {
    const world = await givenApp(engine)
    const csv =
      'name,type,value,group\na.example,A,192.0.2.1,one\na.example,A,192.0.2.1,two\nA.example.,A,192.0.2.1,one\n'
    const { body } = await plan(world, { csv })
    expect(body.rows.map(({ result }: ImportRow) => result)).toEqual(['create', 'create'])
    const twice = 'name,type,value,exact,notify\na.example,A,192.0.2.1,,\na.example,A,192.0.2.1,,on_success\n'
    expect((await plan(world, { csv: twice })).body.rows[1]).toMatchObject({
      result: 'skip',
      reason: 'Duplicate of line 2.',
    })
    const monitor = { full_domain: 'a.example', record_type: 'A', expected_value: '192.0.2.1' }
    await world.call('/monitors', { method: 'POST', body: monitor })
    const { key } = await world.organization('Other')
    expect((await plan(world, { csv: twice }, key)).body.rows[0].result).toBe('create')
    expect((await plan(world, { csv: twice })).body.rows[0].result).toBe('unchanged')
  })

  test('a thousand records are planned at once', async () => {
    const world = await givenApp(engine)
    const lines = Array.from({ length: 1_000 }, (_, at) => `host${at} A 192.0.${at >> 8}.${at & 255}`)
    const zone = `$ORIGIN example.com.\n${lines.join('\n')}\n`
    const { body } = await plan(world, { zone })
    expect(body.rows).toHaveLength(1_000)
  })
})

test('an input that cannot be parsed is a 400 that names the field', async () => {
  const world = await givenApp('sqlite')
  const zone = Array.from({ length: 5_001 }, (_, at) => `h${at}.example. A 192.0.2.1`).join('\n')
  for (const [body, field, words] of [
    [{}, 'body', 'exactly one of zone, csv, domain'],
    [{ zone: 'a. A 192.0.2.1', csv: 'name,type,value' }, 'body', 'exactly one'],
    [{ zone: 'www A 192.0.2.1' }, 'origin', 'is required'],
    [{ zone }, 'zone', 'has more than 5000 monitors'],
    [{ csv: 'a,b' }, 'csv', 'Missing: name, type, value'],
    [{ domain: 'two words' }, 'domain', 'not allowed'],
    [{ zone: 'x'.repeat(1_048_577) }, 'zone', 'at most 1048576'],
  ] as const) {
    const answer = await plan(world, body)
    expect([field, answer.status, answer.body.errors?.[field]]).toEqual([field, 400, expect.stringContaining(words)])
  }
  const limited = await plan(world, { zone: `a. A 192.0.2.1 ${'; \\"'.repeat(200_000)}` })
  expect(limited.status).toBe(200)
})

test('of a domain the usual records are offered that are there, and none that a wildcard makes up', async () => {
  const dns = await givenDnsServer()
  const world = await givenApp('sqlite', { DNS_SERVERS: formatServer(dns.address) })
  dns.set('example.com', 'A', ['192.0.2.1'])
  dns.set('example.com', 'MX', ['10 mail.example.com'])
  dns.set('example.com', 'NS', ['ns1.example.net', 'ns2.example.net'])
  dns.set('example.com', 'TXT', ['v=spf1 mx -all', 'site=1', '"quoted"'])
  dns.set('www.example.com', 'CNAME', ['host.example.net'])
  dns.set('host.example.net', 'A', ['192.0.2.9'])
  dns.set('mail.example.com', 'A', ['192.0.2.5'])
  dns.set('_dmarc.example.com', 'TXT', ['v=DMARC1; p=none'])
  dns.set('google._domainkey.example.com', 'TXT', ['v=DKIM1; p=abc'])
  const { body } = await plan(world, { domain: 'https://Example.com/' })
  expect(
    body.rows.map((row: ImportRow) => [row.full_domain, row.record_type, row.is_exact_match, ...row.expected_value]),
  ).toEqual([
    ['example.com', 'A', true, '192.0.2.1'],
    ['example.com', 'MX', true, '10 mail.example.com'],
    ['example.com', 'TXT', false, String.raw`"\"quoted\""`, 'site=1'],
    ['example.com', 'NS', true, 'ns1.example.net', 'ns2.example.net'],
    ['example.com', 'SPF', true, 'v=spf1 mx -all'],
    ['www.example.com', 'CNAME', true, 'host.example.net'],
    ['mail.example.com', 'A', true, '192.0.2.5'],
    ['_dmarc.example.com', 'TXT', true, 'v=DMARC1; p=none'],
    ['google._domainkey.example.com', 'TXT', true, 'v=DKIM1; p=abc'],
  ])
  expect(body.rows.every(({ result, line }: ImportRow) => result === 'create' && line === null)).toBe(true)
  const questions = new Set(dns.queries.log.map(({ name, type }) => `${name} ${type}`))
  expect(questions.size).toBeLessThan(60)

  dns.set('*.example.com', 'A', ['192.0.2.5'])
  const wild = (await plan(world, { domain: 'example.com' })).body.rows
  expect(results(wild).map(([name]) => name)).not.toContain('mail.example.com')
  expect(results(wild).map(([name]) => name)).toContain('www.example.com')

  const none = (await plan(world, { domain: 'none.example' })).body.rows
  expect(none).toEqual([
    expect.objectContaining({ result: 'reject', reason: 'none.example does not exist (NXDOMAIN).' }),
  ])
})
