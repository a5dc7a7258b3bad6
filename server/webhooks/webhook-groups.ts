import { MOST_NAMED } from '#contract/common.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { type LinkLimits, replaceLinks } from '../groups/links.ts'
import { findGroups } from '../groups/resolve.ts'
import { NO_SUCH_GROUP } from '../groups/slug.ts'
import { type FieldErrors, refuse } from '../problem.ts'

/** Links the webhook to exactly these groups, named by id or slug. Throws a 400 for one that does not exist, and for too many. */
export async function linkGroups(
  db: Database,
  { organizationId, webhookId, named }: { organizationId: string; webhookId: string; named: readonly string[] },
  limits: LinkLimits,
): Promise<void> {
  const { fields, unknown } = await fieldsOfGroups(db, organizationId, named)
  refuse(unknown)
  await replaceLinks(db, { organizationId, side: 'webhook', id: webhookId, wanted: fields }, limits)
}

/** By their fields those that do not exist: so that they are reported together with what else is wrong. `given` is judged by nobody yet. */
export async function refuseUnknownGroups(
  db: Database,
  { organizationId }: Tenant,
  given: unknown,
): Promise<FieldErrors> {
  const named: unknown[] = Array.isArray(given) ? given.slice(0, MOST_NAMED) : []
  return (await fieldsOfGroups(db, organizationId, named)).unknown
}

/** The fields that name the groups, by the groups' ids. */
async function fieldsOfGroups(db: Database, organizationId: string, named: readonly unknown[]) {
  const names = named.filter((each): each is string => typeof each === 'string')
  const groups = await findGroups(db, { organizationId }, [...new Set(names)])
  const fields = new Map<string, string>()
  const unknown: FieldErrors = {}
  for (const [index, each] of named.entries()) {
    const group = groups.get(each as string)
    if (group) fields.set(group.id, `groups.${index}`)
    else unknown[`groups.${index}`] = NO_SUCH_GROUP
  }
  return { fields, unknown }
}

/** The ids of the groups of each webhook, sorted. */
export async function groupsOf(
  db: Database,
  { organizationId }: Tenant,
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
