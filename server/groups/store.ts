import { type Selectable, sql } from 'kysely'
import { MOST_NAMED } from '#contract/common.ts'
import { fieldError } from '#contract/field-errors.ts'
import type { Group, GroupChange } from '#contract/groups.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { isOneOf, updateEach } from '../database/bulk.ts'
import { type Database, engineOf, inTransaction } from '../database/database.ts'
import type { GroupsTable } from '../database/schema.ts'
import { changedNothing, isMatch, type Match, nextVersion, withVersion } from '../database/versions.ts'
import { listPage, type Page, type PageQuery } from '../http/pagination.ts'
import { newId } from '../ids.ts'
import { conflict, type FieldErrors, notFound, refuse } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { type LinkLimits, lockLinks, NO_LIMITS, replaceLinks } from './links.ts'
import { isGroupName, slugOf } from './slug.ts'

type GroupRow = Selectable<GroupsTable>

const ORDERS = { created: { column: 'groups.id' }, name: { column: 'groups.name' }, slug: { column: 'groups.slug' } }

export async function listGroups(
  db: Database,
  seal: Seal,
  { organizationId }: Tenant,
  query: PageQuery,
): Promise<Page<Group>> {
  const base = db.selectFrom('groups').selectAll('groups').where('groups.organization_id', '=', organizationId)
  const page = await listPage<GroupRow>(base as never, {
    seal,
    query,
    id: 'groups.id',
    orders: ORDERS,
    scope: ['groups', organizationId],
  })
  return { ...page, data: await toGroups(db, organizationId, page.data) }
}

/** By id or slug. Throws `not_found` when there is none, or it is another organization's. */
export async function getGroup(db: Database, tenant: Tenant, named: string): Promise<Group> {
  const { organizationId } = tenant
  const [group] = await toGroups(db, organizationId, [await getGroupRow(db, tenant, named)])
  return group!
}

export async function getGroupRow(db: Database, tenant: Tenant, named: string): Promise<GroupRow> {
  const row = await findGroupRow(db, tenant, named)
  if (!row) throw notFound()
  return row
}

export async function findGroupRow(
  db: Database,
  { organizationId }: Tenant,
  named: string,
): Promise<GroupRow | undefined> {
  if (!isGroupName(named)) return undefined
  const column = named.startsWith('grp_') ? ('id' as const) : ('slug' as const)
  return await db
    .selectFrom('groups')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where(column, '=', named)
    .executeTakeFirst()
}

export type NewGroupRow = { name: string; slug?: string; isDefault?: boolean; webhooks?: string[] }

/** Throws 409 when the slug is taken, 400 when a webhook is unknown. */
export async function insertGroup(
  db: Database,
  context: RequestContext,
  given: NewGroupRow,
  limits: LinkLimits = NO_LIMITS,
): Promise<string> {
  const { organizationId, now } = context
  return await inTransaction(db, async (transaction) => {
    const id = newId('grp', now)
    const slug = given.slug ?? slugOf(given.name)
    const { numInsertedOrUpdatedRows } = await transaction
      .insertInto('groups')
      .values({
        id,
        organization_id: organizationId,
        created_at: now,
        name: given.name,
        slug,
        is_default: given.isDefault ? 1 : 0,
        monitors: 0,
      })
      .onConflict((conflict) => conflict.columns(['organization_id', 'slug']).doNothing())
      .executeTakeFirst()
    if (numInsertedOrUpdatedRows === 0n) throw slugTaken(slug)
    const webhookIds = given.webhooks ?? []
    if (webhookIds.length > 0) await setWebhooks(transaction, { organizationId, groupId: id, webhookIds }, limits)
    const after = { name: given.name, slug, webhooks: webhookIds }
    // The default group belongs to the organization, whose creation is recorded.
    if (!given.isDefault) {
      await recordAudit(transaction, context, { action: 'group.created', object: { id, label: given.name }, after })
    }
    return id
  })
}

export async function updateGroup(
  db: Database,
  context: RequestContext,
  named: string,
  change: GroupChange,
  limits: LinkLimits,
  match?: Match,
): Promise<Group> {
  const { organizationId } = context
  return await inTransaction(db, async (transaction) => {
    if (change.webhooks !== undefined) await lockLinks(transaction, organizationId)
    const row = await getGroupRow(transaction, context, named)
    const [before] = await toGroups(transaction, organizationId, [row])
    if (change.slug !== undefined && change.slug !== row.slug) {
      if (await findGroupRow(transaction, context, change.slug)) throw slugTaken(change.slug)
    }
    const { numUpdatedRows } = await transaction
      .updateTable('groups')
      .set({ name: change.name ?? row.name, slug: change.slug ?? row.slug, ...nextVersion })
      .where('organization_id', '=', organizationId)
      .where('id', '=', row.id)
      .where(isMatch(match))
      .executeTakeFirst()
    if (numUpdatedRows === 0n) throw changedNothing(match)
    if (change.webhooks !== undefined) {
      await setWebhooks(transaction, { organizationId, groupId: row.id, webhookIds: change.webhooks ?? [] }, limits)
    }
    const after = await getGroup(transaction, context, row.id)
    const object = { id: row.id, label: row.name }
    await recordAudit(transaction, context, { action: 'group.updated', object, before: before!, after })
    return after
  })
}

/** Keeps `groups.monitors` true as monitors come (positive) and go (negative). `differences`: by the ids of groups. */
export async function countMonitors(
  db: Database,
  tenant: Tenant,
  differences: Iterable<readonly [groupId: string, difference: number]>,
): Promise<void> {
  const { organizationId } = tenant
  const changed = new Map([...differences].filter(([, difference]) => difference !== 0))
  if (changed.size > 1) await lockGroups(db, tenant, [...changed.keys()])
  const rows = [...changed].map(([id, new_monitors]) => ({ organization_id: organizationId, id, new_monitors }))
  const key = { organization_id: 'text', id: 'text' } as const
  await updateEach(db, { table: 'groups', key, add: { monitors: 'bigint' } }, rows)
}

/** In one order, so that two requests do not wait for each other. SQLite has one writer at a time. */
export async function lockGroups(db: Database, { organizationId }: Tenant, ids: readonly string[]): Promise<void> {
  if (engineOf(db) === 'sqlite' || ids.length === 0) return
  await sql`select id from groups where organization_id = ${organizationId} and ${isOneOf(db, 'id', ids)}
    order by id for no key update`.execute(db)
}

async function setWebhooks(
  db: Database,
  { organizationId, groupId, webhookIds }: { organizationId: string; groupId: string; webhookIds: string[] },
  limits: LinkLimits,
): Promise<void> {
  refuse(await refuseUnknownWebhooks(db, { organizationId }, webhookIds))
  const wanted = new Map(webhookIds.map((id, index) => [id, `webhooks.${index}`]))
  await replaceLinks(db, { organizationId, side: 'group', id: groupId, wanted }, limits)
}

/** By their fields those that do not exist: so that they are reported together with what else is wrong. `given` is judged by nobody yet. */
export async function refuseUnknownWebhooks(
  db: Database,
  { organizationId }: Tenant,
  given: unknown,
): Promise<FieldErrors> {
  const named: unknown[] = Array.isArray(given) ? given.slice(0, MOST_NAMED) : []
  const ids = [...new Set(named.filter((each) => typeof each === 'string'))]
  if (ids.length === 0) return {}
  const rows = await db
    .selectFrom('webhooks')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', ids))
    .execute()
  const known = new Set<unknown>(rows.map(({ id }) => id))
  const unknown = named.flatMap((id, index) => (known.has(id) ? [] : [[`webhooks.${index}`, UNKNOWN_WEBHOOK]]))
  return Object.fromEntries(unknown)
}

async function toGroups(db: Database, organizationId: string, rows: GroupRow[]): Promise<Group[]> {
  if (rows.length === 0) return []
  const links = await db
    .selectFrom('group_webhooks')
    .select(['group_id', 'webhook_id'])
    .where('organization_id', '=', organizationId)
    .where(
      'group_id',
      'in',
      rows.map(({ id }) => id),
    )
    .orderBy('group_id')
    .orderBy('webhook_id')
    .execute()
  const linksOf = Map.groupBy(links, (link) => link.group_id)
  return rows.map((row) => {
    const group = {
      id: row.id,
      slug: row.slug,
      name: row.name,
      is_default: row.is_default === 1,
      monitors: row.monitors,
      webhooks: (linksOf.get(row.id) ?? []).map((link) => link.webhook_id),
    }
    return withVersion(group, row.version)
  })
}

const UNKNOWN_WEBHOOK = fieldError('unknown_reference', { resource: 'webhook' })

const slugTaken = (slug: string) =>
  conflict(
    `The slug "${slug}" is taken by another group. Use another slug.`,
    { slug: fieldError('taken') },
    'slug_taken',
  )
