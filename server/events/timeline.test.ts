import { expect, test } from 'vitest'
import type { MonitorState } from '#contract/monitors.ts'
import { newId } from '../ids.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { type History, type StateChange, timelineOf } from './timeline.ts'

const HOUR = 60 * 60_000
const NOW = Date.UTC(2026, 10, 21, 12)
const stateChange = (hoursAgo: number, old: MonitorState, to: MonitorState): StateChange => ({
  id: `evt_${hoursAgo}`,
  at: NOW - hoursAgo * HOUR,
  old,
  new: to,
})
const history = (given: Partial<History> & { state: MonitorState; madeHoursAgo: number }): History => ({
  from: NOW - 24 * HOUR,
  now: NOW,
  monitor: { created: NOW - given.madeHoursAgo * HOUR, state: given.state, lastChecked: NOW - HOUR },
  before: undefined,
  stateChanges: [],
  keptSince: null,
  ...given,
})

/** `[state, hours]` of each segment. */
const shape = (given: History) =>
  timelineOf(given).segments.map(({ from, to, state }) => [state, (Date.parse(to) - Date.parse(from)) / HOUR])

test('before the monitor was made nothing is known; then it is UNSET until its first event', () => {
  const first = history({ madeHoursAgo: 10, state: 'VALID', stateChanges: [stateChange(9, 'UNSET', 'VALID')] })
  expect(shape(first)).toEqual([
    [null, 14],
    ['UNSET', 1],
    ['VALID', 9],
  ])
  expect(timelineOf(first)).toMatchObject({ changes: 0 })
  expect(shape(history({ madeHoursAgo: 10, state: 'UNSET' }))).toEqual([
    [null, 14],
    ['UNSET', 10],
  ])
})

test('the first result is no change, however long it took', () => {
  const slow = history({
    madeHoursAgo: 20,
    state: 'VALID',
    stateChanges: [stateChange(5, 'UNSET', 'MISMATCH'), stateChange(4, 'MISMATCH', 'VALID')],
  })
  expect(timelineOf(slow)).toMatchObject({ changes: 1 })
})

test('the first outcome after a changed expectation is no change, other values in the same state are one', () => {
  const before = stateChange(30, 'UNSET', 'VALID')
  const stateChanges = [
    stateChange(9, 'UNSET', 'MISMATCH'),
    stateChange(8, 'MISMATCH', 'MISMATCH'),
    stateChange(7, 'UNSET', 'VALID'),
  ]
  expect(timelineOf(history({ madeHoursAgo: 99, state: 'VALID', before, stateChanges })).changes).toBe(1)
})

test('a state from before the range continues into it, and equal states are one segment', () => {
  const before = stateChange(30, 'UNSET', 'VALID')
  const stateChanges = [stateChange(20, 'VALID', 'VALID'), stateChange(5, 'VALID', 'TIMEOUT')]
  const whole = history({ madeHoursAgo: 99, state: 'TIMEOUT', before, stateChanges })
  expect(shape(whole)).toEqual([
    ['VALID', 19],
    ['TIMEOUT', 5],
  ])
  expect(timelineOf(whole).segments.map(({ event_id }) => event_id)).toEqual(['evt_30', 'evt_5'])
})

test('where older events are no longer kept, it is known as far back as none was removed', () => {
  const stateChanges = [stateChange(5, 'VALID', 'MISMATCH')]
  const swept = { madeHoursAgo: 99, state: 'MISMATCH', stateChanges } as const
  expect(shape(history({ ...swept, keptSince: NOW - 12 * HOUR }))).toEqual([
    [null, 12],
    ['VALID', 7],
    ['MISMATCH', 5],
  ])
  expect(shape(history({ ...swept, keptSince: null }))).toEqual([
    [null, 19],
    ['MISMATCH', 5],
  ])
  expect(shape(history({ madeHoursAgo: 99, state: 'VALID', keptSince: NOW - 48 * HOUR }))).toEqual([['VALID', 24]])
})

test('a changed expectation makes no event: since the last check it is UNSET', () => {
  const stateChanges = [stateChange(5, 'UNSET', 'VALID')]
  expect(shape(history({ madeHoursAgo: 6, state: 'UNSET', stateChanges }))).toEqual([
    [null, 18],
    ['UNSET', 1],
    ['VALID', 4],
    ['UNSET', 1],
  ])
})

test('a monitor that changes all the time has at most 500 segments without gaps', () => {
  const stateChanges = Array.from({ length: 20_001 }, (_, place) => {
    const isValid = place % 2 === 0
    return {
      id: `evt_${place}`,
      at: NOW - 20 * HOUR + place * 3_000,
      old: isValid ? ('MISMATCH' as const) : ('VALID' as const),
      new: isValid ? ('VALID' as const) : ('MISMATCH' as const),
    }
  })
  const { segments, changes, from, to } = timelineOf(
    history({
      madeHoursAgo: 20,
      state: 'VALID',
      stateChanges: [{ ...stateChanges[0]!, old: 'UNSET' }, ...stateChanges.slice(1)],
    }),
  )
  expect(segments.length).toBeGreaterThan(2)
  expect(segments.length).toBeLessThanOrEqual(500)
  expect([segments[0]!.from, segments.at(-1)!.to]).toEqual([from, to])
  for (const [place, { to }] of segments.slice(0, -1).entries()) expect(segments[place + 1]!.from).toBe(to)
  expect(changes).toBe(20_000)
})

onBothEngines('GET /dashboard/api/monitors/{id}/timeline', (_fresh, engine) => {
  test('is read from the events of the monitor, for each range', async () => {
    const world = await givenApp(engine)
    const id = await givenHistory(world)
    for (const [range, states] of [
      ['24h', ['MISMATCH', 'VALID']],
      ['7d', ['VALID', 'MISMATCH', 'VALID']],
      ['90d', [null, 'UNSET', 'VALID', 'MISMATCH', 'VALID']],
    ] as const) {
      const { status, body } = await world.call(`/dashboard/api/monitors/${id}/timeline?range=${range}`)
      expect([status, body.segments.map(({ state }: { state: string }) => state)]).toEqual([200, states])
    }
    expect((await world.call(`/dashboard/api/monitors/${id}/timeline?range=1y`)).status).toBe(400)
    expect((await world.call(`/dashboard/api/monitors/${id}/timeline`)).body.segments).toHaveLength(2)
    expect((await world.call(`/dashboard/api/monitors/${id}/timeline`, { key: null })).status).toBe(401)
    const { key } = await world.organization('Other')
    expect((await world.call(`/dashboard/api/monitors/${id}/timeline`, { key })).status).toBe(404)
    expect((await world.call('/dashboard/api/monitors/mon_none/timeline')).status).toBe(404)
  })
})

/** A monitor of 40 days whose state changed 40 and 3 days and 1 hour ago. */
async function givenHistory(world: TestApp): Promise<string> {
  const { db, clock } = world.deps
  const body = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
  const { id } = (await world.call('/monitors', { method: 'POST', body })).body
  const now = clock.now()
  await db
    .updateTable('monitors')
    .set({ state: 'VALID', created_at: now - 960 * HOUR } as never)
    .where('id', '=', id)
    .execute()
  const row = await db.selectFrom('monitors').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  for (const [hoursAgo, old_state, new_state] of [
    [959, 'UNSET', 'VALID'],
    [72, 'VALID', 'MISMATCH'],
    [1, 'MISMATCH', 'VALID'],
  ] as const) {
    const { organization_id, group_id, domain, subdomain, record_type, expected_values, is_exact_match } = row
    await db
      .insertInto('events')
      .values({
        ...{ organization_id, group_id, domain, subdomain, record_type, expected_values, is_exact_match },
        id: newId('evt', now),
        monitor_id: id,
        occurred_at: now - hoursAgo * HOUR,
        old_state,
        new_state,
        previous_values: null,
        current_values: null,
        incidence_count: 1,
        diagnosis: null,
      })
      .execute()
  }
  return id
}
