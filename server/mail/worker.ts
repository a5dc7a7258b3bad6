import { withDeadline } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Keyring } from '../keyring.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { repairAfterClockStep } from '../queue/lease-queue.ts'
import type { WakeUps } from '../queue/wake-up.ts'
import { runWorker, type Signals, type WorkerDeps } from '../queue/worker-loop.ts'
import { unsubscribeHeaders } from './links.ts'
import { countMail, OVER_LIMIT } from './mail-limits.ts'
import { renderMail, unsubscribeTokenOf } from './mail-templates.ts'
import { type ClaimedMail, claimMails, type MailOutcome, RETRY_WAITS, recordMail } from './outbox.ts'
import { createMailSender, type SendMail } from './smtp.ts'

export type MailWorkerDeps = WorkerDeps & {
  config: Pick<Config, 'baseUrl' | 'smtp' | 'mailLimits'>
  keyring: Keyring
  wakeUps: WakeUps
  metrics?: Metrics
}

const BATCH_SIZE = 8
/** Shorter than the lease, so that no other process sends the same mail meanwhile. */
const DEADLINE_MS = 45_000

/** The loop that sends due mails. Runs until `stop`; `abandon` aborts the mails in progress. */
export async function runMailWorker(deps: MailWorkerDeps, { stop, abandon }: Signals): Promise<void> {
  const { config, db, wakeUps } = deps
  const sendMail = config.smtp ? createMailSender(config.smtp) : null
  await runWorker(deps, stop, {
    name: 'mail',
    table: 'due_mails',
    wakeUp: wakeUps.mails,
    failure: 'Due emails could not be read or updated. Retrying.',
    repair: (self) => repairAfterClockStep(db, 'due_mails', self, RETRY_WAITS),
    held: () => new Set(), // a pass waits for all of its mails
    pass: async () => ({ restMs: 0, isIdle: (await sendDueMails(deps, sendMail, abandon)) < BATCH_SIZE }),
  })
}

/** Claims and sends due mails and records the results. Returns how many there were. */
export async function sendDueMails(
  deps: MailWorkerDeps,
  sendMail: SendMail | null,
  abandon: AbortSignal,
): Promise<number> {
  const { db, clock, process, log } = deps
  const mails = await claimMails(db, { now: clock.now(), process, limit: BATCH_SIZE })
  const sent = await Promise.allSettled(
    mails.map(async (mail) => {
      const outcome = await sendClaimedMail(deps, sendMail, mail, abandon)
      if (abandon.aborted && outcome.kind === 'deferred') return // aborted by this process, which releases the lease
      const status = await recordMail(db, mail, outcome, clock.now())
      if (status) deps.metrics?.mail(status)
      const fields = {
        mail: mail.claim.mail_id,
        about: mail.about,
        reason: 'reason' in outcome ? outcome.reason : undefined,
      }
      if (status === 'failed') log.error(fields, 'An email could not be sent. No more retries.')
      if (status === 'waiting') log.warn(fields, 'An email could not be sent. It will be retried.')
    }),
  )
  for (const result of sent) if (result.status === 'rejected') throw result.reason
  return mails.length
}

async function sendClaimedMail(
  { db, config, clock, keyring, log }: MailWorkerDeps,
  sendMail: SendMail | null,
  { claim, recipient, about, content }: ClaimedMail,
  abandon: AbortSignal,
): Promise<MailOutcome> {
  const message = renderMail(content, { baseUrl: config.baseUrl, keyring, about })
  if (!sendMail) {
    const { subject, text } = message
    log.info({ to: recipient, subject, text }, 'Email not sent because SMTP_URL is not set.')
    return { kind: 'logged' }
  }
  const now = clock.now()
  const { organization_id: organizationId } = claim
  if (organizationId !== '') {
    const until = await countMail(db, config.mailLimits, { organizationId, email: recipient }, now)
    if (until !== undefined) return { kind: 'postponed', until, reason: OVER_LIMIT }
  }
  const token = unsubscribeTokenOf(content, keyring)
  const headers = token === undefined ? {} : unsubscribeHeaders(config.baseUrl, token)
  const mail = { id: claim.mail_id, to: recipient, at: now, headers }
  return await withDeadline(clock, DEADLINE_MS, abandon, (signal) => sendMail(mail, message, signal))
}
