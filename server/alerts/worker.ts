import { sql } from 'kysely'
import { withDeadline } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Keyring } from '../keyring.ts'
import { createMailSender, type SendMail } from '../mail/smtp.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { LEASE_MS, repairAfterClockStep, reschedule } from '../queue/lease-queue.ts'
import type { WakeUps } from '../queue/wake-up.ts'
import { runWorker, type Signals, type WorkerDeps } from '../queue/worker-loop.ts'
import type { SafeFetch } from '../safe-http/safe-fetch.ts'
import { type Active, type ClaimTraits, type DispatcherLimits, InMemoryQueues } from '../webhooks/in-memory-queues.ts'
import { beginAttempt, MAX_ATTEMPT_DELAY_MS, recordAttempt } from './alert-attempts.ts'
import { type AlertClaim, claimAlerts } from './claim-alerts.ts'
import { type AlertToSend, Destinations } from './destinations.ts'
import { type AttemptResult, acknowledgeLink, sendMessage } from './send-message.ts'
import { renewExpansions } from './stored-occurrences.ts'

export type AlertWorkerDeps = WorkerDeps & {
  config: Pick<Config, 'baseUrl' | 'smtp' | 'alertsPerHour' | 'mailLimits'>
  keyring: Keyring
  safeFetch: SafeFetch
  wakeUps: WakeUps
  metrics?: Metrics
}

/** `perWebhook`: for each organization and host. One that does not respond has a single slot until it does. */
const LIMITS: DispatcherLimits = { total: 64, perWebhook: 8 }
/** Claims of one organization at a time: the others have channels too. */
const MAX_PER_ORGANIZATION = 32
const BATCH_SIZE = 16
/** An older claim is released, because its attempt may take the rest of the lease. */
const MAX_CLAIM_AGE_MS = 10_000
/** The pause while the maximum is in flight. */
const PAUSE_BUSY_MS = 50
/** Shorter than the lease, so that no other process sends the alert during the attempt. */
const DEADLINE_MS = 45_000

const BY_DESTINATION: ClaimTraits<AlertToSend> = {
  queueOf: ({ queue }) => queue,
  organizationOf: ({ claim }) => claim.organization_id,
  hostOf: ({ host }) => host,
  idOf: ({ claim }) => claim.alert_id,
  isManual: () => false,
}

/** Sends due alerts until `stop`. Attempts that are still running then are abandoned when `abandon` is aborted. */
export async function runAlertWorker(deps: AlertWorkerDeps, { stop, abandon }: Signals): Promise<void> {
  const { db, clock, process, wakeUps, config, log, loopHealth, keyring } = deps
  const sendMail = config.smtp ? createMailSender(config.smtp) : null
  const queues = new InMemoryQueues(LIMITS, BY_DESTINATION)
  const destinations = new Destinations()
  const heldByOrganization = new Map<string, number>()
  const hold = ({ organization_id }: AlertClaim, change: 1 | -1) => {
    const count = (heldByOrganization.get(organization_id) ?? 0) + change
    if (count === 0) heldByOrganization.delete(organization_id)
    else heldByOrganization.set(organization_id, count)
  }
  const inFlight = new Set<Promise<void>>()
  const send = async (active: Active<AlertToSend>) => {
    const { claim: claimed } = active.claimed
    let result: AttemptResult | null = null
    try {
      if (clock.now() <= claimed.due_at - LEASE_MS + MAX_CLAIM_AGE_MS)
        result = await sendAlert(deps, sendMail, claimed, abandon)
      else await reschedule(db, 'due_alerts', [{ claim: claimed, set: { due_at: claimed.was_due_at } }])
      loopHealth.recorded('alerts')
    } catch (err) {
      loopHealth.notRecorded('alerts', clock.elapsed())
      log.error({ err, alert: claimed.alert_id }, 'An alert could not be recorded. It will be repeated.')
    }
    queues.finish(active, result, clock.elapsed())
    queues.release(active.claimed)
    hold(claimed, -1)
    wakeUps.alerts.receive()
    startAll()
  }
  const startAll = () => {
    if (stop.aborted) return
    for (let active = queues.start(clock.elapsed()); active; active = queues.start(clock.elapsed())) {
      const sent = send(active).finally(() => inFlight.delete(sent))
      inFlight.add(sent)
    }
  }
  await runWorker(deps, stop, {
    name: 'alerts',
    table: 'due_alerts',
    wakeUp: wakeUps.alerts,
    failure: 'Due alerts could not be read. Retrying.',
    repair: (self) =>
      repairAfterClockStep(db, 'due_alerts', self, { longestMs: sql.raw(String(MAX_ATTEMPT_DELAY_MS)) }),
    held: () => queues.held(),
    pass: async () => {
      const limit = Math.min(BATCH_SIZE, queues.capacity())
      if (limit === 0) return { restMs: PAUSE_BUSY_MS, isIdle: false }
      const fullOrganizations = [...heldByOrganization].flatMap(([id, held]) =>
        held >= MAX_PER_ORGANIZATION ? [id] : [],
      )
      const claims = await claimAlerts(db, {
        now: clock.now(),
        process,
        limit,
        fullChannels: destinations.channelsOf(queues.full()),
        fullOrganizations,
      })
      const toSend = await destinations.of(db, keyring, claims)
      for (const [queue, own] of Map.groupBy(toSend, ({ queue }) => queue)) {
        // Channels that were claimed for the first time may share a queue that is full.
        const taken = own.splice(0, queues.capacityOf(queue))
        for (const { claim } of taken) hold(claim, 1)
        queues.take(taken, [])
        const released = own.map(({ claim }) => ({ claim, set: { due_at: claim.was_due_at } }))
        await reschedule(db, 'due_alerts', released)
      }
      startAll()
      return { restMs: 0, isIdle: claims.length === 0 }
    },
  })
  await Promise.all(inFlight)
}

/** Decides about a claimed alert, sends it and records the result. Returns null if nothing was sent. */
export async function sendAlert(
  deps: AlertWorkerDeps,
  sendMail: SendMail | null,
  claim: AlertClaim,
  abandon: AbortSignal,
): Promise<AttemptResult | null> {
  const { db, clock, config, log } = deps
  await renewExpansions(db, claim.organization_id, clock.now())
  const attemptToMake = await beginAttempt(db, claim, {
    baseUrl: config.baseUrl,
    alertsPerHour: config.alertsPerHour,
    hasMailServer: sendMail !== null,
    acknowledgeLink: (alert) => acknowledgeLink(deps, alert),
    now: clock.now(),
  })
  if (!attemptToMake) return null
  const { alert, channel, message } = attemptToMake
  const progress: string[] = alert.progress === null ? [] : JSON.parse(alert.progress)
  const result = await withDeadline(clock, DEADLINE_MS, abandon, (signal) =>
    sendMessage({ ...deps, sendMail }, channel, message, { signal, progress }),
  )
  if (abandon.aborted && result.kind === 'retry') return null // Abandoned: this process releases the lease.
  await recordAttempt(db, claim, attemptToMake, result, clock.now())
  deps.metrics?.alert(channel.type, result.kind)
  const fields = { alert: alert.id, channel: channel.id, error: result.error }
  if (result.kind === 'failed') log.error(fields, 'An alert could not be sent. No more retries.')
  if (result.kind === 'retry') log.warn(fields, 'An alert could not be sent. It will be retried.')
  return result
}
