import { expect, test } from 'vitest'
import type { AttemptResult } from './attempt.ts'
import type { ClaimedRequest } from './claim-requests.ts'
import { BY_WEBHOOK } from './dispatcher.ts'
import { type Active, InMemoryQueues } from './in-memory-queues.ts'

type ActiveRequest = Active<ClaimedRequest>
type RequestQueues = InMemoryQueues<ClaimedRequest>

const WEBHOOK_A = { organizationId: 'org_a', id: 'a' }
const LIMITS = { total: 4, perWebhook: 3 }
const answered: AttemptResult = {
  at: 0,
  statusCode: 200,
  error: null,
  excerpt: '',
  timings: { totalMs: 1 },
  delivered: true,
  gone: false,
}
const timedOut: AttemptResult = {
  ...answered,
  statusCode: null,
  error: 'no response arrived within 30 s',
  delivered: false,
}

let requestCount = 0

function claimed(
  webhookId: string,
  trigger: 'schedule' | 'manual' = 'schedule',
  { organizationId = 'org_a', host = `${webhookId}.example` } = {},
): ClaimedRequest {
  return {
    claim: { webhook_id: webhookId, request_id: `req_${++requestCount}`, trigger, due_at: 0, claimed_by: 1 },
    organizationId,
    target: { url: `https://${host}/` },
  } as ClaimedRequest
}

const many = (count: number, webhookId: string) => Array.from({ length: count }, () => claimed(webhookId))

function startAll(queues: RequestQueues, now = 0): ActiveRequest[] {
  const started: ActiveRequest[] = []
  for (let active = queues.start(now); active; active = queues.start(now)) started.push(active)
  return started
}

const webhooksOf = (active: ActiveRequest[]) => active.map(({ claimed }) => claimed.claim.webhook_id)

test('a webhook starts with two concurrent requests and gets one more with each response, up to its limit', () => {
  const queues = new InMemoryQueues({ total: 100, perWebhook: 3 }, BY_WEBHOOK)
  queues.take(many(20, 'a'), [])
  const first = startAll(queues)
  expect(first).toHaveLength(2)

  for (const active of first) queues.finish(active, answered, 5)
  const second = startAll(queues)
  expect(second).toHaveLength(3)
  for (const active of second) queues.finish(active, answered, 5)
  expect(startAll(queues)).toHaveLength(3)
})

test('a webhook that does not respond gets one request at a time until it responds', () => {
  const queues = new InMemoryQueues({ total: 100, perWebhook: 3 }, BY_WEBHOOK)
  queues.take(many(20, 'a'), [])
  const [one, other] = startAll(queues)
  queues.finish(one!, timedOut, 30_000)
  queues.finish(other!, timedOut, 30_000)

  const [next, ...others] = startAll(queues)
  expect(others).toEqual([])
  queues.finish(next!, answered, 30_010)
  expect(startAll(queues)).toHaveLength(2)
})

test('the queues are served in round-robin order', () => {
  const queues = new InMemoryQueues(LIMITS, BY_WEBHOOK)
  queues.take([...many(10, 'a'), ...many(10, 'b')], [])

  expect(webhooksOf(startAll(queues))).toEqual(['a', 'b', 'a', 'b'])
})

test('a request of more than 250 ms no longer counts against the concurrency of the others', () => {
  const queues = new InMemoryQueues(LIMITS, BY_WEBHOOK)
  queues.take([...many(2, 'a'), ...many(2, 'b'), ...many(2, 'c')], [])
  expect(startAll(queues)).toHaveLength(4)

  expect(startAll(queues, 249)).toEqual([])
  expect(webhooksOf(startAll(queues, 250))).toEqual(['b', 'c'])
})

test('the number of slow requests is limited', () => {
  const queues = new InMemoryQueues({ total: 2, perWebhook: 1 }, BY_WEBHOOK)
  queues.take(
    Array.from({ length: 50 }, (_, index) => claimed(`slow-${index}`, 'schedule', { organizationId: `org_${index}` })),
    [],
  )
  let started = 0
  for (let second = 0; second < 60; second++) started += startAll(queues, second * 1_000).length

  expect(started).toBe(2 * 10 + 2)
})

test('a manual request is sent although the scheduled requests of the webhook are at the limit', () => {
  const queues = new InMemoryQueues(LIMITS, BY_WEBHOOK)
  queues.take(many(5, 'a'), [])
  startAll(queues)

  queues.take([claimed('a', 'manual')], [])
  expect(startAll(queues).map((active) => active.claimed.claim.trigger)).toEqual(['manual'])
})

test('a webhook sends at most two manual requests at a time', () => {
  const queues = new InMemoryQueues(LIMITS, BY_WEBHOOK)
  queues.take([claimed('a', 'manual'), claimed('a', 'manual'), claimed('a', 'manual')], [])

  const started = startAll(queues)
  expect(started).toHaveLength(2)
  queues.finish(started[0]!, answered, 5)
  expect(startAll(queues)).toHaveLength(1)
})

test('a webhook claims only what it can start soon', () => {
  const queues = new InMemoryQueues({ total: 100, perWebhook: 2 }, BY_WEBHOOK)
  expect(queues.capacityOf('a')).toBe(2)
  queues.take(many(2, 'a'), [WEBHOOK_A])
  const started = startAll(queues)
  expect(queues.capacityOf('a')).toBe(0)
  expect(queues.refill(10)).toEqual([])

  for (const active of started) queues.finish(active, answered, 10)
  expect(queues.capacityOf('a')).toBeGreaterThan(100)
  expect(queues.refill(10)).toEqual([WEBHOOK_A])
})

test('a webhook that takes a second for each request is not claimed far ahead', () => {
  const queues = new InMemoryQueues({ total: 100, perWebhook: 2 }, BY_WEBHOOK)
  queues.take(many(2, 'a'), [WEBHOOK_A])
  for (const active of startAll(queues)) queues.finish(active, answered, 1_000)

  expect(queues.capacityOf('a')).toBeLessThanOrEqual(2 * 5)
})

test('the number of claimed requests is limited in total', () => {
  const queues = new InMemoryQueues({ total: 1, perWebhook: 1 }, BY_WEBHOOK)
  const capacity = queues.capacity()
  const held = many(capacity, 'a')
  queues.take(held, [])

  expect(queues.capacity()).toBe(0)
  queues.release(held[0]!)
  expect(queues.capacity()).toBe(1)
})

/** Starts what can be started, every 300 ms, while nothing responds. */
function startWhileSilent(queues: RequestQueues, seconds = 6): ActiveRequest[] {
  const started: ActiveRequest[] = []
  for (let now = 0; now < 1_000 * seconds; now += 300) started.push(...startAll(queues, now))
  return started
}

test('webhooks of one organization to a silent host, however many, leave most slots to others', () => {
  const queues = new InMemoryQueues({ total: 16, perWebhook: 8 }, BY_WEBHOOK)
  const silent = Array.from({ length: 500 }, (_, number) =>
    claimed(`w${number}`, 'schedule', { host: 'silent.example' }),
  )
  queues.take(silent, [])
  // An eighth of the 160 slow requests, and those that started before the first were slow.
  expect(startWhileSilent(queues).length).toBeLessThanOrEqual(20 + 16)

  queues.take([claimed('other', 'schedule', { organizationId: 'org_b' })], [])
  expect(webhooksOf(startAll(queues, 10_000))).toContain('other')
})

test('slow requests of one organization to a host leave slots to the endpoints of another at that host', () => {
  const queues = new InMemoryQueues({ total: 8, perWebhook: 8 }, BY_WEBHOOK)
  const of = (organizationId: string) =>
    Array.from({ length: 60 }, (_, number) =>
      claimed(`${organizationId}${number}`, 'schedule', { organizationId, host: 'shared.example' }),
    )
  queues.take(of('org_a'), [])
  for (let at = 0; at < 5_000; at += 250) startAll(queues, at)
  queues.take(of('org_b'), [])
  const started = [5_000, 5_250, 5_500].flatMap((at) => startAll(queues, at))
  expect(started.filter(({ claimed }) => claimed.organizationId === 'org_b').length).toBeGreaterThanOrEqual(8)
})

test('an organization with many silent hosts leaves half of the slow requests to others', () => {
  const queues = new InMemoryQueues({ total: 16, perWebhook: 8 }, BY_WEBHOOK)
  queues.take(
    Array.from({ length: 1_000 }, (_, number) => claimed(`w${number}`)),
    [],
  )
  expect(startWhileSilent(queues).length).toBeLessThanOrEqual(80 + 16)

  const others = Array.from({ length: 10 }, (_, number) =>
    claimed(`o${number}`, 'schedule', { organizationId: 'org_b' }),
  )
  queues.take(others, [])
  expect(startAll(queues, 10_000)).toHaveLength(10)
})

test('organizations take turns, however many webhooks each has', () => {
  const queues = new InMemoryQueues({ total: 4, perWebhook: 8 }, BY_WEBHOOK)
  queues.take(
    Array.from({ length: 100 }, (_, number) => claimed(`w${number}`)),
    [],
  )
  queues.take([claimed('other', 'schedule', { organizationId: 'org_b' })], [])
  expect(webhooksOf(startAll(queues))).toEqual(['w0', 'other', 'w1', 'w2'])
})

test('an organization can claim half of what the others leave, so that something is always left', () => {
  const queues = new InMemoryQueues({ total: 1, perWebhook: 8 }, BY_WEBHOOK)
  expect(queues.capacityOfOrganization('org_a')).toBe(8)
  queues.take(many(8, 'a'), [])
  expect(queues.capacityOfOrganization('org_a')).toBe(0)
  expect(queues.capacityOfOrganization('org_b')).toBe(4)
  const [first] = startAll(queues)
  queues.finish(first!, answered, 10)
  queues.release(first!.claimed)
  expect(queues.capacityOfOrganization('org_a')).toBe(1)
})
