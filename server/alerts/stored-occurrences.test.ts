import { expect, test } from 'vitest'
import { givenAlerting } from '../testing/alerts.ts'
import { onBothEngines } from '../testing/database.ts'
import { startReceiver } from '../testing/receiver.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS
const WEEKS = Array.from({ length: 53 }, (_, index) => index + 1).join()
/** The library that computed occurrences before took half a minute for one of these. */
const EXPENSIVE = `FREQ=YEARLY;BYWEEKNO=${WEEKS};BYDAY=MO,TU,WE,TH,FR,SA,SU;BYSETPOS=371,370`

onBothEngines('stored occurrences', (_fresh, engine) => {
  test('an expensive rule is refused, or accepted at the same price as others', async () => {
    const world = await givenApp(engine)
    const save = (rrule: string) => create(world, { rrule })
    expect((await save(EXPENSIVE)).body.errors).toEqual({ rrule: expect.stringContaining('recurrence rule') })
    expect((await save(EXPENSIVE.replace('371,370', '366'))).status).toBe(201)
    expect((await save('FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30')).body.errors).toEqual({
      rrule: 'has no occurrence in the next 10 years, and later ones are not computed. Change the rule.',
    })
  })

  test('the occurrences stored with a window are those that responses and alerts use', async () => {
    const world = await givenApp(engine)
    const { id, from, occurrences } = (await create(world, { rrule: 'FREQ=DAILY' })).body
    expect(occurrences).toHaveLength(3)
    const stored = JSON.parse((await rowOf(world, id)).expansion!)
    expect(stored.occurrences).toHaveLength(20)

    const [next] = stored.occurrences
    const moved = [{ from: next.from, to: next.to + 1 }, ...stored.occurrences.slice(1)]
    await change(world, id, { expansion: JSON.stringify({ ...stored, occurrences: moved }) })
    const read = await world.call(`/maintenance-windows/${id}`)
    expect(read.body.occurrences[0]).toEqual({ from, to: new Date(next.to + 1).toISOString() })
  })

  test('a schedule that a version without stored occurrences saved or changed is computed again', async () => {
    const world = await givenApp(engine)
    const { id } = (await create(world, { rrule: 'FREQ=DAILY' })).body
    await change(world, id, { rrule: 'FREQ=DAILY;INTERVAL=2' })
    const days = (window: { occurrences: { from: string }[] }) =>
      window.occurrences.map(({ from }) => Math.round((Date.parse(from) - world.deps.clock.now()) / DAY_MS) + 0)
    expect(days((await world.call(`/maintenance-windows/${id}`)).body)).toEqual([0, 2, 4])
    await change(world, id, { rrule: EXPENSIVE, expansion: null })
    expect((await world.call(`/maintenance-windows/${id}`)).body.occurrences).toEqual([])

    await givenAlert(world)
    expect((await rowOf(world, id)).last_end_at).not.toBeNull()
  })

  test('the next alert computes the occurrences that follow the stored ones', async () => {
    const world = await givenApp(engine)
    const { id } = (await create(world, { rrule: 'FREQ=DAILY' })).body
    const before = await rowOf(world, id)
    await givenAlert(world)
    expect((await rowOf(world, id)).expansion).toBe(before.expansion)
    world.pass(17 * DAY_MS)
    await givenAlert(world)
    const { occurrences } = JSON.parse((await rowOf(world, id)).expansion!)
    expect(occurrences[0].from).toBeGreaterThan(world.deps.clock.now() - HOUR_MS)
    expect(occurrences).toHaveLength(20)
  })

  test('a change of a window that another request changed meanwhile is refused', async () => {
    const world = await givenApp(engine)
    const { id } = (await create(world, { rrule: 'FREQ=DAILY' })).body
    const patch = (name: string) => world.call(`/maintenance-windows/${id}`, { method: 'PATCH', body: { name } })
    const answers = await Promise.all(['a', 'b', 'c'].map(patch))
    const statuses = new Set(answers.map(({ status }) => status))
    expect([...statuses].filter((status) => status !== 200 && status !== 409)).toEqual([])
    expect(statuses).toContain(200)
    const { name } = (await world.call(`/maintenance-windows/${id}`)).body
    expect(answers.filter(({ status }) => status === 200).map(({ body }) => body.name)).toContain(name)
  })
})

function create(world: TestApp, body: { rrule: string }) {
  const now = world.deps.clock.now()
  const [from, to] = [now, now + HOUR_MS].map((at) => new Date(at).toISOString())
  const window = { name: 'Nightly', timezone: 'UTC', from, to, ...body }
  return world.call('/maintenance-windows', { method: 'POST', body: window })
}

const rowOf = (world: TestApp, id: string) =>
  world.deps.db.selectFrom('maintenance_windows').selectAll().where('id', '=', id).executeTakeFirstOrThrow()

const change = (world: TestApp, id: string, set: { rrule?: string; expansion?: string | null }) =>
  world.deps.db.updateTable('maintenance_windows').set(set).where('id', '=', id).execute()

async function givenAlert(world: TestApp): Promise<void> {
  const post = (path: string, body: unknown) => world.call(path, { method: 'POST', body })
  const settings = { endpoint: `${(await startReceiver()).url}/alerts` }
  const channel = (await post('/channels', { name: 'A', type: 'http', settings })).body.id
  await post('/alert-rules', { name: 'A', channels: [channel], delay: 0 })
  const { change, send } = givenAlerting(world)
  const monitor = { full_domain: 'shop.example.com', record_type: 'A', expected_value: '192.0.2.1' }
  await change({ monitor: (await post('/monitors', monitor)).body.id, to: 'MISMATCH' })
  world.pass(60_000)
  expect(await send()).toBeGreaterThan(0)
}
