import { type AnyColumn, type SelectQueryBuilder, sql } from 'kysely'
import type { Clock } from '../clock.ts'
import { yieldToEventLoop } from '../yield.ts'
import { type Database, inTransaction } from './database.ts'
import type { Tables } from './schema.ts'
import { isDeadlock } from './unavailable.ts'

/** Rows of one transaction: it takes a few milliseconds, and then other transactions can run. */
const BATCH_SIZE = 200
const MAX_ATTEMPTS = 10

/**
 * Processes many rows in short transactions, in the order of their ids. `work` gets the last id of the previous batch and the limit,
 * and returns the ids that it processed. After an interruption the caller starts over, so `work` must be idempotent.
 */
export async function inBatches(
  db: Database,
  work: (transaction: Database, after: string, limit: number) => Promise<string[]>,
): Promise<void> {
  for (let after = ''; ; ) {
    const ids = await retryDeadlocks(() => inTransaction(db, (transaction) => work(transaction, after, BATCH_SIZE)))
    if (ids.length < BATCH_SIZE) return
    after = ids.at(-1)!
    await yieldToEventLoop()
  }
}

async function retryDeadlocks<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isDeadlock(error) || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

/** Rows that one deletion removes. */
export const DELETE_BATCH_SIZE = 200
/** After each batch, so that others can use the database. */
const PAUSE_MS = 20

/**
 * Repeats a deletion of at most `DELETE_BATCH_SIZE` rows until one removes fewer, which it returns. If another process deletes the same
 * rows, some may be left for the next time.
 */
export async function deleteInBatches(
  clock: Clock,
  stop: AbortSignal,
  deleteSome: () => Promise<number>,
): Promise<void> {
  while (!stop.aborted && (await deleteSome()) >= DELETE_BATCH_SIZE) await clock.sleep(PAUSE_MS, stop)
}

/** Deletes the first rows of these. `key`: the columns of the primary key. Returns how many it deleted. */
export async function deleteBatch<T extends keyof Tables>(
  db: Database,
  table: T,
  key: readonly AnyColumn<Tables, T>[],
  rows: SelectQueryBuilder<Tables, T, object>,
  limit = DELETE_BATCH_SIZE,
): Promise<number> {
  const columns = sql.join(key.map((name) => sql.ref(name)))
  const batch = rows.select(key).limit(limit)
  const { numAffectedRows } = await sql`delete from ${sql.table(table)} where (${columns}) in ${batch}`.execute(db)
  return Number(numAffectedRows)
}

const PAGE_SIZE = 200

/** Calls `work` for every organization in turn, until `stop`. */
export async function forEachOrganization(
  db: Database,
  stop: AbortSignal,
  work: (organizationId: string) => Promise<void>,
): Promise<void> {
  for (let after = ''; !stop.aborted; ) {
    const organizations = await db
      .selectFrom('organizations')
      .select('id')
      .where('id', '>', after)
      .orderBy('id')
      .limit(PAGE_SIZE)
      .execute()
    for (const { id } of organizations) await work(id)
    if (organizations.length < PAGE_SIZE) return
    after = organizations.at(-1)!.id
  }
}
