import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Tenant } from '../context.ts'
import { lowestIdAt } from '../ids.ts'
import { Problem } from '../problem.ts'
import type { Database } from './database.ts'
import { openDatabase, type StatementObserver } from './open.ts'
import { isDatabaseUnavailable } from './unavailable.ts'

/** For this long after a change, lists of the organization are read from the replica only if it has that change. */
const RECENT_MS = 5 * 60_000
/** Processes report every 2 s. If the newest report in the replica is older than this, the replica is not read. */
const MAX_LAG_MS = 10_000
/** How long a list waits for a recent change to arrive in the replica, before it is read from the primary. */
const WAIT_MS = 100
const POLL_MS = 10
const TIMEOUT_MS = 5_000
/** A replica that did not respond is not read for this long. */
const UNAVAILABLE_MS = 5_000
/** PostgreSQL's codes for a statement that the standby canceled, because it conflicts with replication. */
const CONFLICT = /^(40001|40P01)$/

type Replicated = { db: Database; replica: ReadReplica | undefined }

/**
 * Reads from the replica if there is one that has every change of the organization, else from the primary. `read` must not write, and
 * can be called twice.
 */
export async function readList<T>(
  { db, replica }: Replicated,
  tenant: Tenant,
  read: (db: Database) => Promise<T>,
): Promise<T> {
  const result = await replica?.read(db, tenant, read)
  return result ? result.value : await read(db)
}

type Options = { url: string; clock: Clock; observer?: StatementObserver }

/** A streaming replica of PostgreSQL that lists are read from. Opens no connection yet. */
export class ReadReplica {
  readonly #db: Database
  readonly #clock: Clock
  #unavailableUntil = Number.NEGATIVE_INFINITY

  constructor({ url, clock, observer }: Options) {
    this.#db = openDatabase(url, { timeoutMs: TIMEOUT_MS, ...(observer ? { observer } : {}) })
    this.#clock = clock
  }

  /** Undefined if the replica lags behind or is unavailable. Throws the problems that `read` throws. */
  async read<T>(
    primary: Database,
    tenant: Tenant,
    read: (db: Database) => Promise<T>,
  ): Promise<{ value: T } | undefined> {
    if (this.#clock.elapsed() < this.#unavailableUntil) return undefined
    const position = await this.#positionOf(primary, tenant)
    try {
      return await this.#db
        .transaction()
        .setAccessMode('read only')
        .execute(async (db) => ((await this.#has(db, position)) ? { value: await read(db) } : undefined))
    } catch (error) {
      if (isDatabaseUnavailable(error)) this.#unavailableUntil = this.#clock.elapsed() + UNAVAILABLE_MS
      else if (error instanceof Problem || !isStandbyError(error)) throw error
      return undefined
    }
  }

  async close(): Promise<void> {
    await this.#db.destroy()
  }

  /** The current position in the write-ahead log; null if the organization has no recent change. */
  async #positionOf(primary: Database, { organizationId }: Tenant): Promise<string | null> {
    const since = lowestIdAt('aud', this.#clock.now() - RECENT_MS)
    const { rows } = await sql<{ position: string | null }>`
      select case when exists (select 1 from audit_log where organization_id = ${organizationId} and id > ${since})
        then pg_current_wal_insert_lsn()::text end as position`.execute(primary)
    return rows[0]!.position
  }

  /** Whether the replica has replayed the log up to the position. Later statements of the transaction see at least as much. */
  async #has(db: Database, position: string | null): Promise<boolean> {
    const until = this.#clock.elapsed() + WAIT_MS
    for (;;) {
      const { rows } = await sql<{ seen_at: number | null; has_position: boolean }>`
        select (select max(seen_at) from processes) as seen_at,
          ${position}::pg_lsn is null
            or (pg_is_in_recovery() and pg_last_wal_replay_lsn() >= ${position}::pg_lsn) as has_position`.execute(db)
      const { seen_at, has_position } = rows[0]!
      if (seen_at === null || seen_at < this.#clock.now() - MAX_LAG_MS) return false
      if (has_position || this.#clock.elapsed() >= until) return has_position
      await this.#clock.sleep(POLL_MS)
    }
  }
}

/** Whether the standby canceled the statement, or lacks a table or column of a migration that has just run. */
function isStandbyError(error: unknown): boolean {
  const { code = '' } = error as { code?: string }
  return CONFLICT.test(code) || code === '42P01' || code === '42703'
}
