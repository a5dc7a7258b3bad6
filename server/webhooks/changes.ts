import type { WebhookChange } from '#contract/webhooks.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { notFound } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { linkGroups } from './links.ts'
import { newWebhookSecret } from './signature.ts'
import { lookSoon, probeSoon } from './states.ts'
import { getWebhookRow } from './store.ts'
import { headersContext, secretContext } from './webhook.ts'

const HOUR_MS = 60 * 60_000

/** A paused webhook that was changed is tried at once. Throws `not_found`, and a 400 for a group that does not exist. */
export async function changeWebhook(
  db: Database,
  seal: Seal,
  organizationId: string,
  id: string,
  { url, headers, groups, is_active }: WebhookChange,
  now: number,
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const isNew = url !== undefined || headers !== undefined
    const set = {
      ...(url === undefined ? {} : { url }),
      ...(headers === undefined ? {} : { headers: seal.close(JSON.stringify(headers ?? {}), headersContext(id)) }),
    }
    const row = isNew
      ? await transaction
          .updateTable('webhooks')
          .set(set)
          .where('organization_id', '=', organizationId)
          .where('id', '=', id)
          .returning('state')
          .executeTakeFirst()
      : await getWebhookRow(transaction, organizationId, id)
    if (!row) throw notFound()
    if (groups !== undefined) await linkGroups(transaction, organizationId, id, groups ?? [])
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
      .set({ is_active: isActive ? 1 : 0 })
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
    const row = await getWebhookRow(transaction, organizationId, id)
    const hasGrace = graceHours > 0
    await transaction
      .updateTable('webhooks')
      .set({
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
