import type { ApiKey, Mails } from '#contract/account.ts'
import type { AgentRole } from '#contract/agents.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { mayGive } from '../http/permit.ts'
import { isoOf, isoOrNull } from '../http/times.ts'
import { type MailContent, messageOf } from '../mail/content.ts'
import { notFound } from '../problem.ts'

/** Newest first, revoked and expired ones included. */
export async function listApiKeys(db: Database, { organizationId }: Tenant): Promise<ApiKey[]> {
  const rows = await keysOf(db, organizationId).orderBy('api_keys.id', 'desc').limit(1_000).execute()
  return rows.map(toApiKey)
}

/** Throws `not_found`. */
export async function getApiKey(db: Database, { organizationId }: Tenant, id: string): Promise<ApiKey> {
  const row = await keysOf(db, organizationId).where('api_keys.id', '=', id).executeTakeFirst()
  if (!row) throw notFound()
  return toApiKey(row)
}

/** The newest mails of an organization, as somebody with this role may see them. Those about somebody's account belong to none and never stand here. */
export async function listMails(
  { db, config, seal }: Pick<Deps, 'db' | 'config' | 'seal'>,
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
    const written: MailContent = JSON.parse(content)
    const { subject, text } = messageOf(written, { baseUrl: config.baseUrl, seal, about })
    return {
      ...{ id, created: isoOf(created_at), recipient, subject, status, error },
      // Where the server mails, a link is for its recipient alone; elsewhere for those who may give what it gives.
      text:
        config.smtp === null && (written.kind !== 'invitation' || mayGive(role, written.role))
          ? text
          : withoutLinks(text),
    }
  })
}

const withoutLinks = (text: string) => text.replaceAll(/(\/dashboard\/invitations\/)\S+/g, '$1…')

function keysOf(db: Database, organizationId: string) {
  return db
    .selectFrom('api_keys')
    .leftJoin('agents', (join) =>
      join
        .onRef('agents.id', '=', 'api_keys.created_by')
        .onRef('agents.organization_id', '=', 'api_keys.organization_id'),
    )
    .select(['api_keys.id', 'api_keys.name', 'api_keys.role', 'api_keys.created_at', 'agents.name as maker'])
    .select('agents.id as maker_id')
    .select(['last_used_at', 'expires_at', 'revoked_at'])
    .where('api_keys.organization_id', '=', organizationId)
}

type Row = Awaited<ReturnType<ReturnType<typeof keysOf>['execute']>>[number]

function toApiKey({ id, name, role, created_at, maker, maker_id, ...row }: Row): ApiKey {
  return {
    ...{ id, name, role, created: isoOf(created_at), created_by: maker, created_by_id: maker_id },
    ...{ last_used: isoOrNull(row.last_used_at), expires: isoOrNull(row.expires_at) },
    revoked: isoOrNull(row.revoked_at),
  }
}
