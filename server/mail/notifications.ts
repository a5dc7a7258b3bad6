import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { lowestIdAt } from '../ids.ts'
import { DAY_MS } from '../times.ts'
import { listOwnerEmails, recipientsOf } from './addresses.ts'
import type { WebhookNotice } from './mail-templates.ts'
import { queueMail } from './outbox.ts'

/** Notifies the owners and `alert_emails` of the organization, if they are confirmed. Call it in the transaction that changes the webhook. */
export async function notifyAboutWebhook(
  db: Database,
  { organizationId, webhookId }: Tenant & { webhookId: string },
  notice: WebhookNotice,
  now: number,
): Promise<void> {
  if (await hasReachedMailLimit(db, organizationId, now)) return
  const organization = await db
    .selectFrom('organizations')
    .select(['name', 'alert_emails'])
    .where('id', '=', organizationId)
    .executeTakeFirst()
  if (!organization) return
  const alertEmails: string[] = JSON.parse(organization.alert_emails)
  const addresses = [...(await listOwnerEmails(db, organizationId)), ...alertEmails]
  const { recipients } = await recipientsOf(db, organizationId, addresses, now)
  for (const { email, addressId } of recipients) {
    const content = { ...notice, organization: organization.name, address: { organizationId, addressId } }
    await queueMail(db, organizationId, { about: webhookId, recipients: [email], content }, now)
  }
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
