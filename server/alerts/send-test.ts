import { recordAudit } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import type { Deps } from '../deps.ts'
import { newId } from '../ids.ts'
import { openSmtp } from '../mail/smtp.ts'
import { Problem } from '../problem.ts'
import { type AttemptResult, attempt } from './attempt.ts'
import type { ChannelRow } from './channel.ts'
import { insertAttempt, limitedUntil, noteOnChannel } from './deliver.ts'
import { testNotice } from './notice.ts'

const DEADLINE_MS = 30_000

export type SentTest = { id: string; title: string; channel: ChannelRow; result: AttemptResult }

/** Sends an example alert at once and waits for the result. Writes nothing. Throws 429 at the channel's limit. */
export async function sendTest(deps: Deps, context: RequestContext, channelId: string): Promise<SentTest> {
  const { db, config } = deps
  const { organizationId, now } = context
  const channel = await getTenantRow(db, 'channels', context, channelId)
  const place = { organization_id: organizationId, channel_id: channelId }
  const { alertsPerHour, baseUrl } = config
  if ((await limitedUntil(db, place, { alertsPerHour, now })) !== null)
    throw new Problem(
      429,
      `The channel reached its limit of ${alertsPerHour} alerts per hour. Try again later, or ask the operator to raise ALERTS_PER_HOUR.`,
    )
  const { name } = await db
    .selectFrom('organizations')
    .select('name')
    .where('id', '=', organizationId)
    .executeTakeFirstOrThrow()
  const id = newId('alr', now)
  const notice = testNotice({ id, organization: name, baseUrl, now })
  const post = config.smtp ? openSmtp(config.smtp) : null
  const result = await attempt({ ...deps, post }, channel, notice, { signal: AbortSignal.timeout(DEADLINE_MS) })
  return { id, title: notice.title, channel, result }
}

/** Writes it into the log of alerts. A test is not repeated. */
export async function insertTest(
  db: Database,
  context: RequestContext,
  { id, title, channel, result }: SentTest,
): Promise<string> {
  const { organizationId, now } = context
  return await inTransaction(db, async (transaction) => {
    const isSent = result.kind === 'sent'
    await transaction
      .insertInto('alerts')
      .values({
        organization_id: organizationId,
        id,
        created_at: now,
        kind: 'test',
        incident_id: null,
        rule_id: null,
        channel_id: channel.id,
        status: isSent ? 'SENT' : 'FAILED',
        attempts: 1,
        last_attempt_at: now,
        sent_at: isSent ? now : null,
        title,
        error: result.error,
      })
      .execute()
    await insertAttempt(transaction, { organization_id: organizationId, id, attempts: 0 }, result)
    await noteOnChannel(transaction, channel, result, now)
    await recordAudit(transaction, context, {
      action: 'channel.tested',
      object: { id: channel.id, label: channel.name },
    })
    return id
  })
}
