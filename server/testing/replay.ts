import { systemContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { type Period, replayBatch, startReplay } from '../webhooks/replay.ts'

/** Runs all steps of a replay as the API does. Returns the number of requests. */
export async function replay(
  db: Database,
  organizationId: string,
  webhookId: string,
  period: Period,
  now: number,
  limit?: number,
): Promise<number> {
  const context = systemContext(organizationId, now)
  let replaying = await startReplay(db, context, webhookId, period, limit)
  for (;;) {
    const { result, isDone } = await inTransaction(db, (step) => replayBatch(step, context, webhookId, replaying))
    if (isDone) return result.count
    replaying = result
  }
}
