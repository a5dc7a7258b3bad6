import { runAlertRetention } from '../alerts/retention.ts'
import { runAlertWorker, runEvaluation } from '../alerts/worker.ts'
import { runWaitWorker } from '../checks/wait-worker.ts'
import { runCheckWorker } from '../checks/worker.ts'
import type { Config } from '../config/config.ts'
import type { Signals } from '../database/worker-loop.ts'
import type { Deps } from '../deps.ts'
import { runEventRetention } from '../events/retention.ts'
import { runJobRetention } from '../jobs/retention.ts'
import { runJobWorker } from '../jobs/worker.ts'
import { runMailRetention, runMailWorker } from '../mail/worker.ts'
import { runDispatcher } from '../webhooks/dispatcher.ts'
import { runWebhookRetention } from '../webhooks/retention.ts'

/** The loops of the roles `checker` and `delivery`. They run until `stop` is aborted. */
export function runLoops(deps: Deps & { process: number }, roles: Config['roles'], signals: Signals): Promise<void>[] {
  const { stop } = signals
  const loops: Promise<void>[] = []
  if (roles.has('checker'))
    loops.push(runCheckWorker(deps, signals), runWaitWorker(deps, signals), runEventRetention(deps, stop))
  if (roles.has('delivery')) {
    const limits = { total: deps.config.deliveryConcurrency, perWebhook: deps.config.webhookConcurrency }
    loops.push(runDispatcher(deps, signals, limits), runMailWorker(deps, signals))
    loops.push(runWebhookRetention(deps, stop), runMailRetention(deps, stop))
    loops.push(runEvaluation(deps, signals), runAlertWorker(deps, signals))
    loops.push(runJobWorker(deps, signals), runJobRetention(deps, stop))
    loops.push(runAlertRetention(deps, stop))
  }
  return loops
}
