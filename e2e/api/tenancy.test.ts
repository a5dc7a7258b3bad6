import { expect, test } from 'vitest'
import type { Engine } from '#server/database/engine.ts'
import { givenSignedInBrowser, PASSWORD } from '#server/testing/accounts.ts'
import { mailedToken } from '#server/testing/mails.ts'
import { listRoutes } from '#server/testing/routes.ts'
import { isAcrossOrganizations, tenantTablesOf } from '#server/testing/tenant-tables.ts'
import { givenApp, type TestApp } from '#server/testing/test-app.ts'
import { bodyOf, givenFixtures, pathOf } from './fixtures.ts'
import { type Operation, readDocument } from './openapi-document.ts'

const ENGINES: Engine[] = ['sqlite', 'postgres']
/** Every text of the other organization contains this, and no other text does. */
const FOREIGN = 'Zqforeignqz'
const isForeign = (text: string, ids: Record<string, string>) =>
  text.includes(FOREIGN.toLowerCase()) || Object.values(ids).some((id) => text.includes(id))

test.each(ENGINES)('no route reads or changes data of another organization (%s)', async (engine) => {
  const world = await givenApp(engine)
  const { operations } = await readDocument(world)
  const foreign = await givenFixtures(world, FOREIGN)
  const own = await givenFixtures(world, 'Own')
  const before = await everythingOf(world, foreign.organization)
  const leaks: string[] = []
  const ask = async (what: string, path: string, method: string, body?: unknown) => {
    const { status, text } = await world.call(path, { method, key: own.key, ...(body === undefined ? {} : { body }) })
    if (status >= 500) leaks.push(`${what} answered ${status}: ${world.logged.at(-1)}`)
    // A refusal may repeat only what was sent.
    const sent = path
      .split('?')
      .slice(1)
      .join()
      .concat(JSON.stringify(body) ?? '')
    if (status < 400 && isForeign(text, foreign.ids)) leaks.push(`${what} answered with ${text}`)
    if (status >= 400 && isForeign(text, foreign.ids) && !isForeign(sent, foreign.ids)) leaks.push(`${what}: ${text}`)
  }

  for (const operation of operations) {
    const { id, method, path, parameters } = operation
    if (id === 'upsertMonitor') continue // external ids belong to the caller, so this creates a monitor
    // Replaces each id of the path by one of the other organization, then all of them.
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
    for (const mixed of [...names.map((name) => ({ ...own.ids, [name]: foreign.ids[name]! })), foreign.ids]) {
      if (names.length > 0) await ask(id, pathOf(operation, mixed), method, bodyOf(operation, own.ids))
    }
    // Ids of the other organization in the query and in the body.
    for (const { name } of method === 'GET' ? parameters.filter((each) => each.in === 'query') : []) {
      for (const value of valuesFor(engine, name, foreign.ids)) {
        await ask(`${id}?${name}`, `${pathOf(operation, own.ids)}?${name}=${value}`, method)
      }
    }
    if (names.length === 0 && operation.body) await ask(id, path, method, bodyOf(operation, foreign.ids))
    if (names.length === 0 && method === 'GET') await ask(id, path, method)
  }
  expect(leaks).toEqual([])
  expect(await everythingOf(world, foreign.organization)).toEqual(before)

  for (const path of DASHBOARD) {
    const { status } = await world.call(pathOf({ ...operations[0]!, path }, own.ids), { key: own.key })
    expect([path, status]).toEqual([path, 200])
  }
  // With its own ids too, and what deletes last.
  const isDeletion = ({ method }: Operation) => (method === 'DELETE' ? 1 : 0)
  for (const operation of operations.toSorted((one, other) => isDeletion(one) - isDeletion(other))) {
    await ask(operation.id, pathOf(operation, own.ids), operation.method, bodyOf(operation, own.ids))
  }
  expect(leaks).toEqual([])
  const tables = await tenantTablesOf(world.deps.db)
  expect([...world.statements].filter((statement) => isAcrossOrganizations(statement, tables))).toEqual([])
})

/** PostgreSQL gets the values that can match; that an id of another kind is the same text of SQL, SQLite shows. */
function valuesFor(engine: Engine, parameter: string, ids: Record<string, string>): string[] {
  const mark = FOREIGN.toLowerCase()
  const own = ids[parameter.replace(/_id$/, '')]
  return [mark, ...(engine === 'sqlite' ? [...Object.values(ids), `${mark}-group`] : own === undefined ? [] : [own])]
}

test.each(ENGINES)('a reference to an object of another organization in a body is refused (%s)', async (engine) => {
  const world = await givenApp(engine)
  const foreign = await givenFixtures(world, FOREIGN)
  const own = await givenFixtures(world, 'Own')
  const send = (path: string, method: string, body: unknown) => world.call(path, { method, key: own.key, body })
  const monitor = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'] }
  const answers = await Promise.all([
    send('/monitors', 'POST', { ...monitor, group: foreign.ids.group }),
    send('/monitors/bulk', 'POST', { monitors: [monitor], group: foreign.ids.group }),
    send(`/monitors/${own.ids.monitor}`, 'PATCH', { group: foreign.ids.group }),
    send('/groups', 'POST', { name: 'x', webhooks: [foreign.ids.webhook] }),
    send(`/groups/${own.ids.group}`, 'PATCH', { webhooks: [foreign.ids.webhook] }),
    send('/webhooks', 'POST', { url: 'https://hooks.example.com', groups: [foreign.ids.group] }),
    send(`/webhooks/${own.ids.webhook}`, 'PATCH', { groups: [foreign.ids.group] }),
  ])
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 400, 400])
})

test('a cursor of another organization is refused', async () => {
  const world = await givenApp('sqlite')
  const { operations } = await readDocument(world)
  const [own, foreign] = [await givenFixtures(world, 'Own'), await givenFixtures(world, FOREIGN)]
  for (let turn = 0; turn < 2; turn++) {
    await world.call('/groups', { method: 'POST', key: foreign.key, body: { name: `more ${turn}` } })
  }
  const { body } = await world.call('/groups?limit=1', { key: foreign.key })
  for (const operation of operations.filter(({ parameters }) => parameters.some(({ name }) => name === 'after'))) {
    const path = `${pathOf(operation, own.ids)}?limit=1&after=${body.after}`
    expect([operation.id, (await world.call(path, { key: own.key })).status]).toEqual([operation.id, 400])
  }
})

test.each(ENGINES)('no SQL statement for a dashboard user reads across organizations (%s)', async (engine) => {
  const world = await givenApp(engine, { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'zonewatch@example.com' })
  const own = await givenFixtures(world, 'Own')
  const person = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner', organizations: ['Own'] })
  const ids = { ...own.ids, token: await mailedToken(world, 'guest@own.example.com', 'invitations') }
  const tables = await tenantTablesOf(world.deps.db)
  const { operations } = await readDocument(world)
  const across: string[] = []
  const ask = async (method: string, path: string, body?: object) => {
    world.statements.clear()
    const { status, text } = await person.call(pathOf({ ...operations[0]!, id: path, path }, ids), {
      method,
      ...(body && { body }),
    })
    expect([path, status, status < 300 ? '' : text]).toEqual([path, status, ''])
    const found = [...world.statements].filter((statement) => isAcrossOrganizations(statement, tables))
    across.push(...found.map((statement) => `${method} ${path}: ${statement}`))
  }
  for (const path of [...DASHBOARD, ...OF_A_PERSON]) await ask('GET', path)
  for (const [path, body] of WITHOUT_ENTRY) await ask('POST', path, body)
  expect(across).toEqual([])

  const asked = [...operations.map(({ path }) => path), ...DASHBOARD, ...OF_A_PERSON, ...Object.keys(WITHOUT_ROWS)]
  const known = asked.map((path) => path.replace(/\?.*/, '').replaceAll(/\{(\w+)\}/g, ':$1'))
  const reading = listRoutes(world).flatMap((route) => (route.startsWith('GET ') ? [route.slice('GET '.length)] : []))
  expect(reading.filter((path) => !known.includes(path))).toEqual([])
})

/** Paths that only the dashboard reads. */
const DASHBOARD = [
  '/dashboard/api/overview',
  '/dashboard/api/events',
  '/dashboard/api/events.csv',
  '/dashboard/api/monitors/export',
  '/dashboard/api/jobs/{job}/results.csv',
  '/dashboard/api/labels?of=tag',
  '/dashboard/api/labels?of=metadata',
  '/dashboard/api/monitors/{monitor}/timeline',
  '/dashboard/api/monitors/{monitor}/difference',
  '/dashboard/api/webhooks/{webhook}/requests',
  '/dashboard/api/webhooks/{webhook}/requests/{request}/body',
  '/dashboard/api/webhooks/{webhook}/replay?since=2026-01-01T00:00:00Z',
  '/dashboard/api/webhooks/{webhook}/kept',
]

/** Paths that a user reads for their account and organization. */
const OF_A_PERSON = [
  '/dashboard/api/me',
  '/dashboard/api/me/data',
  '/dashboard/api/welcome',
  '/dashboard/api/key-limits',
  '/dashboard/api/mails',
  '/dashboard/auth/list-sessions',
  '/dashboard/api/invitations/{token}',
]

/** Changes without an entry in the audit log. server/audit-log.test.ts covers the others and their statements. */
const WITHOUT_ENTRY: [path: string, body: object][] = [
  ['/dashboard/api/import', { csv: 'name,type,value\nwww.example.com,A,192.0.2.1' }],
  ['/dashboard/api/monitors/export', { monitors: ['mon_0'] }],
  ['/dashboard/auth/two-factor/enable', { password: PASSWORD }],
  ['/dashboard/auth/request-password-reset', { email: 'olga@example.com' }],
  ['/dashboard/auth/revoke-other-sessions', {}],
  ['/dashboard/auth/sign-out', {}],
]

/** Routes that read no rows of tenants, are for operators, or are streams. */
const WITHOUT_ROWS: Record<string, string> = {
  '/dashboard/auth/oidc/:provider/start': 'leads to a provider of single sign-on',
  '/dashboard/auth/oidc/:provider/callback': 'signs in through a provider, in the organizations of its grants',
  '/': 'leads to the dashboard',
  '/docs': 'files',
  '/docs*': 'files',
  '/docs/api': 'a page',
  '/docs/api/start.js': 'a file',
  '/docs/api/reference.js': 'a file',
  '/openapi.json': 'the document',
  '/dashboard': 'a page',
  '/dashboard*': 'files',
  '/alert-acknowledgements/{token}': 'for who has the link of an alert',
  '/healthz': 'of the installation',
  '/readyz': 'of the installation',
  '/dashboard/api/server': 'for operators: counts of the whole installation',
  '/dashboard/api/live': 'a stream: server/live',
  '/connect/:token': 'a page for anybody, found by the hash of its link',
  '/connect/:token/state': 'for anybody, found by the hash of its link',
  '/alert-addresses/confirm/:token': 'a page for anybody',
  '/alert-addresses/unsubscribe/:token': 'a page for anybody',
}

const ABOUT = [
  'monitors',
  'groups',
  'webhooks',
  'events',
  'webhook_requests',
  'agents',
  'invitations',
  'group_webhooks',
  'audit_log',
  'jobs',
  'job_results',
] as const

/** All rows of an organization. */
async function everythingOf({ deps: { db } }: TestApp, organization: string): Promise<unknown> {
  const tables = ABOUT.map(async (table) => {
    const rows = await db.selectFrom(table).selectAll().where('organization_id', '=', organization).execute()
    return [table, rows.map((row) => JSON.stringify(row)).sort()]
  })
  return Object.fromEntries(await Promise.all(tables))
}
