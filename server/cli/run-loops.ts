import { runScheduler } from '../checks/worker.ts'
import type { Config } from '../config/config.ts'
import type { Deps } from '../deps.ts'
import { runEventRetention } from '../events/retention.ts'
import { runMailWorker } from '../mail/worker.ts'
import { runDispatcher } from '../webhooks/dispatcher.ts'
import { runWebhookRetention } from '../webhooks/retention.ts'

/** The loops of the roles `checker` and `courier`. They run until `stop` is aborted. */
export function runLoops(
  deps: Deps & { process: number },
  roles: Config['roles'],
  signals: { stop: AbortSignal; abandon: AbortSignal },
): Promise<void>[] {
  const loops: Promise<void>[] = []
  if (roles.has('checker')) loops.push(runScheduler(deps, signals), runEventRetention(deps, signals))
  if (roles.has('courier')) {
    const limits = { inAll: deps.config.courierConcurrency, perWebhook: deps.config.webhookConcurrency }
    loops.push(runDispatcher(deps, signals, limits), runWebhookRetention(deps, signals), runMailWorker(deps, signals))
  }
  return loops
}
