import { sql } from 'kysely'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, engineOf } from '../database/database.ts'
import { newId } from '../ids.ts'
import type { FieldErrors } from '../problem.ts'
import { isGroupId, isSlug, UNKNOWN_GROUP } from './slug.ts'

export type GroupReference = { id: string; slug: string }

/**
 * The groups by the id or slug that names them, kept from being deleted until the transaction ends. An unknown slug makes
 * the group; an unknown id or an impossible slug is left out of the answer.
 */
export async function resolveGroups(
  db: Database,
  context: RequestContext,
  named: ReadonlySet<string>,
): Promise<Map<string, GroupReference>> {
  const { organizationId, now } = context
  const found = await findGroups(db, context, [...named])
  const missing = [...named].filter((name) => !found.has(name) && isSlug(name))
  if (missing.length === 0) return found
  const rows = missing.map((slug) => ({
    id: newId('grp', now),
    organization_id: organizationId,
    created_at: now,
    name: slug,
    slug,
    is_default: 0 as const,
    monitors: 0,
  }))
  // Another request may make the same group at this moment.
  const created = await db
    .insertInto('groups')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['organization_id', 'slug']).doNothing())
    .returning(['id', 'name', 'slug'])
    .execute()
  await recordCreated(db, context, created)
  return new Map([...found, ...(await findGroups(db, context, missing))])
}

async function recordCreated(
  db: Database,
  context: RequestContext,
  groups: readonly (GroupReference & { name: string })[],
) {
  const action = 'group.created'
  const [first, second] = groups
  if (!first) return
  if (second) return await recordAudit(db, context, { action, object: {}, ids: groups.map(({ id }) => id) })
  const { id, name, slug } = first
  await recordAudit(db, context, { action, object: { id, label: name }, after: { name, slug, webhooks: [] } })
}

/** Which of these fields hold an id that no group has: so that it is reported together with what else is wrong. */
export async function unknownGroupErrors(
  db: Database,
  tenant: Tenant,
  fields: Record<string, unknown>,
): Promise<FieldErrors> {
  const ids = Object.entries(fields).filter((field): field is [string, string] => isGroupId(field[1]))
  const found = await findGroups(db, tenant, [...new Set(ids.map(([, id]) => id))])
  return Object.fromEntries(ids.flatMap(([field, id]) => (found.has(id) ? [] : [[field, UNKNOWN_GROUP]])))
}

export async function getGroupSlug(db: Database, { organizationId }: Tenant, id: string): Promise<string> {
  const groups = db.selectFrom('groups').select('slug').where('organization_id', '=', organizationId)
  return (await groups.where('id', '=', id).executeTakeFirstOrThrow()).slug
}

export async function getDefaultGroup(db: Database, { organizationId }: Tenant): Promise<GroupReference> {
  return await db
    .selectFrom('groups')
    .select(['id', 'slug'])
    .where('organization_id', '=', organizationId)
    .where('is_default', '=', 1)
    .executeTakeFirstOrThrow()
}

/** By what names each. Kept from being deleted until the transaction ends. */
export async function findGroups(
  db: Database,
  { organizationId }: Tenant,
  named: string[],
): Promise<Map<string, GroupReference>> {
  const found = new Map<string, GroupReference>()
  const [ids, slugs] = [named.filter((name) => name.startsWith('grp_')), named.filter((name) => isSlug(name))]
  for (const [column, names] of [['id', ids] as const, ['slug', slugs] as const]) {
    if (names.length === 0) continue
    const rows = await db
      .selectFrom('groups')
      .select(['id', 'slug'])
      .where('organization_id', '=', organizationId)
      .where(isOneOf(db, column, names))
      .modifyEnd(engineOf(db) === 'postgres' ? sql`for key share` : sql``)
      .execute()
    for (const row of rows) found.set(row[column], row)
  }
  return found
}
