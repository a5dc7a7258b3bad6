import { sql } from 'kysely'
import { MAX_LIST_IDS } from '#contract/common.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { getTenantRow, updateTenantRow } from '../database/tenant-row.ts'
import { nextVersion } from '../database/versions.ts'
import { type LinkLimits, lockLinks, readLinks, replaceLinks } from '../groups/links.ts'
import { findFieldsOfGroups, findGroups } from '../groups/resolve.ts'
import { conflict, type FieldErrors, notFound, Problem, throwIfInvalid } from '../problem.ts'

/** Replaces the groups of the webhook, given by id or slug. Throws a 400 for unknown groups and for too many. */
export async function linkGroups(
  db: Database,
  { organizationId, webhookId, named }: { organizationId: string; webhookId: string; named: readonly string[] },
  limits: LinkLimits,
): Promise<void> {
  const { fields, errors } = await findFieldsOfGroups(db, { organizationId }, named)
  throwIfInvalid(errors)
  await replaceLinks(db, { organizationId, side: 'webhook', id: webhookId, targets: fields }, limits)
}

/** The errors for unknown groups, by field. `requested` is not validated yet. */
export async function findUnknownGroups(db: Database, tenant: Tenant, requested: unknown): Promise<FieldErrors> {
  const named: unknown[] = Array.isArray(requested) ? requested.slice(0, MAX_LIST_IDS) : []
  return (await findFieldsOfGroups(db, tenant, named)).errors
}

/** Links or unlinks the webhook and the group. Throws `not_found`, and 409 if either has reached its limit of links. */
export async function setLink(
  db: Database,
  context: RequestContext,
  { webhookId, group: named, isLinked }: { webhookId: string; group: string; isLinked: boolean },
  limits: LinkLimits,
): Promise<void> {
  const { organizationId } = context
  await inTransaction(db, async (transaction) => {
    await lockLinks(transaction, organizationId)
    const row = await getTenantRow(transaction, 'webhooks', context, webhookId, forUpdate(transaction))
    const group = (await findGroups(transaction, context, [named])).get(named)
    if (!group) throw notFound()
    const before = (await readLinks(transaction, context, 'webhook', [webhookId])).get(webhookId) ?? []
    if (before.includes(group.id) === isLinked) return
    const after = isLinked ? [...before, group.id].sort() : before.filter((id) => id !== group.id)
    const links = { organizationId, side: 'webhook', id: webhookId } as const
    const targets = new Map(after.map((id) => [id, id]))
    try {
      await replaceLinks(transaction, { ...links, targets }, limits)
    } catch (error) {
      // The error names fields of a body, which this request does not have.
      if (error instanceof Problem) throw conflict(TOO_MANY, undefined, 'limit_reached')
      throw error
    }
    await updateTenantRow(transaction, 'webhooks', context, webhookId, nextVersion)
    const object = { id: webhookId, label: row.url }
    const audited = { action: 'webhook.updated', object, before: { groups: before }, after: { groups: after } } as const
    await recordAudit(transaction, context, audited)
  })
}

/** After `lockLinks`. Throws 409. */
export async function refuseTooManyOfAllGroups(
  db: Database,
  { organizationId }: Tenant,
  { webhooksPerGroup }: LinkLimits,
): Promise<void> {
  const { count } = await db
    .selectFrom('webhooks')
    .select((of) => of.fn.countAll<number>().as('count'))
    .where('organization_id', '=', organizationId)
    .where('all_groups', '=', sql.lit(1))
    .executeTakeFirstOrThrow()
  if (count < webhooksPerGroup) return
  throw conflict(
    `At most ${webhooksPerGroup} webhooks can receive all groups. Set all_groups of one of them to false first.`,
    undefined,
    'limit_reached',
  )
}

const TOO_MANY = 'The webhook or the group has reached its limit of links. Remove one of them first.'
