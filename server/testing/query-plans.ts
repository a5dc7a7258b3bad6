import { CompiledQuery, Kysely } from 'kysely'
import { onTestFinished } from 'vitest'
import type { Database } from '../database/database.ts'
import type { Engine } from '../database/engine.ts'
import { postgresDialect } from '../database/postgres.ts'
import type { Tables } from '../database/schema.ts'
import { sqliteDialect } from '../database/sqlite.ts'
import { migratedDatabaseUrl } from './database.ts'

/** Without these PostgreSQL has to use an index even for a few rows. */
const DISABLED_PLANS = ['enable_seqscan', 'enable_bitmapscan', 'enable_sort', 'enable_hashjoin', 'enable_mergejoin']

/** A migrated database that records its statements of this kind. `free` lets the planner choose any plan. */
export async function givenRecordingDatabase(
  engine: Engine,
  { free = false, kind = 'select' }: { free?: boolean; kind?: 'select' | 'update' | 'delete' } = {},
) {
  const { url, drop } = await migratedDatabaseUrl(engine)
  const statements = new Map<string, readonly unknown[]>()
  const options = (free ? [] : DISABLED_PLANS).map((name) => `-c ${name}=off`).join(' ')
  const db: Database = new Kysely<Tables>({
    dialect:
      engine === 'sqlite'
        ? sqliteDialect(url.slice('sqlite:'.length))
        : postgresDialect(`${url}?options=${encodeURIComponent(options)}`, 1),
    log: ({ query }) => {
      if (query.sql.trimStart().startsWith(kind)) statements.set(query.sql, query.parameters)
    },
  })
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  return {
    db,
    /** The plan of each new statement that `work` runs. */
    async plansOf(work: () => Promise<unknown>): Promise<{ sql: string; plan: string }[]> {
      const known = new Set(statements.keys())
      await work()
      const plans = []
      for (const [sql, parameters] of [...statements]) {
        if (!known.has(sql)) plans.push({ sql, plan: await planOf(db, engine, sql, parameters) })
      }
      return plans
    },
  }
}

async function planOf(db: Database, engine: Engine, text: string, parameters: readonly unknown[]): Promise<string> {
  const explain = engine === 'sqlite' ? 'explain query plan' : 'explain'
  const { rows } = await db.executeQuery<Record<string, string>>(
    CompiledQuery.raw(`${explain} ${text}`, [...parameters]),
  )
  return rows.map((row) => row.detail ?? row['QUERY PLAN']).join('\n')
}
