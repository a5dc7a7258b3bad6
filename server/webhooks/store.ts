import type { NewWebhook, Webhook, WebhookQuery } from '#contract/webhooks.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { findGroupRow } from '../groups/store.ts'
import { listPage, type Page } from '../http/pages.ts'
import { newId } from '../ids.ts'
import { invalid, notFound } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { newWebhookSecret } from './signature.ts'
import { headersContext, secretContext, toWebhook, type WebhookRow } from './webhook.ts'

const ORDERS = {
  created: { column: 'webhooks.id' },
  last_executed: { column: 'webhooks.last_executed_at', isNullable: true },
}

export async function listWebhooks(
  db: Database,
  seal: Seal,
  organizationId: string,
  query: WebhookQuery,
): Promise<Page<Webhook>> {
  const groupId =
    query.group === undefined ? undefined : ((await findGroupRow(db, organizationId, query.group))?.id ?? '')
  let base = db.selectFrom('webhooks').selectAll('webhooks').where('webhooks.organization_id', '=', organizationId)
  if (query.is_active !== undefined) base = base.where('webhooks.is_active', '=', query.is_active ? 1 : 0)
  if (query.state !== undefined) base = base.where('webhooks.state', '=', query.state)
  if (groupId !== undefined) {
    const linked = db.selectFrom('group_webhooks').select('webhook_id').where('group_id', '=', groupId)
    base = base.where('webhooks.id', 'in', linked)
  }
  const page = await listPage<WebhookRow>(base as never, {
    seal,
    query,
    id: 'webhooks.id',
    orders: ORDERS,
    scope: ['webhooks', organizationId, groupId, query.is_active, query.state],
  })
  const groups = await groupsOf(
    db,
    organizationId,
    page.data.map(({ id }) => id),
  )
  return { ...page, data: page.data.map((row) => toWebhook(row, groups.get(row.id) ?? [], seal)) }
}

/** Throws `not_found` when the webhook does not exist or is another organization's. */
export async function getWebhook(db: Database, seal: Seal, organizationId: string, id: string): Promise<Webhook> {
  const row = await getWebhookRow(db, organizationId, id)
  const groups = await groupsOf(db, organizationId, [id])
  return toWebhook(row, groups.get(id) ?? [], seal)
}

export async function getWebhookRow(db: Database, organizationId: string, id: string): Promise<WebhookRow> {
  const row = await db
    .selectFrom('webhooks')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) throw notFound()
  return row
}

/** The answer holds the secret in full, this once. Throws a 400 for a group that does not exist. */
export async function insertWebhook(
  db: Database,
  seal: Seal,
  organizationId: string,
  given: NewWebhook,
  now: number,
): Promise<Webhook> {
  return await inTransaction(db, async (transaction) => {
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
      })
      .execute()
    await transaction.insertInto('due_webhooks').values({ webhook_id: id, due_at: null }).execute()
    const groups = await linkGroups(transaction, organizationId, id, given.groups ?? [])
    return toWebhook(await getWebhookRow(transaction, organizationId, id), groups, seal, { secret })
  })
}

/** Its requests go with it. Throws `not_found`. */
export async function deleteWebhook(db: Database, organizationId: string, id: string): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const { numDeletedRows } = await transaction
      .deleteFrom('webhooks')
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .executeTakeFirst()
    if (numDeletedRows === 0n) throw notFound()
    await transaction.deleteFrom('due_requests').where('webhook_id', '=', id).execute()
    await transaction.deleteFrom('due_webhooks').where('webhook_id', '=', id).execute()
  })
}

async function linkGroups(db: Database, organizationId: string, webhookId: string, named: string[]): Promise<string[]> {
  const ids = new Set<string>()
  const unknown: Record<string, string> = {}
  for (const [index, each] of named.entries()) {
    const group = await findGroupRow(db, organizationId, each)
    if (group) ids.add(group.id)
    else unknown[`groups.${index}`] = 'is not the id or slug of a group of yours.'
  }
  if (Object.keys(unknown).length > 0) throw invalid(unknown)
  const rows = [...ids].map((groupId) => ({
    organization_id: organizationId,
    group_id: groupId,
    webhook_id: webhookId,
  }))
  if (rows.length > 0) await db.insertInto('group_webhooks').values(rows).execute()
  return [...ids].sort()
}

async function groupsOf(db: Database, organizationId: string, webhookIds: string[]): Promise<Map<string, string[]>> {
  const groups = new Map<string, string[]>()
  if (webhookIds.length === 0) return groups
  const links = await db
    .selectFrom('group_webhooks')
    .select(['group_id', 'webhook_id'])
    .where('organization_id', '=', organizationId)
    .where('webhook_id', 'in', webhookIds)
    .orderBy('group_id')
    .execute()
  for (const link of links) groups.set(link.webhook_id, [...(groups.get(link.webhook_id) ?? []), link.group_id])
  return groups
}
