import type { Database } from './database.ts'
import { releaseClaims } from './due.ts'

export type ThisProcess = { pid: number; machine: string }

/** Enters this process among those that share the database; the number names it in its claims. */
export async function enterProcess(db: Database, { pid, machine }: ThisProcess, now: number): Promise<number> {
  const { id } = await db
    .insertInto('processes')
    .values({ pid, machine, started_at: now })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Gives back what this process still claims, and leaves. */
export async function leaveProcess(db: Database, id: number, now: number): Promise<void> {
  await releaseClaims(db, [id], now)
  await db.deleteFrom('processes').where('id', '=', id).execute()
}

/**
 * Takes up at once what processes of this machine claimed before they died; otherwise their leases must run out. Only for
 * SQLite: its file is this machine's own, so a process number that is not alive here is dead.
 */
export async function takeOverFromDead(
  db: Database,
  { pid, machine }: ThisProcess,
  isAlive: (pid: number) => boolean,
  now: number,
): Promise<void> {
  const others = await db.selectFrom('processes').select(['id', 'pid']).where('machine', '=', machine).execute()
  const dead = others.filter((other) => other.pid === pid || !isAlive(other.pid)).map(({ id }) => id)
  await releaseClaims(db, dead, now)
  if (dead.length > 0) await db.deleteFrom('processes').where('id', 'in', dead).execute()
}
