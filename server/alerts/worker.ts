import { sql } from 'kysely'
import { withDeadline } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { type Claim, claimDue, LEASE_MS, repairAfterClockStep } from '../database/lease-queue.ts'
import { runWorker, type Signals, type WorkerDeps } from '../database/worker-loop.ts'
import type { Keyring } from '../keyring.ts'
import { createMailSender, type SendMail } from '../mail/smtp.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { SafeFetch } from '../safe-http/safe-fetch.ts'
import type { WakeUps } from '../wake-up.ts'
import { acknowledgeLink } from './acknowledge.ts'
import { beginAttempt, MAX_ATTEMPT_DELAY_MS, recordAttempt } from './alert-attempts.ts'
import { evaluateDue } from './events-to-incidents.ts'
import { sendMessage } from './send-message.ts'
import { renewExpansions } from './stored-occurrences.ts'

export type AlertWorkerDeps = WorkerDeps & {
  config: Pick<Config, 'baseUrl' | 'smtp' | 'alertsPerHour' | 'mailLimits'>
  keyring: Keyring
  safeFetch: SafeFetch
  wakeUps: WakeUps
  metrics?: Metrics
}

/** Organizations that one pass evaluates. */
const EVALUATION_BATCH_SIZE = 8
/** The pause between passes collects the events of several check batches, so that checks wait for fewer transactions. */
const PAUSE_MS = 25
const PAUSE_BEHIND_MS = 5
const MAX_IN_FLIGHT = 64
const BATCH_SIZE = 16
/** The pause while the maximum is in flight. */
const PAUSE_BUSY_MS = 50
/** Shorter than the lease, so that no other process sends the alert during the attempt. */
const DEADLINE_MS = 45_000

/** Turns events into incidents and alerts until `stop`. */
export async function runEvaluation(deps: AlertWorkerDeps, { stop }: Signals): Promise<void> {
  const { db, clock, process, wakeUps } = deps
  await runWorker(deps, stop, {
    name: 'incidents',
    table: 'due_evaluations',
    wakeUp: wakeUps.evaluations,
    failure: 'Events could not be turned into incidents. Retrying.',
    repair: (self) => repairAfterClockStep(db, 'due_evaluations', self, { longestMs: sql.raw(String(LEASE_MS)) }),
    held: () => new Set(), // A pass completes all of its claims.
    pass: async () => {
      const { count, isBehind } = await evaluateDue(db, { now: clock.now(), process, limit: EVALUATION_BATCH_SIZE })
      if (count > 0) wakeUps.alerts.send()
      return { restMs: count === 0 ? 0 : isBehind ? PAUSE_BEHIND_MS : PAUSE_MS, isIdle: count === 0 }
    },
  })
}

/** Sends due alerts until `stop`. Attempts that are still running then are abandoned when `abandon` is aborted. */
export async function runAlertWorker(deps: AlertWorkerDeps, { stop, abandon }: Signals): Promise<void> {
  const { db, clock, process, wakeUps, config, log, loopHealth } = deps
  const sendMail = config.smtp ? createMailSender(config.smtp) : null
  const inFlight = new Map<string, Promise<void>>()
  const start = (claim: Claim<'due_alerts'>) => {
    const sending = sendAlert(deps, sendMail, claim, abandon)
      .then(() => loopHealth.recorded('alerts'))
      .catch((err) => {
        loopHealth.notRecorded('alerts', clock.elapsed())
        log.error({ err, alert: claim.alert_id }, 'An alert could not be recorded. It will be repeated.')
      })
      .finally(() => {
        inFlight.delete(claim.alert_id)
        wakeUps.alerts.receive()
      })
    inFlight.set(claim.alert_id, sending)
  }
  await runWorker(deps, stop, {
    name: 'alerts',
    table: 'due_alerts',
    wakeUp: wakeUps.alerts,
    failure: 'Due alerts could not be read. Retrying.',
    repair: (self) =>
      repairAfterClockStep(db, 'due_alerts', self, { longestMs: sql.raw(String(MAX_ATTEMPT_DELAY_MS)) }),
    held: () => new Set(inFlight.keys()),
    pass: async () => {
      const limit = Math.min(BATCH_SIZE, MAX_IN_FLIGHT - inFlight.size)
      if (limit === 0) return { restMs: PAUSE_BUSY_MS, isIdle: false }
      const claims = await claimDue(db, 'due_alerts', { now: clock.now(), process, limit })
      for (const claim of claims) start(claim)
      return { restMs: 0, isIdle: claims.length === 0 }
    },
  })
  await Promise.all(inFlight.values())
}

/** Decides about a claimed alert, sends it and records the result. */
export async function sendAlert(
  deps: AlertWorkerDeps,
  sendMail: SendMail | null,
  claim: Claim<'due_alerts'>,
  abandon: AbortSignal,
): Promise<void> {
  const { db, clock, config, log } = deps
  await renewExpansions(db, claim.organization_id, clock.now())
  const attemptToMake = await beginAttempt(db, claim, {
    baseUrl: config.baseUrl,
    alertsPerHour: config.alertsPerHour,
    hasMailServer: sendMail !== null,
    acknowledgeLink: (alert) => acknowledgeLink(deps, alert),
    now: clock.now(),
  })
  if (!attemptToMake) return
  const { alert, channel, message } = attemptToMake
  const progress: string[] = alert.progress === null ? [] : JSON.parse(alert.progress)
  const result = await withDeadline(clock, DEADLINE_MS, abandon, (signal) =>
    sendMessage({ ...deps, sendMail }, channel, message, { signal, progress }),
  )
  if (abandon.aborted && result.kind === 'retry') return // Abandoned: this process releases the lease.
  await recordAttempt(db, claim, attemptToMake, result, clock.now())
  deps.metrics?.alert(channel.type, result.kind)
  const fields = { alert: alert.id, channel: channel.id, error: result.error }
  if (result.kind === 'failed') log.error(fields, 'An alert could not be sent. No more retries.')
  if (result.kind === 'retry') log.warn(fields, 'An alert could not be sent. It will be retried.')
}
