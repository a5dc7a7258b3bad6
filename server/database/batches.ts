import type { Clock } from '../clock.ts'
import { yieldToEventLoop } from '../yield.ts'
import { type Database, inTransaction } from './database.ts'
import { isDeadlock } from './unavailable.ts'

/** Rows in one transaction: a few milliseconds, after which other transactions can run. */
const SLICE = 200
const MOST_TRIES = 10

/**
 * Works through many rows in short transactions of their own, in the order of their ids. `work` gets the id to begin
 * after and how many to take, and returns the ids that it took. Anyone who is interrupted starts over, so repeating must be harmless.
 */
export async function inBatches(
  db: Database,
  work: (transaction: Database, after: string, limit: number) => Promise<string[]>,
): Promise<void> {
  for (let after = ''; ; ) {
    const ids = await again(() => inTransaction(db, (transaction) => work(transaction, after, SLICE)))
    if (ids.length < SLICE) return
    after = ids.at(-1)!
    await yieldToEventLoop()
  }
}

async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!isDeadlock(error) || tries === MOST_TRIES) throw error
    }
  }
}

/** Rows that a deletion takes at a time. */
export const DELETED_AT_ONCE = 200
/** After each batch, so that anyone who waits for the database comes first. */
const PAUSE_MS = 20

/** Repeats a deletion of at most `DELETED_AT_ONCE` rows, which returns how many there were, until nothing is left. */
export async function deleteInBatches(
  clock: Clock,
  stop: AbortSignal,
  deleteSome: () => Promise<number>,
): Promise<void> {
  while (!stop.aborted && (await deleteSome()) >= DELETED_AT_ONCE) await clock.sleep(PAUSE_MS, stop)
}

const ORGANIZATIONS_AT_ONCE = 200

/** Calls `work` for one organization after the other, all of them unless `stop` ends it. */
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
      .limit(ORGANIZATIONS_AT_ONCE)
      .execute()
    for (const { id } of organizations) await work(id)
    if (organizations.length < ORGANIZATIONS_AT_ONCE) return
    after = organizations.at(-1)!.id
  }
}
