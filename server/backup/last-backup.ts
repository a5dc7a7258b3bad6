import type { Database } from '../database/database.ts'
import { isFile } from '../database/dialect.ts'

export type LastBackup = {
  /** UTC epoch milliseconds. */
  triedAt: number
  /** Why the last backup failed; null if it succeeded. */
  error: string | null
  /** The last successful backup; null if there is none. */
  made: { at: number; path: string; bytes: number; durationMs: number } | null
}

/** The result of the last backup, scheduled or from the command line; undefined if there was none. */
export async function findLastBackup(db: Database): Promise<LastBackup | undefined> {
  const row = await db.selectFrom('last_backup').selectAll().executeTakeFirst()
  if (!row) return undefined
  const { tried_at: triedAt, error, made_at: at, path, octets, duration_ms: durationMs } = row
  const made = at === null ? null : { at, path: path!, bytes: octets!, durationMs: durationMs! }
  return { triedAt, error, made }
}

/** The expected interval of backups in milliseconds; undefined if none are scheduled. On PostgreSQL another program creates them. */
export function backupIntervalOf(
  db: Database,
  { backupDir, backupEveryMs }: { backupDir: string | null; backupEveryMs: number },
  last: LastBackup | undefined,
): number | undefined {
  return backupDir !== null || (!isFile(db) && last) ? backupEveryMs : undefined
}

export async function recordMadeBackup(db: Database, made: NonNullable<LastBackup['made']>): Promise<void> {
  const { at, path, bytes, durationMs } = made
  await record(db, { tried_at: at, error: null, made_at: at, path, octets: bytes, duration_ms: durationMs })
}

/** Keeps the columns of the last successful backup. */
export async function recordFailedBackup(db: Database, error: string, now: number): Promise<void> {
  await record(db, { tried_at: now, error })
}

type Row = {
  tried_at: number
  error: string | null
  made_at?: number
  path?: string
  octets?: number
  duration_ms?: number
}

async function record(db: Database, row: Row): Promise<void> {
  await db
    .insertInto('last_backup')
    .values({ number: 1, ...row })
    .onConflict((conflict) => conflict.column('number').doUpdateSet(row))
    .execute()
}
