import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { NetworkState } from '#contract/server.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { isFile, overridingSerial } from '../database/dialect.ts'
import type { Keyring } from '../keyring.ts'
import type { LoopHealth } from '../loop-health.ts'
import { DAY_MS } from '../times.ts'
import { releaseClaims } from './lease-queue.ts'

export type ThisProcess = { pid: number; machine: string; isAlive(pid: number): boolean }
export type HeartbeatDeps = {
  db: Database
  clock: Clock
  log: Logger
  loopHealth: LoopHealth
  networkCheck: { lastState(): NetworkState; state(): Promise<unknown> } | undefined
  self: ThisProcess
  process: number
  /** The report of the instance, as JSON. */
  describe?: () => string
  keyring: Pick<Keyring, 'keyId' | 'keyIds'>
  /** This process has written to the database. */
  wrote?: (elapsed: number) => void
  /** Switches to the key that the database names. */
  followKey(): Promise<unknown>
}

const HEARTBEAT_MS = 2_000
/** Three missed heartbeats. Needed because a new container cannot check whether the process of the previous one is alive. */
const SILENT_MS = 6_000
/** A process that has not reported for longer than this counts as dead. */
export const ALIVE_MS = 8_000
/** A loop without an iteration for this long hangs. */
const HANGS_MS = 8_000
/** Long after all leases of the process have expired. */
const DELETE_AFTER_MS = DAY_MS

/**
 * Registers this process, and returns the number that identifies it in its claims. `predecessor`: a process that has ended; its
 * claims are due again at once.
 */
export async function registerProcess(
  db: Database,
  self: ThisProcess,
  now: number,
  predecessor?: number,
): Promise<number> {
  if (predecessor !== undefined) await releaseAndDelete(db, [{ id: predecessor }], now)
  if (isFile(db)) await releaseDead(db, self, now)
  const { pid, machine } = self
  const { id } = await db
    .insertInto('processes')
    .values({ pid, machine, started_at: now, seen_at: now })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Releases the claims of this process, and deletes its row. */
export async function unregisterProcess(db: Database, id: number, now: number): Promise<void> {
  await releaseClaims(db, [id], now)
  await db.deleteFrom('processes').where('id', '=', id).execute()
}

/** Reports regularly that this process is alive, and releases the claims of silent processes. Runs until `stop`. */
export async function runHeartbeat(deps: HeartbeatDeps, { stop }: { stop: AbortSignal }): Promise<void> {
  const { db, clock, log, process } = deps
  while (!stop.aborted) {
    await clock.sleep(HEARTBEAT_MS, stop)
    try {
      await deps.followKey()
      await report(deps)
      deps.wrote?.(clock.elapsed())
      await releaseSilent(db, deps.self, process, clock.now())
    } catch (err) {
      log.error({ err }, 'The heartbeat of this process could not be written. Retrying.')
    }
  }
}

/** Updates the row of this process. If another process deleted the row while this one was frozen, inserts it again. */
export async function report({
  db,
  clock,
  loopHealth,
  networkCheck,
  self,
  process,
  describe,
  keyring,
}: Omit<HeartbeatDeps, 'followKey'>): Promise<void> {
  // Notices the end of an outage even if no check runs. Rejects while the DNS client is being closed.
  if (networkCheck && networkCheck.lastState() !== 'ok') void networkCheck.state().catch(() => {})
  const columns = {
    seen_at: clock.now(),
    loops: loopHealth.runningLoops(clock.elapsed(), HANGS_MS).join(),
    network_state: networkCheck?.lastState() ?? null,
    report: describe?.() ?? null,
    secret_keys: keyring.keyIds().join(),
    secret_key: keyring.keyId,
  }
  const { numUpdatedRows } = await db
    .updateTable('processes')
    .set(columns)
    .where('id', '=', process)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows > 0n) return
  await sql`insert into processes
    (id, pid, machine, started_at, seen_at, loops, network_state, report, secret_keys, secret_key) ${overridingSerial(db)}
    values (${process}, ${self.pid}, ${self.machine}, ${columns.seen_at}, ${columns.seen_at}, ${columns.loops}, ${columns.network_state},
      ${columns.report}, ${columns.secret_keys}, ${columns.secret_key})`.execute(db)
}

export type ProcessCounts = { checking: number; cutOff: number; delivering: number }

/** How many processes check, how many of these cannot resolve their canary names, and how many deliver. */
export async function countWorking(db: Database, now: number): Promise<ProcessCounts> {
  const rows = await db
    .selectFrom('processes')
    .select(['loops', 'network_state as network'])
    .where('seen_at', '>=', now - ALIVE_MS)
    .execute()
  // A process that has not reported its loops yet has just started.
  const running = (loop: string) => rows.filter(({ loops }) => loops === null || loops.split(',').includes(loop))
  const checking = running('checker')
  const cutOff = checking.filter(({ network }) => network !== null && network !== 'ok')
  return { checking: checking.length, cutOff: cutOff.length, delivering: running('delivery').length }
}

/**
 * With a file all processes run on one machine, so the claims of a silent process that has ended are released at once. One that lives is
 * late on a busy machine: its leases count. With a server it may only be disconnected, so its leases must expire first.
 */
async function releaseSilent(db: Database, self: ThisProcess, process: number, now: number): Promise<void> {
  const silentMs = isFile(db) ? SILENT_MS : DELETE_AFTER_MS
  const rows = await db
    .selectFrom('processes')
    .select(['id', 'pid', 'machine', 'seen_at'])
    .where('seen_at', '<', now - silentMs)
    .where('id', '!=', process)
    .limit(100)
    .execute()
  await releaseAndDelete(
    db,
    rows.filter((row) => row.seen_at < now - DELETE_AFTER_MS || !isLate(row, self)),
    now,
  )
}

/** Whether a silent process lives on this machine. Its process id may be another's by now; then its leases expire. */
const isLate = (row: { pid: number; machine: string }, { pid, machine, isAlive }: ThisProcess) =>
  row.machine === machine && row.pid !== pid && isAlive(row.pid)

/** Releases processes of this machine that are dead, including an earlier one with the process id of this one. */
async function releaseDead(db: Database, self: ThisProcess, now: number): Promise<void> {
  const rows = await db.selectFrom('processes').selectAll().execute()
  const isSilent = (seenAt: number) => seenAt < now - SILENT_MS
  const isOfThisMachine = ({ machine }: { machine: string }) => machine === self.machine
  await releaseAndDelete(
    db,
    rows.filter((row) => (isOfThisMachine(row) || isSilent(row.seen_at)) && !isLate(row, self)),
    now,
  )
}

/** For a database that no process uses: releases all claims. */
export async function unregisterAll(db: Database, now: number): Promise<void> {
  await releaseAndDelete(db, await db.selectFrom('processes').select('id').execute(), now)
}

async function releaseAndDelete(db: Database, dead: readonly { id: number }[], now: number): Promise<void> {
  const ids = dead.map(({ id }) => id)
  if (ids.length === 0) return
  await releaseClaims(db, ids, now)
  await db.deleteFrom('processes').where('id', 'in', ids).execute()
}
