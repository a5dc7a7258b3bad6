import { sql } from 'kysely'
import { type Database, engineOf, inTransaction } from './database.ts'
import { baseline } from './migrations/0001-baseline.ts'
import { auditLog } from './migrations/0002-audit-log.ts'
import { lastBackup } from './migrations/0003-last-backup.ts'
import { accounts } from './migrations/0004-accounts.ts'
import { operations } from './migrations/0005-operations.ts'
import { secretRotation } from './migrations/0006-secret-rotation.ts'
import { neighbours } from './migrations/0007-neighbours.ts'
import { organizationKeys } from './migrations/0008-organization-keys.ts'
import { alerts } from './migrations/0009-alerts.ts'
import { labels } from './migrations/0010-labels.ts'
import { jobs } from './migrations/0011-jobs.ts'
import { plans } from './migrations/0012-plans.ts'
import { setupPages } from './migrations/0013-setup-pages.ts'
import { incidents } from './migrations/0014-incidents.ts'
import { apiKeys } from './migrations/0015-api-keys.ts'
import { allGroups } from './migrations/0016-all-groups.ts'

import { returnedMonitors } from './migrations/0017-returned-monitors.ts'
import { undeliveredRequests } from './migrations/0018-undelivered-requests.ts'
import { search } from './migrations/0020-search.ts'
import { groupCounts } from './migrations/0021-group-counts.ts'
import { views } from './migrations/0022-views.ts'
import { largeIncidents } from './migrations/0023-large-incidents.ts'
import { webhookBatches } from './migrations/0024-webhook-batches.ts'
import { information } from './migrations/0025-information.ts'
import { logo } from './migrations/0026-logo.ts'
import { nameOrders } from './migrations/0027-name-order.ts'
import { messageReferences } from './migrations/0028-message-references.ts'
import { jobCodes } from './migrations/0029-job-codes.ts'
import { viewDensity } from './migrations/0030-view-density.ts'

/** What a migration writes where the two engines' words differ. */
export type Dialect = {
  ENGINE: 'sqlite' | 'postgres'
  INTEGER: 'integer' | 'bigint'
  BLOB: 'blob' | 'bytea'
  /** A key that the database counts up itself. */
  SERIAL: string
  /** Ends a table: strict types. */
  STRICT: string
  /** Ends a table that lies in the order of its primary key. */
  CLUSTERED: string
}

export type Migration = {
  name: string
  statements: (words: Dialect) => string[]
  /**
   * How many migrations a program must know to work with the database afterwards. 0 for one that only adds. One that removes
   * or renames gives the number of the migration since which nothing uses that any more.
   */
  needs?: number
}

/** In order, never changed once released; the number of a migration is its place here, from 1. */
export const MIGRATIONS: readonly Migration[] = [
  baseline,
  auditLog,
  lastBackup,
  accounts,
  operations,
  secretRotation,
  neighbours,
  organizationKeys,
  alerts,
  labels,
  jobs,
  setupPages,
  incidents,
  plans,
  apiKeys,
  allGroups,
  returnedMonitors,
  undeliveredRequests,
  search,
  groupCounts,
  views,
  largeIncidents,
  webhookBatches,
  information,
  logo,
  nameOrders,
  messageReferences,
  jobCodes,
  viewDensity,
]

export const WORDS: Record<'sqlite' | 'postgres', Dialect> = {
  sqlite: {
    ENGINE: 'sqlite',
    INTEGER: 'integer',
    BLOB: 'blob',
    SERIAL: 'integer primary key autoincrement',
    STRICT: 'strict',
    CLUSTERED: 'strict, without rowid',
  },
  postgres: {
    ENGINE: 'postgres',
    INTEGER: 'bigint',
    BLOB: 'bytea',
    SERIAL: 'bigint generated always as identity primary key',
    STRICT: '',
    CLUSTERED: '',
  },
}

/** Any constant: what all processes agree to lock while they migrate. */
const LOCK = 7_209_461

/** The migrations of the database are not those of this program: another version made it. */
export class OtherVersion extends Error {}

/** The number of the migration that gave the table of the migrations its column `needs`. */
const NEEDS_SINCE = 7

/**
 * Brings the database up to date in one transaction, under a lock, and returns the names of the migrations that ran. A database
 * of a newer version stays as it is. Throws `OtherVersion` when this program cannot work with that.
 */
export async function migrate(db: Database, now: number): Promise<string[]> {
  const words = WORDS[engineOf(db)]
  return await inTransaction(db, async (transaction) => {
    if (engineOf(db) === 'postgres') await sql`select pg_advisory_xact_lock(${LOCK})`.execute(transaction)
    const applied = await readApplied(transaction, words)
    const unknown = findUnknownMigration(applied)
    if (unknown !== undefined && !(await isNeighbour(transaction, applied)))
      throw new OtherVersion(`This version of Zonewatch does not know the migration "${unknown}".`)
    const names: string[] = []
    for (const [index, { name, statements, needs = 0 }] of MIGRATIONS.slice(applied.length).entries()) {
      for (const statement of statements(words)) await sql.raw(statement).execute(transaction)
      const number = applied.length + index + 1
      await sql`insert into migrations (number, name, applied_at) values (${number}, ${name}, ${now})`.execute(
        transaction,
      )
      if (number >= NEEDS_SINCE)
        await sql`update migrations set needs = ${needs} where number = ${number}`.execute(transaction)
      names.push(name)
    }
    return names
  })
}

/** Whether a newer version made the database, and left everything there that this program uses. */
export async function isNeighbour(db: Database, applied: readonly string[]): Promise<boolean> {
  if (MIGRATIONS.some(({ name }, index) => applied[index] !== name)) return false
  const { rows } = await sql<{ needs: number | null }>`select needs from migrations
    where number > ${MIGRATIONS.length}`.execute(db)
  return rows.every(({ needs }) => needs !== null && needs <= MIGRATIONS.length)
}

/** The first of the migrations of a database, in order, that this program does not have: a newer version made it. */
export function findUnknownMigration(applied: readonly string[]): string | undefined {
  return applied.find((name, index) => MIGRATIONS[index]?.name !== name)
}

/** The migrations that have run, and how many there are; undefined for a database without tables. Changes nothing. */
export async function listMigrations(db: Database): Promise<{ names: string[]; known: number } | undefined> {
  const exists =
    engineOf(db) === 'sqlite'
      ? sql<{ name: string }>`select name from sqlite_schema where name = 'migrations'`
      : sql<{ name: string }>`select 'migrations' as name where to_regclass('migrations') is not null`
  if ((await exists.execute(db)).rows.length === 0) return undefined
  const { rows } = await sql<{ name: string }>`select name from migrations order by number`.execute(db)
  return { names: rows.map(({ name }) => name), known: MIGRATIONS.length }
}

/** Whether every migration of this program has run, and perhaps some of a newer version; for readiness. */
export async function isMigrated(db: Database): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from migrations`.execute(db)
  return (rows[0]?.count ?? 0) >= MIGRATIONS.length
}

/** The names of the migrations that have run, in order. */
async function readApplied(db: Database, words: Dialect): Promise<string[]> {
  await sql
    .raw(
      `create table if not exists migrations
        (number ${words.INTEGER} primary key, name text not null, applied_at ${words.INTEGER} not null) ${words.STRICT}`,
    )
    .execute(db)
  const { rows } = await sql<{ name: string }>`select name from migrations order by number`.execute(db)
  return rows.map(({ name }) => name)
}
