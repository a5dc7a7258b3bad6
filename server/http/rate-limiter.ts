import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import { deleteBatch } from '../database/batches.ts'
import type { Database } from '../database/database.ts'
import { isNotWritable } from '../database/unavailable.ts'
import { type Budget, type LimitStatus, unlimitedStatus, WINDOW_MS } from './rate-limits.ts'

const MAX_BUCKETS = 20_000
/** After a write failed because the database cannot be written. Each attempt would cost a new connection. */
const UNWRITABLE_MS = 5_000

/**
 * A sliding window that all processes share in the database. Full buckets are also kept in memory, so that refusals do not
 * query the database.
 */
export class Limiter {
  readonly #deps: { db: Database; clock: Clock }
  /** When the next request is allowed, by bucket and limit: a higher limit applies at once. */
  readonly #full = new Map<string, number>()
  /** The windows of this process while the database cannot be written, so that it can still be read. */
  readonly #own = new Map<string, { count: number; beganAt: number }>()
  #unwritableUntil = Number.NEGATIVE_INFINITY
  readonly #queues = new Map<string, Promise<LimitStatus>>()

  constructor(deps: { db: Database; clock: Clock }) {
    this.#deps = deps
  }

  /** Counts or refuses one request. `subject`: an API key, a user or a network. */
  async take(subject: string, { kind, limit }: Pick<Budget, 'kind' | 'limit'>): Promise<LimitStatus> {
    if (limit === 0) return unlimitedStatus(this.#deps.clock.now())
    const bucket = `${subject} ${kind}`
    return this.#refusal(bucket, limit) ?? (await this.#enqueue(bucket, () => this.#count(bucket, limit)))
  }

  /** Without a statement: whether the bucket is known to be full. */
  refusal(subject: string, { kind, limit }: Pick<Budget, 'kind' | 'limit'>): LimitStatus | undefined {
    return this.#refusal(`${subject} ${kind}`, limit)
  }

  async #count(bucket: string, limit: number): Promise<LimitStatus> {
    const { clock } = this.#deps
    if (clock.elapsed() < this.#unwritableUntil) return this.#countHere(bucket, limit)
    try {
      return await this.#countInDatabase(bucket, limit)
    } catch (error) {
      if (!isNotWritable(error)) throw error
      this.#unwritableUntil = clock.elapsed() + UNWRITABLE_MS
      return this.#countHere(bucket, limit)
    }
  }

  #countHere(bucket: string, limit: number): LimitStatus {
    const now = this.#deps.clock.now()
    const known = this.#own.get(bucket)
    const isCurrent = known !== undefined && Math.abs(now - known.beganAt) < WINDOW_MS
    const { count, beganAt } = isCurrent ? known : { count: 0, beganAt: now }
    if (!isCurrent && this.#own.size >= MAX_BUCKETS) this.#own.delete(this.#own.keys().next().value!)
    const isRefused = count >= limit
    if (!isRefused) this.#own.set(bucket, { count: count + 1, beganAt })
    return { limit, remaining: Math.max(0, limit - count - 1), resetAt: beganAt + WINDOW_MS, isRefused }
  }

  async #countInDatabase(bucket: string, limit: number): Promise<LimitStatus> {
    const { db, clock } = this.#deps
    // Another process may insert the same number first. Each lost attempt means one more counted request in the bucket.
    for (let attempt = 0; attempt <= limit; attempt++) {
      const refusal = this.#refusal(bucket, limit)
      if (refusal) return refusal
      const now = clock.now()
      const number = await countRequest(db, bucket, limit, now)
      const { count, oldestAt } = await readWindow(db, bucket, now)
      const resetAt = oldestAt + WINDOW_MS
      if (count >= limit) this.#setFull(`${bucket} ${limit}`, resetAt, now)
      if (number !== undefined) return { limit, remaining: Math.max(0, limit - count), resetAt, isRefused: false }
      if (count >= limit) return { limit, remaining: 0, resetAt, isRefused: true }
    }
    return { limit, remaining: 0, resetAt: clock.now() + 1_000, isRefused: true }
  }

  #refusal(bucket: string, limit: number): LimitStatus | undefined {
    const resetAt = this.#full.get(`${bucket} ${limit}`)
    if (resetAt === undefined) return undefined
    const remainingMs = resetAt - this.#deps.clock.now()
    if (remainingMs > 0 && remainingMs <= WINDOW_MS) return { limit, remaining: 0, resetAt, isRefused: true }
    this.#full.delete(`${bucket} ${limit}`)
    return undefined
  }

  #setFull(key: string, resetAt: number, now: number): void {
    if (resetAt <= now) return
    if (this.#full.size >= MAX_BUCKETS) this.#full.delete(this.#full.keys().next().value!)
    this.#full.set(key, resetAt)
  }

  /** Counts the requests of one bucket one after the other, so that a burst runs at most `limit` statements. */
  async #enqueue(bucket: string, count: () => Promise<LimitStatus>): Promise<LimitStatus> {
    const previous = this.#queues.get(bucket)
    // While the database is unavailable, one failure rejects all queued requests.
    const current = previous ? previous.then(count) : count()
    this.#queues.set(bucket, current)
    try {
      return await current
    } finally {
      if (this.#queues.get(bucket) === current) this.#queues.delete(bucket)
    }
  }
}

/**
 * Returns the number of the request; undefined if the bucket is full, or if another process inserted the same number. Request n
 * is allowed once request n - `limit` has left the window, so one row decides. Times never decrease with rising numbers, even
 * if the clocks of the processes differ.
 */
async function countRequest(db: Database, bucket: string, limit: number, now: number): Promise<number | undefined> {
  const { rows } = await sql<{ number: number }>`
    with last as (
      select (select coalesce(max(number), 0) from rate_log where bucket = ${bucket}) as number,
        (select coalesce(max(counted_at), 0) from rate_log where bucket = ${bucket} and ${inWindow(now)}) as counted_at
    )
    insert into rate_log (bucket, number, counted_at)
    select cast(${bucket} as text), last.number + 1,
      case when last.counted_at > cast(${now} as bigint) then last.counted_at else cast(${now} as bigint) end from last
    where not exists (
      select 1 from rate_log where bucket = ${bucket} and number = last.number + 1 - cast(${limit} as bigint)
        and ${inWindow(now)}
    )
    on conflict do nothing returning number`.execute(db)
  return rows[0]?.number
}

/** The number of requests in the window, and the time of the oldest. Two index lookups, regardless of the number. */
async function readWindow(db: Database, bucket: string, now: number): Promise<{ count: number; oldestAt: number }> {
  const { rows } = await sql<{ last: number; number: number; counted_at: number }>`
    select (select max(number) from rate_log where bucket = ${bucket}) as last, number, counted_at
    from rate_log where bucket = ${bucket} and ${inWindow(now)} order by counted_at, number limit 1`.execute(db)
  const [oldest] = rows
  return oldest ? { count: oldest.last - oldest.number + 1, oldestAt: oldest.counted_at } : { count: 0, oldestAt: now }
}

/** As many as busy servers write between two batches. */
const PRUNE_BATCH_SIZE = 500

/** Deletes a batch of old rows. Returns whether there may be more. */
export async function pruneRateLog(db: Database, now: number): Promise<boolean> {
  const old = db
    .selectFrom('rate_log')
    .where('counted_at', '<=', now - 2 * WINDOW_MS)
    .orderBy('counted_at')
  return (await deleteBatch(db, 'rate_log', ['bucket', 'number'], old, PRUNE_BATCH_SIZE)) === PRUNE_BATCH_SIZE
}

/** A row in the future was written before the clock was set back, and is not counted. */
const inWindow = (now: number) => sql`counted_at > ${now - WINDOW_MS} and counted_at <= ${now + WINDOW_MS}`
