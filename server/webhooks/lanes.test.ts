import { expect, test } from 'vitest'
import type { AttemptResult } from './attempt.ts'
import type { ClaimedRequest } from './claimed.ts'
import { type Flight, Lanes } from './lanes.ts'

const LIMITS = { inAll: 4, perWebhook: 3 }
const answered: AttemptResult = {
  at: 0,
  statusCode: 200,
  error: null,
  excerpt: '',
  timings: { totalMs: 1 },
  delivered: true,
  gone: false,
}
const silent: AttemptResult = { ...answered, statusCode: null, error: 'no answer came within 30 s', delivered: false }

let made = 0

function claimed(webhookId: string, occasion: 'schedule' | 'hand' = 'schedule'): ClaimedRequest {
  return {
    claim: { webhook_id: webhookId, request_id: `req_${++made}`, occasion, due_at: 0, claimed_by: 1 },
  } as ClaimedRequest
}

const many = (count: number, webhookId: string) => Array.from({ length: count }, () => claimed(webhookId))

function startAll(lanes: Lanes, now = 0): Flight[] {
  const flights: Flight[] = []
  for (let flight = lanes.start(now); flight; flight = lanes.start(now)) flights.push(flight)
  return flights
}

const webhooksOf = (flights: Flight[]) => flights.map(({ claimed }) => claimed.claim.webhook_id)

test('a webhook begins with two requests at a time and gets one more with each answer, up to its own number', () => {
  const lanes = new Lanes({ inAll: 100, perWebhook: 3 })
  lanes.take(many(20, 'a'), [])
  const first = startAll(lanes)
  expect(first).toHaveLength(2)

  for (const flight of first) lanes.ended(flight, answered, 5)
  const second = startAll(lanes)
  expect(second).toHaveLength(3)
  for (const flight of second) lanes.ended(flight, answered, 5)
  expect(startAll(lanes)).toHaveLength(3)
})

test('a webhook that does not answer is tried with one request at a time, until it does', () => {
  const lanes = new Lanes({ inAll: 100, perWebhook: 3 })
  lanes.take(many(20, 'a'), [])
  const [one, other] = startAll(lanes)
  lanes.ended(one!, silent, 30_000)
  lanes.ended(other!, silent, 30_000)

  const [again, ...more] = startAll(lanes)
  expect(more).toEqual([])
  lanes.ended(again!, answered, 30_010)
  expect(startAll(lanes)).toHaveLength(2)
})

test('the lanes take turns', () => {
  const lanes = new Lanes(LIMITS)
  lanes.take([...many(10, 'a'), ...many(10, 'b')], [])

  expect(webhooksOf(startAll(lanes))).toEqual(['a', 'b', 'a', 'b'])
})

test('what takes longer than a quarter of a second makes room for others', () => {
  const lanes = new Lanes(LIMITS)
  lanes.take([...many(2, 'a'), ...many(2, 'b'), ...many(2, 'c')], [])
  expect(startAll(lanes)).toHaveLength(4)

  expect(startAll(lanes, 249)).toEqual([])
  expect(webhooksOf(startAll(lanes, 250))).toEqual(['b', 'c'])
})

test('what is slow has a bound too', () => {
  const lanes = new Lanes({ inAll: 2, perWebhook: 1 })
  lanes.take(
    Array.from({ length: 50 }, (_, index) => claimed(`slow-${index}`)),
    [],
  )
  let started = 0
  for (let second = 0; second < 60; second++) started += startAll(lanes, second * 1_000).length

  expect(started).toBe(2 * 10 + 2)
})

test('what is asked for by hand goes beside the others of a webhook that is full', () => {
  const lanes = new Lanes(LIMITS)
  lanes.take(many(5, 'a'), [])
  startAll(lanes)

  lanes.take([claimed('a', 'hand')], [])
  expect(startAll(lanes).map((flight) => flight.claimed.claim.occasion)).toEqual(['hand'])
})

test('what is asked for by hand has two places of its own', () => {
  const lanes = new Lanes(LIMITS)
  lanes.take([claimed('a', 'hand'), claimed('a', 'hand'), claimed('a', 'hand')], [])

  const flights = startAll(lanes)
  expect(flights).toHaveLength(2)
  lanes.ended(flights[0]!, answered, 5)
  expect(startAll(lanes)).toHaveLength(1)
})

test('no more is taken than can start soon', () => {
  const lanes = new Lanes({ inAll: 100, perWebhook: 2 })
  expect(lanes.roomOf('a')).toBe(2)
  lanes.take(many(2, 'a'), ['a'])
  const flights = startAll(lanes)
  expect(lanes.roomOf('a')).toBe(0)
  expect(lanes.refill(10)).toEqual([])

  for (const flight of flights) lanes.ended(flight, answered, 10)
  expect(lanes.roomOf('a')).toBeGreaterThan(100)
  expect(lanes.refill(10)).toEqual(['a'])
})

test('a webhook that takes a second for each request is not claimed far ahead', () => {
  const lanes = new Lanes({ inAll: 100, perWebhook: 2 })
  lanes.take(many(2, 'a'), ['a'])
  for (const flight of startAll(lanes)) lanes.ended(flight, answered, 1_000)

  expect(lanes.roomOf('a')).toBeLessThanOrEqual(2 * 5)
})

test('what is held is bounded in all', () => {
  const lanes = new Lanes({ inAll: 1, perWebhook: 1 })
  const room = lanes.room()
  const held = many(room, 'a')
  lanes.take(held, [])

  expect(lanes.room()).toBe(0)
  lanes.settled(held[0]!)
  expect(lanes.room()).toBe(1)
})
