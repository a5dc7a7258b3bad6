import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nextRetryAt, parseRetryAfter, RETRY_DELAYS_MS } from './retry-schedule.ts'

const NOW = Date.UTC(2026, 0, 1)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

test('the nine delays are those of the specification', () => {
  expect(RETRY_DELAYS_MS.map((ms) => ms / MINUTE_MS)).toEqual([5, 10, 15, 30, 60, 120, 360, 720, 1440])
})

test('a retry is due after its delay plus 0 to 10 s', () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(8), (requestId, retries) => {
      const jitterMs = nextRetryAt({ retries, now: NOW, id: requestId })! - NOW - RETRY_DELAYS_MS[retries]!
      expect(jitterMs).toBeGreaterThanOrEqual(0)
      expect(jitterMs).toBeLessThanOrEqual(10_000)
    }),
  )
})

test('the jitter differs between requests and is always the same for one retry', () => {
  const instants = Array.from({ length: 100 }, (_, i) => nextRetryAt({ retries: 0, now: NOW, id: `req_${i}` }))

  expect(new Set(instants).size).toBeGreaterThan(90)
  expect(nextRetryAt({ retries: 0, now: NOW, id: 'req_7' })).toBe(instants[7])
})

test('there is no tenth retry, whatever Retry-After says', () => {
  expect(nextRetryAt({ retries: 8, now: NOW, id: 'req_1' })).not.toBeNull()
  expect(nextRetryAt({ retries: 9, now: NOW, id: 'req_1' })).toBeNull()
  expect(nextRetryAt({ retries: 9, now: NOW, id: 'req_1', retryAfterMs: HOUR_MS })).toBeNull()
})

describe('Retry-After', () => {
  const next = (retryAfterMs?: number) => nextRetryAt({ retries: 0, now: NOW, id: 'req_1', retryAfterMs })!

  test('counts if it is later than the schedule', () => {
    expect(next(HOUR_MS)).toBeGreaterThanOrEqual(NOW + HOUR_MS)
    expect(next(HOUR_MS)).toBeLessThanOrEqual(NOW + HOUR_MS + 10_000)
  })

  test('does not make a retry earlier', () => {
    expect(next(1000)).toBe(next())
  })

  test('delays a retry by at most 24 hours', () => {
    expect(next(1e15)).toBeLessThanOrEqual(NOW + 24 * HOUR_MS + 10_000)
  })

  test.each([
    ['120', 120_000],
    [' 0 ', 0],
    ['Thu, 01 Jan 2026 00:01:00 GMT', MINUTE_MS],
    ['Thursday, 01-Jan-26 00:01:00 GMT', MINUTE_MS],
    ['Thu Jan  1 00:01:00 2026', MINUTE_MS],
    ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
    ['-5', undefined],
    ['1.5', undefined],
    ['soon', undefined],
    ['Thu, 99 Foo 2026', undefined],
    ['2026-01-01T00:01:00Z', undefined],
    ['', undefined],
  ])('is parsed: %j is %s ms', (value, ms) => {
    expect(parseRetryAfter(value, NOW)).toBe(ms)
  })

  test('with a huge number of seconds still gives a valid instant', () => {
    expect(Number.isSafeInteger(next(parseRetryAfter('9'.repeat(400), NOW)))).toBe(true)
  })
})
