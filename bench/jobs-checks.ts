import { systemClock } from '../server/clock.ts'
import { openDatabase } from '../server/database/open.ts'
import { claimDue, reschedule } from '../server/queue/lease-queue.ts'

/** A process that claims and completes checks without changes while the jobs of `jobs.ts` run. */
const BATCH_SIZE = 64
const INTERVAL_MS = 20

const db = openDatabase(process.argv[2]!)
let took: number[] = []
let isOver = false
process.on('message', () => {
  process.send!({ took })
  took = []
})
process.on('disconnect', () => {
  isOver = true
})
process.send!('ready')
while (!isOver) {
  const from = performance.now()
  const claims = await claimDue(db, 'due_checks', { now: systemClock.now(), process: 2, limit: BATCH_SIZE })
  // Due again at once, so that every pass has a full batch.
  const now = systemClock.now()
  await reschedule(
    db,
    'due_checks',
    claims.map((claim) => ({ claim, set: { due_at: now, last_checked_at: now } })),
  )
  took.push(performance.now() - from)
  await systemClock.sleep(INTERVAL_MS)
}
await db.destroy()
