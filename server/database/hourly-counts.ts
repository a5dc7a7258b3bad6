import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../times.ts'
import { deleteBatch, deleteInBatches } from './batches.ts'
import type { Database } from './database.ts'

/** `subject`: what is counted, such as `mails to <hash>`. `limit`: in a period; 0: no limit. `periodMs`: an hour by default, at most a day. */
export type HourlyLimit = { subject: string; limit: number; periodMs?: number }

/**
 * Counts one more of each subject, across all processes. If one is at its limit it counts none, and returns when it is allowed again. A
 * period begins with the first that is counted.
 */
export async function countWithin(
  db: Database,
  limits: readonly HourlyLimit[],
  now: number,
): Promise<number | undefined> {
  const counted = limits.filter(({ limit }) => limit > 0)
  // In one order, so that no two statements wait for each other.
  const sorted = counted.toSorted((a, b) => (a.subject < b.subject ? -1 : 1))
  const taken: string[] = []
  for (const { subject, limit, periodMs = HOUR_MS } of sorted) {
    const isOver = hasEnded(periodMs, now)
    const { rows } = await sql`
      insert into hourly_counts (subject, since, count) values (${subject}, ${now}, 1)
      on conflict (subject) do update set
        count = case when ${isOver} then 1 else hourly_counts.count + 1 end,
        since = case when ${isOver} then cast(${now} as bigint) else hourly_counts.since end
      where ${isOver} or hourly_counts.count < ${limit}
      returning 1 as counted`.execute(db)
    if (rows.length > 0) {
      taken.push(subject)
      continue
    }
    for (const other of taken)
      await sql`update hourly_counts set count = count - 1 where subject = ${other} and count > 0`.execute(db)
    return (await fullUntil(db, { subject, limit, periodMs }, now)) ?? now
  }
  return undefined
}

/** When a subject that is at its limit is allowed again; undefined: now. */
export async function fullUntil(
  db: Database,
  { subject, limit, periodMs = HOUR_MS }: HourlyLimit,
  now: number,
): Promise<number | undefined> {
  if (limit === 0) return undefined
  const { rows } = await sql<{ since: number }>`select since from hourly_counts
    where subject = ${subject} and count >= ${limit} and not ${hasEnded(periodMs, now)}`.execute(db)
  return rows[0] && rows[0].since + periodMs
}

/** A time in the future was written before the clock was set back. */
const hasEnded = (periodMs: number, now: number) =>
  sql`(hourly_counts.since <= ${now - periodMs} or hourly_counts.since > ${now + MINUTE_MS})`

/** Deletes the counts of periods that are over, in small batches, until `stop`. */
export async function deleteOldCounts({ db, clock }: { db: Database; clock: Clock }, stop: AbortSignal): Promise<void> {
  const old = db
    .selectFrom('hourly_counts')
    .where('since', '<=', clock.now() - DAY_MS)
    .orderBy('since')
  await deleteInBatches(clock, stop, () => deleteBatch(db, 'hourly_counts', ['subject'], old))
}
