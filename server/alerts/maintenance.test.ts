import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { givenAlerting } from '../testing/alerts.ts'
import { onBothEngines } from '../testing/database.ts'
import { startReceiver } from '../testing/receiver.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { expandSchedule, normalizeRule, type Schedule, scheduleErrors } from './maintenance.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const schedule = (from: string, to: string, rrule: string | null, timezone = 'Europe/Berlin'): Schedule => ({
  from: Date.parse(from),
  to: Date.parse(to),
  rrule,
  timezone,
})
const occurrenceAt = (given: Schedule, at: number) => expandSchedule(given, at, 1).occurrences[0]
const shown = (given: Schedule, at: string, count: number) =>
  expandSchedule(given, Date.parse(at), count).occurrences.map(({ from, to }) =>
    [from, to].map((each) => new Date(each).toISOString().slice(0, 16)).join(' '),
  )

describe('occurrences', () => {
  test('a nightly window keeps its local time and is not skipped when daylight saving time changes', () => {
    const nightly = schedule('2026-10-23T00:30:00Z', '2026-10-23T01:00:00Z', 'FREQ=DAILY') // 02:30 to 03:00
    expect(shown(nightly, '2026-10-24T00:00:00Z', 3)).toEqual([
      '2026-10-24T00:30 2026-10-24T01:00',
      '2026-10-25T00:30 2026-10-25T02:00', // 02:30 is twice
      '2026-10-26T01:30 2026-10-26T02:00',
    ])
    expect(shown(nightly, '2027-03-27T03:00:00Z', 2)).toEqual([
      '2027-03-28T00:30 2027-03-28T01:00', // 02:30 is not
      '2027-03-29T00:30 2027-03-29T01:00',
    ])
  })

  test('parses recurrence rules of RFC 5545', () => {
    const biweekly = schedule('2026-11-23T09:00:00Z', '2026-11-23T10:00:00Z', 'FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE')
    expect(shown(biweekly, '2026-11-24T00:00:00Z', 3)).toEqual([
      '2026-11-25T09:00 2026-11-25T10:00',
      '2026-12-07T09:00 2026-12-07T10:00',
      '2026-12-09T09:00 2026-12-09T10:00',
    ])
    const lastSunday = schedule('2026-11-29T01:00:00Z', '2026-11-29T02:00:00Z', 'FREQ=MONTHLY;BYDAY=-1SU;COUNT=2')
    expect(shown(lastSunday, '2026-11-01T00:00:00Z', 5)).toHaveLength(2)
    // UNTIL includes an occurrence at that instant.
    const until = schedule('2026-11-23T09:00:00Z', '2026-11-23T10:00:00Z', 'FREQ=DAILY;UNTIL=20261125T090000Z')
    expect(shown(until, '2026-11-01T00:00:00Z', 5)).toHaveLength(3)
  })

  test('the occurrence at an instant does not depend on earlier calls or clock changes', () => {
    const daily = schedule('2026-01-01T22:00:00Z', '2026-01-02T04:00:00Z', 'FREQ=DAILY')
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3_000 * DAY_MS }), (ms) => {
        const at = daily.from + ms
        const found = occurrenceAt(daily, at)!
        expect(found.to).toBeGreaterThan(at)
        expect(occurrenceAt(daily, found.from)).toEqual(found)
        expect(occurrenceAt(daily, found.to - 1)).toEqual(found)
        const hour = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO('Europe/Berlin').hour
        expect(found.from <= at).toBe(hour >= 23 || hour < 5)
      }),
      { numRuns: 200 },
    )
  })

  test.each(['rrule:freq=daily;', 'FREQ=DAILY;UNTIL=20270101', 'FREQ=DAILY;UNTIL=20270101T100000Z'])(
    '%j is accepted',
    (rule) => expect(normalizeRule(rule)).toMatch(/^FREQ=DAILY/),
  )

  test.each(['FREQ=DAILY;UNTIL=20271301', 'FREQ=DAILY;UNTIL=20270101T999999Z', 'FREQ=HOURLY'])(
    '%j is refused',
    (rule) => {
      expect(normalizeRule(rule)).toBeUndefined()
    },
  )

  test('a schedule that ends is complete, and one beyond the horizon is not', () => {
    const [from, to] = ['2026-11-23T09:00:00Z', '2026-11-23T10:00:00Z']
    const isComplete = (rule: string, limit = 50) =>
      expandSchedule(schedule(from, to, rule), Date.parse(from), limit).isComplete
    expect([isComplete('FREQ=DAILY;COUNT=9'), isComplete('FREQ=DAILY;UNTIL=20261201')]).toEqual([true, true])
    expect([isComplete('FREQ=DAILY'), isComplete('FREQ=YEARLY')]).toEqual([false, false])
  })

  test('every accepted rule can be expanded', () => {
    const part = fc.constantFrom(
      ...['INTERVAL=3', 'COUNT=5', 'BYDAY=MO', 'BYDAY=-1FR', 'BYDAY=53SU', 'BYMONTH=2', 'BYMONTHDAY=31'],
      ...['BYMONTHDAY=-400', 'BYSETPOS=-1', 'BYYEARDAY=366', 'BYWEEKNO=53', 'WKST=SU'],
      ...['UNTIL=20270101', 'UNTIL=99991399T999999Z'],
    )
    const rule = fc.tuple(
      fc.constantFrom('DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'),
      fc.uniqueArray(part, { maxLength: 4 }),
    )
    fc.assert(
      fc.property(rule, ([frequency, parts]) => {
        const rrule = normalizeRule([`FREQ=${frequency}`, ...parts].join(';'))
        if (rrule === undefined) return
        const given = schedule('2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z', rrule)
        const now = Date.parse('2026-06-01T00:00:00Z')
        if (Object.keys(scheduleErrors(given, now)).length > 0) return
        const found = occurrenceAt(given, now)
        if (found) expect(found.to - found.from).toBeGreaterThan(0)
      }),
      { numRuns: 100 },
    )
  })
})

const A_DAY = { from: '2026-11-21T09:00:00Z', to: '2026-11-21T12:00:00Z' }

onBothEngines('maintenance windows', (_fresh, engine) => {
  test('alerts wait for the end of a window, and monitors that still fail then alert once', async () => {
    const { world, bodies, change, send, window } = await givenWorld(engine)
    const [shop, blog] = [await monitorOf(world, 'shop.example.com'), await monitorOf(world, 'blog.example.org')]
    const made = await window({ name: 'Move', from: at(world, 0), to: at(world, 2 * HOUR_MS) })
    expect(made.body).toMatchObject({ name: 'Move', rrule: null, timezone: 'UTC', is_active: true })

    await change({ monitor: shop, to: 'MISMATCH' }, { monitor: blog, to: 'MISMATCH' })
    world.pass(HOUR_MS)
    await send()
    expect(bodies()).toEqual([])
    const waiting = (await world.call('/alerts?status=PENDING')).body.data
    expect(waiting).toContainEqual(expect.objectContaining({ error: 'maintenance: Move', next_attempt: made.body.to }))

    await change({ monitor: blog, from: 'MISMATCH', to: 'VALID' })
    world.pass(HOUR_MS)
    await send()
    world.pass(DAY_MS)
    await send()
    expect(bodies().map(({ title }) => title)).toEqual(['shop.example.com A: Mismatch'])
  })

  test('a window selects monitors by id, group, name pattern, or all of them', async () => {
    const { world, bodies, change, send, window, rule } = await givenWorld(engine)
    const names = ['a.example.com', 'b.example.net', 'c.example.org', 'd.example.info']
    const monitors = await Promise.all(names.map((name) => monitorOf(world, name)))
    await world.call(`/monitors/${monitors[1]}`, { method: 'PATCH', body: { group: 'shop' } })
    const period = { from: at(world, 0), to: at(world, HOUR_MS) }
    await window({ name: '1', ...period, monitors: [monitors[0]] })
    await window({ name: '2', ...period, groups: ['shop'] })
    await window({ name: '3', ...period, name_pattern: '*.example.org' })
    const included = (await world.call(`/maintenance-windows?monitor_id=${monitors[1]}`)).body.data
    expect(included.map(({ name }: { name: string }) => name)).toEqual(['2'])

    await change(...monitors.map((monitor) => ({ monitor, to: 'NOT_FOUND' })))
    world.pass(MINUTE_MS)
    await send()
    expect(bodies().map(({ title }) => title)).toEqual(['d.example.info A: Not found'])
    const waiting: { error: string; rule_id: string }[] = (await world.call('/alerts?status=PENDING')).body.data
    const reasons = waiting.filter(({ rule_id }) => rule_id === rule).map(({ error }) => error)
    expect(reasons.sort()).toEqual(['maintenance: 1', 'maintenance: 2', 'maintenance: 3'])
    world.pass(HOUR_MS)
    await send()
    expect(bodies()).toHaveLength(4)
  })

  test('alerts are sent at once when their window is shortened or deleted, even if the clock was set back', async () => {
    const { world, bodies, change, send, window } = await givenWorld(engine)
    const { id } = (await window({ name: 'Move', from: at(world, 0), to: at(world, 20 * DAY_MS) })).body
    await change({ monitor: await monitorOf(world, 'shop.example.com'), to: 'MISMATCH' })
    world.pass(3 * DAY_MS)
    await send()
    world.pass(-2 * DAY_MS)
    await send()
    expect(bodies()).toEqual([])
    const to = at(world, -HOUR_MS)
    const refused = await world.call(`/maintenance-windows/${id}`, { method: 'PATCH', body: { to } })
    expect(refused.body.errors).toMatchObject({ to: expect.stringContaining('future') })
    await world.call(`/maintenance-windows/${id}`, { method: 'DELETE' })
    await send()
    expect(bodies()).toHaveLength(1)
  })

  test('a window keeps a deleted group, and can still be updated', async () => {
    const { world, window } = await givenWorld(engine)
    const { id: group } = (await world.call('/groups', { method: 'POST', body: { name: 'Shop' } })).body
    const { id } = (await window({ name: 'Move', from: at(world, 0), to: at(world, HOUR_MS), groups: ['shop'] })).body
    await world.call(`/groups/${group}`, { method: 'DELETE' })
    const patch = (body: object) => world.call(`/maintenance-windows/${id}`, { method: 'PATCH', body })
    expect((await patch({ name: 'Moved' })).body).toMatchObject({ name: 'Moved', groups: [group] })
    expect((await patch({ groups: [group] })).status).toBe(400)
  })

  test('invalid input is refused with the field and the remedy', async () => {
    const { world, window } = await givenWorld(engine)
    const refused = async (body: object) => (await window({ name: 'Move', ...A_DAY, ...body })).body.errors
    expect(await refused({ ...A_DAY, to: A_DAY.from })).toEqual({ to: 'must be later than from.' })
    expect(await refused({ from: 'soon', timezone: 'Mars', rrule: 'often', groups: ['none'] })).toMatchObject({
      from: expect.stringContaining('ISO 8601'),
      timezone: expect.stringContaining('IANA'),
      rrule: expect.stringContaining('FREQ=WEEKLY;BYDAY=SU'),
      'groups.0': expect.any(String),
    })
    expect(await refused({ rrule: 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30' })).toMatchObject({
      rrule: expect.stringContaining('no occurrence'),
    })
    expect(await refused({ to: '2027-11-21T12:00:00Z' })).toMatchObject({ to: expect.stringContaining('31 days') })
    expect(await refused({ from: 999_999_999_999, to: 999_999_999_999 })).toBeDefined()
    expect(await refused({ monitors: ['mon_00000000000000000000000000'] })).toMatchObject({ 'monitors.0': /./ })
    for (let count = 0; count < 50; count++) {
      await window({ name: 'x', from: at(world, 0), to: at(world, HOUR_MS) })
    }
    expect((await window({ name: 'x', from: at(world, 0), to: at(world, HOUR_MS) })).status).toBe(409)
  })
})

const at = (world: TestApp, ms: number) => new Date(world.deps.clock.now() + ms).toISOString()

async function givenWorld(engine: 'sqlite' | 'postgres') {
  const receiver = await startReceiver()
  const world = await givenApp(engine)
  const post = (path: string, body: unknown) => world.call(path, { method: 'POST', body })
  const settings = { endpoint: `${receiver.url}/alerts` }
  const channel = (await post('/channels', { name: 'A', type: 'http', settings })).body.id
  const rule = await post('/alert-rules', { name: 'A', channels: [channel], delay: 0 })
  return {
    world,
    rule: rule.body.id as string,
    ...givenAlerting(world),
    window: (body: object) => post('/maintenance-windows', body),
    bodies: (): { title: string }[] => receiver.received.map(({ body }) => JSON.parse(body.toString())),
  }
}

async function monitorOf(world: TestApp, full_domain: string): Promise<string> {
  const body = { full_domain, record_type: 'A', expected_value: '192.0.2.1' }
  return (await world.call('/monitors', { method: 'POST', body })).body.id
}
