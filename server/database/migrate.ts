import { sql } from 'kysely'
import { type Database, engineOf, inTransaction } from './database.ts'
import { tables } from './migrations/0001-tables.ts'
import { requests } from './migrations/0002-requests.ts'
import { peopleAndPlans } from './migrations/0003-people-and-plans.ts'
import { namesByOctets } from './migrations/0004-names-by-octets.ts'
import { accounts } from './migrations/0005-accounts.ts'
import { overview } from './migrations/0006-overview.ts'
import { placesByNumber } from './migrations/0007-places-by-number.ts'
import { failingInGroups } from './migrations/0008-failing-in-groups.ts'
import { eventBodies } from './migrations/0009-event-bodies.ts'
import { codesOnce } from './migrations/0010-codes-once.ts'
import { versionsAndAnswers } from './migrations/0011-versions-and-answers.ts'
import { eventsInOrder } from './migrations/0012-events-in-order.ts'
import { secretCheck } from './migrations/0013-secret-check.ts'
import { health } from './migrations/0014-health.ts'
import { rotation } from './migrations/0015-rotation.ts'
import { postponedChecks } from './migrations/0016-postponed-checks.ts'

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

export type Migration = { name: string; statements: (words: Dialect) => string[] }

/** In order, never changed once released; the number of a migration is its place here, from 1. */
const MIGRATIONS: Migration[] = [
  tables,
  requests,
  peopleAndPlans,
  namesByOctets,
  accounts,
  overview,
  placesByNumber,
  failingInGroups,
  eventBodies,
  codesOnce,
  versionsAndAnswers,
  eventsInOrder,
  secretCheck,
  health,
  rotation,
  postponedChecks,
]

const WORDS: Record<'sqlite' | 'postgres', Dialect> = {
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

/** The database was made by a newer Zonewatch than this one. */
export class NewerDatabase extends Error {}

/**
 * Brings the database up to date in one transaction, under a lock, and returns the names of the migrations that ran.
 * `last`: stops after the migration of that number. Throws `NewerDatabase` when the database knows migrations that this program does not.
 */
export async function migrate(db: Database, now: number, last: number = MIGRATIONS.length): Promise<string[]> {
  const words = WORDS[engineOf(db)]
  return await inTransaction(db, async (transaction) => {
    if (engineOf(db) === 'postgres') await sql`select pg_advisory_xact_lock(${LOCK})`.execute(transaction)
    const applied = await countApplied(transaction, words)
    if (applied > MIGRATIONS.length) {
      throw new NewerDatabase(`The database has ${applied} migrations, this program knows ${MIGRATIONS.length}.`)
    }
    const names: string[] = []
    for (const [index, { name, statements }] of MIGRATIONS.slice(applied, last).entries()) {
      for (const statement of statements(words)) await sql.raw(statement).execute(transaction)
      await sql`insert into migrations (number, name, applied_at) values (${applied + index + 1}, ${name}, ${now})`.execute(
        transaction,
      )
      names.push(name)
    }
    return names
  })
}

/** Whether every migration has run; for readiness. */
export async function isMigrated(db: Database): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from migrations`.execute(db)
  return rows[0]?.count === MIGRATIONS.length
}

async function countApplied(db: Database, words: Dialect): Promise<number> {
  await sql
    .raw(
      `create table if not exists migrations
        (number ${words.INTEGER} primary key, name text not null, applied_at ${words.INTEGER} not null) ${words.STRICT}`,
    )
    .execute(db)
  const { rows } = await sql<{ count: number }>`select count(*) as count from migrations`.execute(db)
  return rows[0]!.count
}
