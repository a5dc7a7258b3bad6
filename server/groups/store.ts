import { type RawBuilder, sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import { GROUP_INCLUDES, type GroupChange, type GroupQuery, type GroupResponse } from '#contract/groups.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { lower } from '../database/dialect.ts'
import { listPage, type Page } from '../database/pagination.ts'
import { lockOrganization, unknownIdErrors } from '../database/tenant-row.ts'
import { changedNothing, isMatch, type Match, nextVersion, withVersion } from '../database/versions.ts'
import { parseIncludedFields } from '../http/included-fields.ts'
import { newId } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { conflict, type FieldErrors, invalid, throwIfInvalid } from '../problem.ts'
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
import { type LinkLimits, lockLinks, NO_LIMITS, readLinks, replaceLinks } from './links.ts'
import { findGroupRow, type GroupRow, getGroupRow, slugOf } from './resolve.ts'

const ORDERS = { created: { column: 'groups.id' }, name: { column: 'groups.name' }, slug: { column: 'groups.slug' } }

export async function listGroups(
  db: Database,
  keyring: Keyring,
  { organizationId }: Tenant,
  { include, ...query }: GroupQuery,
): Promise<Page<GroupResponse>> {
  const included = parseGroupInclude(include)
  const { external_id, search } = query
  const words = search?.split(/\s+/).filter((word) => word !== '')
  if (words?.length === 0) throw invalid({ search: fieldError('blank_search') })
  const labels = requestedLabels(query)
  let rows = db.selectFrom('groups').selectAll('groups').where('groups.organization_id', '=', organizationId)
  if (external_id !== undefined) rows = rows.where('groups.external_id', '=', external_id)
  for (const label of labels) rows = rows.where(hasLabel(GROUP_LABELS, 'groups', { organizationId }, label))
  for (const word of words ?? []) rows = rows.where(hasWord(db, word))
  const page = await listPage<GroupRow>(rows, {
    keyring,
    query,
    id: 'groups.id',
    orders: ORDERS,
    scope: ['groups', organizationId, external_id, labels, words],
  })
  return { ...page, data: await toGroups(db, organizationId, page.data, included) }
}

/** Uses no index: an organization has far fewer groups than monitors. Searches tags and metadata without the escapes of JSON. */
function hasWord(db: Database, word: string) {
  const lowerCaseWord = asciiLowerCase(word)
  const has = (text: RawBuilder<unknown>) => containsText(lower(db, text), lowerCaseWord)
  const labels = sql`replace(replace(groups.tags || ' ' || groups.metadata, '\\"', '"'), '\\\\', '\\')`
  // One condition for each column, because most groups have neither labels nor an external id.
  return sql<boolean>`(${has(sql`groups.name`)} or ${containsText(sql`groups.slug`, lowerCaseWord)}
    or ${has(sql`groups.external_id`)}
    or ((groups.tags <> '[]' or groups.metadata <> '{}') and ${has(sql`(${labels})`)}))`
}

/** By id or slug. Throws `not_found`, also for a group of another organization. */
export async function getGroup(
  db: Database,
  tenant: Tenant,
  idOrSlug: string,
  included: GroupInclusion = [],
): Promise<GroupResponse> {
  const row = await getGroupRow(db, tenant, idOrSlug)
  const [group] = await toGroups(db, tenant.organizationId, [row], included)
  return group!
}

const AUDITED = ['external_id', 'tags', 'metadata'] as const
export type GroupInclusion = readonly (typeof GROUP_INCLUDES)[number][]

/** Parses `?include=`. Throws a 400 that lists the allowed fields. */
export const parseGroupInclude = (text: string | undefined): GroupInclusion => parseIncludedFields(text, GROUP_INCLUDES)

type GroupInput = { name: string; slug?: string; isDefault?: boolean; webhooks?: string[] } & LabelInput

/** Returns the id. Throws a 409 if the slug or the external id is taken, and a 400 for an unknown webhook. */
export async function insertGroup(
  db: Database,
  context: RequestContext,
  input: GroupInput,
  limits: LinkLimits = NO_LIMITS,
): Promise<string> {
  const { organizationId, now } = context
  const { name, slug = slugOf(name), isDefault = false, webhooks = [] } = input
  const id = newId('grp', now)
  const labels = labelColumnsOf(input)
  return await inTransaction(db, async (transaction) => {
    await refuseTakenExternalId(transaction, context, labels.external_id)
    const { numInsertedOrUpdatedRows } = await transaction
      .insertInto('groups')
      .values({
        id,
        organization_id: organizationId,
        created_at: now,
        name,
        slug,
        is_default: isDefault ? 1 : 0,
        monitors: 0,
        ...labels,
      })
      .onConflict((conflict) => conflict.columns(['organization_id', 'slug']).doNothing())
      .executeTakeFirst()
    if (numInsertedOrUpdatedRows === 0n) throw slugTaken(slug)
    await insertLabels(transaction, GROUP_LABELS, [{ id, organization_id: organizationId, ...labels }])
    if (webhooks.length > 0) await setWebhooks(transaction, context, id, webhooks, limits)
    // The default group is part of the organization, whose creation is in the audit log.
    if (!isDefault) {
      const after = { name, slug, webhooks, ...labelsFromRow(labels) }
      await recordAudit(transaction, context, { action: 'group.created', object: { id, label: name }, after })
    }
    return id
  })
}

/** By id or slug. Throws `not_found`, a 400 for an unknown webhook, a 409 for a slug or external id that is taken, and a 412. */
export async function updateGroup(
  db: Database,
  context: RequestContext,
  idOrSlug: string,
  change: GroupChange,
  limits: LinkLimits,
  match?: Match,
): Promise<void> {
  const { organizationId } = context
  await inTransaction(db, async (transaction) => {
    if (change.webhooks !== undefined) await lockLinks(transaction, organizationId)
    if (typeof change.external_id === 'string') await lockOrganization(transaction, organizationId)
    const row = await getGroupRow(transaction, context, idOrSlug)
    const [before] = await toGroups(transaction, organizationId, [row], AUDITED)
    const labels = labelColumnsOf({ ...labelsFromRow(row), ...change })
    if (labels.external_id !== row.external_id) {
      await refuseTakenExternalId(transaction, context, labels.external_id)
    }
    const { name = row.name, slug = row.slug } = change
    if (slug !== row.slug && (await findGroupRow(transaction, context, slug))) throw slugTaken(slug)
    const { numUpdatedRows } = await transaction
      .updateTable('groups')
      .set({ name, slug, ...labels, ...nextVersion })
      .where('organization_id', '=', organizationId)
      .where('id', '=', row.id)
      .where(isMatch(match))
      .executeTakeFirst()
    if (numUpdatedRows === 0n) throw changedNothing(match)
    if (change.webhooks !== undefined) {
      await setWebhooks(transaction, context, row.id, change.webhooks ?? [], limits)
    }
    if (labels.tags !== row.tags || labels.metadata !== row.metadata) {
      await replaceLabels(transaction, GROUP_LABELS, [{ ...row, ...labels }])
    }
    const after = await getGroup(transaction, context, row.id, AUDITED)
    const object = { id: row.id, label: row.name }
    await recordAudit(transaction, context, { action: 'group.updated', object, before: before!, after })
  })
}

/** Requests that use the same external id wait for each other. */
async function refuseTakenExternalId(db: Database, tenant: Tenant, externalId: string | null): Promise<void> {
  if (externalId === null) return
  await lockOrganization(db, tenant.organizationId)
  if ((await findIdsByExternalId(db, tenant, 'groups', [externalId])).size > 0) throw externalIdTaken(['external_id'])
}

async function setWebhooks(
  db: Database,
  { organizationId }: Tenant,
  groupId: string,
  webhookIds: string[],
  limits: LinkLimits,
): Promise<void> {
  throwIfInvalid(await unknownWebhookErrors(db, { organizationId }, webhookIds))
  const targets = new Map(webhookIds.map((id, index) => [id, `webhooks.${index}`]))
  await replaceLinks(db, { organizationId, side: 'group', id: groupId, targets }, limits)
}

/** An error for each unknown webhook of the field `webhooks`, which may hold anything. */
export const unknownWebhookErrors = (db: Database, tenant: Tenant, webhooks: unknown): Promise<FieldErrors> =>
  unknownIdErrors(db, 'webhooks', tenant, webhooks)

async function toGroups(
  db: Database,
  organizationId: string,
  rows: GroupRow[],
  included: GroupInclusion,
): Promise<GroupResponse[]> {
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const webhooks = await readLinks(db, { organizationId }, 'group', ids)
  const counts = included.includes('counts') ? await countByGroup(db, { organizationId }, rows) : undefined
  return rows.map((row) => {
    const optional = { ...labelsFromRow(row), counts: counts?.get(row.id) }
    const group: GroupResponse = {
      id: row.id,
      slug: row.slug,
      name: row.name,
      is_default: row.is_default === 1,
      monitors: row.monitors,
      webhooks: webhooks.get(row.id) ?? [],
      ...Object.fromEntries(included.map((name) => [name, optional[name]])),
    }
    return withVersion(group, row.version)
  })
}

const slugTaken = (slug: string) =>
  conflict(
    `The slug "${slug}" is taken by another group. Use another slug.`,
    { slug: fieldError('taken') },
    'slug_taken',
  )
