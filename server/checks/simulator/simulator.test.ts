import { expect, test } from 'vitest'
import { recordTypeOf } from '../../monitors/record-types/record-types.ts'
import { conclude } from '../verdict.ts'
import { createRandom } from './random.ts'
import { shrink } from './shrink.ts'
import { simulate } from './simulate.ts'
import { falseEvent, UNDECIDABLE } from './truth.ts'
import { newWorld, type Period, type World } from './world.ts'

const DAY = 24 * 60 * 60_000
const HOUR = 60 * 60_000
/** Seeds that made a false event or a missed change while the rules were written. */
const ONCE_WRONG = [
  44, 189, 229, 389, 397, 433, 525, 592, 634, 929, 1366, 1430, 2145, 2455, 4559, 101096, 102032, 200197, 201462, 302336,
  6429, 10933, 34062, 37922, 39616, 47901, 3599, 5995, 8088, 13176, 28316, 302841, 303035, 401109, 501035, 601514,
  1002825, 201087, 781, 1098, 3217, 3325, 18543, 53526, 61123, 62396, 70876, 73733, 78919, 79698, 87981, 92907, 202196,
  54078, 59849, 62798, 65475, 75537, 34962, 508525,
]
const SAMPLE = Array.from({ length: 40 }, (_, at) => at + 1)

test.each([
  ['every seed that was wrong once', ONCE_WRONG],
  ['a fixed set of worlds', SAMPLE],
])('%s makes no false event and misses no change', (_, seeds) => {
  const faults = seeds.flatMap((seed) =>
    simulate(seed).faults.map(({ kind, what }) => `seed ${seed}: ${kind}: ${what}`),
  )
  expect(faults).toEqual([])
})

/** One address, two name servers, two resolvers, and nothing goes wrong. */
function quietWorld(changes: Partial<World> = {}): World {
  const records: Period = { from: 0, kind: 'records', members: [{ value: '192.0.2.1', weight: 1 }], size: 1 }
  return {
    ...newWorld(1, createRandom(1)),
    recordType: 'A',
    truncates: false,
    days: 2,
    frequency: 30,
    isExactMatch: true,
    expected: ['192.0.2.1'],
    ttl: 60,
    periods: [records],
    nameServers: [1, 2].map((at) => ({ name: `ns${at}.example.test`, status: 'ok', delays: [0] })),
    resolvers: [1, 2].map(() => ({ caches: 1, status: 'ok' })),
    roots: true,
    canaries: true,
    loss: 0,
    outages: [],
    captive: [],
    closed: [],
    poisoned: [],
    geo: undefined,
    clockSteps: [],
    ...changes,
  }
}

const pool = (weights: number[], size: number, from = 0): Period => ({
  from,
  kind: 'records',
  members: weights.map((weight, at) => ({ value: `192.0.2.${at + 1}`, weight })),
  size,
})

function eventsOf(world: World, seed = 1): string[] {
  const { trace } = simulate(seed, { world, trace: true })
  return trace.flatMap((line) => line.match(/EVENT (\w+ → \w+)/)?.[1] ?? [])
}

test('one of two addresses at random, as weighted records give them, is VALID once and stays so', () => {
  const world = quietWorld({ periods: [pool([1, 1], 1)], expected: ['192.0.2.1', '192.0.2.2'], days: 10 })
  for (const seed of [1, 2, 3, 4, 5]) expect(eventsOf(world, seed)).toEqual(['UNSET → VALID'])
})

test('a member that comes with 5 % of the answers does not make a VALID name MISMATCH', () => {
  const world = quietWorld({ periods: [pool([19, 1], 1)], expected: ['192.0.2.1', '192.0.2.2'], days: 10 })
  for (const seed of [1, 2, 3, 4, 5]) expect(eventsOf(world, seed)).toEqual(['UNSET → VALID'])
})

test('a member that leaves a rotation is reported once', () => {
  const periods = [pool([1, 1, 1], 1), { ...pool([1, 1], 1), from: DAY }]
  const world = quietWorld({ periods, expected: ['192.0.2.1', '192.0.2.2', '192.0.2.3'], days: 4 })
  expect(eventsOf(world)).toEqual(['UNSET → VALID', 'VALID → MISMATCH'])
})

test('while our own network is gone nothing is reported', () => {
  expect(eventsOf(quietWorld({ outages: [{ from: 5 * HOUR, to: 9 * HOUR }] }))).toEqual(['UNSET → VALID'])
})

test('a check takes at most 40 s, and 10 s where the servers answer', () => {
  for (const seed of SAMPLE) expect(simulate(seed).longestMs).toBeLessThanOrEqual(40_000)
  const periods = [pool([1], 1), { ...pool([1, 1, 1], 1), from: DAY }]
  expect(simulate(1, { world: quietWorld({ periods, days: 3 }) }).longestMs).toBeLessThanOrEqual(10_000)
})

test('the same seed gives the same queries and answers', () => {
  expect(simulate(7, { trace: true }).trace).toEqual(simulate(7, { trace: true }).trace)
})

test('the simulator sees a false event, a missed change and what a fault needs at least', () => {
  const world = quietWorld({ periods: [pool([1], 1)] })
  const at = DAY
  const given = new Map([['192.0.2.1', at]])
  const event = { at, startedAt: at, state: 'VALID' as const, values: ['192.0.2.1'] }
  expect(falseEvent(world, given, event)).toBeUndefined()
  expect(falseEvent(world, given, { ...event, values: ['203.0.113.9'] })).toContain('203.0.113.9')
  expect(falseEvent(world, given, { ...event, state: 'NOT_FOUND', values: [] })).toContain('NOT_FOUND')
  expect(falseEvent(world, given, { ...event, state: 'MISMATCH' })).toContain('MISMATCH')
  // A resolver that lies and a zone that nobody may ask: the lie is what a check believes.
  const lying = quietWorld({ roots: false, resolvers: [{ caches: 1, status: 'lies' }], loss: 0.01 })
  expect(simulate(1, { world: lying }).undecidable).toHaveLength(1)
})

test('where nobody can decide, only the events that the written rule names are permitted', () => {
  const lying = quietWorld({ roots: false, resolvers: [{ caches: 1, status: 'lies' }] })
  const event = { at: DAY, startedAt: DAY, state: 'NOT_FOUND' as const, values: [] }
  expect(falseEvent(lying, new Map(), event)).toBeUndefined()
  expect(falseEvent(lying, new Map(), { ...event, state: 'NO_DATA' })).toContain('NO_DATA')
  expect(falseEvent(lying, new Map(), { ...event, state: 'MISMATCH', values: ['203.0.113.9'] })).toContain(
    '203.0.113.9',
  )
})

test('no more worlds than documented are classed as not decidable', () => {
  const worlds = Array.from({ length: 10_000 }, (_, at) => newWorld(at + 1, createRandom(at + 1)))
  const tooMany = UNDECIDABLE.filter(({ isIn, maxPercent }) => {
    return worlds.filter(isIn).length > (maxPercent / 100) * worlds.length
  })
  expect(tooMany.map((each) => each.case)).toEqual([])
})

test('a world is made smaller for as long as it shows the fault', () => {
  const world = newWorld(6, createRandom(6))
  const small = shrink(world)
  expect(small.periods.length).toBeLessThanOrEqual(world.periods.length)
})

test('a verdict that is what is recorded makes no event', () => {
  const recorded = {
    owner: 'www.example.test',
    recordType: recordTypeOf('A'),
    isExactMatch: true,
    expectedValues: ['192.0.2.1'],
    state: 'VALID' as const,
    values: ['192.0.2.1'],
    fingerprint: 1,
    isRotating: false,
    rotation: null,
    inconclusiveCount: 2,
  }
  const outcome = {
    kind: 'answer' as const,
    rrset: { name: recorded.owner, type: 'A' as const, ttl: 60, values: ['192.0.2.1'] },
    chain: [],
  }
  const same = conclude(recorded, { kind: 'verdict', outcome, confirmation: [], servers: [], rotation: null })
  expect(same.event).toBeUndefined()
  expect(same.recorded.inconclusiveCount).toBe(0)
  const nxdomain = conclude(recorded, {
    kind: 'verdict',
    outcome: { kind: 'nxdomain', chain: [] },
    confirmation: [],
    servers: [],
    rotation: null,
  })
  expect(nxdomain.event).toMatchObject({
    oldState: 'VALID',
    newState: 'NOT_FOUND',
    previous: ['192.0.2.1'],
    current: [],
  })
})
