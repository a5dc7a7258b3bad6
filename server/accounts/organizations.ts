import { sql } from 'kysely'
import { insertDefaultRule } from '../alerts/rule-store.ts'
import { recordAudit } from '../audit-log.ts'
import { type Origin, operatorContext, type RequestContext } from '../context.ts'
import { type Database, engineOf, inTransaction } from '../database/database.ts'
import { slugOf } from '../groups/resolve.ts'
import { insertGroup } from '../groups/store.ts'
import { newId } from '../ids.ts'
import { conflict, notFound } from '../problem.ts'
import { type KeyRole, writeKey } from './api-keys.ts'
import { ensureUser, insertAgent, type User } from './users.ts'

export type NewOrganization = {
  name: string
  email: string
  passwordHash: string
  /** The first key, where the operator chose it. */
  apiKey?: string
}
export type CreatedOrganization = { id: string; slug: string; ownerId: string; keyId: string; key: string }

/** An organization with its owner, its default group and an admin key. The key is returned here and kept nowhere. */
export async function insertOrganization(
  db: Database,
  given: NewOrganization,
  now: number,
): Promise<CreatedOrganization> {
  return await inTransaction(db, async (transaction) => {
    const owner = await ensureUser(transaction, { email: given.email, passwordHash: given.passwordHash }, now)
    const contextOf = ({ id }: { id: string }) => operatorContext(id, now)
    const { id, slug, ownerId } = await writeOrganization(transaction, owner, given.name, now, contextOf)
    const role: KeyRole = 'admin'
    const first = { name: 'First key', role, createdBy: ownerId, ...(given.apiKey && { key: given.apiKey }) }
    const { id: keyId, key } = await writeKey(transaction, operatorContext(id, now), first)
    return { id, slug, ownerId, keyId, key }
  })
}

/** An organization with its default group, owned by someone who is known. */
export async function insertOwnedOrganization(
  db: Database,
  owner: User,
  name: string,
  origin: Origin,
): Promise<NewlyMade> {
  const contextOf = ({ id: organizationId, ownerId }: NewlyMade): RequestContext => {
    const actor = { type: 'person', id: ownerId, label: owner.name } as const
    return { ...origin, organizationId, role: 'owner', actor }
  }
  return await inTransaction(db, (transaction) => writeOrganization(transaction, owner, name, origin.now, contextOf))
}

type NewlyMade = { id: string; slug: string; ownerId: string }

async function writeOrganization(
  db: Database,
  owner: User,
  name: string,
  now: number,
  contextOf: (made: NewlyMade) => RequestContext,
): Promise<NewlyMade> {
  const id = newId('org', now)
  const slug = await freeSlug(db, slugOf(name))
  await db.insertInto('organizations').values({ id, created_at: now, name, slug }).execute()
  const ownerId = (await insertAgent(db, id, { person: owner, role: 'owner' }, now))!
  const made = { id, slug, ownerId }
  const context = contextOf(made)
  await insertGroup(db, context, { name: 'Default', slug: 'default', isDefault: true })
  await insertDefaultRule(db, context)
  const after = { name, slug }
  await recordAudit(db, context, { action: 'organization.created', object: { id, label: name }, after })
  return made
}

/** Runs work that makes the first organization; undefined when there is one. Of several processes one makes it. */
export async function inFirstSetup<T>(
  db: Database,
  work: (transaction: Database) => Promise<T>,
): Promise<T | undefined> {
  return await inTransaction(db, async (transaction) => {
    if (engineOf(db) === 'postgres') await sql`select pg_advisory_xact_lock(${SETUP_LOCK})`.execute(transaction)
    return (await hasOrganizations(transaction)) ? undefined : await work(transaction)
  })
}

/** Any constant: what all processes agree to lock while the first organization is made. */
const SETUP_LOCK = 7_209_462

export async function hasOrganizations(db: Database): Promise<boolean> {
  return (await db.selectFrom('organizations').select('id').limit(1).executeTakeFirst()) !== undefined
}

/** By slug or id; without either the only one there is. Throws `not_found`. */
export async function getOrganization(db: Database, named?: string): Promise<{ id: string; slug: string }> {
  let query = db.selectFrom('organizations').select(['id', 'slug']).limit(2)
  if (named !== undefined)
    query = query.where((where) => where.or([where('slug', '=', named), where('id', '=', named)]))
  const found = await query.execute()
  if (found.length !== 1) throw notFound()
  return found[0]!
}

async function freeSlug(db: Database, wanted: string): Promise<string> {
  const taken = await db
    .selectFrom('organizations')
    .select('slug')
    .where(sql<boolean>`slug = ${wanted} or slug like ${`${wanted}-%`}`)
    .execute()
  const slugs = new Set(taken.map(({ slug }) => slug))
  if (!slugs.has(wanted)) return wanted
  let number = 2
  while (slugs.has(`${wanted}-${number}`)) number++
  return `${wanted}-${number}`
}

const MOST_OWNED = 50

/** Throws 409 when the person owns as many organizations as anybody may. */
export async function refuseTooManyOrganizations(db: Database, userId: string): Promise<void> {
  const owned = await db
    .selectFrom('agents')
    .select('id')
    .where('person_id', '=', userId)
    .where('role', '=', 'owner')
    .limit(MOST_OWNED)
    .execute()
  if (owned.length >= MOST_OWNED)
    throw conflict(`You own ${MOST_OWNED} organizations, which is the limit. Delete one first.`)
}
