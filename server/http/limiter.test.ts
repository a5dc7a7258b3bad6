import { expect, onTestFinished, test } from 'vitest'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { openDatabase } from '../database/open.ts'
import { migratedDatabaseUrl, onBothEngines } from '../testing/database.ts'
import { Limiter, pruneRateLog } from './limiter.ts'
import { limitHeaders, secondsUntil } from './limits.ts'

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

async function taken(limiter: Limiter, times: number, who = 'key_a'): Promise<number> {
  const standings = await Promise.all(Array.from({ length: times }, () => limiter.take(who, read)))
  return standings.filter(({ isRefused }) => !isRefused).length
}

onBothEngines('rate limits', (fresh, engine) => {
  test('the window slides: a place gets free when its request is a minute old, not before', async () => {
    const clock = givenClock()
    const limiter = new Limiter({ db: await fresh(), clock })
    expect(await taken(limiter, 10)).toBe(10)
    clock.pass(30_000)
    expect(await taken(limiter, 15)).toBe(10)
    clock.pass(29_999)
    expect(await taken(limiter, 1)).toBe(0)
    clock.pass(1)
    expect(await taken(limiter, 30)).toBe(10)
    clock.pass(29_999)
    expect(await taken(limiter, 1)).toBe(0)
    clock.pass(1)
    expect(await taken(limiter, 30)).toBe(10)
  })

  test('what is left and when the oldest leaves is in every response', async () => {
    const clock = givenClock()
    const limiter = new Limiter({ db: await fresh(), clock })
    const first = await limiter.take('key_a', write)
    expect(first).toEqual({ limit: 5, remaining: 4, resetAt: START + 60_000, isRefused: false })
    clock.pass(10_000)
    for (let left = 3; left >= 0; left--) expect((await limiter.take('key_a', write)).remaining).toBe(left)
    const refused = await limiter.take('key_a', write)
    expect(refused).toEqual({ limit: 5, remaining: 0, resetAt: START + 60_000, isRefused: true })
    const now = clock.now()
    expect(Number(limitHeaders(refused, now)['x-ratelimit-reset']) - Math.floor(now / 1_000)).toBe(50)
    expect(secondsUntil(refused.resetAt, now)).toBe(50)
  })

  test('a client that waits for Retry-After is let in', async () => {
    const clock = givenClock()
    const limiter = new Limiter({ db: await fresh(), clock })
    for (const pause of [640, 999, 1, 77, 3_333]) {
      await taken(limiter, 20)
      clock.pass(pause)
      const refused = await limiter.take('key_a', read)
      expect(refused.isRefused).toBe(true)
      const seconds = secondsUntil(refused.resetAt, clock.now())
      expect(seconds).toBeLessThanOrEqual(60)
      clock.pass(seconds * 1_000)
      expect(await taken(limiter, 1)).toBe(1)
    }
  })

  test('keys and classes have windows of their own, and 0 is no limit', async () => {
    const limiter = new Limiter({ db: await fresh(), clock: givenClock() })
    expect(await taken(limiter, 21, 'key_a')).toBe(20)
    expect(await taken(limiter, 21, 'key_b')).toBe(20)
    expect((await limiter.take('key_a', write)).remaining).toBe(4)
    for (let turn = 0; turn < 300; turn++)
      expect((await limiter.take('key_a', { kind: 'create', limit: 0 })).isRefused).toBe(false)
  })

  test('processes that share a database cannot together take more than one', async () => {
    const { url, drop } = await migratedDatabaseUrl(engine)
    const dbs = Array.from({ length: 4 }, () => openDatabase(url, { connections: 4 }))
    onTestFinished(async () => {
      await Promise.all(dbs.map((db) => db.destroy()))
      await drop()
    })
    const clock = givenClock()
    const processes = dbs.map((db) => new Limiter({ db, clock }))
    for (let minute = 0; minute < 3; minute++) {
      const counts = await Promise.all(processes.map((limiter) => taken(limiter, 15)))
      expect(counts.reduce((sum, count) => sum + count)).toBe(20)
      clock.pass(60_000)
    }
  })

  test('processes whose clocks differ a little share one window too', async () => {
    const db = await fresh()
    const [ahead, behind] = [givenClock(), givenClock()]
    ahead.pass(40)
    const processes = [ahead, behind].map((clock) => new Limiter({ db, clock }))
    let admitted = 0
    for (let turn = 0; turn < 40; turn++) admitted += await taken(processes[turn % 2]!, 1)
    expect(admitted).toBe(20)
  })

  test('a flood of refused requests does not reach the database', async () => {
    const db = await fresh()
    let statements = 0
    const counting = counted(db, () => statements++)
    const limiter = new Limiter({ db: counting, clock: givenClock() })
    expect(await taken(limiter, 1_000)).toBe(20)
    expect(await taken(limiter, 1_000)).toBe(0)
    expect(statements).toBe(40)
  })

  test('a limit that is raised holds at once, in a window that was full', async () => {
    const limiter = new Limiter({ db: await fresh(), clock: givenClock() })
    expect(await taken(limiter, 21)).toBe(20)
    const raised = { kind: 'read', limit: 22 } as const
    const standings = await Promise.all(Array.from({ length: 3 }, () => limiter.take('key_a', raised)))
    expect(standings.map(({ remaining, isRefused }) => [remaining, isRefused])).toEqual([
      [1, false],
      [0, false],
      [0, true],
    ])
  })

  test('what is older than the window is pruned, and the counting goes on', async () => {
    const db = await fresh()
    const clock = givenClock()
    const limiter = new Limiter({ db, clock })
    await taken(limiter, 20)
    clock.pass(120_000)
    expect(await taken(limiter, 7)).toBe(7)
    expect(await pruneRateLog(db, clock.now())).toBe(false)
    expect(await db.selectFrom('rate_log').selectAll().execute()).toHaveLength(7)
    expect(await taken(limiter, 20)).toBe(13)
  })

  test('a clock that is set back does not lock anybody out', async () => {
    const clock = givenClock()
    const limiter = new Limiter({ db: await fresh(), clock })
    await taken(limiter, 21)
    clock.pass(-3_600_000)
    expect(await taken(limiter, 21)).toBe(20)
  })
})

/** The same database, with a look at every statement. */
function counted(db: Database, onStatement: () => void): Database {
  return db.withPlugin({
    transformQuery: ({ node }) => {
      onStatement()
      return node
    },
    transformResult: async ({ result }) => result,
  })
}
