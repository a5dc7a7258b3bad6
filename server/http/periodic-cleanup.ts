import type { FastifyInstance } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { pruneIdempotentRequests } from './idempotency-store.ts'
import { pruneRateLog } from './rate-limiter.ts'

const INTERVAL_MS = 60_000
/** Between two batches, so that requests do not wait. */
const PAUSE_MS = 50

/** Deletes a batch. Returns whether there may be more. */
type Prune = (db: Database, now: number) => Promise<boolean>

/** Deletes expired request data once a minute, while the server listens. */
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
      await clock.sleep(INTERVAL_MS, stop.signal)
    }
  }
}
