import { statSync } from 'node:fs'
import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { sqlitePathOf } from '../database/url.ts'

const HOUR_MS = 60 * 60_000
const RETENTION_MS = 90 * 24 * HOUR_MS

/** In bytes. `url`: DATABASE_URL. `log`: SQLite's write-ahead log, which `octets` does not include; null on PostgreSQL. */
export async function databaseSize(db: Database, url: string): Promise<{ octets: number; log: number | null }> {
  const path = sqlitePathOf(url)
  if (path !== undefined) return { octets: fileSize(path), log: fileSize(`${path}-wal`) }
  const { rows } = await sql<{ octets: number }>`select pg_database_size(current_database()) as octets`.execute(db)
  return { octets: rows[0]!.octets, log: null }
}

const fileSize = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** Records the size every hour until `stop`. Of several processes, the first one in an hour records it. */
export async function runSizeHistory(
  deps: { db: Database; clock: Clock; log: Logger; config: { databaseUrl: string } },
  { stop }: { stop: AbortSignal },
): Promise<void> {
  while (!stop.aborted) {
    await recordSize(deps.db, deps.config.databaseUrl, deps.clock.now()).catch((err: unknown) =>
      deps.log.warn({ err }, 'The size of the database could not be recorded. The next attempt is in an hour.'),
    )
    await deps.clock.sleep(HOUR_MS, stop)
  }
}

export async function recordSize(db: Database, url: string, now: number): Promise<void> {
  const { octets } = await databaseSize(db, url)
  await db
    .insertInto('database_sizes')
    .values({ measured_at: Math.floor(now / HOUR_MS) * HOUR_MS, octets })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  await db
    .deleteFrom('database_sizes')
    .where('measured_at', '<', now - RETENTION_MS)
    .execute()
}

/** The last size of each day, oldest first, of at most 91 days. */
export async function readSizes(db: Database): Promise<{ measured_at: number; octets: number }[]> {
  const rows = await db
    .selectFrom('database_sizes')
    .select(['measured_at', 'octets'])
    .orderBy('measured_at')
    .limit(24 * 91)
    .execute()
  const byDay = new Map(rows.map((row) => [Math.floor(row.measured_at / (24 * HOUR_MS)), row]))
  return [...byDay.values()]
}
