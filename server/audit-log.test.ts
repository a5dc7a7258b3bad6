import { expect, test } from 'vitest'
import type { AuditEntry } from '#contract/audit-log.ts'
import { listAuditLog } from './audit-log.ts'
import { operatorContext } from './context.ts'
import { insertGroup } from './groups/store.ts'
import { givenSignedInBrowser } from './testing/accounts.ts'
import { ACCOUNT_REQUESTS, FIRST_REQUESTS, givenEmptyServer } from './testing/audit-log/account-requests.ts'
import {
  type AuditedRequest,
  type AuditFixture,
  givenAuditFixture,
  KEY_ADDRESS,
  OWNER_ADDRESS,
} from './testing/audit-log/fixture.ts'
import { API_REQUESTS } from './testing/audit-log/requests.ts'
import { givenBilling } from './testing/billing.ts'
import { onBothEngines } from './testing/database.ts'
import { listRoutes } from './testing/routes.ts'
import { isAcrossOrganizations, tenantTablesOf } from './testing/tenant-tables.ts'
import { givenApp, type TestApp } from './testing/test-app.ts'

/** Routes that change nothing in an organization. */
const EXCEPTIONS: Record<string, string> = {
  'POST /monitors/:monitor/check': 'checks earlier, and changes no setting',
  'POST /zones/:zone/check': 'looks earlier, and changes no setting',
  'POST /organization/subscription/portal': 'opens a page of Stripe, whose events are recorded',
  'POST /dashboard/api/lookup': 'writes nothing',
  'POST /alert-rules/preview': 'writes nothing',
  'POST /alert-addresses/confirm/:token': 'is for people who are not members',
  'POST /alert-addresses/unsubscribe/:token': 'is for people who may not be members',
  'POST /alert-acknowledgements/:token': 'is tested in server/incidents/incidents.test.ts: only a message has the link',
  'POST /dashboard/api/monitors/export': 'only reads',
  'POST /dashboard/api/import': 'writes nothing: POST /monitors/bulk creates the monitors',
  'POST /dashboard/auth/two-factor/enable': 'takes effect with the first code, which is recorded',
  'POST /dashboard/auth/request-password-reset': 'mails a link, for anyone',
  'POST /dashboard/auth/delete-account': 'is tested in server/accounts/delete-account.test.ts: it ends the session',
  'POST /dashboard/auth/sign-out': 'ends a session of the user',
  'POST /dashboard/auth/revoke-session': 'ends a session of the user',
  'POST /dashboard/auth/revoke-other-sessions': 'ends sessions of the user',
}

test('every route except GET makes an entry, or is an exception with a reason', async () => {
  const { world } = await givenBilling('sqlite')
  const audited = [...API_REQUESTS, ...ACCOUNT_REQUESTS, ...FIRST_REQUESTS].map(({ route }) => route)
  expect([...new Set([...audited, ...Object.keys(EXCEPTIONS)])].sort()).toEqual(
    listRoutes(world)
      .filter((route) => !route.startsWith('GET '))
      .sort(),
  )
})

onBothEngines('the audit log', (_fresh, engine) => {
  test.each([
    ['requests to the API', givenAuditFixture, API_REQUESTS],
    ["changes of the user's account", givenAuditFixture, ACCOUNT_REQUESTS],
    ['the creation of an organization', givenEmptyServer, FIRST_REQUESTS],
  ])(
    'has exactly one entry for %s, without secrets, and no statement across organizations',
    async (_what, givenWorld, script) => {
      const given = await givenWorld(engine)
      const { db } = given.world.deps
      const tables = await tenantTablesOf(db)
      for (const audited of script) {
        await expectOneEntry(given, audited, (statements) => {
          const across = statements.filter((statement) => isAcrossOrganizations(statement, tables))
          expect([audited.route, across]).toEqual([audited.route, []])
        })
      }
      const stored = JSON.stringify(await db.selectFrom('audit_log').selectAll().execute())
      const hashes = [
        ...(await db.selectFrom('api_keys').select('hash as text').execute()),
        ...(await db.selectFrom('invitations').select('token_hash as text').execute()),
        ...(await db.selectFrom('people').select('password_hash as text').execute()),
      ].flatMap(({ text }) => text || [])
      expect([...given.secrets, ...hashes].filter((secret) => stored.includes(secret))).toEqual([])
      expect(given.secrets.length + hashes.length).toBeGreaterThan(2)
    },
  )

  test('has no entry for a request that is refused, changes nothing or is rolled back', async () => {
    const world = await givenApp(engine)
    const { id } = (await world.call('/monitors', { method: 'POST', body: MONITOR })).body
    const { id: webhook } = (await world.call('/webhooks', { method: 'POST', body: { url: URL } })).body
    const reader = await world.key('read')
    const stale = { headers: { 'if-match': '"9-x"' } }
    const { db } = world.deps
    const before = await idsOf(world)
    const refused = await Promise.all([
      world.call('/monitors', { method: 'POST', body: { ...MONITOR, record_type: 'X' } }),
      world.call('/monitors/bulk', { method: 'POST', body: { monitors: [MONITOR, { ...MONITOR, record_type: 'X' }] } }),
      world.call(`/monitors/${id}`, { method: 'PATCH', body: { group: 'grp_01kaj3x7v8q2n5m4r6t9w0y1zb' } }),
      world.call(`/monitors/${id}`, { method: 'PATCH', key: reader.key, body: { frequency: 60 } }),
      world.call('/groups/default', { method: 'DELETE' }),
      world.call(`/monitors/${id}`, { method: 'PATCH', body: { frequency: 60 }, ...stale }),
      world.call(`/webhooks/${webhook}`, { method: 'DELETE', ...stale }),
      world.call('/groups/none', { method: 'DELETE' }),
      // The value is the same.
      world.call(`/monitors/${id}/enable`, { method: 'POST' }),
      world.call('/groups/default/monitors', { method: 'PATCH', body: { frequency: 5 } }),
    ])
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 403, 409, 412, 412, 404, 200, 204])
    const organizationId = (await world.organization()).id
    const context = operatorContext(organizationId, world.deps.clock.now())
    const work = db.transaction().execute(async (transaction) => {
      await insertGroup(transaction, context, { name: 'Lost' })
      throw new Error('rolled back')
    })
    await expect(work).rejects.toThrow('rolled back')
    expect(await idsOf(world)).toEqual(before)
  })

  test('has one entry for a request that is repeated with an Idempotency-Key', async () => {
    const world = await givenApp(engine)
    const twice = { method: 'POST', body: MONITOR, headers: { 'idempotency-key': 'one' } }
    for (const _ of [1, 2]) expect((await world.call('/monitors', twice)).status).toBe(201)
    expect((await world.call('/audit-log?action=monitor.created')).body.data).toHaveLength(1)
  })

  test('has the consequences of a lower role and of the removal of an agent', async () => {
    const world = await givenApp(engine)
    const owner = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner' })
    const eve = await givenSignedInBrowser(world, { name: 'Eve', role: 'admin' })
    for (const name of ['One', 'Two']) await eve.call('/api-keys', { body: { name, role: 'write' } })
    await eve.call('/agents/invitations', { body: { email: 'eva@example.com' } })
    const { data } = (await owner.call('/agents')).body
    const { id } = data.find((agent: { name: string }) => agent.name === 'Eve')
    const before = await idsOf(world)
    await owner.call(`/agents/${id}`, { method: 'PATCH', body: { role: 'viewer' } })
    await owner.call(`/agents/${id}`, { method: 'DELETE' })
    const added = (await owner.call('/audit-log?limit=100')).body.data.slice(before.length)
    expect(added.map(({ action, object_count }: AuditEntry) => [action, object_count])).toEqual([
      ['agent.updated', 1],
      ['invitation.revoked', 1],
      ['api_key.updated', 2],
      ['api_key.revoked', 2],
      ['agent.removed', 1],
    ])
  })
})

onBothEngines('GET /audit-log', (_fresh, engine) => {
  test('is allowed for admins, owners and admin keys', async () => {
    const world = await givenApp(engine)
    for (const [role, status] of [
      ['viewer', 403],
      ['member', 403],
      ['admin', 200],
      ['owner', 200],
    ] as const) {
      const browser = await givenSignedInBrowser(world, { name: role, role })
      expect([role, (await browser.call('/audit-log')).status]).toEqual([role, status])
    }
    for (const role of ['read', 'write'] as const) {
      const response = await world.call('/audit-log', { key: (await world.key(role)).key })
      expect([response.status, response.body.error]).toEqual([403, expect.stringContaining('role admin')])
    }
    expect((await world.call('/audit-log')).status).toBe(200)
  })

  test('filters by actor, action, object and time, and has pages in both directions', async () => {
    const world = await givenApp(engine)
    const other = await world.key('admin')
    const created = []
    for (const key of [undefined, other.key, undefined]) {
      const given = key === undefined ? {} : { key }
      created.push((await world.call('/monitors', { method: 'POST', body: MONITOR, ...given })).body.id)
      world.pass(60_000)
    }
    await world.call(`/monitors/${created[1]}`, { method: 'PATCH', body: { frequency: 60 } })
    const all: AuditEntry[] = (await world.call('/audit-log?limit=100')).body.data
    const [first, second, third, changed] = all.slice(-4)
    const idsIn = async (query: string) => {
      const { status, body } = await world.call(`/audit-log?limit=100&${query}`)
      expect([query, status]).toEqual([query, 200])
      return body.data.map(({ id }: AuditEntry) => id)
    }
    expect(await idsIn(`actor=${other.id}`)).toEqual([second!.id])
    expect(await idsIn('action=monitor.created')).toEqual([first!.id, second!.id, third!.id])
    expect(await idsIn('object=monitor')).toEqual([first!.id, second!.id, third!.id, changed!.id])
    expect(await idsIn(`object=${created[1]}`)).toEqual([second!.id, changed!.id])
    expect(await idsIn(`object=${created[1]}&action=monitor.updated`)).toEqual([changed!.id])
    expect(await idsIn(`occurred_after=${first!.occurred}`)).toEqual([second!.id, third!.id, changed!.id])
    const between = `occurred_after=${first!.occurred}&occurred_before=${third!.occurred}`
    expect(await idsIn(between)).toEqual([second!.id])
    expect(await idsIn('object=mon_none')).toEqual([])

    const path = '/audit-log?limit=2&order_way=desc&object=monitor'
    const page = (await world.call(path)).body
    const next = (await world.call(`${path}&after=${page.after}`)).body
    const back = (await world.call(`${path}&before=${next.before}`)).body
    expect([page, next].flatMap(({ data }) => data)).toEqual([changed, third, second, first])
    expect([next.after, back.data]).toEqual([null, page.data])
    expect((await world.call(`/audit-log?after=${page.after}`)).status).toBe(400)
    for (const [query, field] of [
      ['action=monitor.eaten', 'action'],
      ['occurred_after=yesterday', 'occurred_after'],
      ['colour=red', 'colour'],
    ]) {
      const response = await world.call(`/audit-log?${query}`)
      expect([response.status, Object.keys(response.body.errors)]).toEqual([400, [field]])
    }
  })

  test('shows no entries of other organizations', async () => {
    const world = await givenApp(engine)
    const { id } = (await world.call('/monitors', { method: 'POST', body: MONITOR })).body
    const { id: organization, key } = await world.organization('Other')
    const { data } = (await world.call('/audit-log', { key })).body
    expect(data.map(({ object }: AuditEntry) => object.id)).toEqual([organization])
    expect((await world.call(`/audit-log?object=${id}`, { key })).body.data).toEqual([])
  })
})

const MONITOR = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
const URL = 'http://127.0.0.1:9999/hook'

async function idsOf({ deps }: TestApp): Promise<string[]> {
  const rows = await deps.db.selectFrom('audit_log').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

/** Expects that the request succeeds and makes exactly this entry. `inspect`: gets its statements. */
async function expectOneEntry(
  given: AuditFixture,
  { route, prepare, request, entry }: AuditedRequest,
  inspect: (statements: string[]) => void,
): Promise<void> {
  const { db, keyring } = given.world.deps
  await prepare?.(given)
  const rowsNow = () => db.selectFrom('audit_log').select(['organization_id', 'id']).execute()
  const known = new Set((await rowsNow()).map(({ id }) => id))

  given.world.statements.clear()
  const response = await request(given)

  inspect([...given.world.statements])
  expect([route, response.status, response.status < 300 ? '' : response.text]).toEqual([route, response.status, ''])
  const added = (await rowsNow()).filter(({ id }) => !known.has(id))
  expect([route, added.length]).toEqual([route, 1])
  const { data } = await listAuditLog(
    db,
    keyring,
    { organizationId: added[0]!.organization_id },
    {
      limit: 100,
      order_way: 'desc',
    },
  )
  const found = data.find(({ id }) => id === added[0]!.id)!
  const { action, by = 'key', label, before, after, object_count = 1 } = entry
  const address = { key: KEY_ADDRESS, person: OWNER_ADDRESS, system: null, operator: null }[by]
  expect(found, route).toMatchObject({
    ...{ action, object_count, actor: { type: by } },
    ...(label !== undefined && { object: { label } }),
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after }),
  })
  // In the test, events of Stripe come from another address.
  if (by !== 'system' && found.action !== 'subscription.checkout_started') expect(found.address, route).toBe(address)
}
