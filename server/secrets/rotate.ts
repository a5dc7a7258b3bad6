import { CliError } from '../cli-error.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Keyring } from '../keyring.ts'
import { ALIVE_MS } from '../queue/heartbeat.ts'
import { forgetPrevious, switchKey } from './current-key.ts'
import { reencrypt } from './reencrypt.ts'

export type RotationDeps = {
  db: Database
  keyring: Keyring
  clock: Clock
  say(message: string): void
  /** For tests: after each batch. */
  onBatch?: () => Promise<void>
}

/** Processes check their key every 2 seconds. */
const TIMEOUT_MS = 60_000
const POLL_MS = 250
/** Longer than any open transaction that encrypts with the previous key. */
const IN_FLIGHT_MS = 5_000

/**
 * Makes `next` the current key and re-encrypts everything, while the server works. Every process knows both keys before one of
 * them encrypts with the new key, so that every value stays readable. Can be interrupted and run again. Returns the number of
 * re-encrypted values.
 */
export async function rotate(deps: RotationDeps, next: string): Promise<number> {
  const { db, keyring, clock, say, onBatch } = deps
  const processCount = await waitForProcesses(deps, 'does not know the new SECRET yet', ({ secret_keys }) =>
    (secret_keys ?? '').split(',').includes(next),
  )
  await switchKey(db, keyring, next)
  say('The new SECRET is in use for everything that is written from now on.')
  await waitForProcesses(deps, 'still uses the previous SECRET', ({ secret_key }) => secret_key === next)
  let total = await reencrypt(db, keyring, onBatch)
  if (processCount > 0) await clock.sleep(IN_FLIGHT_MS)
  for (let count = -1; count !== 0; total += count) count = await reencrypt(db, keyring, onBatch)
  await forgetPrevious(db)
  return total
}

type ProcessRow = { pid: number; machine: string; secret_keys: string | null; secret_key: string | null }

/** Waits until every running process is ready, and returns their number. Throws a `CliError` that names the others. */
async function waitForProcesses(
  { db, clock }: RotationDeps,
  problem: string,
  isReady: (row: ProcessRow) => boolean,
): Promise<number> {
  const deadline = clock.elapsed() + TIMEOUT_MS
  for (;;) {
    const rows = await db
      .selectFrom('processes')
      .select(['pid', 'machine', 'secret_keys', 'secret_key'])
      .where('seen_at', '>=', clock.now() - ALIVE_MS)
      .execute()
    const others = rows.filter((row) => !isReady(row))
    if (others.length === 0) return rows.length
    if (clock.elapsed() > deadline) {
      const names = others.map(({ pid, machine }) => `${pid} on ${machine}`).join(', ')
      throw new CliError(
        `Process ${names} ${problem}. Start every node with both SECRET and SECRET_PREVIOUS, then run this again; nothing is lost.`,
      )
    }
    await clock.sleep(POLL_MS)
  }
}
