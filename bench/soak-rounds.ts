import { sql } from 'kysely'
import { systemClock } from '../server/clock.ts'
import type { Database } from '../server/database/database.ts'
import { SLOTS } from '../server/monitors/slots.ts'

const TIMEOUT_MS = 10 * 60_000

/** Makes every monitor due once during the round. Checks after `since` belong to the round. */
export async function planRound(db: Database, roundMs: number): Promise<{ since: number }> {
  const since = systemClock.now()
  const step = Math.max(1, Math.floor(SLOTS / roundMs))
  await sql`update due_checks set due_at = cast(${since} as bigint) + slot / cast(${step} as bigint)
    where claimed_by is null`.execute(db)
  return { since }
}

/** Resolves when every monitor was checked and none is inconclusive. Throws if the server ends or makes no progress. */
export async function roundIsOver(db: Database, since: number, ended: () => Promise<unknown>): Promise<void> {
  const until = systemClock.elapsed() + TIMEOUT_MS
  while (systemClock.elapsed() < until) {
    const left = db.selectFrom('due_checks').select((of) => of.fn.countAll<number>().as('count'))
    const { count } = await left
      .where((of) =>
        of.or([of('last_checked_at', '<', since), of('last_checked_at', 'is', null), of('inconclusive_count', '>', 0)]),
      )
      .executeTakeFirstOrThrow()
    if (Number(count) === 0) return
    const first = await Promise.race([ended().then(() => 'ended'), systemClock.sleep(500)])
    if (first === 'ended') throw new Error('The server ended by itself.')
  }
  throw new Error('Some monitors were not checked in time.')
}
