import { describe, expect, test } from 'vitest'
import { claimDue, reschedule } from '../queue/lease-queue.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

const MINUTE_MS = 60_000
const WWW = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'], group: 'shop' }

/** A monitor that was checked and found as expected; its next check is due in its own time. */
async function givenCheckedMonitor(world: TestApp, given: object = {}) {
  const { body } = await world.call('/monitors', { method: 'POST', body: { ...WWW, ...given } })
  const { db, clock } = world.deps
  const now = clock.now()
  const [claim] = await claimDue(db, 'due_checks', { now, process: 1, limit: 1 })
  const set = { due_at: now + 4 * MINUTE_MS, fingerprint: 7, streak: 3, inconclusive_count: 1, last_checked_at: now }
  await reschedule(db, 'due_checks', [{ claim: claim!, set }])
  await db
    .updateTable('monitors')
    .set({ state: 'VALID', current_values: '["192.0.2.1"]', diagnosis: '{"reason":"because"}', incidence_count: 2 })
    .execute()
  return body.id as string
}

const patch = (world: TestApp, id: string, body: unknown) =>
  world.call(`/monitors/${id}?include=frequency,group,diagnosis`, { method: 'PATCH', body })
const place = (world: TestApp) => world.deps.db.selectFrom('due_checks').selectAll().executeTakeFirstOrThrow()
const counts = async (world: TestApp) =>
  (await world.call('/groups')).body.data.map(({ slug, monitors }: { slug: string; monitors: number }) => [
    slug,
    monitors,
  ])

onBothEngines('PATCH /monitors/{id}', (_fresh, engine) => {
  test('changes only the sent fields; an equivalent value is no change', async () => {
    const world = await givenApp(engine)
    const id = await givenCheckedMonitor(world)
    const before = (await world.call(`/monitors/${id}?include=frequency,group,diagnosis`)).body
    const due = await place(world)
    const same = { full_domain: 'WWW.example.com.', expected_value: '192.0.2.1', record_type: 'A', is_active: true }
    for (const body of [{}, same, { frequency: 5, group: before.group }, { group: 'shop', subdomain: 'www' }]) {
      expect(await patch(world, id, body)).toMatchObject({ status: 200, body: before })
    }
    expect(await place(world)).toEqual(due)
    expect((await patch(world, id, { notify: 'on_success' })).body).toEqual({ ...before, notify: 'on_success' })
    expect(await place(world)).toEqual(due)
  })

  test('a check in progress is discarded when the record or expectation changes', async () => {
    const world = await givenApp(engine)
    const id = await givenCheckedMonitor(world)
    world.pass(5 * MINUTE_MS)
    const { db, clock } = world.deps
    const [claim] = await claimDue(db, 'due_checks', { now: clock.now(), process: 1, limit: 1 })
    await patch(world, id, { expected_value: ['192.0.2.9'] })
    expect(await reschedule(db, 'due_checks', [{ claim: claim!, set: { due_at: 1 } }])).toEqual([])
    expect((await place(world)).due_at).toBeLessThanOrEqual(clock.now())
  })

  test("another interval plans again, never later than before; a group move keeps both groups' counts", async () => {
    const world = await givenApp(engine)
    const id = await givenCheckedMonitor(world)
    const { due_at } = await place(world)
    expect((await patch(world, id, { frequency: 120 })).body).toMatchObject({ frequency: 120, state: 'VALID' })
    const replanned = await place(world)
    expect(replanned.frequency).toBe(120)
    expect(replanned.due_at).toBeLessThanOrEqual(due_at!)
    await world.deps.db
      .updateTable('due_checks')
      .set({ due_at: due_at! + 100 * MINUTE_MS })
      .execute()
    await patch(world, id, { frequency: 5 })
    expect((await place(world)).due_at! - world.deps.clock.now()).toBeLessThanOrEqual(5 * MINUTE_MS)
    expect((await patch(world, id, { group: 'new' })).body.group).toBe('new')
    expect(await counts(world)).toEqual([
      ['default', 0],
      ['shop', 0],
      ['new', 1],
    ])
  })

  test("another organization's monitor is not found", async () => {
    const world = await givenApp(engine)
    const id = await givenCheckedMonitor(world)
    const { key } = await world.organization('Other')
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/enable'],
      ['POST', '/disable'],
      ['POST', '/check'],
      ['GET', '/events'],
    ] as const) {
      const body = method === 'PATCH' ? { frequency: 10 } : undefined
      expect((await world.call(`/monitors/${id}${path}`, { method, key, body })).status).toBe(404)
    }
    expect((await world.call('/monitors', { key })).body.data).toEqual([])
    expect((await world.call(`/monitors/${id}`)).body.is_active).toBe(true)
  })
})

describe('fields of PATCH /monitors/{id}', () => {
  const engine = 'sqlite'

  test.each([
    ['another name', { full_domain: 'ftp.example.com' }, { subdomain: 'ftp', current_value: null }],
    [
      'another part of the name',
      { domain: 'example.org' },
      { domain: 'example.org', subdomain: 'www', current_value: null },
    ],
    ['the apex, by null', { subdomain: null }, { subdomain: '', current_value: null }],
    ['another type', { record_type: 'TXT' }, { record_type: 'TXT', current_value: null }],
    [
      'other values',
      { expected_value: ['192.0.2.9'] },
      { expected_value: ['192.0.2.9'], current_value: ['192.0.2.1'] },
    ],
    ['another mode', { is_exact_match: false }, { is_exact_match: false, current_value: ['192.0.2.1'] }],
  ])('%s: nothing is known any more, and it is checked at once', async (_name, body, expected) => {
    const world = await givenApp(engine)
    const id = await givenCheckedMonitor(world)
    world.pass(MINUTE_MS)
    const answer = await patch(world, id, body)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ state: 'UNSET', diagnosis: null, incidence_count: 2, ...expected })
    const now = world.deps.clock.now()
    const [claim] = await claimDue(world.deps.db, 'due_checks', { now, process: 1, limit: 1 })
    expect(claim).toMatchObject({ monitor_id: id, fingerprint: null, streak: 0, inconclusive_count: 0, frequency: 5 })
    const { domain, subdomain, record_type, is_exact_match } = answer.body
    const owner = [subdomain, domain].filter((part) => part !== '').join('.')
    expect(claim).toMatchObject({ owner, record_type, is_exact_match: is_exact_match ? 1 : 0 })
  })

  test('stored expected values must suit a new type or mode too', async () => {
    const world = await givenApp(engine)
    const id = await givenCheckedMonitor(world, { is_exact_match: false, expected_value: ['192.0.2.0/24'] })
    const exact = await patch(world, id, { is_exact_match: true })
    expect([exact.status, Object.keys(exact.body.errors)]).toEqual([400, ['expected_value.0']])
    const typed = await patch(world, id, { record_type: 'AAAA' })
    expect([typed.status, Object.keys(typed.body.errors)]).toEqual([400, ['expected_value.0']])
    expect((await patch(world, id, { record_type: 'AAAA', expected_value: '2001:db8::1' })).status).toBe(200)
  })

  test('required fields cannot be cleared, and all errors are reported at once', async () => {
    const world = await givenApp(engine)
    const id = await givenCheckedMonitor(world)
    for (const field of [
      'domain',
      'full_domain',
      'record_type',
      'expected_value',
      'is_exact_match',
      'is_active',
      'notify',
      'frequency',
      'group',
    ]) {
      const answer = await patch(world, id, { [field]: null })
      expect([field, answer.status, Object.keys(answer.body.errors)]).toEqual([field, 400, [field]])
    }
    expect((await patch(world, id, { expected_value: [] })).body.errors).toHaveProperty('expected_value')
    const answer = await patch(world, id, { domain: 'a..b', expected_value: ['x'], frequency: 4, state: 'VALID' })
    expect(Object.keys(answer.body.errors).sort()).toEqual(['domain', 'expected_value.0', 'frequency', 'state'])
    expect((await patch(world, id, { group: `grp_${'0'.repeat(26)}` })).body.errors).toHaveProperty('group')
    expect((await patch(world, 'mon_1', {})).status).toBe(404)
  })
})

onBothEngines('POST /monitors/{id}/enable and /disable', (_fresh, engine) => {
  test('disabling stops the checks and discards the one in progress; enabling starts a check immediately', async () => {
    const world = await givenApp(engine)
    const id = await givenCheckedMonitor(world)
    world.pass(5 * MINUTE_MS)
    const { db, clock } = world.deps
    const [claim] = await claimDue(db, 'due_checks', { now: clock.now(), process: 1, limit: 1 })
    const disabled = await world.call(`/monitors/${id}/disable`, { method: 'POST' })
    expect(disabled).toMatchObject({ status: 200, body: { id, is_active: false, state: 'VALID' } })
    expect(await place(world)).toMatchObject({ due_at: null, claimed_by: null })
    expect(await reschedule(db, 'due_checks', [{ claim: claim!, set: { due_at: 1 } }])).toEqual([])
    expect((await world.call(`/monitors/${id}/check`, { method: 'POST' })).status).toBe(409)
    await patch(world, id, { expected_value: ['192.0.2.9'], frequency: 10 })
    expect((await place(world)).due_at).toBe(null)
    const enabled = await world.call(`/monitors/${id}/enable`, { method: 'POST' })
    expect(enabled).toMatchObject({ status: 200, body: { is_active: true } })
    expect(await claimDue(db, 'due_checks', { now: clock.now(), process: 1, limit: 9 })).toHaveLength(1)
    await world.call(`/monitors/${id}/enable`, { method: 'POST' })
    expect(await claimDue(db, 'due_checks', { now: clock.now(), process: 1, limit: 9 })).toHaveLength(0)
  })

  test('a check can be requested at any time', async () => {
    const world = await givenApp(engine)
    const id = await givenCheckedMonitor(world)
    expect(await world.call(`/monitors/${id}/check`, { method: 'POST' })).toMatchObject({ status: 202, body: { id } })
    const now = world.deps.clock.now()
    expect(await claimDue(world.deps.db, 'due_checks', { now, process: 1, limit: 9 })).toHaveLength(1)
  })
})

onBothEngines('resolution', (_fresh, engine) => {
  test('is auto by default, is shown when included, and a change of it asks another question', async () => {
    const world = await givenApp(engine)
    const created = await world.call('/monitors?include=resolution', { method: 'POST', body: WWW })
    expect(created.body.resolution).toBe('auto')
    const { id } = created.body
    const resolutionOf = async () => (await world.call(`/monitors/${id}?include=resolution`)).body.resolution

    expect((await patch(world, id, { resolution: 'resolvers' })).status).toBe(200)

    expect(await resolutionOf()).toBe('resolvers')
    expect((await world.call(`/monitors/${id}`)).body).not.toHaveProperty('resolution')
    expect((await patch(world, id, { resolution: 'private' })).body.errors).toHaveProperty('resolution')
    expect((await patch(world, id, { frequency: 60 })).status).toBe(200)
    expect(await resolutionOf()).toBe('resolvers')
  })
})
