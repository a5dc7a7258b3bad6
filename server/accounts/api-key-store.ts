import type { Selectable } from 'kysely'
import type { Mails } from '#contract/account.ts'
import type { AgentRole } from '#contract/agents.ts'
import type { ApiKey, ApiKeyQuery, ApiKeyWithSecret } from '#contract/api-keys.ts'
import type { RequestContext } from '../context.ts'
import type { Database } from '../database/database.ts'
import { listPage, type Page } from '../database/pagination.ts'
import type { ApiKeysTable } from '../database/schema-people.ts'
import { withVersion } from '../database/versions.ts'
import type { Deps } from '../deps.ts'
import { canGrantRole } from '../http/authorization.ts'
import { type MailContent, messageOf } from '../mail/content.ts'
import { notFound } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { toIso, toIsoOrNull } from '../times.ts'
import { ownLimits, type ServerLimits, shownLimits } from './api-key-limits.ts'

type Reading = Pick<RequestContext, 'organizationId' | 'now'>

/** Revoked and expired ones included, unless the query says otherwise. */
export async function listApiKeys(
  db: Database,
  { seal, config }: { seal: Seal; config: ServerLimits },
  { organizationId, now }: Reading,
  query: ApiKeyQuery,
): Promise<Page<ApiKey>> {
  const { state } = query
  let rows = keysOf(db, organizationId)
  if (state === 'revoked') rows = rows.where('api_keys.revoked_at', 'is not', null)
  else if (state !== undefined) rows = rows.where('api_keys.revoked_at', 'is', null)
  if (state === 'expired') rows = rows.where('api_keys.expires_at', '<=', now)
  if (state === 'active') {
    rows = rows.where(({ eb, or }) => or([eb('api_keys.expires_at', 'is', null), eb('api_keys.expires_at', '>', now)]))
  }
  const page = await listPage<Row>(rows as never, {
    seal,
    query,
    id: 'api_keys.id',
    orders: { created: { column: 'api_keys.id' } },
    scope: ['api keys', organizationId, state],
  })
  return { ...page, data: page.data.map((row) => toApiKey(row, now, config)) }
}

/** Throws `not_found`. */
export async function getApiKey(
  db: Database,
  config: ServerLimits,
  { organizationId, now }: Reading,
  id: string,
): Promise<ApiKey> {
  const row = await keysOf(db, organizationId).where('api_keys.id', '=', id).executeTakeFirst()
  if (!row) throw notFound()
  return withVersion(toApiKey(row, now, config), row.version)
}

/** The same with the key itself, which only this answer has. Throws `not_found`. */
export async function getMadeApiKey(
  db: Database,
  config: ServerLimits,
  context: Reading,
  { id, key }: { id: string; key: string },
): Promise<ApiKeyWithSecret> {
  const row = await keysOf(db, context.organizationId).where('api_keys.id', '=', id).executeTakeFirst()
  if (!row) throw notFound()
  return { ...toApiKey(row, context.now, config), key }
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
      ...{ id, created: toIso(created_at), recipient, subject, status, error },
      // Where the server mails, a link is for its recipient alone; elsewhere for those who may give what it gives.
      text:
        config.smtp === null && (written.kind !== 'invitation' || canGrantRole(role, written.role))
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
    .selectAll('api_keys')
    .select(['agents.name as maker', 'agents.id as maker_id'])
    .where('api_keys.organization_id', '=', organizationId)
}

type Row = Selectable<ApiKeysTable> & { maker: string | null; maker_id: string | null }

function toApiKey(row: Row, now: number, config: ServerLimits): ApiKey {
  const { id, name, role, expires_at, previous_until } = row
  const previousUntil = previous_until !== null && previous_until > now ? previous_until : null
  return {
    ...{ id, name, role, created: toIso(row.created_at), created_by: row.maker, created_by_id: row.maker_id },
    created_by_key_id: row.created_by_key,
    ...{
      last_used: toIsoOrNull(row.last_used_at),
      expires: toIsoOrNull(expires_at),
      revoked: toIsoOrNull(row.revoked_at),
    },
    rotated: toIsoOrNull(row.rotated_at),
    previous_expires: toIsoOrNull(previousUntil),
    limits: shownLimits(ownLimits(row, config)),
  }
}
