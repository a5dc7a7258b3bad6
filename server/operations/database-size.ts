import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { sql } from 'kysely'
import type { Logger } from 'pino'
import { freeBytesOf } from '../backup/back-up.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { sqlitePathOf } from '../database/url.ts'
import { DAY_MS, HOUR_MS } from '../times.ts'

const RETENTION_MS = 90 * DAY_MS

/** `walBytes`: SQLite's write-ahead log, which `bytes` does not include. It and the free space of the disk are null on PostgreSQL. */
type DatabaseSize = { bytes: number; walBytes: number | null; diskFreeBytes: number | null }

/** `url`: DATABASE_URL. */
export async function readDatabaseSize(db: Database, url: string): Promise<DatabaseSize> {
  const path = sqlitePathOf(url)
  if (path !== undefined) {
    return {
      bytes: fileSize(path),
      walBytes: fileSize(`${path}-wal`),
      diskFreeBytes: freeBytesOf(dirname(path)),
    }
  }
  const { rows } = await sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`.execute(db)
  return { bytes: rows[0]!.bytes, walBytes: null, diskFreeBytes: null }
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
  const { bytes } = await readDatabaseSize(db, url)
  await db
    .insertInto('database_sizes')
    .values({ measured_at: Math.floor(now / HOUR_MS) * HOUR_MS, octets: bytes })
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
  const byDay = new Map(rows.map((row) => [Math.floor(row.measured_at / DAY_MS), row]))
  return [...byDay.values()]
}
