import { type Selectable, sql } from 'kysely'
import { SLUG } from '#contract/common.ts'
import { fieldError } from '#contract/field-errors.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { isOneOf, updateEach } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { forKeyShare, forNoKeyUpdate, hasOneWriter } from '../database/dialect.ts'
import type { GroupsTable } from '../database/schema.ts'
import { newId } from '../ids.ts'
import { type FieldErrors, notFound } from '../problem.ts'

const SLUG_PATTERN = new RegExp(SLUG)
const MAX_SLUG_LENGTH = 100

const isSlug = (text: string): boolean => text.length <= MAX_SLUG_LENGTH && SLUG_PATTERN.test(text)
export const isGroupId = (value: unknown): boolean => typeof value === 'string' && /^grp_[0-9a-z]{26}$/.test(value)

/** Whether a path or a body can name a group with this text: an id or a slug. */
export const isGroupName = (text: string): boolean => isSlug(text) || isGroupId(text)

export const INVALID_GROUP_NAME = fieldError('invalid_group_name')
export const UNKNOWN_GROUP = fieldError('unknown_reference', { resource: 'group' })

/** The slug of a name: `Kunden & Partner` becomes `kunden-partner`; `group` if the name has no letter or digit. */
export function slugOf(name: string): string {
  const letters = name.normalize('NFKD').toLowerCase().replace(/\p{M}/gu, '')
  const slug = letters
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_SLUG_LENGTH)
    .replace(/^-|-$/g, '')
  return slug || 'group'
}

export type GroupRow = Selectable<GroupsTable>
export type GroupReference = { id: string; slug: string }

/**
 * The groups by the ids or slugs that name them, protected from deletion until the transaction ends. Creates the groups of
 * unknown slugs; leaves out unknown ids and invalid slugs.
 */
export async function resolveGroups(
  db: Database,
  context: RequestContext,
  names: ReadonlySet<string>,
): Promise<Map<string, GroupReference>> {
  const { organizationId, now } = context
  const found = await findGroups(db, context, [...names])
  const missing = [...names].filter((name) => !found.has(name) && isSlug(name))
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
  // Another request may create the same group at this moment.
  const created = await db
    .insertInto('groups')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['organization_id', 'slug']).doNothing())
    .returning(['id', 'slug'])
    .execute()
  await recordCreated(db, context, created)
  return new Map([...found, ...(await findGroups(db, context, missing))])
}

async function recordCreated(db: Database, context: RequestContext, groups: readonly GroupReference[]) {
  const action = 'group.created'
  const [first, second] = groups
  if (!first) return
  if (second) return await recordAudit(db, context, { action, object: {}, ids: groups.map(({ id }) => id) })
  const { id, slug } = first
  await recordAudit(db, context, { action, object: { id, label: slug }, after: { name: slug, slug, webhooks: [] } })
}

/** The groups by the ids or slugs that name them. In a transaction they cannot be deleted until it ends. */
export async function findGroups(
  db: Database,
  { organizationId }: Tenant,
  names: readonly string[],
): Promise<Map<string, GroupReference>> {
  const found = new Map<string, GroupReference>()
  const namesBy = { id: names.filter((name) => name.startsWith('grp_')), slug: names.filter(isSlug) }
  for (const column of ['id', 'slug'] as const) {
    if (namesBy[column].length === 0) continue
    const rows = await db
      .selectFrom('groups')
      .select(['id', 'slug'])
      .where('organization_id', '=', organizationId)
      .where(isOneOf(db, column, namesBy[column]))
      .modifyEnd(forKeyShare(db))
      .execute()
    for (const row of rows) found.set(row[column], row)
  }
  return found
}

/** An error for each of these fields that holds an unknown group id. */
export async function unknownGroupErrors(
  db: Database,
  tenant: Tenant,
  fields: Record<string, unknown>,
): Promise<FieldErrors> {
  const ids = Object.entries(fields).filter((field): field is [string, string] => isGroupId(field[1]))
  const found = await findGroups(db, tenant, [...new Set(ids.map(([, id]) => id))])
  return Object.fromEntries(ids.flatMap(([field, id]) => (found.has(id) ? [] : [[field, UNKNOWN_GROUP]])))
}

export async function getDefaultGroup(db: Database, { organizationId }: Tenant): Promise<GroupReference> {
  return await db
    .selectFrom('groups')
    .select(['id', 'slug'])
    .where('organization_id', '=', organizationId)
    .where('is_default', '=', 1)
    .executeTakeFirstOrThrow()
}

/** By id or slug. Throws `not_found`, also for a group of another organization. */
export async function getGroupRow(db: Database, tenant: Tenant, idOrSlug: string): Promise<GroupRow> {
  const row = await findGroupRow(db, tenant, idOrSlug)
  if (!row) throw notFound()
  return row
}

export async function findGroupRow(
  db: Database,
  { organizationId }: Tenant,
  idOrSlug: string,
): Promise<GroupRow | undefined> {
  if (!isGroupName(idOrSlug)) return undefined
  return await db
    .selectFrom('groups')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where(isGroupId(idOrSlug) ? 'id' : 'slug', '=', idOrSlug)
    .executeTakeFirst()
}

/** The id by which a filter finds what belonged to a group. That of a deleted group is one too, of which events and incidents stay. */
export const groupIdOf = async (db: Database, tenant: Tenant, idOrSlug: string): Promise<string> =>
  isGroupId(idOrSlug) ? idOrSlug : ((await findGroupRow(db, tenant, idOrSlug))?.id ?? '')

/** The schemas allow no longer list; of one, only so many entries have errors. */
const MAX_LIST_ENTRIES = 100

/** The ids of the groups in the field `groups`, which may hold anything, and an error for each unknown group. */
export async function parseGroupList(db: Database, tenant: Tenant, value: unknown) {
  const entries: unknown[] = Array.isArray(value) ? value.slice(0, MAX_LIST_ENTRIES) : []
  const { fields, errors } = await findFieldsOfGroups(db, tenant, entries)
  return { ids: [...fields.keys()], errors }
}

/** The entry of the field `groups` that names each group, by group id, and an error for each entry that names none. */
export async function findFieldsOfGroups(db: Database, tenant: Tenant, entries: readonly unknown[]) {
  const names = entries.filter((entry) => typeof entry === 'string')
  const groups = await findGroups(db, tenant, [...new Set(names)])
  const fields = new Map<string, string>()
  const errors: FieldErrors = {}
  for (const [index, entry] of entries.entries()) {
    const group = groups.get(entry as string)
    if (group) fields.set(group.id, `groups.${index}`)
    else errors[`groups.${index}`] = UNKNOWN_GROUP
  }
  return { fields, errors }
}

/** Adds the differences to `groups.monitors` when monitors are created, moved or deleted. A group may appear more than once. */
export async function adjustMonitorCounts(
  db: Database,
  tenant: Tenant,
  differences: readonly (readonly [groupId: string, difference: number])[],
): Promise<void> {
  const { organizationId } = tenant
  const sums = new Map<string, number>()
  for (const [id, difference] of differences) sums.set(id, (sums.get(id) ?? 0) + difference)
  const changed = [...sums].filter(([, sum]) => sum !== 0)
  if (changed.length > 1)
    await lockGroups(
      db,
      tenant,
      changed.map(([id]) => id),
    )
  const rows = changed.map(([id, new_monitors]) => ({ organization_id: organizationId, id, new_monitors }))
  const key = { organization_id: 'text', id: 'text' } as const
  await updateEach(db, { table: 'groups', key, add: { monitors: 'bigint' } }, rows)
}

/** In the order of ids, so that two requests do not wait for each other. SQLite has one writer at a time. */
export async function lockGroups(db: Database, { organizationId }: Tenant, ids: readonly string[]): Promise<void> {
  if (hasOneWriter(db) || ids.length === 0) return
  await sql`select id from groups where organization_id = ${organizationId} and ${isOneOf(db, 'id', ids)}
    order by id ${forNoKeyUpdate(db)}`.execute(db)
}
