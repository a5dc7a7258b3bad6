import { sql } from 'kysely'
import type { NewWebhook, QueuedRequests, Webhook, WebhookChange, WebhookQuery } from '#contract/webhooks.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { listPage, type Page } from '../database/pagination.ts'
import { deleteTenantRow, getTenantRow, updateTenantRow } from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale } from '../database/versions.ts'
import { type LinkLimits, lockLinks, readLinks, replaceLinks } from '../groups/links.ts'
import { findGroupRow } from '../groups/resolve.ts'
import { newId } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { rememberReceived } from '../organization/received.ts'
import { throwIfInvalid } from '../problem.ts'
import { HOUR_MS } from '../times.ts'
import { unmaskedHeaders } from './custom-headers.ts'
import { makeWebhooksDue, nextTargetVersion, probeNow } from './due-webhooks.ts'
import { newWebhookSecret } from './signature.ts'
import {
  auditOf,
  batchColumns,
  headersContext,
  openHeaders,
  secretContext,
  toWebhook,
  type WebhookRow,
} from './webhook.ts'
import { linkGroups, refuseTooManyOfAllGroups } from './webhook-groups.ts'
import { refuseTooManyOfZones } from './zone-requests.ts'

const ORDERS = {
  created: { column: 'webhooks.id' },
  last_executed: { column: 'webhooks.last_executed_at', isNullable: true },
}

/** The list is empty for an unknown group. */
export async function listWebhooks(
  db: Database,
  keyring: Keyring,
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
  const page = await listPage<WebhookRow>(rows, {
    keyring,
    query,
    id: 'webhooks.id',
    orders: ORDERS,
    scope: ['webhooks', organizationId, groupId, query.is_active, query.state],
  })
  const ids = page.data.map(({ id }) => id)
  const groups = await readLinks(db, tenant, 'webhook', ids)
  return { ...page, data: page.data.map((row) => toWebhook(row, groups.get(row.id) ?? [], keyring)) }
}

/** `full.secret`: the full secret, if the response contains it. Throws `not_found`. */
export async function getWebhook(
  db: Database,
  keyring: Keyring,
  tenant: Tenant,
  id: string,
  full: { secret?: string } = {},
): Promise<Webhook> {
  const row = await getTenantRow(db, 'webhooks', tenant, id)
  const groups = await readLinks(db, tenant, 'webhook', [id])
  return toWebhook(row, groups.get(id) ?? [], keyring, full)
}

/** The custom headers with their values. Throws `not_found`. */
export async function getWebhookHeaders(
  db: Database,
  keyring: Keyring,
  tenant: Tenant,
  id: string,
): Promise<Record<string, string>> {
  return openHeaders(await getTenantRow(db, 'webhooks', tenant, id), keyring)
}

/** Returns the webhook with its full secret. Throws a 400 for an unknown group. */
export async function insertWebhook(
  db: Database,
  keyring: Keyring,
  context: RequestContext,
  input: NewWebhook,
  limits: LinkLimits = { webhooksPerGroup: Number.POSITIVE_INFINITY },
): Promise<Webhook> {
  const { organizationId, now } = context
  return await inTransaction(db, async (transaction) => {
    if (input.all_groups || input.groups || input.zone_events) await lockLinks(transaction, organizationId)
    if (input.all_groups) await refuseTooManyOfAllGroups(transaction, context, limits)
    if (input.zone_events) await refuseTooManyOfZones(transaction, context)
    const id = newId('whk', now)
    const secret = input.secret ?? newWebhookSecret()
    await transaction
      .insertInto('webhooks')
      .values({
        id,
        organization_id: organizationId,
        created_at: now,
        url: input.url,
        secret: keyring.encrypt(secret, secretContext(id)),
        headers: keyring.encrypt(JSON.stringify(input.headers ?? {}), headersContext(id)),
        is_active: 1,
        state: 'active',
        payload_includes: JSON.stringify([...new Set(input.payload_includes ?? [])]),
        all_groups: input.all_groups ? 1 : 0,
        zone_events: input.zone_events ? 1 : 0,
        ...batchColumns(input.batch),
      })
      .execute()
    await transaction.insertInto('due_webhooks').values({ webhook_id: id, due_at: null }).execute()
    await linkGroups(transaction, { organizationId, webhookId: id, named: input.groups ?? [] }, limits)
    const webhook = await getWebhook(transaction, keyring, context, id, { secret })
    const object = { id, label: webhook.url }
    await recordAudit(transaction, context, { action: 'webhook.created', object, after: webhook })
    return webhook
  })
}

/** Its requests are deleted afterwards, in batches (`retention.ts`). Throws `not_found` and 412. */
export async function deleteWebhook(db: Database, context: RequestContext, id: string, match?: Match): Promise<void> {
  const { organizationId, now } = context
  await inTransaction(db, async (transaction) => {
    await lockLinks(transaction, organizationId)
    const row = await getTenantRow(transaction, 'webhooks', context, id, forUpdate(transaction))
    refuseStale(row, match)
    const groups = await replaceLinks(transaction, { organizationId, side: 'webhook', id, targets: new Map() })
    await deleteTenantRow(transaction, 'webhooks', context, id)
    if (row.last_executed_at !== null && row.last_error === null) await rememberReceived(transaction, context)
    await transaction.deleteFrom('due_webhooks').where('webhook_id', '=', id).execute()
    await transaction
      .insertInto('removed_webhooks')
      .values({ webhook_id: id, organization_id: organizationId, removed_at: now })
      .execute()
    const before = { url: row.url, groups, is_active: row.is_active === 1 }
    await recordAudit(transaction, context, { action: 'webhook.deleted', object: { id, label: row.url }, before })
  })
}

const MAX_COUNTED = 1_000

/** Throws `not_found`. */
export async function countQueued(db: Database, tenant: Tenant, webhookId: string): Promise<QueuedRequests> {
  const { dropped } = await getTenantRow(db, 'webhooks', tenant, webhookId)
  const { rows } = await sql<{ count: number }>`select count(*) as count from (
    select 1 as one from due_requests where webhook_id = ${webhookId} limit ${MAX_COUNTED}) as waiting`.execute(db)
  return { waiting: Number(rows[0]!.count), dropped }
}

/** Probes a paused webhook whose URL or headers change. Throws `not_found`, 412, and a 400 for an unknown group. */
export async function updateWebhook(
  db: Database,
  keyring: Keyring,
  context: RequestContext,
  id: string,
  { url, headers, groups, is_active, payload_includes, all_groups, zone_events, batch }: WebhookChange,
  limits: LinkLimits,
  match?: Match,
): Promise<void> {
  const { organizationId, now } = context
  await inTransaction(db, async (transaction) => {
    const changesTarget = url !== undefined || headers !== undefined
    if (groups !== undefined || all_groups || zone_events) await lockLinks(transaction, organizationId)
    const row = await getTenantRow(transaction, 'webhooks', context, id, forUpdate(transaction))
    refuseStale(row, match)
    const before = auditOf(row, await groupIdsOf(transaction, organizationId, id), keyring)
    const isNewUrl = url !== undefined && url !== row.url
    const unmasked = unmaskedHeaders(headers === null ? {} : headers, openHeaders(row, keyring), isNewUrl)
    throwIfInvalid(unmasked.errors)
    if (all_groups && row.all_groups === 0) await refuseTooManyOfAllGroups(transaction, context, limits)
    if (zone_events && row.zone_events === 0) await refuseTooManyOfZones(transaction, context)
    const set = {
      ...(changesTarget && nextTargetVersion),
      ...(url !== undefined && { url }),
      ...(headers !== undefined && { headers: keyring.encrypt(JSON.stringify(unmasked.headers), headersContext(id)) }),
      ...(payload_includes !== undefined && { payload_includes: JSON.stringify([...new Set(payload_includes ?? [])]) }),
      ...(all_groups !== undefined && { all_groups: all_groups ? (1 as const) : (0 as const) }),
      ...(zone_events !== undefined && { zone_events: zone_events ? (1 as const) : (0 as const) }),
      ...(batch !== undefined && batchColumns(batch)),
    }
    if (groups !== undefined || Object.keys(set).length > 0) {
      await updateTenantRow(transaction, 'webhooks', context, id, { ...set, ...nextVersion })
    }
    if (groups !== undefined)
      await linkGroups(transaction, { organizationId, webhookId: id, named: groups ?? [] }, limits)
    // Waiting events follow the new settings.
    if (batch !== undefined) await makeWebhooksDue(transaction, [id], now)
    if (is_active !== undefined) await writeActive(transaction, context, row, is_active)
    if (changesTarget && row.state === 'paused') await probeNow(transaction, id, now)
    const changed = await getTenantRow(transaction, 'webhooks', context, id)
    const after = auditOf(changed, await groupIdsOf(transaction, organizationId, id), keyring)
    const object = { id, label: row.url }
    await recordAudit(transaction, context, { action: 'webhook.updated', object, before, after })
  })
}

/** Requests stay queued while a webhook is disabled. Enabling it sends them, and probes a paused webhook. Throws `not_found`. */
export async function setActive(db: Database, context: RequestContext, id: string, isActive: boolean): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'webhooks', context, id, forUpdate(transaction))
    await writeActive(transaction, context, row, isActive)
    const audited = { object: { id, label: row.url }, before: { is_active: row.is_active === 1 } }
    const action = isActive ? 'webhook.enabled' : 'webhook.disabled'
    await recordAudit(transaction, context, { ...audited, action, after: { is_active: isActive } })
  })
}

async function writeActive(db: Database, context: RequestContext, { id, state }: WebhookRow, isActive: boolean) {
  const set = { is_active: isActive ? (1 as const) : (0 as const), ...nextVersion, ...nextTargetVersion }
  await updateTenantRow(db, 'webhooks', context, id, set)
  if (isActive && state === 'paused') await probeNow(db, id, context.now)
  else await makeWebhooksDue(db, [id], context.now)
}

async function groupIdsOf(db: Database, organizationId: string, id: string): Promise<string[]> {
  return (await readLinks(db, { organizationId }, 'webhook', [id])).get(id) ?? []
}

/** Requests have the signatures of both secrets during the grace period. Returns the new secret. Throws `not_found`. */
export async function rotateSecret(
  db: Database,
  keyring: Keyring,
  context: RequestContext,
  id: string,
  { secret = newWebhookSecret(), graceHours }: { secret?: string | undefined; graceHours: number },
): Promise<string> {
  return await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'webhooks', context, id, forUpdate(transaction))
    const hasGrace = graceHours > 0
    await updateTenantRow(transaction, 'webhooks', context, id, {
      ...nextVersion,
      ...nextTargetVersion,
      secret: keyring.encrypt(secret, secretContext(id)),
      previous_secret: hasGrace ? row.secret : null,
      previous_secret_until: hasGrace ? context.now + graceHours * HOUR_MS : null,
    })
    const audited = { object: { id, label: row.url }, after: { grace_hours: graceHours } }
    await recordAudit(transaction, context, { action: 'webhook.secret_rotated', ...audited })
    return secret
  })
}
