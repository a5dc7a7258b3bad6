import { CliError } from '../cli-error.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Seal } from '../seal.ts'
import { forgetPrevious, switchKey } from './current-key.ts'
import { reencrypt } from './reencrypt.ts'

export type RotationDeps = {
  db: Database
  seal: Seal
  clock: Clock
  say(sentence: string): void
  /** For tests: after each batch. */
  onBatch?: () => Promise<void>
}

/** One that was silent for longer does not run, or enters again under the key of the database. */
const SILENT_MS = 8_000
/** Processes look every 2 seconds. */
const PATIENCE_MS = 60_000
const POLL_MS = 250
/** Longer than a transaction that sealed something with the key before can take. */
const IN_FLIGHT_MS = 5_000

/**
 * Seals everything with the key `next`, while processes work. Every process opens both keys before any seals with the new
 * one, so that nothing is unreadable at any moment. Where it is broken off it can be begun again. Returns how many values it
 * sealed again.
 */
export async function rotate(deps: RotationDeps, next: string): Promise<number> {
  const { db, seal, clock, say, onBatch } = deps
  const live = await untilAll(deps, 'does not know the new SECRET yet', ({ secret_keys }) =>
    (secret_keys ?? '').split(',').includes(next),
  )
  await switchKey(db, seal, next)
  say('The new SECRET is in use for everything that is written from now on.')
  await untilAll(deps, 'still uses the previous SECRET', ({ secret_key }) => secret_key === next)
  let total = await reencrypt(db, seal, onBatch)
  if (live > 0) await clock.sleep(IN_FLIGHT_MS)
  for (let more = -1; more !== 0; total += more) more = await reencrypt(db, seal, onBatch)
  await forgetPrevious(db)
  return total
}

type ProcessRow = { pid: number; machine: string; secret_keys: string | null; secret_key: string | null }

/** Waits until this holds for every running process, and returns their number. Throws a `CliError` that names the others. */
async function untilAll(
  { db, clock }: RotationDeps,
  what: string,
  isSo: (row: ProcessRow) => boolean,
): Promise<number> {
  const giveUpAt = clock.elapsed() + PATIENCE_MS
  for (;;) {
    const rows = await db
      .selectFrom('processes')
      .select(['pid', 'machine', 'secret_keys', 'secret_key'])
      .where('seen_at', '>=', clock.now() - SILENT_MS)
      .execute()
    const others = rows.filter((row) => !isSo(row))
    if (others.length === 0) return rows.length
    if (clock.elapsed() > giveUpAt) {
      const names = others.map(({ pid, machine }) => `${pid} on ${machine}`).join(', ')
      throw new CliError(
        `Process ${names} ${what}. Start every node with both SECRET and SECRET_PREVIOUS, then run this again; nothing is lost.`,
      )
    }
    await clock.sleep(POLL_MS)
  }
}
