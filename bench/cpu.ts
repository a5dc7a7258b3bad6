import { readdir, readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import type { Database } from '../server/database/database.ts'
import { engineOf } from '../server/database/engine.ts'

const TICKS_PER_SECOND = 100

/** CPU seconds of all processes of the PostgreSQL server so far. Null with SQLite, which runs in this process, and without /proc. */
export async function databaseCpu(db: Database): Promise<number | null> {
  if (engineOf(db) === 'sqlite') return null
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  const postmaster = (await statOf(rows[0]!.pid))?.parent
  if (postmaster === undefined) return null
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const all = await Promise.all(pids.map(async (pid) => ({ pid, stat: await statOf(pid) })))
  const own = all.filter(({ pid, stat }) => pid === postmaster || stat?.parent === postmaster)
  return own.reduce((sum, { stat }) => sum + (stat?.ticks ?? 0), 0) / TICKS_PER_SECOND
}

/** CPU seconds of a process so far. Needs /proc. */
export async function cpuOf(pid: number): Promise<number> {
  return ((await statOf(pid))?.ticks ?? 0) / TICKS_PER_SECOND
}

/** `ticks` of the process and of its ended children. */
async function statOf(pid: number): Promise<{ parent: number; ticks: number } | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  return { parent: fields[1]!, ticks: fields.slice(11, 15).reduce((sum, each) => sum + each, 0) }
}
