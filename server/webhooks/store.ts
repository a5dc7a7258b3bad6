import { sql } from 'kysely'
import type { NewWebhook, QueuedRequests, Webhook, WebhookQuery } from '#contract/webhooks.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { listPage, type Page } from '../database/pagination.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { type Match, refuseStale } from '../database/versions.ts'
import { type LinkLimits, lockLinks, replaceLinks } from '../groups/links.ts'
import { findGroupRow } from '../groups/resolve.ts'
import { newId } from '../ids.ts'
import type { Seal } from '../seal.ts'
import { newWebhookSecret } from './signature.ts'
import { batchColumns, headersContext, openHeaders, secretContext, toWebhook, type WebhookRow } from './webhook.ts'
import { linkGroups, readGroupIds, refuseTooManyOfAllGroups } from './webhook-groups.ts'

const ORDERS = {
  created: { column: 'webhooks.id' },
  last_executed: { column: 'webhooks.last_executed_at', isNullable: true },
}

/** A group that does not exist has no webhooks. */
export async function listWebhooks(
  db: Database,
  seal: Seal,
  tenant: Tenant,
  query: WebhookQuery,
): Promise<Page<Webhook>> {
  const { organizationId } = tenant
  const groupId = query.group === undefined ? undefined : ((await findGroupRow(db, tenant, query.group))?.id ?? '')
  let rows = db.selectFrom('webhooks').selectAll('webhooks').where('webhooks.organization_id', '=', organizationId)
  if (query.is_active !== undefined) rows = rows.where('webhooks.is_active', '=', query.is_active ? 1 : 0)
  if (query.state !== undefined) rows = rows.where('webhooks.state', '=', query.state)
  if (groupId === '') rows = rows.where(sql<boolean>`1 = 0`)
  else if (groupId !== undefined) {
    const linked = db.selectFrom('group_webhooks').select('webhook_id').where('group_id', '=', groupId)
    rows = rows.where((of) => of.or([of('webhooks.id', 'in', linked), of('webhooks.all_groups', '=', 1)]))
  }
  const page = await listPage<WebhookRow>(rows as never, {
    seal,
    query,
    id: 'webhooks.id',
    orders: ORDERS,
    scope: ['webhooks', organizationId, groupId, query.is_active, query.state],
  })
  const ids = page.data.map(({ id }) => id)
  const groups = await readGroupIds(db, tenant, ids)
  return { ...page, data: page.data.map((row) => toWebhook(row, groups.get(row.id) ?? [], seal)) }
}

/** `shown`: the secret, where the answer is to hold it in full. Throws `not_found`, also for another organization's. */
export async function getWebhook(
  db: Database,
  seal: Seal,
  tenant: Tenant,
  id: string,
  shown: { secret?: string } = {},
): Promise<Webhook> {
  const row = await getTenantRow(db, 'webhooks', tenant, id)
  const groups = await readGroupIds(db, tenant, [id])
  return toWebhook(row, groups.get(id) ?? [], seal, shown)
}

/** The headers of its requests, with their secret values. */
export async function getWebhookHeaders(
  db: Database,
  seal: Seal,
  tenant: Tenant,
  id: string,
): Promise<Record<string, string>> {
  return openHeaders(await getTenantRow(db, 'webhooks', tenant, id), seal)
}

/** The answer holds the secret in full, this once. Throws a 400 for a group that does not exist. */
export async function insertWebhook(
  db: Database,
  seal: Seal,
  context: RequestContext,
  given: NewWebhook,
  limits: LinkLimits = { webhooksPerGroup: Number.POSITIVE_INFINITY },
): Promise<Webhook> {
  const { organizationId, now } = context
  return await inTransaction(db, async (transaction) => {
    if (given.all_groups || given.groups) await lockLinks(transaction, organizationId)
    if (given.all_groups) await refuseTooManyOfAllGroups(transaction, context, limits)
    const id = newId('whk', now)
    const secret = given.secret ?? newWebhookSecret()
    await transaction
      .insertInto('webhooks')
      .values({
        id,
        organization_id: organizationId,
        created_at: now,
        url: given.url,
        secret: seal.close(secret, secretContext(id)),
        headers: seal.close(JSON.stringify(given.headers ?? {}), headersContext(id)),
        is_active: 1,
        state: 'active',
        payload_includes: JSON.stringify([...new Set(given.payload_includes ?? [])]),
        all_groups: given.all_groups ? 1 : 0,
        ...batchColumns(given.batch),
      })
      .execute()
    await transaction.insertInto('due_webhooks').values({ webhook_id: id, due_at: null }).execute()
    await linkGroups(transaction, { organizationId, webhookId: id, named: given.groups ?? [] }, limits)
    const webhook = await getWebhook(transaction, seal, context, id, { secret })
    const object = { id, label: webhook.url }
    await recordAudit(transaction, context, { action: 'webhook.created', object, after: webhook })
    return webhook
  })
}

/** At once for everyone who looks; its requests go in batches afterwards (`sweep.ts`). Throws `not_found` and 412. */
export async function deleteWebhook(db: Database, context: RequestContext, id: string, match?: Match): Promise<void> {
  const { organizationId, now } = context
  await inTransaction(db, async (transaction) => {
    await lockLinks(transaction, organizationId)
    const row = await getTenantRow(transaction, 'webhooks', context, id, forUpdate(transaction))
    refuseStale(row, match)
    const groups = await replaceLinks(transaction, { organizationId, side: 'webhook', id, targets: new Map() })
    await transaction
      .deleteFrom('webhooks')
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    await transaction.deleteFrom('due_webhooks').where('webhook_id', '=', id).execute()
    await transaction.insertInto('removed_webhooks').values({ webhook_id: id, removed_at: now }).execute()
    const before = { url: row.url, groups, is_active: row.is_active === 1 }
    await recordAudit(transaction, context, { action: 'webhook.deleted', object: { id, label: row.url }, before })
  })
}

const MOST_WAITING = 1_000

/** Throws `not_found`. */
export async function countQueued(db: Database, tenant: Tenant, webhookId: string): Promise<QueuedRequests> {
  const { dropped } = await getTenantRow(db, 'webhooks', tenant, webhookId)
  const { rows } = await sql<{ count: number }>`select count(*) as count from (
    select 1 as one from due_requests where webhook_id = ${webhookId} limit ${MOST_WAITING}) as waiting`.execute(db)
  return { waiting: Number(rows[0]!.count), dropped }
}
