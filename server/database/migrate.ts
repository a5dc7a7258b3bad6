import { sql } from 'kysely'
import { type Database, inTransaction } from './database.ts'
import { engineOf } from './engine.ts'
import { baseline } from './migrations/0001-baseline.ts'
import { boundedWork } from './migrations/0002-bounded-work.ts'
import { fairAlerts } from './migrations/0003-fair-alerts.ts'
import { hourlyCounts } from './migrations/0004-hourly-counts.ts'
import { networkState } from './migrations/0009-network-state.ts'
import { resolution } from './migrations/0010-resolution.ts'
import { noOrderByLastCheck } from './migrations/0015-no-order-by-last-check.ts'
import { plannedChangesOfJobs } from './migrations/0015-planned-changes-of-jobs.ts'
import { sharedCauses } from './migrations/0016-shared-causes.ts'
import { hasReceived } from './migrations/0017-has-received.ts'
import { rounds } from './migrations/0018-rounds.ts'
import { incidentGroups } from './migrations/0019-incident-groups.ts'
import { checkGaps } from './migrations/0020-check-gaps.ts'
import { announcedMonitors } from './migrations/0021-announced-monitors.ts'
import { zones } from './migrations/0022-zones.ts'
import { organizationOfRemovedWebhooks } from './migrations/0024-organization-of-removed-webhooks.ts'
import { deletion } from './migrations/0025-deletion.ts'
import { singleSignOn } from './migrations/0026-single-sign-on.ts'
import { zoneAlerts } from './migrations/0027-zone-alerts.ts'
import { registrations } from './migrations/0028-registrations.ts'
import { stateDays } from './migrations/0029-state-days.ts'
import { DIALECTS, type Dialect, type Migration } from './migrations/dialect.ts'

/** In order, never changed once released. The number of a migration is its position here, from 1. */
export const MIGRATIONS: readonly Migration[] = [
  baseline,
  boundedWork,
  networkState,
  hourlyCounts,
  fairAlerts,
  resolution,
  noOrderByLastCheck,
  plannedChangesOfJobs,
  sharedCauses,
  hasReceived,
  rounds,
  incidentGroups,
  checkGaps,
  announcedMonitors,
  zones,
  organizationOfRemovedWebhooks,
  deletion,
  singleSignOn,
  zoneAlerts,
  stateDays,
  registrations,
]

/** The id of the advisory lock that every migrating process takes. Any constant. */
const LOCK = 7_209_461

/** Stands among the migrations of a database into which `zonewatch copy` has not copied everything, so that no version uses it. */
export const INCOMPLETE_COPY = 'incomplete copy'

/** This program cannot use the database. The message says what is wrong and what to do. */
export class OtherVersion extends Error {}

export const migrationDialectOf = (db: Database): Dialect => DIALECTS[engineOf(db)]

/**
 * Brings the database up to date in one transaction, under a lock, and returns the names of the migrations that ran. A database
 * of a newer version is not changed. Throws `OtherVersion` if this program cannot work with it.
 */
export async function migrate(db: Database, now: number): Promise<string[]> {
  const dialect = migrationDialectOf(db)
  return await inTransaction(db, async (transaction) => {
    if (engineOf(db) === 'postgres') await sql`select pg_advisory_xact_lock(${LOCK})`.execute(transaction)
    await run(transaction, [migrationsTable(dialect)])
    const applied = await readNames(transaction)
    if (applied.includes(INCOMPLETE_COPY)) {
      throw new OtherVersion(
        'The copy into this database is not complete. Run zonewatch copy again: it continues. Or drop the database and create it again.',
      )
    }
    const unknown = findUnknownMigration(applied)
    if (unknown !== undefined && !(await isNeighbour(transaction, applied)))
      throw new OtherVersion(
        `This version of Zonewatch does not know the migration "${unknown}". Start the version that created it, or restore a backup.`,
      )
    const pending = MIGRATIONS.slice(applied.length)
    for (const [index, { name, statements, needs = 0 }] of pending.entries()) {
      await run(transaction, statements(dialect))
      const number = applied.length + index + 1
      const needed = typeof needs === 'object' ? needs[dialect.ENGINE] : needs
      await sql`insert into migrations (number, name, applied_at, needs)
        values (${number}, ${name}, ${now}, ${needed === 'itself' ? number : needed})`.execute(transaction)
    }
    return pending.map(({ name }) => name)
  })
}

/** Whether a newer version migrated the database without removing anything that this program uses. */
export async function isNeighbour(db: Database, applied: readonly string[]): Promise<boolean> {
  if (MIGRATIONS.some(({ name }, index) => applied[index] !== name)) return false
  const { rows } = await sql<{ needs: number | null }>`select needs from migrations
    where number > ${MIGRATIONS.length}`.execute(db)
  return rows.every(({ needs }) => needs !== null && needs <= MIGRATIONS.length)
}

/** The first of the migrations that this program does not have, because a newer version ran it. `names`: in order. */
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
  return { names: await readNames(db), known: MIGRATIONS.length }
}

/** Whether every migration of this program has run. A newer version may have run more. */
export async function isMigrated(db: Database): Promise<boolean> {
  const { rows } = await sql`select number from migrations
    where number = ${MIGRATIONS.length} and name = ${MIGRATIONS.at(-1)!.name}`.execute(db)
  return rows.length > 0
}

const migrationsTable = ({ INTEGER, STRICT }: Dialect) => `create table if not exists migrations (
  number ${INTEGER} primary key,
  name text not null,
  applied_at ${INTEGER} not null,
  needs ${INTEGER}
) ${STRICT}`

async function readNames(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select name from migrations order by number`.execute(db)
  return rows.map(({ name }) => name)
}

async function run(db: Database, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}
