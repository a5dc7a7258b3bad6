import { expect, test } from 'vitest'
import type { AttemptResult } from './attempt.ts'
import type { ClaimedRequest } from './claimed.ts'
import { EndpointQueues, type Flight } from './endpoint-queues.ts'

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
const silent: AttemptResult = {
  ...answered,
  statusCode: null,
  error: 'no response arrived within 30 s',
  delivered: false,
}

let made = 0

function claimed(webhookId: string, trigger: 'schedule' | 'manual' = 'schedule'): ClaimedRequest {
  return {
    claim: { webhook_id: webhookId, request_id: `req_${++made}`, trigger: trigger, due_at: 0, claimed_by: 1 },
  } as ClaimedRequest
}

const many = (count: number, webhookId: string) => Array.from({ length: count }, () => claimed(webhookId))

function startAll(queues: EndpointQueues, now = 0): Flight[] {
  const flights: Flight[] = []
  for (let flight = queues.start(now); flight; flight = queues.start(now)) flights.push(flight)
  return flights
}

const webhooksOf = (flights: Flight[]) => flights.map(({ claimed }) => claimed.claim.webhook_id)

test('a webhook begins with two requests at a time and gets one more with each answer, up to its own number', () => {
  const queues = new EndpointQueues({ inAll: 100, perWebhook: 3 })
  queues.take(many(20, 'a'), [])
  const first = startAll(queues)
  expect(first).toHaveLength(2)

  for (const flight of first) queues.ended(flight, answered, 5)
  const second = startAll(queues)
  expect(second).toHaveLength(3)
  for (const flight of second) queues.ended(flight, answered, 5)
  expect(startAll(queues)).toHaveLength(3)
})

test('a webhook that does not answer is tried with one request at a time, until it does', () => {
  const queues = new EndpointQueues({ inAll: 100, perWebhook: 3 })
  queues.take(many(20, 'a'), [])
  const [one, other] = startAll(queues)
  queues.ended(one!, silent, 30_000)
  queues.ended(other!, silent, 30_000)

  const [again, ...more] = startAll(queues)
  expect(more).toEqual([])
  queues.ended(again!, answered, 30_010)
  expect(startAll(queues)).toHaveLength(2)
})

test('the queues take turns', () => {
  const queues = new EndpointQueues(LIMITS)
  queues.take([...many(10, 'a'), ...many(10, 'b')], [])

  expect(webhooksOf(startAll(queues))).toEqual(['a', 'b', 'a', 'b'])
})

test('what takes longer than a quarter of a second makes capacity for others', () => {
  const queues = new EndpointQueues(LIMITS)
  queues.take([...many(2, 'a'), ...many(2, 'b'), ...many(2, 'c')], [])
  expect(startAll(queues)).toHaveLength(4)

  expect(startAll(queues, 249)).toEqual([])
  expect(webhooksOf(startAll(queues, 250))).toEqual(['b', 'c'])
})

test('what is slow has a bound too', () => {
  const queues = new EndpointQueues({ inAll: 2, perWebhook: 1 })
  queues.take(
    Array.from({ length: 50 }, (_, index) => claimed(`slow-${index}`)),
    [],
  )
  let started = 0
  for (let second = 0; second < 60; second++) started += startAll(queues, second * 1_000).length

  expect(started).toBe(2 * 10 + 2)
})

test('what is asked for manually goes beside the others of a webhook that is full', () => {
  const queues = new EndpointQueues(LIMITS)
  queues.take(many(5, 'a'), [])
  startAll(queues)

  queues.take([claimed('a', 'manual')], [])
  expect(startAll(queues).map((flight) => flight.claimed.claim.trigger)).toEqual(['manual'])
})

test('what is asked for manually has two places of its own', () => {
  const queues = new EndpointQueues(LIMITS)
  queues.take([claimed('a', 'manual'), claimed('a', 'manual'), claimed('a', 'manual')], [])

  const flights = startAll(queues)
  expect(flights).toHaveLength(2)
  queues.ended(flights[0]!, answered, 5)
  expect(startAll(queues)).toHaveLength(1)
})

test('no more is taken than can start soon', () => {
  const queues = new EndpointQueues({ inAll: 100, perWebhook: 2 })
  expect(queues.capacityOf('a')).toBe(2)
  queues.take(many(2, 'a'), ['a'])
  const flights = startAll(queues)
  expect(queues.capacityOf('a')).toBe(0)
  expect(queues.refill(10)).toEqual([])

  for (const flight of flights) queues.ended(flight, answered, 10)
  expect(queues.capacityOf('a')).toBeGreaterThan(100)
  expect(queues.refill(10)).toEqual(['a'])
})

test('a webhook that takes a second for each request is not claimed far ahead', () => {
  const queues = new EndpointQueues({ inAll: 100, perWebhook: 2 })
  queues.take(many(2, 'a'), ['a'])
  for (const flight of startAll(queues)) queues.ended(flight, answered, 1_000)

  expect(queues.capacityOf('a')).toBeLessThanOrEqual(2 * 5)
})

test('what is held is bounded in all', () => {
  const queues = new EndpointQueues({ inAll: 1, perWebhook: 1 })
  const capacity = queues.capacity()
  const held = many(capacity, 'a')
  queues.take(held, [])

  expect(queues.capacity()).toBe(0)
  queues.settled(held[0]!)
  expect(queues.capacity()).toBe(1)
})
