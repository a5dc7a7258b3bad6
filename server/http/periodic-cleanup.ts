import type { FastifyInstance } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { pruneIdempotentRequests } from './idempotency-store.ts'
import { pruneRateLog } from './limiter.ts'

const EVERY_MS = 60_000
/** Between two batches, so that pruning never holds up a request for long. */
const PAUSE_MS = 50

/** Removes a bounded number of rows; resolves with whether there may be more. */
type Prune = (db: Database, now: number) => Promise<boolean>

/** While the server listens, removes once a minute what its requests left behind and nothing needs any more. */
export function runPeriodicCleanup(
  app: FastifyInstance,
  { db, clock, isStarting = () => false }: { db: Database; clock: Clock; isStarting?: () => boolean },
  prunes: readonly Prune[] = [pruneRateLog, pruneIdempotentRequests],
): void {
  const stop = new AbortController()
  let running: Promise<void> | undefined
  app.addHook('onListen', async () => {
    running = prune()
  })
  app.addHook('preClose', async () => stop.abort())
  app.addHook('onClose', async () => running)

  async function prune(): Promise<void> {
    while (isStarting() && !stop.signal.aborted) await clock.sleep(PAUSE_MS, stop.signal)
    while (!stop.signal.aborted) {
      for (const pruneBatch of prunes) {
        try {
          while ((await pruneBatch(db, clock.now())) && !stop.signal.aborted) await clock.sleep(PAUSE_MS, stop.signal)
        } catch (err) {
          app.log.warn({ err }, 'Cleanup of expired request data failed. Retrying in a minute.')
        }
      }
      await clock.sleep(EVERY_MS, stop.signal)
    }
  }
}
