import { sql } from 'kysely'
import { insertDefaultRule } from '../alerts/rule-store.ts'
import { recordAudit } from '../audit-log.ts'
import { type Origin, operatorContext, type RequestContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { slugOf } from '../groups/resolve.ts'
import { insertGroup } from '../groups/store.ts'
import { newId } from '../ids.ts'
import { conflict, notFound } from '../problem.ts'
import { insertKeyRow } from './api-key-store.ts'
import { insertAgent } from './memberships.ts'
import { ensureUser, type User } from './users.ts'

export type NewOrganization = {
  name: string
  email: string
  passwordHash: string
  /** A key that the operator chose, instead of a random one. */
  apiKey?: string
}
type CreatedOrganization = { id: string; slug: string; ownerId: string }

/** Creates an organization with its owner, default group and an admin key. The key is returned and not stored. */
export async function insertOrganization(
  db: Database,
  { name, email, passwordHash, apiKey }: NewOrganization,
  now: number,
): Promise<CreatedOrganization & { keyId: string; key: string }> {
  return await inTransaction(db, async (transaction) => {
    const owner = await ensureUser(transaction, { email, passwordHash }, now)
    const created = await insertWithDefaults(transaction, owner, name, now, ({ id }) => operatorContext(id, now))
    const { id: keyId, key } = await insertKeyRow(transaction, operatorContext(created.id, now), {
      name: 'First key',
      role: 'admin',
      createdBy: created.ownerId,
      ...(apiKey && { key: apiKey }),
    })
    return { ...created, keyId, key }
  })
}

/** Creates an organization with its default group for an existing user. Throws 409 if the user owns the maximum number. */
export async function insertOwnedOrganization(
  db: Database,
  owner: User,
  name: string,
  origin: Origin,
): Promise<CreatedOrganization> {
  return await inTransaction(db, async (transaction) => {
    await refuseTooManyOrganizations(transaction, owner.id)
    return await insertWithDefaults(transaction, owner, name, origin.now, ({ id: organizationId, ownerId }) => {
      const actor = { type: 'person', id: ownerId, label: owner.name } as const
      return { ...origin, organizationId, role: 'owner', actor }
    })
  })
}

/** By slug or id; without either, the only organization. Throws `not_found`. */
export async function getOrganization(db: Database, slugOrId?: string): Promise<{ id: string; slug: string }> {
  let query = db.selectFrom('organizations').select(['id', 'slug']).limit(2)
  if (slugOrId !== undefined) {
    query = query.where((where) => where.or([where('slug', '=', slugOrId), where('id', '=', slugOrId)]))
  }
  const organizations = await query.execute()
  if (organizations.length !== 1) throw notFound()
  return organizations[0]!
}

const MAX_OWNED = 50

async function refuseTooManyOrganizations(db: Database, userId: string): Promise<void> {
  const owned = await db
    .selectFrom('agents')
    .select('id')
    .where('person_id', '=', userId)
    .where('role', '=', 'owner')
    .limit(MAX_OWNED)
    .execute()
  if (owned.length >= MAX_OWNED)
    throw conflict(
      `You own ${MAX_OWNED} organizations, which is the limit. Delete one first.`,
      undefined,
      'limit_reached',
    )
}

async function insertWithDefaults(
  db: Database,
  owner: User,
  name: string,
  now: number,
  contextOf: (created: CreatedOrganization) => RequestContext,
): Promise<CreatedOrganization> {
  const id = newId('org', now)
  const slug = await findFreeSlug(db, slugOf(name))
  await db.insertInto('organizations').values({ id, created_at: now, name, slug }).execute()
  const ownerId = (await insertAgent(db, id, { user: owner, role: 'owner' }, now))!
  const created = { id, slug, ownerId }
  const context = contextOf(created)
  await insertGroup(db, context, { name: 'Default', slug: 'default', isDefault: true })
  await insertDefaultRule(db, context)
  const object = { id, label: name }
  await recordAudit(db, context, { action: 'organization.created', object, after: { name, slug } })
  return created
}

async function findFreeSlug(db: Database, base: string): Promise<string> {
  const taken = await db
    .selectFrom('organizations')
    .select('slug')
    .where(sql<boolean>`slug = ${base} or slug like ${`${base}-%`}`)
    .execute()
  const slugs = new Set(taken.map(({ slug }) => slug))
  if (!slugs.has(base)) return base
  let number = 2
  while (slugs.has(`${base}-${number}`)) number++
  return `${base}-${number}`
}
