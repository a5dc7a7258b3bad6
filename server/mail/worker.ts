import type { Logger } from 'pino'
import { type Clock, watchClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../database/database.ts'
import type { LoopHealth } from '../loop-health.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Seal } from '../seal.ts'
import { repairAfterClockStep } from './clock-step.ts'
import { messageOf } from './content.ts'
import { type ClaimedMail, claimMails, forgetMails, type MailOutcome, recordMail } from './outbox.ts'
import { openSmtp, type Post } from './smtp.ts'

export type MailWorkerDeps = {
  config: Pick<Config, 'baseUrl' | 'smtp'>
  db: Database
  clock: Clock
  log: Logger
  seal: Seal
  loopHealth: LoopHealth
  process: number
  metrics?: Metrics
}

/** How long the loop rests when nothing is due. */
const IDLE_MS = 1_000
/** Mails under way at a time. */
const BATCH = 8
/** Within the lease, so that no other process sends the mail while this one still tries. */
const DEADLINE_MS = 45_000
const FORGET_EVERY_MS = 60 * 60_000
const FORGET_AFTER_MS = 90 * 24 * 60 * 60_000
const FORGET_LIMIT = 1_000

/** The loop that sends what is due. Runs until `stop`; what is under way then is given up when `abandon` is aborted. */
export async function runMailWorker(
  deps: MailWorkerDeps,
  { stop, abandon }: { stop: AbortSignal; abandon: AbortSignal },
): Promise<void> {
  const { config, db, clock, log, loopHealth } = deps
  const post = config.smtp ? openSmtp(config.smtp) : null
  let forgetAt = clock.elapsed()
  const wasSetBack = watchClock(clock)
  let isPlanned = false
  while (!stop.aborted) {
    loopHealth.beat('mail', clock.elapsed())
    try {
      if (wasSetBack()) isPlanned = false
      if (!isPlanned) await repairAfterClockStep(db, { now: clock.now(), process: deps.process })
      isPlanned = true
      const sent = await sendDueMails(deps, post, abandon)
      if (clock.elapsed() >= forgetAt) {
        await forgetMails(db, clock.now() - FORGET_AFTER_MS, FORGET_LIMIT)
        forgetAt = clock.elapsed() + FORGET_EVERY_MS
      }
      if (sent < BATCH) await clock.sleep(IDLE_MS, stop)
    } catch (err) {
      log.error({ err }, 'Due emails cannot be read or recorded. Retrying.')
      await clock.sleep(5_000, stop)
    }
  }
}

/** One pass: claims what is due, sends it and records what came of it. Returns how many mails it took. */
export async function sendDueMails(deps: MailWorkerDeps, post: Post | null, abandon: AbortSignal): Promise<number> {
  const { db, clock, process, log } = deps
  const mails = await claimMails(db, { now: clock.now(), process, limit: BATCH })
  await Promise.all(
    mails.map(async (mail) => {
      const outcome = await sendMail(deps, post, mail, abandon)
      if (abandon.aborted && outcome.kind === 'deferred') return // given up by us: the lease is given back
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
  return mails.length
}

async function sendMail(
  { config, clock, seal, log }: MailWorkerDeps,
  post: Post | null,
  { claim, recipient, about, content }: ClaimedMail,
  abandon: AbortSignal,
): Promise<MailOutcome> {
  const message = messageOf(content, { baseUrl: config.baseUrl, seal, about })
  if (!post) {
    const { subject, text } = message
    log.info({ to: recipient, subject, text }, 'Email not sent because SMTP_URL is not set.')
    return { kind: 'kept' }
  }
  const deadline = new AbortController()
  const signal = AbortSignal.any([abandon, deadline.signal])
  const expire = clock.sleep(DEADLINE_MS, deadline.signal).then(() => deadline.abort())
  try {
    return await post({ id: claim.mail_id, to: recipient, at: clock.now() }, message, signal)
  } finally {
    deadline.abort()
    await expire
  }
}
