import { statSync } from 'node:fs'
import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { pathOf } from '../database/url.ts'

/** In octets. `log`: SQLite's write-ahead log, which is part of neither. */
export type DatabaseSize = { octets: number; log: number | null }

const HOUR_MS = 60 * 60_000
const KEPT_MS = 90 * 24 * HOUR_MS

/** `url`: of the settings. */
export async function databaseSize(db: Database, url: string): Promise<DatabaseSize> {
  const path = pathOf(url)
  if (path !== undefined) return { octets: octetsOf(path), log: octetsOf(`${path}-wal`) }
  const { rows } = await sql<{ octets: number }>`select pg_database_size(current_database()) as octets`.execute(db)
  return { octets: rows[0]!.octets, log: null }
}

const octetsOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** Writes the size down every hour, so that the growth is known. Of several processes one does. Runs until `stop`. */
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
    .where('measured_at', '<', now - KEPT_MS)
    .execute()
}

/** One size a day, oldest first, at most 90. */
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
