import { MOST_GROUPS } from '#contract/webhooks.ts'
import type { Database } from '../database/database.ts'
import { findGroupRow } from '../groups/store.ts'
import { type FieldErrors, refuse } from '../problem.ts'

/** Makes the webhook hear of exactly these groups, named by id or slug. Throws a 400 for one that does not exist. */
export async function linkGroups(
  db: Database,
  organizationId: string,
  webhookId: string,
  named: readonly string[],
): Promise<void> {
  const { ids, unknown } = await findGroups(db, organizationId, named)
  refuse(unknown)
  await db
    .deleteFrom('group_webhooks')
    .where('organization_id', '=', organizationId)
    .where('webhook_id', '=', webhookId)
    .execute()
  const rows = [...ids].map((id) => ({ organization_id: organizationId, group_id: id, webhook_id: webhookId }))
  if (rows.length > 0) await db.insertInto('group_webhooks').values(rows).execute()
}

/** By their fields those that do not exist: so that they are reported together with what else is wrong. `given` is judged by nobody yet. */
export async function refuseUnknownGroups(db: Database, organizationId: string, given: unknown): Promise<FieldErrors> {
  const named: unknown[] = Array.isArray(given) ? given.slice(0, MOST_GROUPS) : []
  return (await findGroups(db, organizationId, named)).unknown
}

async function findGroups(db: Database, organizationId: string, named: readonly unknown[]) {
  const ids = new Set<string>()
  const unknown: FieldErrors = {}
  for (const [index, each] of named.entries()) {
    const group = typeof each === 'string' ? await findGroupRow(db, organizationId, each) : undefined
    if (group) ids.add(group.id)
    else unknown[`groups.${index}`] = 'is not the id or slug of a group of yours.'
  }
  return { ids, unknown }
}

/** The ids of the groups of each webhook, sorted. */
export async function groupsOf(
  db: Database,
  organizationId: string,
  webhookIds: readonly string[],
): Promise<Map<string, string[]>> {
  if (webhookIds.length === 0) return new Map()
  const links = await db
    .selectFrom('group_webhooks')
    .select(['group_id', 'webhook_id'])
    .where('organization_id', '=', organizationId)
    .where('webhook_id', 'in', webhookIds)
    .orderBy('group_id')
    .execute()
  const byWebhook = Map.groupBy(links, ({ webhook_id }) => webhook_id)
  return new Map([...byWebhook].map(([id, its]) => [id, its.map(({ group_id }) => group_id)]))
}
