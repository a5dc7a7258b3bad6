import { expect, test } from 'vitest'
import { onBothEngines } from '../testing/database.ts'
import { countAttempt, resetAttempts, takeBackAttempt } from './attempt-limits.ts'

const ADA = { subject: 'account ada', free: 3 }
const NOW = Date.UTC(2026, 0, 1)
const SECOND = 1_000
const MINUTE = 60 * SECOND

onBothEngines('attempts at a secret', (fresh) => {
  test('wait longer and longer after the free attempts', async () => {
    const db = await fresh()
    const waits: number[] = []
    let now = NOW
    for (let number = 0; number < 15; number++) {
      expect(await countAttempt(db, ADA, now)).toBeUndefined()
      const nextAttemptAt = (await countAttempt(db, ADA, now)) ?? now
      if (number >= 2) waits.push((nextAttemptAt - now) / SECOND)
      else await takeBackAttempt(db, ADA.subject)
      now = nextAttemptAt
    }
    expect(waits).toEqual([15, 15, 15, 15, 15, 60, 60, 60, 60, 60, 900, 900, 900])
  })

  test('are refused if they come too early, and then do not extend the wait', async () => {
    const db = await fresh()
    for (let number = 0; number < 3; number++) await countAttempt(db, ADA, NOW)
    for (let number = 0; number < 50; number++) {
      expect(await countAttempt(db, ADA, NOW + 14 * SECOND)).toBe(NOW + 15 * SECOND)
    }
    expect(await countAttempt(db, ADA, NOW + 15 * SECOND)).toBeUndefined()
  })

  test('start over after an hour without attempts, and after a reset', async () => {
    const db = await fresh()
    const isFree = async (now: number) => (await countAttempt(db, ADA, now)) === undefined
    for (let number = 0; number < 3; number++) await isFree(NOW)
    expect([await isFree(NOW + 60 * MINUTE), await isFree(NOW + 60 * MINUTE)]).toEqual([true, true])
    await isFree(NOW + 60 * MINUTE)
    expect(await isFree(NOW + 60 * MINUTE)).toBe(false)
    await resetAttempts(db, ADA.subject)
    expect(await isFree(NOW + 60 * MINUTE)).toBe(true)
  })

  test('are possible after the clock was set back', async () => {
    const db = await fresh()
    for (let number = 0; number < 3; number++) await countAttempt(db, ADA, NOW)
    expect(await countAttempt(db, ADA, NOW - 24 * 60 * MINUTE)).toBeUndefined()
  })

  test('are counted by subject, and concurrent attempts gain nothing', async () => {
    const db = await fresh()
    const crowd = await Promise.all(Array.from({ length: 30 }, (_, number) => countAttempt(db, ADA, NOW + number)))
    expect(crowd.filter((nextAttemptAt) => nextAttemptAt === undefined)).toHaveLength(3)
    expect(await countAttempt(db, { ...ADA, subject: 'account eve' }, NOW)).toBeUndefined()
  })
})
