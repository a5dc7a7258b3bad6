import { describe, expect, test } from 'vitest'
import { systemContext } from '../context.ts'
import { insertEvents } from '../events/store.ts'
import { newId } from '../ids.ts'
import { lockMonitor } from '../monitors/store.ts'
import { updateMonitor } from '../monitors/update.ts'
import { claimDue } from '../queue/lease-queue.ts'
import { onBothEngines, waitUntilBlocked } from '../testing/database.ts'
import { type AppResponse, givenApp, type TestApp } from '../testing/test-app.ts'
import { lockLinks } from './links.ts'

const MINUTE_MS = 60_000

async function givenMonitors(world: TestApp, group: string, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let from = 0; from < count; from += 1000) {
    const monitors = Array.from({ length: Math.min(1000, count - from) }, (_, at) => ({
      full_domain: `n${from + at}.example.com`,
      record_type: 'A',
      expected_value: '192.0.2.1',
    }))
    const made = await world.call('/monitors/bulk', { method: 'POST', body: { group, monitors } })
    ids.push(...made.body.map(({ id }: { id: string }) => id))
  }
  return ids
}

const change = (world: TestApp, path: string, body: unknown, method = 'PATCH') => world.call(path, { method, body })
const places = (world: TestApp) => world.deps.db.selectFrom('due_checks').selectAll().orderBy('monitor_id').execute()

onBothEngines('groups', (_fresh, engine) => {
  test('have exactly the keys of the specification, are found by id or slug, and can be changed', async () => {
    const world = await givenApp(engine)
    const made = await change(world, '/groups', { name: 'Kunden & Partner' }, 'POST')
    expect(made).toMatchObject({ status: 201, headers: { location: `/groups/${made.body.id}` } })
    expect(made.body).toEqual({
      id: expect.stringMatching(/^grp_[0-9a-z]{26}$/),
      slug: 'kunden-partner',
      name: 'Kunden & Partner',
      is_default: false,
      monitors: 0,
      webhooks: [],
    })
    for (const named of [made.body.id, 'kunden-partner'])
      expect((await world.call(`/groups/${named}`)).body).toEqual(made.body)
    const changed = await change(world, '/groups/kunden-partner', { slug: 'partner' })
    expect(changed.body).toEqual({ ...made.body, slug: 'partner' })
    expect((await world.call('/groups/kunden-partner')).status).toBe(404)
    expect((await change(world, '/groups/partner', { slug: 'default' })).status).toBe(409)
    expect((await change(world, '/groups', { name: 'x', slug: 'partner' }, 'POST')).status).toBe(409)
    expect((await change(world, '/groups', { name: 'Kunden, Partner' }, 'POST')).body.slug).toBe('kunden-partner')
    const taken = await change(world, '/groups', { name: 'Kunden-Partner' }, 'POST')
    expect(taken.body).toEqual({
      code: 409,
      error: 'The slug "kunden-partner" is taken by another group. Use another slug.',
      errors: { slug: 'is already in use. Use another one.' },
    })
    for (const [body, field] of [
      [{ name: '' }, 'name'],
      [{ name: null }, 'name'],
      [{ slug: 'A B' }, 'slug'],
      [{ slug: null }, 'slug'],
      [{ webhooks: ['whk_1'] }, 'webhooks.0'],
      [{ colour: 'red' }, 'colour'],
    ] as const) {
      const refused = await change(world, '/groups/partner', body)
      expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, [field]])
    }
    const { key } = await world.organization('Other')
    expect((await world.call(`/groups/${made.body.id}`, { key })).status).toBe(404)
  })

  test('are listed in the order of creation, even after the clock was set back', async () => {
    const world = await givenApp(engine)
    world.pass(86_400_000)
    await change(world, '/groups', { name: 'tomorrow' }, 'POST')
    world.pass(-86_400_000)
    await change(world, '/groups', { name: 'first' }, 'POST')
    await givenMonitors(world, 'second', 1)
    await change(world, '/groups', { name: 'third' }, 'POST')
    const { data } = (await world.call('/groups')).body
    expect(data.map(({ slug }: { slug: string }) => slug)).toEqual(['first', 'second', 'third', 'default', 'tomorrow'])
  })

  test('are refused with every error, including an unknown webhook', async () => {
    const world = await givenApp(engine)
    const wrong = { name: '', webhooks: ['whk_1', 7] }
    for (const [path, method] of [
      ['/groups', 'POST'],
      ['/groups/default', 'PATCH'],
    ] as const) {
      const { errors } = (await change(world, path, wrong, method)).body
      expect(Object.keys(errors).sort()).toEqual(['name', 'webhooks.0', 'webhooks.1'])
      for (const body of [null, { name: 'x', webhooks: 'whk_1' }]) {
        expect((await change(world, path, body, method)).status).toBe(400)
      }
    }
  })

  test('an unknown group in a list is reported at its place, also after an entry of another type', async () => {
    const world = await givenApp(engine)
    for (const path of ['/alert-rules', '/webhooks']) {
      const refused = await change(world, path, { groups: [5, 'default', 'nowhere'] }, 'POST')
      expect(refused.body.errors).toMatchObject({
        'groups.0': 'must be text, not 5.',
        'groups.2': expect.stringContaining('group'),
      })
      expect(refused.body.errors).not.toHaveProperty('groups.1')
    }
  })

  test('an unknown id in a list is reported at its place, also after an entry of another type', async () => {
    const world = await givenApp(engine)
    for (const [path, field] of [
      ['/alert-rules', 'channels'],
      ['/maintenance-windows', 'monitors'],
      ['/groups', 'webhooks'],
    ] as const) {
      const { errors } = (await change(world, path, { [field]: [5, 'whk_1'] }, 'POST')).body
      expect(errors).toMatchObject({
        [`${field}.0`]: 'must be text, not 5.',
        [`${field}.1`]: expect.stringMatching(/^Unknown (channel|monitor|webhook)\./),
      })
      const many = await change(world, path, { [field]: Array.from({ length: 300 }, (_, at) => `x${at}`) }, 'POST')
      expect(Object.keys(many.body.errors).filter((name) => name.startsWith(`${field}.`))).toHaveLength(100)
    }
  })

  test('PATCH /groups/{group}/monitors updates all monitors of the group and no others, and repeating it changes nothing', async () => {
    const world = await givenApp(engine)
    await givenMonitors(world, 'shop', 450)
    await givenMonitors(world, 'other', 3)
    const answer = await change(world, '/groups/shop/monitors', {
      frequency: 60,
      notify: 'on_success',
      is_active: false,
    })
    expect([answer.status, answer.text]).toEqual([204, ''])
    const all = await world.deps.db
      .selectFrom('monitors')
      .innerJoin('groups', 'groups.id', 'group_id')
      .selectAll('monitors')
      .select('slug')
      .execute()
    for (const { slug, frequency, notify, is_active } of all) {
      const expected = slug === 'shop' ? [60, 'on_success', 0] : [5, 'immediately', 1]
      expect([frequency, notify, is_active]).toEqual(expected)
    }
    const due = await places(world)
    expect(due.filter(({ due_at }) => due_at === null)).toHaveLength(450)
    expect(due.filter(({ frequency }) => frequency === 60)).toHaveLength(450)
    await change(world, '/groups/shop/monitors', { is_active: true })
    const now = world.deps.clock.now()
    const claims = await claimDue(world.deps.db, 'due_checks', { now, process: 1, limit: 500 })
    expect(claims).toHaveLength(453)
    const before = await places(world)
    await change(world, '/groups/shop/monitors', { frequency: 60, notify: 'on_success', is_active: true })
    expect(await places(world)).toEqual(before)
    // Those that are being checked are checked again, those that are not are planned again.
    await change(world, '/groups/shop/monitors', { frequency: 10 })
    const again = await claimDue(world.deps.db, 'due_checks', { now: world.deps.clock.now(), process: 1, limit: 500 })
    expect(again).toHaveLength(450)
  })

  test('PATCH /groups/{group}/monitors refuses invalid fields and an unknown group', async () => {
    const world = await givenApp(engine)
    const refused = await change(world, '/groups/default/monitors', {
      frequency: 4,
      notify: 'x',
      is_active: null,
      name: 'x',
    })
    expect(Object.keys(refused.body.errors).sort()).toEqual(['frequency', 'is_active', 'name', 'notify'])
    expect((await change(world, '/groups/default/monitors', {})).status).toBe(204)
    expect((await change(world, '/groups/none/monitors', { frequency: 10 })).status).toBe(404)
  })

  test('the monitors of a deleted group move to the default group, however many there are', async () => {
    const world = await givenApp(engine)
    await givenMonitors(world, 'shop', 450)
    await givenMonitors(world, 'default', 2)
    expect((await world.call('/groups/shop', { method: 'DELETE' })).status).toBe(204)
    expect((await world.call('/groups/shop')).status).toBe(404)
    expect((await world.call('/groups')).body.data).toMatchObject([{ slug: 'default', monitors: 452 }])
    expect((await world.call('/groups/default', { method: 'DELETE' })).status).toBe(409)
    expect((await world.call('/groups/default')).status).toBe(200)
  })

  test('no monitor is lost when monitors are added to a group during its deletion', async () => {
    const world = await givenApp(engine)
    await givenMonitors(world, 'shop', 300)
    const [deleted, ...made] = await Promise.all([
      world.call('/groups/shop', { method: 'DELETE' }),
      ...Array.from({ length: 5 }, () => givenMonitors(world, 'shop', 20)),
    ])
    expect([deleted!.status, made.flat().length]).toEqual([204, 100])
    const { data } = (await world.call('/groups')).body
    const counted = data.map(({ monitors }: { monitors: number }) => monitors)
    expect(counted.reduce((sum: number, each: number) => sum + each, 0)).toBe(400)
    for (const { slug, monitors } of data) {
      const rows = await world.deps.db
        .selectFrom('monitors')
        .innerJoin('groups', 'groups.id', 'group_id')
        .select('slug')
        .where('slug', '=', slug)
        .execute()
      expect(rows).toHaveLength(monitors)
    }
  })
})

onBothEngines('POST /groups', (_fresh, engine) => {
  test('sent six times at once creates one group', async () => {
    const world = await givenApp(engine)
    const make = () => change(world, '/groups', { name: 'Production' }, 'POST')
    const answers = await Promise.all(Array.from({ length: 6 }, make))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409])
    expect((await world.call('/groups')).body.data.map(({ slug }: { slug: string }) => slug)).toEqual([
      'default',
      'production',
    ])
  })
})

onBothEngines('DELETE /monitors/{id}', (_fresh, engine) => {
  test('deletes the events of the monitor, however many, and no others', async () => {
    const world = await givenApp(engine)
    const [gone, stays] = await givenMonitors(world, 'shop', 2)
    const { db } = world.deps
    const monitors = await db.selectFrom('monitors').selectAll().orderBy('id').execute()
    for (const { id, organization_id, group_id } of monitors) {
      await insertEvents(
        db,
        Array.from({ length: id === gone ? 450 : 5 }, (_, at) => ({
          id: newId('evt', at),
          organization_id,
          monitor_id: id,
          group_id,
          occurred_at: at * MINUTE_MS,
          old_state: 'VALID',
          new_state: 'MISMATCH',
          previous_values: null,
          current_values: null,
          incidence_count: 1,
          domain: 'example.com',
          subdomain: '',
          record_type: 'A',
          expected_values: '[]',
          is_exact_match: 1 as const,
          diagnosis: null,
        })),
      )
    }
    expect((await world.call(`/monitors/${gone}`, { method: 'DELETE' })).status).toBe(204)
    expect((await world.call(`/monitors/${gone}`)).status).toBe(404)
    expect((await world.call(`/monitors/${gone}`, { method: 'DELETE' })).status).toBe(404)
    expect((await world.call('/events?limit=100')).body.data).toHaveLength(5)
    expect((await world.call(`/monitors/${stays}/events?limit=100`)).body.data).toHaveLength(5)
    expect((await world.call('/groups/shop')).body.monitors).toBe(1)
    expect(await places(world)).toMatchObject([{ monitor_id: stays }])
  })
})

describe('DELETE /groups/{group} (postgres)', () => {
  test('and an update of its last monitor do not deadlock', async () => {
    const world = await givenApp('postgres')
    const { db, clock } = world.deps
    const { id: organizationId } = await world.organization()
    const [first] = await givenMonitors(world, 'shop', 1)
    let deleting: Promise<AppResponse> | undefined
    const { change, late } = await db.transaction().execute(async (links) => {
      await lockLinks(links, organizationId)
      deleting = world.call('/groups/shop', { method: 'DELETE' })
      await waitUntilBlocked(db)
      expect((await world.call(`/monitors/${first}?include=group`)).body.group).toBe('default')
      const [id] = await givenMonitors(world, 'shop', 1)
      // Before the deletion goes on, which must find this monitor locked.
      const change = await db.startTransaction().execute()
      await lockMonitor(change, { organizationId }, id!)
      return { change, late: id! }
    })
    await waitUntilBlocked(db)
    await updateMonitor(change, systemContext(organizationId, clock.now()), late, { group: 'default' })
    await change.commit().execute()
    expect((await deleting!).status).toBe(204)
    expect((await world.call('/groups')).body.data).toMatchObject([{ slug: 'default', monitors: 2 }])
  })
})
