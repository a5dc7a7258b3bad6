import { systemClock } from '../server/clock.ts'
import { claimDue, reschedule } from '../server/database/lease-queue.ts'
import { openDatabase } from '../server/database/open.ts'

/** What a worker writes for checks that find no change, in a process of its own beside the jobs of `jobs.ts`. */
const AT_ONCE = 64
const EVERY_MS = 20

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
  const claims = await claimDue(db, 'due_checks', { now: systemClock.now(), process: 2, limit: AT_ONCE })
  // Due again at once, so that every pass has as many.
  const now = systemClock.now()
  await reschedule(
    db,
    'due_checks',
    claims.map((claim) => ({ claim, set: { due_at: now, last_checked_at: now } })),
  )
  took.push(performance.now() - from)
  await systemClock.sleep(EVERY_MS)
}
await db.destroy()
