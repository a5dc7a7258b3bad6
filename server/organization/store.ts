import { sql } from 'kysely'
import { insertKey, type KeyRole } from '../access/store.ts'
import { type Database, engineOf, inTransaction } from '../database/database.ts'
import { slugOf } from '../groups/slug.ts'
import { insertGroup } from '../groups/store.ts'
import { newId } from '../ids.ts'
import { notFound } from '../problem.ts'
import { ensurePerson, insertAgent, type Person } from './people.ts'

export type NewOrganization = {
  name: string
  email: string
  passwordHash: string
  /** The first key, where the operator chose it. */
  apiKey?: string
}
export type MadeOrganization = { id: string; slug: string; ownerId: string; keyId: string; key: string }

/** An organization with its owner, its default group and an admin key. The key is returned here and kept nowhere. */
export async function insertOrganization(db: Database, given: NewOrganization, now: number): Promise<MadeOrganization> {
  return await inTransaction(db, async (transaction) => {
    const owner = await ensurePerson(transaction, { email: given.email, passwordHash: given.passwordHash }, now)
    const { id, slug, ownerId } = await insertOrganizationOf(transaction, owner, given.name, now)
    const role: KeyRole = 'admin'
    const first = { organizationId: id, name: 'First key', role, createdBy: ownerId }
    const { id: keyId, key } = await insertKey(transaction, given.apiKey ? { ...first, key: given.apiKey } : first, now)
    return { id, slug, ownerId, keyId, key }
  })
}

/** An organization with its default group, owned by someone who is known. */
export async function insertOrganizationOf(
  db: Database,
  owner: Person,
  name: string,
  now: number,
): Promise<{ id: string; slug: string; ownerId: string }> {
  return await inTransaction(db, async (transaction) => {
    const id = newId('org', now)
    const slug = await freeSlug(transaction, slugOf(name))
    await transaction.insertInto('organizations').values({ id, created_at: now, name, slug }).execute()
    const ownerId = (await insertAgent(transaction, id, { person: owner, role: 'owner' }, now))!
    await insertGroup(transaction, id, { name: 'Default', slug: 'default', isDefault: true }, now)
    return { id, slug, ownerId }
  })
}

/** Runs work that makes the first organization; undefined when there is one. Of several processes one makes it. */
export async function whileEmpty<T>(db: Database, work: (transaction: Database) => Promise<T>): Promise<T | undefined> {
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
