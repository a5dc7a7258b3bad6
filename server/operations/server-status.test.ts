import { expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { recordMadeBackup } from '../backup/last-backup.ts'
import { givenSignedInBrowser, givenUser, signIn } from '../testing/accounts.ts'
import { openBrowser } from '../testing/browser.ts'
import type { Settings } from '../testing/server-process.ts'
import { givenApp } from '../testing/test-app.ts'
import type { InstanceReport } from './instances.ts'

const PATH = '/dashboard/api/server'

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`an owner of the first organization sees the whole server on ${engine}, secrets hidden`, async () => {
    const world = await givenApp(engine)
    const { db, clock } = world.deps
    const { id: organizationId } = await world.organization('First')
    const owner = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner' })
    const upstream = {
      address: '192.0.2.53:53',
      queries: 10,
      failed: 2,
      average_ms: 4,
      set_aside: true,
      traits: null,
      stale_at: null,
    }
    const traits = { validates: true, rewrites_nxdomain: false, observed_at: clock.now() - 1_000 }
    const staleAt = clock.now() - 2_000
    const report = (queries: number): InstanceReport => ({
      version: '0.1.0',
      roles: ['checker'],
      memory: 1_000,
      checks: { count: 7, average_late_ms: 3, most_late_ms: 9 },
      upstreams: [{ ...upstream, queries }],
    })
    const row = { machine: 'one', started_at: clock.now() - 60_000 }
    const rows = [
      { ...row, pid: 1, seen_at: clock.now(), report: JSON.stringify(report(10)) },
      {
        ...row,
        pid: 2,
        seen_at: clock.now(),
        report: JSON.stringify({
          ...report(30),
          upstreams: [{ ...upstream, queries: 30, average_ms: 8, traits, stale_at: staleAt }],
        }),
      },
      { ...row, pid: 3, seen_at: clock.now() - 9_000, report: null },
    ]
    await db.insertInto('processes').values(rows).execute()
    const made = { at: clock.now(), path: '/backups/one', bytes: 5, durationMs: 1 }
    await recordMadeBackup(db, made)
    const alert = { organization_id: organizationId, id: 'alr_1', created_at: clock.now() - 7_000, channel_id: 'chn_1' }
    await db
      .insertInto('alerts')
      .values({ ...alert, kind: 'test', status: 'PENDING' })
      .execute()
    const due = { organization_id: organizationId, alert_id: alert.id, due_at: clock.now() - 7_000 }
    await db.insertInto('due_alerts').values(due).execute()

    const measuredAt = clock.now() - 3_600_000
    await db.insertInto('database_sizes').values({ measured_at: measuredAt, octets: 9_000 }).execute()

    const { status, body } = await owner.call(PATH)

    expect(status).toBe(200)
    expect(body).toMatchObject({ version: packageJson.version, node: process.versions.node })
    expect(body.checks).toEqual({ due: 0, overdue: 0, oldest_ms: 0 })
    expect(body.deliveries).toEqual({ due_webhooks: 0, pending: 0, paused_webhooks: 0, oldest_ms: 0 })
    expect(body.instances.map(({ most_late_ms }: { most_late_ms: number | null }) => most_late_ms)).toEqual([
      null,
      9,
      9,
    ])
    expect(body.database.sizes).toEqual([{ at: new Date(measuredAt).toISOString(), octets: 9_000 }])
    expect(
      body.instances.map(({ pid, alive, roles }: { pid: number; alive: boolean; roles: string[] }) => [
        pid,
        alive,
        roles,
      ]),
    ).toEqual([
      [3, false, []],
      [2, true, ['checker']],
      [1, true, ['checker']],
    ])
    const observed = {
      traits: { ...traits, observed_at: new Date(traits.observed_at).toISOString() },
      stale_at: new Date(staleAt).toISOString(),
    }
    expect(body.upstreams).toEqual([
      { address: '192.0.2.53:53', queries: 40, failed: 4, average_ms: 7, set_aside: 2, ...observed },
    ])
    expect(body.alerts).toEqual({ due: 1, oldest_ms: Date.parse(body.at) - due.due_at })
    expect(body.backup).toMatchObject({ error: null, octets: 5 })
    expect(body.database).toMatchObject({ engine, octets: expect.any(Number) })
    expect(body.database.octets).toBeGreaterThan(10_000)
    expect(body.settings.find(({ name }: { name: string }) => name === 'SECRET')).toMatchObject({
      value: '(hidden)',
      is_default: false,
    })
    expect((await owner.call('/dashboard/api/me')).body.operator).toBe(true)
  })
}

test('other roles, other organizations and API keys do not see the state of the server', async () => {
  const world = await givenApp('sqlite')
  await world.organization('First')
  world.pass(1_000)
  const { key } = await world.key('admin')
  expect((await world.call(PATH, { key })).status).toBe(403)
  expect((await world.call(PATH, { key: null })).status).toBe(401)
  for (const [name, role, organization] of [
    ['Ada', 'admin', 'First'],
    ['Max', 'member', 'First'],
    ['Vera', 'viewer', 'First'],
    ['Otto', 'owner', 'Second'],
  ] as const) {
    const person = await givenSignedInBrowser(world, { name, role, organizations: [organization] })
    const { status, body } = await person.call(PATH)
    expect([name, status, body.error]).toEqual([
      name,
      403,
      'Only operators of the server can see this. OPERATORS lists them.',
    ])
    expect((await person.call('/dashboard/api/me')).body.operator).toBe(false)
  }
})

const MAIL = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'zonewatch@example.com' }

test.each<[string, Settings, boolean, number]>([
  ['named by OPERATORS', { OPERATORS: 'someone@example.com, OLGA@example.com' }, false, 200],
  [
    'named, where addresses can be confirmed and this one is not',
    { OPERATORS: 'olga@example.com', ...MAIL },
    false,
    403,
  ],
  ['named and confirmed', { OPERATORS: 'olga@example.com', ...MAIL }, true, 200],
  ['named and not confirmed, while anyone may sign up', { OPERATORS: 'olga@example.com', SIGN_UP: 'open' }, false, 403],
  ['not named', { OPERATORS: 'someone@example.com' }, true, 403],
  ['an owner of the first organization, while anyone may sign up', { SIGN_UP: 'open' }, true, 403],
])('only operators see the state of the server: a person who is %s', async (_, settings, isVerified, status) => {
  const world = await givenApp('sqlite', settings)
  const { id, email } = await givenUser(world, { name: 'Olga', role: 'owner' })
  if (isVerified) await world.deps.db.updateTable('people').set({ email_verified: 1 }).where('id', '=', id).execute()
  const browser = openBrowser(world)
  await signIn(browser, email)

  expect((await browser.call(PATH)).status).toBe(status)
})
