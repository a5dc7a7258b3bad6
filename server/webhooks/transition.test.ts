import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RETRY_DELAYS_MS } from './retry-schedule.ts'
import { type AttemptedRequest, type AttemptTrigger, afterAttempt } from './transition.ts'

const now = Date.UTC(2026, 0, 1)
const JITTER_MS = 10_000
const pending: AttemptedRequest = {
  requestId: 'req_1',
  isTest: false,
  status: 'PENDING',
  retries: 0,
  nextAttemptAt: now,
}
const retrying: AttemptedRequest = { ...pending, status: 'RETRYING', nextAttemptAt: now }
const failed = { delivered: false, gone: false }
const gone = { delivered: false, gone: true }
const delivered = { delivered: true, gone: false }

describe('by the schedule', () => {
  test('a success delivers and resumes', () => {
    expect(afterAttempt(pending, 'schedule', delivered, now)).toEqual({
      status: 'DELIVERED',
      retries: 0,
      nextAttemptAt: null,
      webhook: 'resume',
    })
  })

  test('a first attempt that fails is no retry yet, and waits five minutes', () => {
    const after = afterAttempt(pending, 'schedule', failed, now)

    expect(after).toMatchObject({ status: 'RETRYING', retries: 0, webhook: 'keep' })
    expectAbout(after.nextAttemptAt, 5 * 60_000)
  })

  test.each(RETRY_DELAYS_MS.slice(1).map((delay, index) => [index + 1, delay]))(
    'retry %i that fails waits for the next delay',
    (retry, delay) => {
      const after = afterAttempt({ ...retrying, retries: retry - 1 }, 'schedule', failed, now)

      expect(after).toMatchObject({ status: 'RETRYING', retries: retry, webhook: 'keep' })
      expectAbout(after.nextAttemptAt, delay)
    },
  )

  test('the ninth retry that fails gives the request up and pauses the webhook', () => {
    expect(afterAttempt({ ...retrying, retries: 8 }, 'schedule', failed, now)).toEqual({
      status: 'FAILED',
      retries: 9,
      nextAttemptAt: null,
      webhook: 'pause',
    })
  })

  test('410 to the ninth retry gives the request up like any other failure', () => {
    expect(afterAttempt({ ...retrying, retries: 8 }, 'schedule', gone, now)).toEqual({
      status: 'FAILED',
      retries: 9,
      nextAttemptAt: null,
      webhook: 'pause',
    })
  })

  test('410 pauses at once and keeps the request', () => {
    expect(afterAttempt(pending, 'schedule', gone, now)).toMatchObject({
      status: 'RETRYING',
      nextAttemptAt: now,
      webhook: 'pause',
    })
  })

  test('Retry-After that is later than the schedule counts', () => {
    const after = afterAttempt(pending, 'schedule', { ...failed, retryAfterMs: 3_600_000 }, now)

    expectAbout(after.nextAttemptAt, 3_600_000)
  })
})

describe('as a probe', () => {
  test('a failure uses up no retry and moves nothing', () => {
    const waiting = { ...retrying, retries: 8, nextAttemptAt: now + 5_000 }

    expect(afterAttempt(waiting, 'probe', failed, now)).toEqual({
      status: 'RETRYING',
      retries: 8,
      nextAttemptAt: now + 5_000,
      webhook: 'keep',
    })
  })

  test('a success resumes', () => {
    expect(afterAttempt(retrying, 'probe', delivered, now)).toMatchObject({ status: 'DELIVERED', webhook: 'resume' })
  })

  test('410 keeps it paused, or pauses it again where something else resumed it meanwhile', () => {
    expect(afterAttempt(retrying, 'probe', gone, now)).toMatchObject({ status: 'RETRYING', webhook: 'pause' })
  })
})

describe('manually', () => {
  test('a failure leaves a scheduled retry where it was', () => {
    const waiting = { ...retrying, retries: 3, nextAttemptAt: now + 60_000 }

    expect(afterAttempt(waiting, 'manual', failed, now)).toMatchObject({
      status: 'RETRYING',
      retries: 3,
      nextAttemptAt: now + 60_000,
      webhook: 'keep',
    })
  })

  test('a failure of what was due anyway counts as that attempt, and not as a retry', () => {
    const after = afterAttempt(pending, 'manual', failed, now)

    expect(after).toMatchObject({ status: 'RETRYING', retries: 0 })
    expectAbout(after.nextAttemptAt, 5 * 60_000)
  })

  test.each(['FAILED', 'DELIVERED'] as const)('a failure leaves what was %s as it was', (status) => {
    expect(afterAttempt({ ...pending, status, retries: 9, nextAttemptAt: null }, 'manual', failed, now)).toEqual({
      status,
      retries: 9,
      nextAttemptAt: null,
      webhook: 'keep',
    })
  })

  test.each(['FAILED', 'DELIVERED', 'RETRYING', 'PENDING'] as const)('a success delivers what was %s', (status) => {
    expect(afterAttempt({ ...pending, status }, 'manual', delivered, now)).toMatchObject({
      status: 'DELIVERED',
      nextAttemptAt: null,
      webhook: 'resume',
    })
  })

  test('a test is never tried twice', () => {
    expect(afterAttempt({ ...pending, isTest: true }, 'manual', failed, now)).toMatchObject({
      status: 'FAILED',
      nextAttemptAt: null,
      webhook: 'keep',
    })
  })
})

test('whatever happens, a request waits or is done, never both and never neither', () => {
  const requestState = fc.record({
    requestId: fc.constant('req_1'),
    isTest: fc.boolean(),
    status: fc.constantFrom('PENDING', 'RETRYING', 'DELIVERED', 'FAILED'),
    retries: fc.integer({ min: 0, max: 8 }),
    nextAttemptAt: fc.option(fc.integer({ min: now - 1e9, max: now + 1e9 })),
  }) as fc.Arbitrary<AttemptedRequest>
  const result = fc.constantFrom(failed, gone, delivered)
  const trigger = fc.constantFrom<AttemptTrigger>('schedule', 'probe', 'manual')
  fc.assert(
    fc.property(requestState, trigger, result, (before, why, came) => {
      const after = afterAttempt(before, why, came, now)
      expect(after.nextAttemptAt === null).toBe(after.status === 'DELIVERED' || after.status === 'FAILED')
      expect(after.webhook === 'resume').toBe(came.delivered)
      expect(after.retries - before.retries).toBeOneOf([0, 1])
      if (came.gone) expect(after.webhook).toBe('pause')
    }),
  )
})

function expectAbout(instant: number | null, delayMs: number) {
  expect(instant).toBeGreaterThanOrEqual(now + delayMs)
  expect(instant).toBeLessThanOrEqual(now + delayMs + JITTER_MS)
}
