import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { LoopHealth } from '../loop-health.ts'
import type { Seal } from '../seal.ts'
import { type Database, engineOf } from './database.ts'
import { releaseClaims } from './lease-queue.ts'

export type ThisProcess = { pid: number; machine: string; isAlive(pid: number): boolean }
export type PresenceDeps = {
  db: Database
  clock: Clock
  log: Logger
  loopHealth: LoopHealth
  networkCheck: { lastState(): 'well' | 'captive' | 'gone'; state(): Promise<unknown> } | undefined
  self: ThisProcess
  process: number
  /** What the instance says about itself, as JSON. */
  describe?: () => string
  seal: Pick<Seal, 'keyId' | 'keyIds'>
  /** Uses the key that the database names. */
  followKey(): Promise<unknown>
}

const BEAT_MS = 2_000
/** Three beats missed: a container that was put in place of another cannot ask for the old one's process number. */
const SILENT_MS = 6_000
/** Of a loop: one that made no turn for this long does not work. */
const HANGS_MS = 8_000
/** Long after every lease of it has run out. */
const FORGOTTEN_MS = 24 * 60 * 60_000

/**
 * Enters this process among those that share the database, and returns the number that names it in its claims.
 * `predecessor`: a process that is known to have ended; its claims are due again at once.
 */
export async function enterProcess(
  db: Database,
  self: ThisProcess,
  now: number,
  predecessor?: number,
): Promise<number> {
  if (predecessor !== undefined) await takeOver(db, [{ id: predecessor }], now)
  if (engineOf(db) === 'sqlite') await takeOverFromDead(db, self, now)
  const { pid, machine } = self
  const { id } = await db
    .insertInto('processes')
    .values({ pid, machine, started_at: now, seen_at: now })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Gives back what this process still claims, and leaves. */
export async function leaveProcess(db: Database, id: number, now: number): Promise<void> {
  await releaseClaims(db, [id], now)
  await db.deleteFrom('processes').where('id', '=', id).execute()
}

/** Reports regularly that this process is alive, and takes over the claims of silent ones. Runs until `stop`. */
export async function runPresence(deps: PresenceDeps, { stop }: { stop: AbortSignal }): Promise<void> {
  const { db, clock, log, process } = deps
  while (!stop.aborted) {
    await clock.sleep(BEAT_MS, stop)
    try {
      await deps.followKey()
      await report(deps)
      await takeOverFromSilent(db, process, clock.now())
    } catch (err) {
      log.error({ err }, 'The heartbeat of this process could not be written. Retrying.')
    }
  }
}

/** A process that stood still may have been forgotten by another one, and enters again under its number. */
export async function report({
  db,
  clock,
  loopHealth,
  networkCheck,
  self,
  process,
  describe,
  seal,
}: Omit<PresenceDeps, 'followKey'>): Promise<void> {
  // No check may be asking any more, and then nobody else would notice the end of an outage. It fails while DNS is being closed.
  if (networkCheck && networkCheck.lastState() !== 'well') void networkCheck.state().catch(() => {})
  const said = {
    seen_at: clock.now(),
    loops: loopHealth.runningLoops(clock.elapsed(), HANGS_MS).join(),
    network: networkCheck?.lastState() ?? null,
    report: describe?.() ?? null,
    secret_keys: seal.keyIds().join(),
    secret_key: seal.keyId,
  }
  const { numUpdatedRows } = await db
    .updateTable('processes')
    .set(said)
    .where('id', '=', process)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows > 0n) return
  const given = engineOf(db) === 'postgres' ? sql`overriding system value` : sql``
  await sql`insert into processes
    (id, pid, machine, started_at, seen_at, loops, network, report, secret_keys, secret_key) ${given}
    values (${process}, ${self.pid}, ${self.machine}, ${said.seen_at}, ${said.seen_at}, ${said.loops}, ${said.network},
      ${said.report}, ${said.secret_keys}, ${said.secret_key})`.execute(db)
}

export type Workforce = { checking: number; cutOff: number; delivering: number }

/** How many processes check, how many of these cannot resolve their canary names, and how many deliver. */
export async function countWorking(db: Database, now: number): Promise<Workforce> {
  const rows = await db
    .selectFrom('processes')
    .select(['loops', 'network'])
    .where('seen_at', '>=', now - HANGS_MS)
    .execute()
  // One that has not said yet what it does has just started.
  const doing = (loop: string) => rows.filter(({ loops }) => loops === null || loops.split(',').includes(loop))
  const checking = doing('checker')
  const cutOff = checking.filter(({ network }) => network !== null && network !== 'well')
  return { checking: checking.length, cutOff: cutOff.length, delivering: doing('delivery').length }
}

/**
 * SQLite's file is one machine's own, so a process that is silent there is dead or stopped, and another takes its work at once.
 * With PostgreSQL it may only be cut off: there the leases decide, and the row is kept until they are long over.
 */
async function takeOverFromSilent(db: Database, self: number, now: number): Promise<void> {
  const silentMs = engineOf(db) === 'sqlite' ? SILENT_MS : FORGOTTEN_MS
  const silent = await db
    .selectFrom('processes')
    .select('id')
    .where('seen_at', '<', now - silentMs)
    .where('id', '!=', self)
    .limit(100)
    .execute()
  await takeOver(db, silent, now)
}

/** What is known to be dead without waiting: the process numbers of this machine that are not alive, and our own. */
async function takeOverFromDead(db: Database, { pid, machine, isAlive }: ThisProcess, now: number): Promise<void> {
  const others = await db.selectFrom('processes').selectAll().execute()
  const isSilent = (seenAt: number) => seenAt < now - SILENT_MS
  const isGone = (other: { pid: number; machine: string }) =>
    other.machine === machine && (other.pid === pid || !isAlive(other.pid))
  await takeOver(
    db,
    others.filter((other) => isSilent(other.seen_at) || isGone(other)),
    now,
  )
}

/** For a database in which no process works: what any of them had claimed is due again. */
export async function forgetProcesses(db: Database, now: number): Promise<void> {
  await takeOver(db, await db.selectFrom('processes').select('id').execute(), now)
}

async function takeOver(db: Database, dead: readonly { id: number }[], now: number): Promise<void> {
  const ids = dead.map(({ id }) => id)
  if (ids.length === 0) return
  await releaseClaims(db, ids, now)
  await db.deleteFrom('processes').where('id', 'in', ids).execute()
}
