import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import { deleteBatch, deleteInBatches } from '../database/batches.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { newId } from '../ids.ts'
import { type Claim, claimDue, complete, LEASE_MS, reschedule, type Waits } from '../queue/lease-queue.ts'
import { DAY_MS, MINUTE_MS } from '../times.ts'
import type { MailContent } from './mail-templates.ts'
import type { SendResult } from './smtp.ts'

export type NewMail = {
  /** Id of an invitation, a webhook or a link. */
  about: string
  recipients: readonly string[]
  content: MailContent
}

/**
 * Writes mails to the outbox. Call it in the transaction that they report. Mails without an organization (null) are shown only
 * to the recipient, and in the log if there is no mail server.
 */
export async function queueMail(
  db: Database,
  organizationId: string | null,
  { about, recipients, content }: NewMail,
  now: number,
): Promise<void> {
  const ids = [...new Set(recipients)].map((recipient) => ({ id: newId('mail', now), recipient }))
  if (ids.length === 0) return
  await inTransaction(db, async (transaction) => {
    const common = { organization_id: organizationId, created_at: now, about, content: JSON.stringify(content) }
    await transaction
      .insertInto('mails')
      .values(ids.map(({ id, recipient }) => ({ ...common, id, recipient, status: 'waiting' as const })))
      .execute()
    await transaction
      .insertInto('due_mails')
      .values(ids.map(({ id }) => ({ organization_id: organizationId ?? '', mail_id: id, due_at: now })))
      .execute()
  })
}

/** Deletes waiting mails that are no longer true. A mail that is being sent is not stopped. */
export async function cancelMails(db: Database, organizationId: string, about: string): Promise<void> {
  await db
    .deleteFrom('mails')
    .where('organization_id', '=', organizationId)
    .where('about', '=', about)
    .where('status', '=', 'waiting')
    .execute()
}

export type ClaimedMail = {
  claim: Claim<'due_mails'>
  recipient: string
  about: string
  content: MailContent
  attempts: number
}

/** Claims due mails, longest overdue first. */
export async function claimMails(
  db: Database,
  options: { now: number; process: number; limit: number },
): Promise<ClaimedMail[]> {
  const claims = await claimDue(db, 'due_mails', options)
  if (claims.length === 0) return []
  const rows = await db
    .selectFrom('mails')
    .select(['id', 'recipient', 'about', 'content', 'attempts'])
    .where(
      'id',
      'in',
      claims.map(({ mail_id }) => mail_id),
    )
    .execute()
  const byId = new Map(rows.map((row) => [row.id, row]))
  return claims.flatMap((claim) => {
    const row = byId.get(claim.mail_id)
    return row ? [{ claim, ...row, content: JSON.parse(row.content) as MailContent }] : []
  })
}

/** `logged`: written to the log, because there is no mail server. `postponed`: not attempted, because a limit is reached. */
export type MailOutcome = SendResult | { kind: 'logged' } | { kind: 'postponed'; until: number; reason: string }
export type MailStatus = 'waiting' | 'sent' | 'kept' | 'failed'

/** Records the result of an attempt. Returns the status of the mail, or undefined if the lease was lost. */
export async function recordMail(
  db: Database,
  mail: ClaimedMail,
  outcome: MailOutcome,
  now: number,
): Promise<MailStatus | undefined> {
  const { claim } = mail
  const isPostponed = outcome.kind === 'postponed'
  const attempts = mail.attempts + (isPostponed ? 0 : 1)
  const next = isPostponed ? outcome.until : outcome.kind === 'deferred' ? nextAttemptAt(attempts, now) : null
  const status = statusAfter(outcome, next)
  return await inTransaction(db, async (transaction) => {
    const owned =
      next === null
        ? await complete(transaction, 'due_mails', [claim])
        : await reschedule(transaction, 'due_mails', [{ claim, set: { due_at: next } }])
    if (owned.length === 0) return undefined
    await transaction
      .updateTable('mails')
      .set({
        status,
        attempts,
        error: 'reason' in outcome ? outcome.reason : null,
        sent_at: status === 'sent' ? now : null,
      })
      .where('id', '=', claim.mail_id)
      .execute()
    return status
  })
}

const RETENTION_MS = 90 * DAY_MS

/** Deletes finished mails after 90 days, in small batches, until `stop`. */
export async function deleteOldMails({ db, clock }: { db: Database; clock: Clock }, stop: AbortSignal): Promise<void> {
  const old = db
    .selectFrom('mails')
    .where('created_at', '<', clock.now() - RETENTION_MS)
    .where('status', '!=', 'waiting')
    .orderBy('created_at')
  await deleteInBatches(clock, stop, () => deleteBatch(db, 'mails', ['id'], old))
}

function statusAfter(outcome: MailOutcome, next: number | null): MailStatus {
  switch (outcome.kind) {
    case 'sent':
      return 'sent'
    case 'logged':
      return 'kept'
    case 'postponed':
      return 'waiting'
    case 'deferred':
      return next === null ? 'failed' : 'waiting'
    case 'refused':
      return 'failed'
  }
}

/** Delays after each attempt: two and a half days in total, as mail servers retry (RFC 5321 section 4.5.4.1). */
const RETRY_DELAYS_MS = [1, 5, 15, 60, 240, 480, 960, 1_440].map((minutes) => minutes * MINUTE_MS)

/** Null after the last attempt. */
function nextAttemptAt(attempts: number, now: number): number | null {
  const delay = RETRY_DELAYS_MS[attempts - 1]
  return delay === undefined ? null : now + delay
}

/** How long a mail waits at most after the clock was set back: its delay again. */
export const RETRY_WAITS: Waits = {
  join: sql`join mails on mails.id = due_mails.mail_id`,
  longestMs: sql.raw(`case when claimed_by is not null then ${LEASE_MS} else case attempts
    ${RETRY_DELAYS_MS.map((ms, index) => `when ${index + 1} then ${ms}`).join(' ')} else 0 end end`),
}
