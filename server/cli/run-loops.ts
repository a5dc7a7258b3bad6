import { deleteOldAlerts } from '../alerts/retention.ts'
import { runAlertWorker } from '../alerts/worker.ts'
import { runQueuedChecks } from '../checks/queued-checks.ts'
import { runRounds } from '../checks/rounds.ts'
import type { Config } from '../config/config.ts'
import type { Role } from '../config/parse.ts'
import { deleteOldCounts } from '../database/hourly-counts.ts'
import { deleteDueOrganizations } from '../deletion/delete-organization.ts'
import type { Deps } from '../deps.ts'
import { runResolverTraits } from '../dns/resolver-traits.ts'
import { deleteOldEvents } from '../events/retention.ts'
import { runEvaluation } from '../incidents/worker.ts'
import { deleteOldJobs } from '../jobs/retention.ts'
import { runJobWorker } from '../jobs/worker.ts'
import { deleteOldMails } from '../mail/outbox.ts'
import { runMailWorker } from '../mail/worker.ts'
import { deleteOldGaps } from '../monitors/check-history-store.ts'
import { runEvery, type Signals } from '../queue/worker-loop.ts'
import { runRegistrationWorker } from '../registrations/worker.ts'
import { MINUTE_MS } from '../times.ts'
import { runWaitWorker } from '../waits/quick-checks/worker.ts'
import { runDispatcher } from '../webhooks/dispatcher.ts'
import { runWebhookRetention } from '../webhooks/retention.ts'
import { deleteOldZoneEvents } from '../zones/retention.ts'
import { runZoneWorker } from '../zones/worker.ts'

type Retention = {
  role: Role
  everyMs: number
  failure: string
  work(deps: Deps, stop: AbortSignal): Promise<void>
}

/** What is deleted when it is too old, and by which role. Webhook requests have their own loop. */
const RETENTION: Retention[] = [
  {
    role: 'checker',
    everyMs: 60 * MINUTE_MS,
    failure: 'Old events and audit log entries could not be deleted; the next attempt is in an hour.',
    work: deleteOldEvents,
  },
  {
    role: 'checker',
    everyMs: 60 * MINUTE_MS,
    failure: 'Old events of zones could not be deleted. The next attempt is in an hour.',
    work: deleteOldZoneEvents,
  },
  {
    role: 'checker',
    everyMs: 60 * MINUTE_MS,
    failure: 'Old gaps between checks could not be deleted. The next attempt is in an hour.',
    work: deleteOldGaps,
  },
  {
    role: 'delivery',
    everyMs: 60 * MINUTE_MS,
    failure: 'Old emails could not be deleted. The next attempt is in an hour.',
    work: deleteOldMails,
  },
  {
    role: 'delivery',
    everyMs: 60 * MINUTE_MS,
    failure: 'Old counts of mails and alerts could not be deleted. The next attempt is in an hour.',
    work: deleteOldCounts,
  },
  {
    role: 'delivery',
    everyMs: 10 * MINUTE_MS,
    failure: 'Old jobs could not be deleted. The next attempt is in ten minutes.',
    work: deleteOldJobs,
  },
  {
    role: 'delivery',
    everyMs: 60 * MINUTE_MS,
    failure: 'Old alerts could not be deleted. The next attempt is in an hour.',
    work: deleteOldAlerts,
  },
  {
    role: 'delivery',
    everyMs: MINUTE_MS,
    failure: 'Organizations to delete could not be read. The next attempt is in a minute.',
    work: deleteDueOrganizations,
  },
]

/** The loops of the roles `checker` and `delivery`. They run until `stop` is aborted. */
export function runLoops(deps: Deps & { process: number }, roles: Config['roles'], signals: Signals): Promise<void>[] {
  const { stop } = signals
  const loops: Promise<void>[] = []
  const { isRdapOn, rdapBootstrap } = deps.config
  if (roles.has('checker') && isRdapOn) loops.push(runRegistrationWorker({ ...deps, rdapBootstrap }, signals))
  if (roles.has('checker'))
    loops.push(
      ...[runRounds(deps, signals), runQueuedChecks(deps, signals), runWaitWorker(deps, signals)],
      runZoneWorker({ ...deps, port: deps.config.dnsRoots[0]?.port ?? 53, isRdapOn }, signals),
      runResolverTraits(deps, (address, traits) => deps.metrics.noteTraits(address, traits), stop),
    )
  if (roles.has('delivery')) {
    const limits = { total: deps.config.deliveryConcurrency, perWebhook: deps.config.webhookConcurrency }
    loops.push(runDispatcher(deps, signals, limits), runMailWorker(deps, signals), runWebhookRetention(deps, stop))
    loops.push(runEvaluation(deps, signals), runAlertWorker(deps, signals), runJobWorker(deps, signals))
  }
  for (const { role, everyMs, failure, work } of RETENTION)
    if (roles.has(role)) loops.push(runEvery(everyMs, deps, stop, { failure, work: () => work(deps, stop) }))
  return loops
}
