import { expect, onTestFinished, test } from 'vitest'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { openDatabase } from '../database/open.ts'
import { migratedDatabaseUrl, onBothEngines } from '../testing/database.ts'
import { Limiter, pruneRateLog } from './rate-limiter.ts'
import { limitHeaders, secondsUntil } from './rate-limits.ts'

const START = Date.UTC(2026, 0, 1) + 250

function givenClock(): Clock & { pass(ms: number): void } {
  let now = START
  return {
    now: () => now,
    elapsed: () => now,
    sleep: async () => {},
    pass: (ms) => {
      now += ms
    },
  }
}

const read = { kind: 'read', limit: 20 } as const
const write = { kind: 'write', limit: 5 } as const

async function countAdmitted(limiter: Limiter, times: number, subject = 'key_a'): Promise<number> {
  const statuses = await Promise.all(Array.from({ length: times }, () => limiter.take(subject, read)))
  return statuses.filter(({ isRefused }) => !isRefused).length
}

onBothEngines('rate limits', (fresh, engine) => {
  test('a request leaves the window after exactly one minute', async () => {
    const clock = givenClock()
    const limiter = new Limiter({ db: await fresh(), clock })
    expect(await countAdmitted(limiter, 10)).toBe(10)
    clock.pass(30_000)
    expect(await countAdmitted(limiter, 15)).toBe(10)
    clock.pass(29_999)
    expect(await countAdmitted(limiter, 1)).toBe(0)
    clock.pass(1)
    expect(await countAdmitted(limiter, 30)).toBe(10)
    clock.pass(29_999)
    expect(await countAdmitted(limiter, 1)).toBe(0)
    clock.pass(1)
    expect(await countAdmitted(limiter, 30)).toBe(10)
  })

  test('every response has the remaining requests and the reset time', async () => {
    const clock = givenClock()
    const limiter = new Limiter({ db: await fresh(), clock })
    const first = await limiter.take('key_a', write)
    expect(first).toEqual({ limit: 5, remaining: 4, resetAt: START + 60_000, isRefused: false })
    clock.pass(10_000)
    for (let remaining = 3; remaining >= 0; remaining--)
      expect((await limiter.take('key_a', write)).remaining).toBe(remaining)
    const refused = await limiter.take('key_a', write)
    expect(refused).toEqual({ limit: 5, remaining: 0, resetAt: START + 60_000, isRefused: true })
    const now = clock.now()
    expect(Number(limitHeaders(refused, now)['x-ratelimit-reset']) - Math.floor(now / 1_000)).toBe(50)
    expect(secondsUntil(refused.resetAt, now)).toBe(50)
  })

  test('a client that waits for Retry-After is not refused', async () => {
    const clock = givenClock()
    const limiter = new Limiter({ db: await fresh(), clock })
    for (const pause of [640, 999, 1, 77, 3_333]) {
      await countAdmitted(limiter, 20)
      clock.pass(pause)
      const refused = await limiter.take('key_a', read)
      expect(refused.isRefused).toBe(true)
      const seconds = secondsUntil(refused.resetAt, clock.now())
      expect(seconds).toBeLessThanOrEqual(60)
      clock.pass(seconds * 1_000)
      expect(await countAdmitted(limiter, 1)).toBe(1)
    }
  })

  test('every key and class has a separate window, and 0 means no limit', async () => {
    const limiter = new Limiter({ db: await fresh(), clock: givenClock() })
    expect(await countAdmitted(limiter, 21, 'key_a')).toBe(20)
    expect(await countAdmitted(limiter, 21, 'key_b')).toBe(20)
    expect((await limiter.take('key_a', write)).remaining).toBe(4)
    for (let index = 0; index < 300; index++)
      expect((await limiter.take('key_a', { kind: 'create', limit: 0 })).isRefused).toBe(false)
  })

  test('processes with one database share one limit', async () => {
    const { url, drop } = await migratedDatabaseUrl(engine)
    const dbs = Array.from({ length: 4 }, () => openDatabase(url, { connections: 4 }))
    onTestFinished(async () => {
      await Promise.all(dbs.map((db) => db.destroy()))
      await drop()
    })
    const clock = givenClock()
    const processes = dbs.map((db) => new Limiter({ db, clock }))
    for (let minute = 0; minute < 3; minute++) {
      const counts = await Promise.all(processes.map((limiter) => countAdmitted(limiter, 15)))
      expect(counts.reduce((sum, count) => sum + count)).toBe(20)
      clock.pass(60_000)
    }
  })

  test('processes with slightly different clocks share one window', async () => {
    const db = await fresh()
    const [ahead, behind] = [givenClock(), givenClock()]
    ahead.pass(40)
    const processes = [ahead, behind].map((clock) => new Limiter({ db, clock }))
    let admitted = 0
    for (let index = 0; index < 40; index++) admitted += await countAdmitted(processes[index % 2]!, 1)
    expect(admitted).toBe(20)
  })

  test('refused requests do not query the database', async () => {
    const db = await fresh()
    let statements = 0
    const observedDb = observed(db, () => statements++)
    const limiter = new Limiter({ db: observedDb, clock: givenClock() })
    expect(await countAdmitted(limiter, 1_000)).toBe(20)
    expect(await countAdmitted(limiter, 1_000)).toBe(0)
    expect(statements).toBe(40)
  })

  test('a higher limit applies at once, even in a full window', async () => {
    const limiter = new Limiter({ db: await fresh(), clock: givenClock() })
    expect(await countAdmitted(limiter, 21)).toBe(20)
    const raised = { kind: 'read', limit: 22 } as const
    const statuses = await Promise.all(Array.from({ length: 3 }, () => limiter.take('key_a', raised)))
    expect(statuses.map(({ remaining, isRefused }) => [remaining, isRefused])).toEqual([
      [1, false],
      [0, false],
      [0, true],
    ])
  })

  test('pruning deletes old rows and does not change the count', async () => {
    const db = await fresh()
    const clock = givenClock()
    const limiter = new Limiter({ db, clock })
    await countAdmitted(limiter, 20)
    clock.pass(120_000)
    expect(await countAdmitted(limiter, 7)).toBe(7)
    expect(await pruneRateLog(db, clock.now())).toBe(false)
    expect(await db.selectFrom('rate_log').selectAll().execute()).toHaveLength(7)
    expect(await countAdmitted(limiter, 20)).toBe(13)
  })

  test('a clock that is set back locks nobody out', async () => {
    const clock = givenClock()
    const limiter = new Limiter({ db: await fresh(), clock })
    await countAdmitted(limiter, 21)
    clock.pass(-3_600_000)
    expect(await countAdmitted(limiter, 21)).toBe(20)
  })
})

/** Calls `onStatement` for every statement. */
function observed(db: Database, onStatement: () => void): Database {
  return db.withPlugin({
    transformQuery: ({ node }) => {
      onStatement()
      return node
    },
    transformResult: async ({ result }) => result,
  })
}
