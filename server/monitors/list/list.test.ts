import { expect, test } from 'vitest'
import { INCLUDES } from '#contract/monitors.ts'
import { RECORD_TYPES } from '#contract/record-types.ts'
import { onBothEngines } from '../../testing/database.ts'
import { givenApp, type TestApp } from '../../testing/test-app.ts'

/** Made in this order; the tests know them by their names. */
async function givenMonitors(world: TestApp): Promise<void> {
  const monitors = [
    { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1', group: 'shop' },
    { domain: 'www.example.com', record_type: 'AAAA', expected_value: '2001:db8::1', group: 'shop', is_active: false },
    { full_domain: 'example.com', record_type: 'MX', expected_value: 'mx.example.com' },
    { full_domain: 'www.example.org', record_type: 'A', expected_value: '192.0.2.1' },
    { domain: '192.0.2.7', record_type: 'PTR', expected_value: 'www.example.org' },
  ]
  const made = await world.call('/monitors/bulk', { method: 'POST', body: { monitors } })
  await world.deps.db.updateTable('monitors').set({ state: 'VALID' }).where('id', '=', made.body[0].id).execute()
}

const found = async (world: TestApp, path: string) => {
  const { body } = await world.call(path)
  return body.data.map((each: { record_type: string; domain: string }) => `${each.record_type} ${each.domain}`)
}

const [WWW, WIDE, MX, ORG, PTR] = [
  'A example.com',
  'AAAA www.example.com',
  'MX example.com',
  'A example.org',
  'PTR 7.2.0.192.in-addr.arpa',
]

onBothEngines('GET /monitors', (_fresh, engine) => {
  test('filters work alone and combined', async () => {
    const world = await givenApp(engine)
    await givenMonitors(world)
    const group = (await world.call('/groups/shop')).body.id
    for (const [query, expected] of [
      ['', [WWW, WIDE, MX, ORG, PTR]],
      ['group=shop', [WWW, WIDE]],
      [`group=${group}`, [WWW, WIDE]],
      ['group=none', []],
      ['group=Not%20A%20Slug', []],
      ['state=valid', [WWW]],
      ['state=TIMEOUT', []],
      ['record_type=a', [WWW, ORG]],
      ['is_active=false', [WIDE]],
      ['domain=EXAMPLE.com.', [WWW, MX]],
      ['subdomain=www', [WWW, ORG]],
      ['subdomain=', [WIDE, MX, PTR]],
      ['domain=example.com&subdomain=www', [WWW]],
      ['full_domain=www.example.com', [WWW, WIDE]],
      ['full_domain=www.example.com&domain=example.org&subdomain=ftp', [WWW, WIDE]],
      ['full_domain=192.0.2.7', [PTR]],
      ['group=shop&state=UNSET&is_active=false&record_type=AAAA', [WIDE]],
      ['group=shop&state=UNSET&is_active=true', []],
      ['record_type=A&order_by=domain&order_way=desc', [ORG, WWW]],
      ['domain=example.com&order_by=domain&order_way=desc', [MX, WWW]],
      ['search=www', [WWW, WIDE, ORG, PTR]],
      ['search=WWW.EXAMPLE.COM', [WWW, WIDE]],
      ['search=www.example.', [WWW, WIDE, ORG, PTR]],
      ['search=www.ex.', []],
      ['search=exam', [WWW, WIDE, MX, ORG, PTR]],
      ['search=ex', [WWW, MX, ORG]],
      ['search=xampl', [WWW, WIDE, MX, ORG, PTR]],
      ['search=192.0.2.1', [WWW, ORG]],
      ['search=MX.exam', [MX]],
      ['search=org%20www', [ORG, PTR]],
      ['search=www%20rg', [ORG, PTR]],
      ['search=ww%25', []],
      ['search=http%3A%2F%2Fwww.example.org%3A8080%2Fpath%3Fquery', [ORG, PTR]],
      ['search=someone%40example.org', [ORG, PTR]],
      ['search=192.0.2.7', [PTR]],
      ['search=%20exam%20&record_type=MX', [MX]],
      ['search=exam&group=shop&order_by=name', [WWW, WIDE]],
      ['search=exam&order_by=domain&order_way=desc', [WIDE, ORG, MX, WWW, PTR]],
      ['search=exam&full_domain=www.example.com', [WWW, WIDE]],
    ] as const) {
      expect([query, await found(world, `/monitors?${query}`)]).toEqual([query, expected])
    }
  })

  test('invalid filters are refused with the allowed values', async () => {
    const world = await givenApp(engine)
    for (const [query, errors] of [
      [
        'state=GOOD',
        { state: 'must be one of UNSET, VALID, INVALID, TIMEOUT, MISMATCH, NOT_FOUND, NO_DATA, BAD_SETUP.' },
      ],
      ['record_type=DNSKEY', { record_type: `must be one of ${RECORD_TYPES.join(', ')}.` }],
      ['colour=red', { colour: expect.stringMatching(/^is unknown. Allowed: after, before, .*include\.$/) }],
      ['include=secret', { include: `must be a comma-separated list of ${INCLUDES.join(', ')}.` }],
      ['is_active=perhaps', { is_active: expect.any(String) }],
      ['full_domain=a..b', { full_domain: expect.any(String) }],
      ['order_way=up', { order_way: 'must be one of asc, desc.' }],
    ] as const) {
      const answer = await world.call(`/monitors?${query}`)
      expect([query, answer.status, answer.body.errors]).toEqual([query, 400, errors])
    }
  })

  test("GET /groups/{group}/monitors lists the group's own, with the same filters and inclusions", async () => {
    const world = await givenApp(engine)
    await givenMonitors(world)
    const { id } = (await world.call('/groups/shop')).body
    for (const named of ['shop', id]) {
      expect(await found(world, `/groups/${named}/monitors`)).toEqual([WWW, WIDE])
      expect(await found(world, `/groups/${named}/monitors?is_active=false`)).toEqual([WIDE])
      expect(await found(world, `/groups/${named}/monitors?group=shop`)).toEqual([WWW, WIDE])
      expect(await found(world, `/groups/${named}/monitors?group=default`)).toEqual([])
    }
    const { body } = await world.call('/groups/shop/monitors?include=group,frequency&limit=1')
    expect(body).toMatchObject({ limit: 1, before: null, has_more: true, data: [{ group: 'shop', frequency: 5 }] })
    for (const named of ['none', 'grp_1', 'A B', '%00']) {
      expect((await world.call(`/groups/${encodeURIComponent(named)}/monitors`)).status).toBe(404)
    }
    const { key } = await world.organization('Other')
    expect((await world.call(`/groups/${id}/monitors`, { key })).status).toBe(404)
  })
})
