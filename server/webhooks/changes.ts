import type { WebhookChange } from '#contract/webhooks.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { type Match, nextVersion, refuseStale } from '../database/versions.ts'
import { type LinkLimits, lockLinks } from '../groups/links.ts'
import { notFound, refuse } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { unmaskedHeaders } from './custom-headers.ts'
import { linkGroups } from './links.ts'
import { newWebhookSecret } from './signature.ts'
import { lookSoon, NEXT_VERSION, probeSoon } from './states.ts'
import { getWebhookRow } from './store.ts'
import { headersContext, openedHeaders, secretContext } from './webhook.ts'

const HOUR_MS = 60 * 60_000

/** A paused webhook that was changed is tried at once. Throws `not_found`, and a 400 for a group that does not exist. */
export async function changeWebhook(
  db: Database,
  seal: Seal,
  organizationId: string,
  id: string,
  { url, headers, groups, is_active }: WebhookChange,
  now: number,
  limits: LinkLimits,
  match?: Match,
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const isNew = url !== undefined || headers !== undefined
    if (groups !== undefined) await lockLinks(transaction, organizationId)
    const row = await getWebhookRow(transaction, organizationId, id, forUpdate(transaction))
    refuseStale(row, match)
    if (isNew || groups !== undefined) {
      const unmasked = unmaskedHeaders(headers ?? {}, openedHeaders(row, seal))
      refuse(unmasked.errors)
      const set = {
        ...NEXT_VERSION,
        ...(url === undefined ? {} : { url }),
        ...(headers === undefined ? {} : { headers: seal.close(JSON.stringify(unmasked.headers), headersContext(id)) }),
      }
      await transaction
        .updateTable('webhooks')
        .set({ ...set, ...nextVersion })
        .where('organization_id', '=', organizationId)
        .where('id', '=', id)
        .execute()
    }
    if (groups !== undefined)
      await linkGroups(transaction, { organizationId, webhookId: id, named: groups ?? [] }, limits)
    if (is_active !== undefined) await setActive(transaction, organizationId, id, is_active, now)
    if (isNew && row.state === 'paused') await probeSoon(transaction, id, now)
  })
}

/**
 * Disabled, it gets no new requests, and those that wait are kept and not attempted but by hand. Enabled, they are sent; a
 * paused one is tried at once. Throws `not_found`.
 */
export async function setActive(
  db: Database,
  organizationId: string,
  id: string,
  isActive: boolean,
  now: number,
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const row = await transaction
      .updateTable('webhooks')
      .set({ is_active: isActive ? 1 : 0, ...nextVersion, ...NEXT_VERSION })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .returning('state')
      .executeTakeFirst()
    if (!row) throw notFound()
    if (isActive && row.state === 'paused') await probeSoon(transaction, id, now)
    else await lookSoon(transaction, [id], now)
  })
}

/** Until the grace is over requests carry the signatures of both secrets. Returns the new one. Throws `not_found`. */
export async function rotateSecret(
  db: Database,
  seal: Seal,
  organizationId: string,
  id: string,
  { secret = newWebhookSecret(), graceHours }: { secret?: string | undefined; graceHours: number },
  now: number,
): Promise<string> {
  return await inTransaction(db, async (transaction) => {
    const row = await getWebhookRow(transaction, organizationId, id, forUpdate(transaction))
    const hasGrace = graceHours > 0
    await transaction
      .updateTable('webhooks')
      .set({
        ...nextVersion,
        ...NEXT_VERSION,
        secret: seal.close(secret, secretContext(id)),
        previous_secret: hasGrace ? row.secret : null,
        previous_secret_until: hasGrace ? now + graceHours * HOUR_MS : null,
      })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    return secret
  })
}
