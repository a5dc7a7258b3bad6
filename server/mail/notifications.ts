import type { Database } from '../database/database.ts'
import { lowestIdAt } from '../ids.ts'
import { DAY_MS } from '../times.ts'
import type { MailContent } from './mail-templates.ts'
import { queueMail } from './outbox.ts'

export type WebhookFailure = { webhookId: string; url: string; error: string; statusCode: number | null }

/** Notifies the owners and `alert_emails` of the organization. Call it in the transaction that pauses the webhook. */
export async function notifyWebhookPaused(
  db: Database,
  organizationId: string,
  { webhookId, ...failure }: WebhookFailure,
  now: number,
): Promise<void> {
  await notifyOwners(
    db,
    organizationId,
    webhookId,
    (organization) => ({ kind: 'webhook_paused', organization, ...failure }),
    now,
  )
}

/** Call it in the transaction that resumes the webhook. */
export async function notifyWebhookActive(
  db: Database,
  organizationId: string,
  { webhookId, url }: { webhookId: string; url: string },
  now: number,
): Promise<void> {
  await notifyOwners(
    db,
    organizationId,
    webhookId,
    (organization) => ({ kind: 'webhook_active', organization, url }),
    now,
  )
}

/** `dropped`: so far. Call it in the transaction that drops the requests. */
export async function notifyWebhookDropped(
  db: Database,
  organizationId: string,
  { webhookId, url, dropped }: { webhookId: string; url: string; dropped: number },
  now: number,
): Promise<void> {
  const contentFor = (organization: string) => ({ kind: 'webhook_dropped' as const, organization, url, dropped })
  await notifyOwners(db, organizationId, webhookId, contentFor, now)
}

async function notifyOwners(
  db: Database,
  organizationId: string,
  about: string,
  contentFor: (organization: string) => MailContent,
  now: number,
): Promise<void> {
  if (await hasReachedMailLimit(db, organizationId, now)) return
  const organization = await db
    .selectFrom('organizations')
    .select(['name', 'alert_emails'])
    .where('id', '=', organizationId)
    .executeTakeFirst()
  if (!organization) return
  const ownerEmails = await listOwnerEmails(db, organizationId)
  const recipients = [...ownerEmails, ...(JSON.parse(organization.alert_emails) as string[])]
  await queueMail(db, organizationId, { about, recipients, content: contentFor(organization.name) }, now)
}

const MAX_OWNERS = 20

/** The addresses for notifications to the owners of an organization. */
export async function listOwnerEmails(db: Database, organizationId: string): Promise<string[]> {
  const owners = await db
    .selectFrom('agents')
    .select(['email', 'notification_email'])
    .where('organization_id', '=', organizationId)
    .where('role', '=', 'owner')
    .orderBy('id')
    .limit(MAX_OWNERS)
    .execute()
  return owners.map(({ email, notification_email }) => notification_email ?? email)
}

/**
 * Mails in 24 hours for an organization and the other organizations of its owners. Without a limit users could send any number
 * of mails to other people. The dashboard still shows the state of the webhook.
 */
const MAX_MAILS = 500

async function hasReachedMailLimit(db: Database, organizationId: string, now: number): Promise<boolean> {
  const rows = await db
    .selectFrom('mails')
    .select('id')
    .where(({ eb, or, selectFrom }) =>
      or([
        eb('organization_id', '=', organizationId),
        eb(
          'organization_id',
          'in',
          selectFrom('agents as owners')
            .innerJoin('agents as owned', 'owned.person_id', 'owners.person_id')
            .select('owned.organization_id')
            .where('owners.organization_id', '=', organizationId)
            .where('owners.role', '=', 'owner')
            .where('owned.role', '=', 'owner'),
        ),
      ]),
    )
    .where('id', '>=', lowestIdAt('mail', now - DAY_MS))
    .limit(MAX_MAILS)
    .execute()
  return rows.length === MAX_MAILS
}
