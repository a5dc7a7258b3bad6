import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RETRY_DELAYS_MS } from '../retry-schedule.ts'
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

describe('a scheduled attempt', () => {
  test('delivers the request and resumes the webhook if it succeeds', () => {
    expect(afterAttempt(pending, 'schedule', delivered, now)).toEqual({
      status: 'DELIVERED',
      retries: 0,
      nextAttemptAt: null,
      webhook: 'resume',
    })
  })

  test('is no retry if it is the first one, and is followed by a retry after five minutes', () => {
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

  test('fails the request and pauses the webhook if the ninth retry fails', () => {
    expect(afterAttempt({ ...retrying, retries: 8 }, 'schedule', failed, now)).toEqual({
      status: 'FAILED',
      retries: 9,
      nextAttemptAt: null,
      webhook: 'pause',
    })
  })

  test('fails the request if the response to the ninth retry is 410', () => {
    expect(afterAttempt({ ...retrying, retries: 8 }, 'schedule', gone, now)).toEqual({
      status: 'FAILED',
      retries: 9,
      nextAttemptAt: null,
      webhook: 'pause',
    })
  })

  test('pauses the webhook at once and keeps the request if the response is 410', () => {
    expect(afterAttempt(pending, 'schedule', gone, now)).toMatchObject({
      status: 'RETRYING',
      nextAttemptAt: now,
      webhook: 'pause',
    })
  })

  test('respects a Retry-After that is later than the schedule', () => {
    const after = afterAttempt(pending, 'schedule', { ...failed, retryAfterMs: 3_600_000 }, now)

    expectAbout(after.nextAttemptAt, 3_600_000)
  })
})

describe('a probe', () => {
  test('counts as no retry and changes no schedule if it fails', () => {
    const waiting = { ...retrying, retries: 8, nextAttemptAt: now + 5_000 }

    expect(afterAttempt(waiting, 'probe', failed, now)).toEqual({
      status: 'RETRYING',
      retries: 8,
      nextAttemptAt: now + 5_000,
      webhook: 'keep',
    })
  })

  test('resumes the webhook if it succeeds', () => {
    expect(afterAttempt(retrying, 'probe', delivered, now)).toMatchObject({ status: 'DELIVERED', webhook: 'resume' })
  })

  test('keeps the webhook paused if the response is 410, or pauses it again if it was resumed meanwhile', () => {
    expect(afterAttempt(retrying, 'probe', gone, now)).toMatchObject({ status: 'RETRYING', webhook: 'pause' })
  })
})

describe('a manual attempt', () => {
  test('keeps the time of the scheduled retry if it fails', () => {
    const waiting = { ...retrying, retries: 3, nextAttemptAt: now + 60_000 }

    expect(afterAttempt(waiting, 'manual', failed, now)).toMatchObject({
      status: 'RETRYING',
      retries: 3,
      nextAttemptAt: now + 60_000,
      webhook: 'keep',
    })
  })

  test('counts as the due attempt of the schedule if it fails, and not as a retry', () => {
    const after = afterAttempt(pending, 'manual', failed, now)

    expect(after).toMatchObject({ status: 'RETRYING', retries: 0 })
    expectAbout(after.nextAttemptAt, 5 * 60_000)
  })

  test.each(['FAILED', 'DELIVERED'] as const)('does not change a request that was %s if it fails', (status) => {
    expect(afterAttempt({ ...pending, status, retries: 9, nextAttemptAt: null }, 'manual', failed, now)).toEqual({
      status,
      retries: 9,
      nextAttemptAt: null,
      webhook: 'keep',
    })
  })

  test.each(['FAILED', 'DELIVERED', 'RETRYING', 'PENDING'] as const)(
    'delivers a request that was %s if it succeeds',
    (status) => {
      expect(afterAttempt({ ...pending, status }, 'manual', delivered, now)).toMatchObject({
        status: 'DELIVERED',
        nextAttemptAt: null,
        webhook: 'resume',
      })
    },
  )

  test('is not repeated for a test request', () => {
    expect(afterAttempt({ ...pending, isTest: true }, 'manual', failed, now)).toMatchObject({
      status: 'FAILED',
      nextAttemptAt: null,
      webhook: 'keep',
    })
  })
})

test('after any attempt a request is either queued or finished', () => {
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
