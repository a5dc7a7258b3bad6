import { type RawBuilder, type Selectable, sql } from 'kysely'
import { MOST_NAMED } from '#contract/common.ts'
import { fieldError } from '#contract/field-errors.ts'
import { GROUP_INCLUDES, type Group, type GroupChange, type GroupQuery, type GroupResponse } from '#contract/groups.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { isOneOf, updateEach } from '../database/bulk.ts'
import { type Database, engineOf, inTransaction } from '../database/database.ts'
import type { GroupsTable } from '../database/schema.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import { changedNothing, isMatch, type Match, nextVersion, withVersion } from '../database/versions.ts'
import { listPage, type Page } from '../http/pagination.ts'
import { newId } from '../ids.ts'
import { conflict, type FieldErrors, invalid, notFound, refuse } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { countByGroup } from './counts.ts'
import {
  asciiLowerCase,
  containsText,
  externalIdTaken,
  findIdsByExternalId,
  GROUP_LABELS,
  hasLabel,
  insertLabels,
  type LabelInput,
  labelColumnsOf,
  labelsFromRow,
  replaceLabels,
  requestedLabels,
} from './labels.ts'
import { type LinkLimits, lockLinks, NO_LIMITS, replaceLinks } from './links.ts'
import { isGroupName, slugOf } from './slug.ts'

type GroupRow = Selectable<GroupsTable>

const ORDERS = { created: { column: 'groups.id' }, name: { column: 'groups.name' }, slug: { column: 'groups.slug' } }

export async function listGroups(
  db: Database,
  seal: Seal,
  { organizationId }: Tenant,
  { include, ...query }: GroupQuery,
): Promise<Page<GroupResponse>> {
  const included = parseGroupInclude(include)
  const { external_id, search } = query
  const words = search?.split(/\s+/).filter((word) => word !== '')
  if (words?.length === 0) throw invalid({ search: fieldError('blank_search') })
  const labels = requestedLabels(query)
  let base = db.selectFrom('groups').selectAll('groups').where('groups.organization_id', '=', organizationId)
  if (external_id !== undefined) base = base.where('groups.external_id', '=', external_id)
  for (const label of labels) base = base.where(hasLabel(GROUP_LABELS, 'groups', { organizationId }, label))
  for (const word of words ?? []) base = base.where(hasWord(db, word))
  const page = await listPage<GroupRow>(base as never, {
    seal,
    query,
    id: 'groups.id',
    orders: ORDERS,
    scope: ['groups', organizationId, external_id, labels, words],
  })
  return { ...page, data: await toGroups(db, organizationId, page.data, included) }
}

/** Without an index: an organization has far fewer groups than monitors. Tags and metadata without the escapes of JSON. */
function hasWord(db: Database, word: string) {
  // SQLite's `like` compares letters of ASCII in any case.
  const lower = (text: RawBuilder<unknown>) => (engineOf(db) === 'sqlite' ? text : sql`lower(${text} collate "C")`)
  const has = (text: RawBuilder<unknown>) => containsText(lower(text), asciiLowerCase(word))
  const labels = sql`replace(replace(groups.tags || ' ' || groups.metadata, '\\"', '"'), '\\\\', '\\')`
  // A word has no spaces, so it lies in one of them. Each by itself, as most groups have neither labels nor an external id.
  return sql<boolean>`(${has(sql`groups.name`)} or ${containsText(sql`groups.slug`, asciiLowerCase(word))}
    or ${has(sql`groups.external_id`)}
    or ((groups.tags <> '[]' or groups.metadata <> '{}') and ${has(sql`(${labels})`)}))`
}

/** By id or slug. Throws `not_found` when there is none, or it is another organization's. */
export async function getGroup(
  db: Database,
  tenant: Tenant,
  named: string,
  included: GroupInclusion = [],
): Promise<GroupResponse> {
  const { organizationId } = tenant
  const [group] = await toGroups(db, organizationId, [await getGroupRow(db, tenant, named)], included)
  return group!
}

const AUDITED = ['external_id', 'tags', 'metadata'] as const
export type GroupInclusion = readonly (typeof GROUP_INCLUDES)[number][]

/** Reads `?include=`, in any letter case. Throws a 400 that lists what can be included. */
export function parseGroupInclude(text: string | undefined): GroupInclusion {
  if (text === undefined || text === '') return []
  // Where the body is at fault too, the query was not looked at by its schema: one given twice is a list.
  if (typeof text !== 'string') throw invalid({ include: fieldError('repeated') })
  const names = text
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  const known = GROUP_INCLUDES.filter((name) => names.includes(name))
  if (names.every((name) => name === '' || GROUP_INCLUDES.some((each) => each === name))) return known
  throw invalid({ include: fieldError('invalid_list', { allowed: GROUP_INCLUDES.join(', ') }) })
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

export type NewGroupRow = { name: string; slug?: string; isDefault?: boolean; webhooks?: string[] } & LabelInput

/** Throws 409 when the slug or the external id is taken, 400 when a webhook is unknown. */
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
    const labels = labelColumnsOf(given)
    await refuseTaken(transaction, context, labels.external_id)
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
        ...labels,
      })
      .onConflict((conflict) => conflict.columns(['organization_id', 'slug']).doNothing())
      .executeTakeFirst()
    if (numInsertedOrUpdatedRows === 0n) throw slugTaken(slug)
    await insertLabels(transaction, GROUP_LABELS, [{ id, organization_id: organizationId, ...labels }])
    const webhookIds = given.webhooks ?? []
    if (webhookIds.length > 0) await setWebhooks(transaction, { organizationId, groupId: id, webhookIds }, limits)
    const after = { name: given.name, slug, webhooks: webhookIds, ...labelsFromRow(labels) }
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
): Promise<void> {
  const { organizationId } = context
  await inTransaction(db, async (transaction) => {
    if (change.webhooks !== undefined) await lockLinks(transaction, organizationId)
    if (typeof change.external_id === 'string') await lockOrganization(transaction, organizationId)
    const row = await getGroupRow(transaction, context, named)
    const [before] = await toGroups(transaction, organizationId, [row], AUDITED)
    const labels = labelColumnsOf({ ...labelsFromRow(row), ...change })
    if (labels.external_id !== row.external_id) await refuseTaken(transaction, context, labels.external_id)
    if (change.slug !== undefined && change.slug !== row.slug) {
      if (await findGroupRow(transaction, context, change.slug)) throw slugTaken(change.slug)
    }
    const { numUpdatedRows } = await transaction
      .updateTable('groups')
      .set({ name: change.name ?? row.name, slug: change.slug ?? row.slug, ...labels, ...nextVersion })
      .where('organization_id', '=', organizationId)
      .where('id', '=', row.id)
      .where(isMatch(match))
      .executeTakeFirst()
    if (numUpdatedRows === 0n) throw changedNothing(match)
    if (change.webhooks !== undefined) {
      await setWebhooks(transaction, { organizationId, groupId: row.id, webhookIds: change.webhooks ?? [] }, limits)
    }
    if (labels.tags !== row.tags || labels.metadata !== row.metadata) {
      await replaceLabels(transaction, GROUP_LABELS, [{ ...row, ...labels }])
    }
    const after = await getGroup(transaction, context, row.id, AUDITED)
    const object = { id: row.id, label: row.name }
    await recordAudit(transaction, context, { action: 'group.updated', object, before: before!, after })
  })
}

/** Two that take one external id wait for each other. */
async function refuseTaken(db: Database, tenant: Tenant, externalId: string | null): Promise<void> {
  if (externalId === null) return
  await lockOrganization(db, tenant.organizationId)
  if ((await findIdsByExternalId(db, tenant, 'groups', [externalId])).size > 0) throw externalIdTaken(['external_id'])
}

/** Keeps `groups.monitors` true as monitors come (positive) and go (negative). `differences`: by the ids of groups. */
export async function adjustMonitorCounts(
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
  refuse(await unknownWebhookErrors(db, { organizationId }, webhookIds))
  const wanted = new Map(webhookIds.map((id, index) => [id, `webhooks.${index}`]))
  await replaceLinks(db, { organizationId, side: 'group', id: groupId, wanted }, limits)
}

/** By their fields those that do not exist: so that they are reported together with what else is wrong. `given` is judged by nobody yet. */
export async function unknownWebhookErrors(
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

async function toGroups(
  db: Database,
  organizationId: string,
  rows: GroupRow[],
  included: GroupInclusion,
): Promise<GroupResponse[]> {
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
  const counts = included.includes('counts') ? await countByGroup(db, { organizationId }, rows) : undefined
  const linksOf = Map.groupBy(links, (link) => link.group_id)
  return rows.map((row) => {
    const shown = { ...labelsFromRow(row), counts: counts?.get(row.id) }
    const group: Group = {
      id: row.id,
      slug: row.slug,
      name: row.name,
      is_default: row.is_default === 1,
      monitors: row.monitors,
      webhooks: (linksOf.get(row.id) ?? []).map((link) => link.webhook_id),
    }
    const added = Object.fromEntries(included.map((name) => [name, shown[name]]))
    return withVersion({ ...group, ...added }, row.version)
  })
}

const UNKNOWN_WEBHOOK = fieldError('unknown_reference', { resource: 'webhook' })

const slugTaken = (slug: string) =>
  conflict(
    `The slug "${slug}" is taken by another group. Use another slug.`,
    { slug: fieldError('taken') },
    'slug_taken',
  )

/** So many texts are read of a field that may hold anything: each is looked up. */
const MOST_READ = 100
export const stringsOf = (given: unknown): string[] =>
  Array.isArray(given) ? given.slice(0, MOST_READ).filter((each) => typeof each === 'string') : []

/** The groups of a field that may hold anything, and by their fields those that do not exist. */
export async function parseGroupList(db: Database, tenant: Tenant, given: unknown) {
  const ids: string[] = []
  const errors: FieldErrors = {}
  for (const [index, named] of stringsOf(given).entries()) {
    const group = await findGroupRow(db, tenant, named)
    if (group) ids.push(group.id)
    else errors[`groups.${index}`] = fieldError('unknown_reference', { resource: 'group' })
  }
  return { ids, errors }
}
