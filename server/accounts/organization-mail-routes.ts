import { Mails } from '#contract/account.ts'
import type { AgentRole } from '#contract/agents.ts'
import { OrganizationQuery } from '#contract/common.ts'
import type { Deps } from '../deps.ts'
import { canGrantRole } from '../http/authorization.ts'
import { Responses, type Routes } from '../http/routes.ts'
import { type MailContent, renderMail } from '../mail/mail-templates.ts'
import { toIso } from '../times.ts'

/** The mails to members of the organization, for the dashboard. */
export const organizationMailRoutes =
  (deps: Deps): Routes =>
  async (app) => {
    app.get(
      '/dashboard/api/mails',
      { config: { readRole: 'admin' }, schema: { querystring: OrganizationQuery, response: Responses(200, Mails) } },
      async ({ context }) => ({ data: await listMails(deps, context) }),
    )
  }

/** The newest mails, as a caller with this role may see them. Mails about a user's account belong to no organization, so they are not included. */
async function listMails(
  { db, config, keyring }: Pick<Deps, 'db' | 'config' | 'keyring'>,
  { organizationId, role }: { organizationId: string; role: AgentRole },
): Promise<Mails['data']> {
  const rows = await db
    .selectFrom('mails')
    .select(['id', 'created_at', 'about', 'recipient', 'content', 'status', 'error'])
    .where('organization_id', '=', organizationId)
    .orderBy('id', 'desc')
    .limit(50)
    .execute()
  return rows.map(({ id, created_at, about, recipient, content, status, error }) => {
    const mail: MailContent = JSON.parse(content)
    // Only the recipient sees a link. Without a mail server, callers who may grant the role pass an invitation on.
    const hidesTokens = config.smtp !== null || mail.kind !== 'invitation' || !canGrantRole(role, mail.role)
    const { subject, text } = renderMail(mail, { baseUrl: config.baseUrl, keyring, about, hidesTokens })
    return { id, created: toIso(created_at), recipient, subject, status, error, text }
  })
}
