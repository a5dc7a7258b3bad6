import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Tenant } from '../context.ts'
import { lowestIdAt } from '../ids.ts'
import { Problem } from '../problem.ts'
import type { Database } from './database.ts'
import { openDatabase, type StatementObserver } from './open.ts'
import { isDatabaseUnavailable } from './unavailable.ts'

/** How long after a change of an organization its lists are read from a replica only if it has that change. */
const RECENT_MS = 5 * 60_000
/** Processes report themselves every 2 s; a replica whose newest report is older than this is not read. */
const MAX_LAG_MS = 10_000
/** How long a list waits for a replica that lacks a recent change, before it is read from the primary. */
const WAIT_MS = 100
const LOOK_MS = 10
const TIMEOUT_MS = 5_000
/** How long no list is read from a replica that did not answer. */
const AWAY_MS = 5_000
/** Of PostgreSQL: the standby had to cancel the statement to go on replaying; the same works on the primary. */
const CONFLICT = /^(40001|40P01)$/

type Replicated = { db: Database; replica: ReadReplica | undefined }

/**
 * Reads lists of an organization from the replica, where there is one that has every change that the organization made; else
 * from the primary. `read` only reads, and may run twice.
 */
export async function readList<T>(
  { db, replica }: Replicated,
  tenant: Tenant,
  read: (db: Database) => Promise<T>,
): Promise<T> {
  const found = await replica?.read(db, tenant, read)
  return found ? found.value : await read(db)
}

type Options = { url: string; clock: Clock; observer?: StatementObserver }

/** A streaming replica of PostgreSQL that lists are read from. Opens no connection yet. */
export class ReadReplica {
  readonly #db: Database
  readonly #clock: Clock
  #awayUntil = Number.NEGATIVE_INFINITY

  constructor({ url, clock, observer }: Options) {
    this.#db = openDatabase(url, { timeoutMs: TIMEOUT_MS, ...(observer ? { observer } : {}) })
    this.#clock = clock
  }

  /** Undefined where the replica is behind or away. Throws what `read` refuses. */
  async read<T>(
    primary: Database,
    tenant: Tenant,
    read: (db: Database) => Promise<T>,
  ): Promise<{ value: T } | undefined> {
    if (this.#clock.elapsed() < this.#awayUntil) return undefined
    const wanted = await this.#positionOf(primary, tenant)
    try {
      return await this.#db
        .transaction()
        .setAccessMode('read only')
        .execute(async (db) => ((await this.#has(db, wanted)) ? { value: await read(db) } : undefined))
    } catch (error) {
      if (isDatabaseUnavailable(error)) this.#awayUntil = this.#clock.elapsed() + AWAY_MS
      else if (error instanceof Problem || !isOfStandby(error)) throw error
      return undefined
    }
  }

  async close(): Promise<void> {
    await this.#db.destroy()
  }

  /** Where in the log all is that was acknowledged so far; null where the organization changed nothing lately. */
  async #positionOf(primary: Database, { organizationId }: Tenant): Promise<string | null> {
    const since = lowestIdAt('aud', this.#clock.now() - RECENT_MS)
    const { rows } = await sql<{ position: string | null }>`
      select case when exists (select 1 from audit_log where organization_id = ${organizationId} and id > ${since})
        then pg_current_wal_insert_lsn()::text end as position`.execute(primary)
    return rows[0]!.position
  }

  /** Each statement of the transaction sees at least what the one before it saw. */
  async #has(db: Database, position: string | null): Promise<boolean> {
    const until = this.#clock.elapsed() + WAIT_MS
    for (;;) {
      const { rows } = await sql<{ seen_at: number | null; is_there: boolean }>`
        select (select max(seen_at) from processes) as seen_at,
          ${position}::pg_lsn is null
            or (pg_is_in_recovery() and pg_last_wal_replay_lsn() >= ${position}::pg_lsn) as is_there`.execute(db)
      const { seen_at, is_there } = rows[0]!
      if (seen_at === null || seen_at < this.#clock.now() - MAX_LAG_MS) return false
      if (is_there || this.#clock.elapsed() >= until) return is_there
      await this.#clock.sleep(LOOK_MS)
    }
  }
}

/** Of a standby that cancels a statement, or that lacks a table of a migration that has just run. */
function isOfStandby(error: unknown): boolean {
  const { code = '' } = error as { code?: string }
  return CONFLICT.test(code) || code === '42P01' || code === '42703'
}
