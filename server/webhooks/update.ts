import type { WebhookChange } from '#contract/webhooks.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale } from '../database/versions.ts'
import { type LinkLimits, lockLinks } from '../groups/links.ts'
import { notFound, throwIfInvalid } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { unmaskedHeaders } from './custom-headers.ts'
import { nextTargetVersion, probeNow, wakeDispatcher } from './pause-and-resume.ts'
import { newWebhookSecret } from './signature.ts'
import { auditOf, batchColumns, headersContext, openHeaders, secretContext } from './webhook.ts'
import { linkGroups, readGroupIds, refuseTooManyOfAllGroups } from './webhook-groups.ts'

const HOUR_MS = 60 * 60_000

/** A paused webhook that was changed is tried at once. Throws `not_found`, and a 400 for a group that does not exist. */
export async function updateWebhook(
  db: Database,
  seal: Seal,
  context: RequestContext,
  id: string,
  { url, headers, groups, is_active, payload_includes, all_groups, batch }: WebhookChange,
  limits: LinkLimits,
  match?: Match,
): Promise<void> {
  const { organizationId, now } = context
  await inTransaction(db, async (transaction) => {
    const isNew = url !== undefined || headers !== undefined
    if (groups !== undefined || all_groups) await lockLinks(transaction, organizationId)
    const row = await getTenantRow(transaction, 'webhooks', context, id, forUpdate(transaction))
    refuseStale(row, match)
    const before = auditOf(row, await groupIdsOf(transaction, organizationId, id), seal)
    const unmasked = unmaskedHeaders(headers ?? {}, openHeaders(row, seal))
    throwIfInvalid(unmasked.errors)
    if (all_groups && row.all_groups === 0) await refuseTooManyOfAllGroups(transaction, context, limits)
    const set = {
      ...(isNew && nextTargetVersion),
      ...(url !== undefined && { url }),
      ...(headers !== undefined && { headers: seal.close(JSON.stringify(unmasked.headers), headersContext(id)) }),
      ...(payload_includes !== undefined && { payload_includes: JSON.stringify([...new Set(payload_includes ?? [])]) }),
      ...(all_groups !== undefined && { all_groups: all_groups ? (1 as const) : (0 as const) }),
      ...(batch !== undefined && batchColumns(batch)),
    }
    if (groups !== undefined || Object.keys(set).length > 0) {
      await transaction
        .updateTable('webhooks')
        .set({ ...set, ...nextVersion })
        .where('organization_id', '=', organizationId)
        .where('id', '=', id)
        .execute()
    }
    if (groups !== undefined)
      await linkGroups(transaction, { organizationId, webhookId: id, named: groups ?? [] }, limits)
    // What waits goes by the new settings.
    if (batch !== undefined) await wakeDispatcher(transaction, [id], now)
    if (is_active !== undefined) await writeActive(transaction, context, id, is_active)
    if (isNew && row.state === 'paused') await probeNow(transaction, id, now)
    const changed = await getTenantRow(transaction, 'webhooks', context, id)
    const after = auditOf(changed, await groupIdsOf(transaction, organizationId, id), seal)
    const object = { id, label: row.url }
    await recordAudit(transaction, context, { action: 'webhook.updated', object, before, after })
  })
}

/**
 * Disabled, it gets no new requests, and those that wait are kept and attempted only manually. Enabled, they are sent; a
 * paused one is tried at once. Throws `not_found`.
 */
export async function setActive(db: Database, context: RequestContext, id: string, isActive: boolean): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'webhooks', context, id, forUpdate(transaction))
    await writeActive(transaction, context, id, isActive)
    const audited = { object: { id, label: row.url }, before: { is_active: row.is_active === 1 } }
    const action = isActive ? 'webhook.enabled' : 'webhook.disabled'
    await recordAudit(transaction, context, { ...audited, action, after: { is_active: isActive } })
  })
}

async function writeActive(db: Database, { organizationId, now }: RequestContext, id: string, isActive: boolean) {
  const row = await db
    .updateTable('webhooks')
    .set({ is_active: isActive ? 1 : 0, ...nextVersion, ...nextTargetVersion })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .returning('state')
    .executeTakeFirst()
  if (!row) throw notFound()
  if (isActive && row.state === 'paused') await probeNow(db, id, now)
  else await wakeDispatcher(db, [id], now)
}

async function groupIdsOf(db: Database, organizationId: string, id: string): Promise<string[]> {
  return (await readGroupIds(db, { organizationId }, [id])).get(id) ?? []
}

/** Until the grace is over requests carry the signatures of both secrets. Returns the new one. Throws `not_found`. */
export async function rotateSecret(
  db: Database,
  seal: Seal,
  context: RequestContext,
  id: string,
  { secret = newWebhookSecret(), graceHours }: { secret?: string | undefined; graceHours: number },
): Promise<string> {
  const { organizationId, now } = context
  return await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'webhooks', context, id, forUpdate(transaction))
    const hasGrace = graceHours > 0
    await transaction
      .updateTable('webhooks')
      .set({
        ...nextVersion,
        ...nextTargetVersion,
        secret: seal.close(secret, secretContext(id)),
        previous_secret: hasGrace ? row.secret : null,
        previous_secret_until: hasGrace ? now + graceHours * HOUR_MS : null,
      })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    const audited = { object: { id, label: row.url }, after: { grace_hours: graceHours } }
    await recordAudit(transaction, context, { action: 'webhook.secret_rotated', ...audited })
    return secret
  })
}
