import type { Database } from '../database/database.ts'
import type { MailContent } from './content.ts'
import { queueMail } from './outbox.ts'

export type WebhookFailure = { webhookId: string; url: string; error: string; statusCode: number | null }

/** Tells the owners, and whoever the organization names beside them, that a webhook was paused. Call it in the pausing transaction. */
export async function tellWebhookPaused(
  db: Database,
  organizationId: string,
  { webhookId, ...failure }: WebhookFailure,
  now: number,
): Promise<void> {
  await tell(
    db,
    organizationId,
    webhookId,
    (organization) => ({ kind: 'webhook_paused', organization, ...failure }),
    now,
  )
}

/** Tells the same people that it is active again. Call it in the transaction that resumes it. */
export async function tellWebhookActive(
  db: Database,
  organizationId: string,
  { webhookId, url }: { webhookId: string; url: string },
  now: number,
): Promise<void> {
  await tell(db, organizationId, webhookId, (organization) => ({ kind: 'webhook_active', organization, url }), now)
}

async function tell(
  db: Database,
  organizationId: string,
  about: string,
  contentFor: (organization: string) => MailContent,
  now: number,
): Promise<void> {
  const organization = await db
    .selectFrom('organizations')
    .select(['name', 'alert_emails'])
    .where('id', '=', organizationId)
    .executeTakeFirst()
  if (!organization) return
  const owners = await db
    .selectFrom('agents')
    .select(['email', 'notification_email'])
    .where('organization_id', '=', organizationId)
    .where('role', '=', 'owner')
    .orderBy('id')
    .limit(MOST_OWNERS)
    .execute()
  const addresses = owners.map(({ email, notification_email }) => notification_email ?? email)
  const recipients = [...addresses, ...(JSON.parse(organization.alert_emails) as string[])]
  await queueMail(db, organizationId, { about, recipients, content: contentFor(organization.name) }, now)
}

const MOST_OWNERS = 20
