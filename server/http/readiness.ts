import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { isMigrated } from '../database/migrate.ts'
import type { LoopHealth } from '../loop-health.ts'

/** A loop that made no turn for this long hangs. */
const SILENT_MS = 30_000

/** Why a process is not ready, as clauses; empty when it is. */
export async function readinessProblems({
  db,
  clock,
  loopHealth,
}: {
  db: Database
  clock: Clock
  loopHealth: LoopHealth
}): Promise<string[]> {
  const problems: string[] = []
  const migrated = await isMigrated(db).catch(() => null)
  if (migrated === null) problems.push('the database does not answer')
  if (migrated === false) problems.push('database migrations are pending')
  for (const loop of loopHealth.silent(clock.elapsed(), SILENT_MS)) problems.push(`the ${loop} hangs`)
  return problems
}
