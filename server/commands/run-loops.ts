import { runScheduler } from '../checks/worker.ts'
import type { Config } from '../config.ts'
import { runEventSweep } from '../events/sweep.ts'
import { runMailWorker } from '../mail/worker.ts'
import type { Doors } from '../outside.ts'
import { runCourier } from '../webhooks/courier.ts'
import { runSweep } from '../webhooks/sweep.ts'

/** The loops of the roles `checker` and `courier`. They run until `stop` is aborted. */
export function runLoops(
  doors: Doors & { process: number },
  roles: Config['roles'],
  signals: { stop: AbortSignal; abandon: AbortSignal },
): Promise<void>[] {
  const loops: Promise<void>[] = []
  if (roles.has('checker')) loops.push(runScheduler(doors, signals), runEventSweep(doors, signals))
  if (roles.has('courier')) {
    const limits = { inAll: doors.config.courierConcurrency, perWebhook: doors.config.webhookConcurrency }
    loops.push(runCourier(doors, signals, limits), runSweep(doors, signals), runMailWorker(doors, signals))
  }
  return loops
}
