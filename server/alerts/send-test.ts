import { recordAudit } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { countWithin } from '../database/hourly-counts.ts'
import { getTenantRow, organizationName } from '../database/tenant-row.ts'
import type { Deps } from '../deps.ts'
import { newId } from '../ids.ts'
import { createMailSender } from '../mail/smtp.ts'
import { insertAttempt, updateChannelStatus } from './alert-attempts.ts'
import { testMessage } from './alert-message.ts'
import { channelFull, channelLimit } from './alert-store.ts'
import type { ChannelRow } from './channel.ts'
import { type AttemptResult, sendMessage } from './send-message.ts'

const DEADLINE_MS = 30_000

export type SentTest = { id: string; title: string; channel: ChannelRow; result: AttemptResult }

/** Sends an example alert and waits for the result. Only counts it. Throws `not_found`, and 429 at the channel's limit. */
export async function sendTest(deps: Deps, context: RequestContext, channelId: string): Promise<SentTest> {
  const { db, config } = deps
  const { organizationId, now } = context
  const channel = await getTenantRow(db, 'channels', context, channelId)
  const { alertsPerHour, baseUrl } = config
  const limit = channelLimit({ organization_id: organizationId, channel_id: channelId }, alertsPerHour)
  if ((await countWithin(db, [limit], now)) !== undefined) throw channelFull(alertsPerHour)
  const id = newId('alr', now)
  const organization = await organizationName(db, organizationId)
  const message = testMessage({ id, organization, baseUrl, now })
  const sendMail = config.smtp ? createMailSender(config.smtp) : null
  const result = await sendMessage({ ...deps, sendMail }, channel, message, {
    signal: AbortSignal.timeout(DEADLINE_MS),
  })
  return { id, title: message.title, channel, result }
}

/** Adds the test to the log of alerts. The worker never retries it. */
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
    await updateChannelStatus(transaction, channel, result, now)
    const object = { id: channel.id, label: channel.name }
    await recordAudit(transaction, context, { action: 'channel.tested', object })
    return id
  })
}
