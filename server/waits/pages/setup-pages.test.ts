import { expect, test } from 'vitest'
import type { PublicPage } from '#contract/setup-pages.ts'
import { createKeyring } from '../../keyring.ts'
import { claimDue } from '../../queue/lease-queue.ts'
import { reencrypt } from '../../secrets/reencrypt.ts'
import { onBothEngines } from '../../testing/database.ts'
import { givenApp, type TestApp } from '../../testing/test-app.ts'
import { hintsOf, PROVIDERS, providerOf } from '../providers.ts'

const DAY_MS = 24 * 60 * 60_000
const SHOP = { full_domain: 'shop.example.com', record_type: 'CNAME', expected_value: 'stores.pages.example' }

const pathOf = (url: string) => new URL(url).pathname

async function givenPage(world: TestApp, fields: object = {}) {
  const { status, body } = await world.call('/monitors', {
    method: 'POST',
    body: { ...SHOP, until: 'valid', ...fields },
  })
  expect(status).toBe(201)
  return { monitor: body, page: body.wait.setup_page, path: pathOf(body.wait.setup_page.url) }
}

const open = (world: TestApp, path: string, from?: string) =>
  world.call(`${path}/state`, { key: null, ...(from === undefined ? {} : { from }) })

onBothEngines('setup pages', (_fresh, engine) => {
  test('one request returns the link, and its page shows only the records to create', async () => {
    const world = await givenApp(engine)
    await world.call('/monitors', { method: 'POST', body: { ...SHOP, full_domain: 'secret.example.com' } })
    const { monitor, page, path } = await givenPage(world, { setup_page: 'customer-4711', group: 'internal' })
    expect(monitor.wait).toMatchObject({ state: 'waiting', ended: null })
    expect(Date.parse(monitor.wait.deadline) - Date.parse(monitor.wait.started)).toBe(3 * DAY_MS)

    const answer = await open(world, path)
    expect(answer.body).toEqual({
      organization: 'First',
      logo: null,
      ttl: 3600,
      is_done: false,
      records: [
        {
          ...{ host: 'shop', name: 'shop.example.com', zone: 'example.com', type: 'CNAME', state: 'waiting' },
          values: [{ value: 'stores.pages.example', priority: null }],
          ...{ found: [], unexpected: [], has_other_records: false },
          ...{ checked: null, provider: null, advice: [], notes: [] },
        },
      ],
    } satisfies PublicPage)
    for (const secret of ['secret', 'customer-4711', 'internal', 'mon_', 'org_', 'stp_']) {
      expect(answer.text).not.toContain(secret)
    }
    expect(answer.headers).toMatchObject({
      ...{ 'referrer-policy': 'no-referrer', 'x-robots-tag': 'noindex, nofollow, noarchive' },
      ...{ 'cache-control': 'private, no-store', 'x-content-type-options': 'nosniff' },
      'content-security-policy': expect.stringMatching(/^default-src 'none';.*frame-ancestors 'none'$/),
    })
    const kept = JSON.stringify(await world.deps.db.selectFrom('setup_pages').selectAll().execute())
    expect(kept).not.toContain(path.split('/').at(-1))
    expect((await world.call(`/setup-pages/${page.id}`)).body).toMatchObject({ ...page, monitors: [monitor.id] })
  })

  test('a page shows only the logo of its organization', async () => {
    const world = await givenApp(engine)
    const { path } = await givenPage(world)
    const { key } = await world.organization('Second')
    const logo = 'data:image/png;base64,iVBORw0KGgo='
    const body = { settings: { logo } }
    expect((await world.call('/organization', { method: 'PATCH', key, body })).status).toBe(200)
    expect((await open(world, path)).body.logo).toBeNull()
    expect((await world.call('/organization', { method: 'PATCH', body })).status).toBe(200)
    const answer = await open(world, path)
    expect(answer.body.logo).toBe(logo)
    expect(answer.headers['content-security-policy']).toContain("img-src 'self' data:;")
  })

  test('a page does not report missing records when no name server answered', async () => {
    const world = await givenApp(engine)
    const { path } = await givenPage(world)
    const record = async (state: string) => {
      const seen = { state, values: [], unexpected: [], zone: 'example.com', nameServers: [] }
      const looked = { seen: JSON.stringify(seen), seen_at: world.deps.clock.now() }
      await world.deps.db.updateTable('waits').set(looked).execute()
      const { body } = await open(world, path)
      return [body.records[0].state, body.records[0].found]
    }
    for (const state of ['TIMEOUT', 'INVALID']) expect(await record(state)).toEqual(['waiting', null])
    expect(await record('BAD_SETUP')).toEqual(['wrong', null])
    for (const state of ['NOT_FOUND', 'NO_DATA']) expect(await record(state)).toEqual(['waiting', []])
  })

  test('after the wait a page shows the result of the regular checks, and none of a previous expectation', async () => {
    const world = await givenApp(engine)
    const { monitor, path } = await givenPage(world)
    const { db } = world.deps
    const seen = {
      state: 'VALID',
      values: ['stores.pages.example'],
      unexpected: [],
      zone: 'example.com',
      nameServers: [],
    }
    const looked = { seen: JSON.stringify(seen), seen_at: world.deps.clock.now() }
    const shown = async () => {
      const { state, found, unexpected, checked } = (await open(world, path)).body.records[0]
      return { state, found, unexpected, checked }
    }
    await db.updateTable('waits').set(looked).execute()
    expect(await shown()).toMatchObject({ state: 'found', found: seen.values })

    await db.updateTable('waits').set({ ended_at: 1, result: 'valid' }).execute()
    await db.updateTable('due_checks').set({ last_checked_at: 0 }).execute()
    const now = async (state: 'MISMATCH' | 'NOT_FOUND' | 'BAD_SETUP', values: string[]) => {
      await db
        .updateTable('monitors')
        .set({ state, current_values: JSON.stringify(values) })
        .execute()
      return await shown()
    }
    const checked = '1970-01-01T00:00:00.000Z'
    const others = ['other.example']
    expect(await now('MISMATCH', others)).toEqual({ state: 'wrong', found: others, unexpected: others, checked })
    expect(await now('NOT_FOUND', [])).toEqual({ state: 'waiting', found: [], unexpected: [], checked })
    expect(await now('BAD_SETUP', others)).toEqual({ state: 'wrong', found: null, unexpected: [], checked })
    const observed = ['v=spf1 -all', 'v=spf1 mx -all']
    const verdict = {
      code: 'several_spf_records',
      params: {
        ...{ name: 'example.com', record_type: 'TXT', record: { name: 'example.com', type: 'TXT' } },
        ...{ observed, unexpected: [observed[1]] },
      },
    }
    await db
      .updateTable('monitors')
      .set({ diagnosis: JSON.stringify({ verdict }) })
      .execute()
    const several = { state: 'wrong', found: observed, unexpected: [observed[1]], checked }
    expect(await now('BAD_SETUP', [])).toEqual(several)
    const dmarc = JSON.stringify({ verdict: { ...verdict, code: 'several_dmarc_records' } })
    await db.updateTable('monitors').set({ diagnosis: dmarc }).execute()
    expect(await now('BAD_SETUP', [])).toEqual(several)

    const change = (body: object) => world.call(`/monitors/${monitor.id}`, { method: 'PATCH', body })
    await change({ until: 'valid' })
    await db.updateTable('waits').set(looked).execute()
    await claimDue(db, 'due_waits', { now: world.deps.clock.now(), process: 7, limit: 1 })
    await change({ expected_value: 'other.example' })
    expect(await shown()).toMatchObject({ state: 'waiting', checked: null })
    const due = await db.selectFrom('due_waits').select(['due_at', 'claimed_by']).executeTakeFirstOrThrow()
    expect([due.claimed_by, due.due_at! <= world.deps.clock.now()]).toEqual([null, true])
  })

  test('a monitor shows its wait only on request', async () => {
    const world = await givenApp(engine)
    const { monitor } = await givenPage(world)
    const path = `/monitors/${monitor.id}`
    expect((await world.call(path)).body).not.toHaveProperty('wait')
    const { body } = await world.call(`${path}?include=wait`)
    expect(body.wait).toEqual(monitor.wait)
    const list = await world.call('/monitors?include=wait')
    expect(list.body.data).toEqual([body])
    const plain = await world.call('/monitors', { method: 'POST', body: { ...SHOP, record_type: 'TXT' } })
    expect(plain.body).not.toHaveProperty('wait')
  })

  test('monitors with the same key share a page, also in one bulk request; deleting the last one deletes the page', async () => {
    const world = await givenApp(engine)
    const key = { until: 'valid', setup_page: 'customer-1' }
    const apex = { full_domain: 'example.com', record_type: 'A', expected_value: '192.0.2.1', ...key }
    const bulk = { monitors: [apex, { ...SHOP, full_domain: 'www.example.com', ...key }, { ...SHOP, until: 'valid' }] }
    const { body: made } = await world.call('/monitors/bulk', { method: 'POST', body: bulk })
    const [first, second, third] = made.map(({ wait }: { wait: { setup_page: { url: string } } }) => wait.setup_page)
    expect(second).toEqual(first)
    expect(third.url).not.toBe(first.url)
    const { page, path, monitor } = await givenPage(world, { ...key, record_type: 'TXT', expected_value: 'a' })
    expect(page.id).toBe(first.id)
    const { records } = (await open(world, path)).body
    expect(records.map(({ host, type }: { host: string; type: string }) => [host, type])).toEqual([
      ['@', 'A'],
      ['www', 'CNAME'],
      ['shop', 'TXT'],
    ])
    const { body: listed } = await world.call('/setup-pages?key=customer-1')
    expect(listed.data).toMatchObject([{ key: 'customer-1', monitors: [made[0].id, made[1].id, monitor.id] }])

    for (const id of [made[0].id, made[1].id]) await world.call(`/monitors/${id}`, { method: 'DELETE' })
    expect((await open(world, path)).status).toBe(200)
    await world.call(`/monitors/${monitor.id}`, { method: 'DELETE' })
    expect((await open(world, path)).status).toBe(404)
    expect((await world.call(`/setup-pages/${page.id}`)).status).toBe(404)
  })

  test('a replaced, revoked, expired or invented link is a 404', async () => {
    const world = await givenApp(engine)
    const { monitor, page, path } = await givenPage(world)
    const renewed = await world.call(`/setup-pages/${page.id}/renew`, { method: 'POST', body: {} })
    expect(renewed.status).toBe(200)
    const next = pathOf(renewed.body.url)
    expect((await open(world, path)).status).toBe(404)
    expect((await open(world, next)).status).toBe(200)
    expect((await world.call(path, { key: null })).status).toBe(404)

    world.pass(30 * DAY_MS)
    expect((await open(world, next)).status).toBe(404)
    const again = await world.call(`/monitors/${monitor.id}`, { method: 'PATCH', body: { until: 'valid' } })
    expect(again.body.wait.setup_page.id).toBe(page.id)
    expect((await open(world, next)).status).toBe(200)
    const stale = { 'if-match': '"1.AAAAAAAAAAAAAAAA"' }
    const revoke = (headers = {}) => world.call(`/setup-pages/${page.id}`, { method: 'DELETE', headers })
    expect((await revoke(stale)).status).toBe(412)
    expect((await revoke()).status).toBe(204)
    expect((await revoke()).status).toBe(404)
    expect((await open(world, next)).status).toBe(404)
    for (const token of ['x', 'a'.repeat(43), '..%2f..%2fmonitors', '%00'])
      expect((await open(world, `/connect/${token}`)).status).toBe(404)

    const { body } = await world.call(`/monitors/${monitor.id}?include=wait`)
    expect(body.wait).toMatchObject({ state: 'waiting', setup_page: null })
    const third = await world.call(`/monitors/${monitor.id}`, { method: 'PATCH', body: { until: 'valid' } })
    expect((await open(world, pathOf(third.body.wait.setup_page.url))).status).toBe(200)
  })

  test('a wait can be stopped and restarted', async () => {
    const world = await givenApp(engine)
    const { monitor, page } = await givenPage(world)
    const change = (body: object) => world.call(`/monitors/${monitor.id}`, { method: 'PATCH', body })
    expect((await change({ until: null })).body.wait).toBeNull()
    expect(await world.deps.db.selectFrom('due_waits').selectAll().execute()).toEqual([])
    world.pass(DAY_MS)
    const { wait } = (await change({ until: 'valid' })).body
    expect(wait).toMatchObject({ state: 'waiting', setup_page: { id: page.id } })
    expect(Date.parse(wait.started) - Date.parse(monitor.wait.started)).toBeGreaterThanOrEqual(DAY_MS)
    expect((await change({ setup_page: 'a' })).body.errors).toEqual({
      setup_page: 'needs `until`. Send `"until": "valid"` with it.',
    })
  })

  test('other organizations cannot read or change a page', async () => {
    const world = await givenApp(engine)
    const { page } = await givenPage(world, { setup_page: 'mine' })
    const { key } = await world.organization('Other')
    const other = await world.call('/monitors', {
      method: 'POST',
      key,
      body: { ...SHOP, until: 'valid', setup_page: 'mine' },
    })
    expect(other.body.wait.setup_page.id).not.toBe(page.id)
    for (const [method, path] of [
      ['GET', `/setup-pages/${page.id}`],
      ['DELETE', `/setup-pages/${page.id}`],
      ['POST', `/setup-pages/${page.id}/renew`],
    ] as const) {
      expect((await world.call(path, { method, key, ...(method === 'POST' && { body: {} }) })).status).toBe(404)
    }
    const theirs = await open(world, pathOf(other.body.wait.setup_page.url))
    expect(theirs.body).toMatchObject({ organization: 'Other', records: [{}] })
  })

  test('a wait is refused if too many monitors wait or share a page', async () => {
    const world = await givenApp(engine)
    const one = { ...SHOP, until: 'valid' }
    const many = (count: number, fields = {}) => Array.from({ length: count }, () => ({ ...one, ...fields }))
    const bulk = (monitors: object[]) => world.call('/monitors/bulk', { method: 'POST', body: { monitors } })
    const crowded = await bulk(many(21, { setup_page: 'a' }))
    expect(crowded.body.errors).toEqual({ monitors: 'would have more than 20 monitors. Use another key.' })
    expect((await bulk(many(1_000))).status).toBe(201)
    const refused = await world.call('/monitors', { method: 'POST', body: one })
    expect(refused.status).toBe(400)
    expect(refused.body.errors.until).toContain('would let more than 1000 monitors wait')
    expect(refused.headers['x-error-fields']).toBe('until=too_many_waiting;max=1000')
  })

  test('an upsert keeps a wait that runs or found its records, and the audit log has no entry', async () => {
    const world = await givenApp(engine, { WAITING_LIMIT: '2' })
    const { db } = world.deps
    const item = (id: string, fields = {}) => ({
      ...SHOP,
      until: 'valid',
      setup_page: 'customer-1',
      external_id: id,
      ...fields,
    })
    const upsert = ({ external_id, ...body }: ReturnType<typeof item>) =>
      world.call(`/monitors/external/${external_id}`, { method: 'PUT', body })
    const bulk = (monitors: object[]) =>
      world.call('/monitors/bulk', { method: 'POST', body: { monitors, on_conflict: 'update' } })
    const started = (await bulk([item('a'), item('b')])).body.map(({ wait }: { wait: object }) => wait)
    const entries = async () => (await db.selectFrom('audit_log').select('id').execute()).length
    const before = await entries()
    world.pass(DAY_MS)
    expect((await upsert(item('a'))).body.wait).toEqual(started[0])
    const again = await bulk([item('a'), item('b')])
    expect([again.status, again.body.map(({ wait }: { wait: object }) => wait)]).toEqual([200, started])
    await db.updateTable('waits').set({ ended_at: 5, result: 'valid' }).execute()
    const ended = { state: 'valid', started: started[0].started, ended: '1970-01-01T00:00:00.005Z' }
    expect((await upsert(item('a'))).body.wait).toMatchObject(ended)
    expect(await entries()).toBe(before)

    // What starts a wait: another expectation, another page, and a wait that timed out.
    const other = await upsert(item('a', { expected_value: 'other.example' }))
    expect(Date.parse(other.body.wait.started)).toBeGreaterThan(Date.parse(started[0].started))
    const moved = await upsert(item('b', { setup_page: 'customer-2' }))
    expect(moved.body.wait).toMatchObject({ state: 'waiting', ended: null })
    expect(moved.body.wait.setup_page.id).not.toBe(started[1].setup_page.id)
    await db.updateTable('waits').set({ ended_at: 5, result: 'timed_out' }).execute()
    expect((await upsert(item('b'))).body.wait).toMatchObject({ state: 'waiting', ended: null })
    expect(await entries()).toBe(before + 3)
    const page = other.body.wait.setup_page.id
    expect((await world.call(`/setup-pages/${page}`, { method: 'DELETE' })).status).toBe(204)
    expect((await upsert(item('b'))).body.wait).toMatchObject({ state: 'waiting', setup_page: null })
  })

  test('at the limit those that wait already are accepted, and a refusal is not stored for its Idempotency-Key', async () => {
    const world = await givenApp(engine, { WAITING_LIMIT: '2' })
    const item = (id: string) => ({ ...SHOP, until: 'valid', external_id: id })
    const bulk = (ids: string[]) =>
      world.call('/monitors/bulk', { method: 'POST', body: { monitors: ids.map(item), on_conflict: 'update' } })
    const [first] = (await bulk(['a', 'b'])).body
    expect((await bulk(['a', 'b'])).status).toBe(200)
    const patch = (until: string | null) => world.call(`/monitors/${first.id}`, { method: 'PATCH', body: { until } })
    expect((await patch('valid')).status).toBe(200)
    const headers = { 'idempotency-key': 'one' }
    const refused = await bulk(['a', 'b', 'c'])
    expect([refused.status, refused.headers['x-error-code']]).toEqual([400, 'limit_reached'])
    expect(refused.headers['x-error-fields']).toBe('monitors=too_many_waiting;max=2')
    const single = () => world.call('/monitors', { method: 'POST', body: { ...SHOP, until: 'valid' }, headers })
    expect((await single()).status).toBe(400)
    await world.call(`/monitors/${first.id}`, { method: 'DELETE' })
    const accepted = await single()
    expect([accepted.status, accepted.headers['idempotent-replayed']]).toEqual([201, undefined])
  })

  test('requests are limited by client address, for valid and invalid links', async () => {
    const world = await givenApp(engine, { SETUP_PAGE_LIMIT: '2' })
    const { path } = await givenPage(world)
    expect((await open(world, path, '192.0.2.7')).status).toBe(200)
    expect((await open(world, '/connect/unknown', '192.0.2.7')).status).toBe(404)
    const refused = await open(world, path, '192.0.2.7')
    expect(refused.status).toBe(429)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect((await open(world, path, '192.0.2.8')).status).toBe(200)
  })

  test('a link still works after SECRET is rotated', async () => {
    const world = await givenApp(engine)
    const { page, path } = await givenPage(world)
    const { db, keyring, config } = world.deps
    keyring.addSecrets(['another secret of the test, longer than 32'])
    keyring.useKey(keyring.keyIds()[1]!)
    expect(await reencrypt(db, keyring)).toBeGreaterThan(0)
    const token = await db.selectFrom('setup_pages').select('token').executeTakeFirstOrThrow()
    const only = createKeyring('another secret of the test, longer than 32')
    expect(only.decrypt(token.token, `setup page ${page.id}`)).toBe(path.split('/').at(-1))
    expect((await world.call(`/setup-pages/${page.id}`)).body.url).toBe(`${config.baseUrl}${path}`)
  })
})

test('providers are recognized by the whole name of a name server', () => {
  const known = {
    'kate.ns.cloudflare.com': 'Cloudflare',
    'ns-1234.awsdns-26.org': 'Amazon Route 53',
    'ns-512.awsdns-00.co.uk': 'Amazon Route 53',
    'NS01.DOMAINCONTROL.COM': 'GoDaddy',
    'dns1.registrar-servers.com': 'Namecheap',
    'ns1045.ui-dns.biz': 'IONOS',
    'ns-cloud-e1.googledomains.com': 'Squarespace or Google Cloud DNS',
    'ns-12-b.gandi.net': 'Gandi',
    'dns200.anycast.me': 'OVHcloud',
    'hydrogen.ns.hetzner.com': 'Hetzner',
    'ns2.digitalocean.com': 'DigitalOcean',
    'ns200.anycast.me': 'OVHcloud',
    'helium.ns.hetzner.de': 'Hetzner',
    'nsd1.squarespacedns.com': 'Squarespace or Google Cloud DNS',
    'ns2-01.azure-dns.net': 'Azure DNS',
    'curitiba.ns.porkbun.com': 'Porkbun',
    'ns4.dnsimple-edge.org': 'DNSimple',
    'ns1.vercel-dns.com': 'Vercel',
    'ns8.wixdns.net': 'Wix',
    'ns1cny.name.com': 'name.com',
    'shades01.rzone.de': 'STRATO',
    'ns3.inwx.eu': 'INWX',
    'ns11.infomaniak.ch': 'Infomaniak',
    'ns2.transip.eu': 'TransIP',
  }
  for (const [nameServer, name] of Object.entries(known)) expect(providerOf([nameServer])?.name).toBe(name)
  expect(new Set(Object.values(known))).toEqual(new Set(PROVIDERS.map(({ name }) => name)))
  for (const stranger of [
    'ns.cloudflare.com.evil.example',
    'ns1.example.com',
    'xgandi.net',
    'ns3000952.ovh.net',
    'sdns2.ovh.net',
  ]) {
    expect(providerOf([stranger])).toBeUndefined()
  }
  expect(new Set(PROVIDERS.map(({ name }) => name)).size).toBe(PROVIDERS.length)
  expect(hintsOf(providerOf(['dns1.registrar-servers.com']), 'CNAME', true).at(-1)).toBe(
    'The domain itself cannot have a CNAME record. Namecheap offers an ALIAS record there.',
  )
})
