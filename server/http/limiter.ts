import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { type Budget, type LimitStatus, unlimited, WINDOW_MS } from './limits.ts'

/** Full buckets that are kept in memory; beyond that, the oldest is read from the database again. */
const REMEMBERED = 20_000

/**
 * A sliding-window log that all processes share in the database. That a bucket is full, and until when, is remembered
 * here: a refusal costs the database nothing.
 */
export class Limiter {
  readonly #deps: { db: Database; clock: Clock }
  /** When the next place gets free. By bucket and limit: a limit that is raised holds at once. */
  readonly #full = new Map<string, number>()
  readonly #queues = new Map<string, Promise<LimitStatus>>()

  constructor(deps: { db: Database; clock: Clock }) {
    this.#deps = deps
  }

  /** Counts one request of `who` (an API key or an address), or refuses it. */
  async take(who: string, { kind, limit }: Pick<Budget, 'kind' | 'limit'>): Promise<LimitStatus> {
    if (limit === 0) return unlimited(this.#deps.clock.now())
    const bucket = `${who} ${kind}`
    return this.#refusal(bucket, limit) ?? (await this.#inTurn(bucket, () => this.#count(bucket, limit)))
  }

  async #count(bucket: string, limit: number): Promise<LimitStatus> {
    const { db, clock } = this.#deps
    // Another process may take the number at the same moment; each round that is lost that way fills the bucket by one.
    for (let lost = 0; lost <= limit; lost++) {
      const refusal = this.#refusal(bucket, limit)
      if (refusal) return refusal
      const now = clock.now()
      const number = await countRequest(db, bucket, limit, now)
      const { counted, oldestAt } = await readWindow(db, bucket, now)
      const freeAt = oldestAt + WINDOW_MS
      if (counted >= limit) this.#remember(`${bucket} ${limit}`, freeAt, now)
      if (number !== undefined) return { limit, remaining: Math.max(0, limit - counted), freeAt, isRefused: false }
      if (counted >= limit) return { limit, remaining: 0, freeAt, isRefused: true }
    }
    return { limit, remaining: 0, freeAt: clock.now() + 1_000, isRefused: true }
  }

  #refusal(bucket: string, limit: number): LimitStatus | undefined {
    const freeAt = this.#full.get(`${bucket} ${limit}`)
    if (freeAt === undefined) return undefined
    const left = freeAt - this.#deps.clock.now()
    if (left > 0 && left <= WINDOW_MS) return { limit, remaining: 0, freeAt, isRefused: true }
    this.#full.delete(`${bucket} ${limit}`)
    return undefined
  }

  #remember(full: string, freeAt: number, now: number): void {
    if (freeAt <= now) return
    if (this.#full.size >= REMEMBERED) this.#full.delete(this.#full.keys().next().value!)
    this.#full.set(full, freeAt)
  }

  /** Requests of one bucket one after the other, so that a crowd of them asks the database no more than `limit` times. */
  async #inTurn(bucket: string, count: () => Promise<LimitStatus>): Promise<LimitStatus> {
    const before = this.#queues.get(bucket)
    // When the database is away the first failure is everyone's: nobody waits for it again.
    const turn = before ? before.then(count) : count()
    this.#queues.set(bucket, turn)
    try {
      return await turn
    } finally {
      if (this.#queues.get(bucket) === turn) this.#queues.delete(bucket)
    }
  }
}

/**
 * Counts a request when its bucket has a place, and returns its number; undefined when there was none, or when another
 * process took the same number at this moment. The n-th request has a place when the one `limit` before it has left the
 * window, so one row decides, and the primary key holds for all processes. Times never fall as numbers rise, whatever the
 * clocks of the processes say.
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

export type Window = { counted: number; oldestAt: number }

/** How many requests the window holds, and when the oldest of them came. Two look-ups, however many there are. */
async function readWindow(db: Database, bucket: string, now: number): Promise<Window> {
  const { rows } = await sql<{ last: number; number: number; counted_at: number }>`
    select (select max(number) from rate_log where bucket = ${bucket}) as last, number, counted_at
    from rate_log where bucket = ${bucket} and ${inWindow(now)} order by counted_at, number limit 1`.execute(db)
  const [oldest] = rows
  return oldest
    ? { counted: oldest.last - oldest.number + 1, oldestAt: oldest.counted_at }
    : { counted: 0, oldestAt: now }
}

/** Removes what no window holds any more. Returns whether there may be more. */
export async function pruneRateLog(db: Database, now: number): Promise<boolean> {
  const { rows } = await sql`
    delete from rate_log where (bucket, number) in (
      select bucket, number from rate_log where counted_at <= ${now - 2 * WINDOW_MS} limit ${PRUNE_BATCH}
    ) returning 1 as gone`.execute(db)
  return rows.length === PRUNE_BATCH
}

const PRUNE_BATCH = 500

/** A row with a later time was written before the machine's clock was set back, and is not counted. */
const inWindow = (now: number) => sql`counted_at > ${now - WINDOW_MS} and counted_at <= ${now + WINDOW_MS}`
