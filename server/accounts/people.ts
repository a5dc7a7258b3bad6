import type { AgentRole } from '#contract/agents.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { nextVersion } from '../database/versions.ts'
import { newId } from '../ids.ts'

export type Person = { id: string; email: string; name: string }
/** `isVerified`: mail to the address reached the person. */
export type NewPerson = { email: string; name?: string; passwordHash?: string; isVerified?: boolean }

/** Two spellings of one address are one person. */
export const emailOf = (text: string): string => text.trim().toLowerCase()

/** The person with this address, made where there is none. One who is known keeps the name, and the password where there is one. */
export async function ensurePerson(db: Database, given: NewPerson, now: number): Promise<Person> {
  const made = await insertPerson(db, given, now)
  if (made) return made
  const known = (await findPerson(db, given.email))!
  const isWithout = given.passwordHash && (await findPasswordHash(db, known.email)) === undefined
  if (isWithout) await insertCredential(db, known.id, given.passwordHash!, now)
  return known
}

/** Undefined when there is a person with this address already. */
export async function insertPerson(db: Database, given: NewPerson, now: number): Promise<Person | undefined> {
  const email = emailOf(given.email)
  const person = { id: newId('usr', now), email, name: given.name ?? email.split('@')[0]! }
  return await inTransaction(db, async (transaction) => {
    const { numInsertedOrUpdatedRows } = await transaction
      .insertInto('people')
      .values({ ...person, email_verified: given.isVerified ? 1 : 0, created_at: now, updated_at: now })
      .onConflict((conflict) => conflict.column('email').doNothing())
      .executeTakeFirst()
    if (numInsertedOrUpdatedRows === 0n) return undefined
    if (given.passwordHash) await insertCredential(transaction, person.id, given.passwordHash, now)
    return person
  })
}

export async function findPerson(db: Database, email: string): Promise<Person | undefined> {
  const query = db.selectFrom('people').select(['id', 'email', 'name']).where('email', '=', emailOf(email))
  return await query.executeTakeFirst()
}

/** Lists of a team show what a person is called now. */
export async function renameAgents(db: Database, personId: string, name: string): Promise<void> {
  await db
    .updateTable('agents')
    .set({ name, ...nextVersion })
    .where('person_id', '=', personId)
    .execute()
}

/** Undefined where there is no such person, or one who cannot sign in yet. */
export async function findPasswordHash(db: Database, email: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('people')
    .innerJoin('credentials', 'credentials.person_id', 'people.id')
    .select('password')
    .where('email', '=', emailOf(email))
    .where('provider_id', '=', 'credential')
    .executeTakeFirst()
  return row?.password ?? undefined
}

/** Replaces the password, or gives one to a person who had none. */
export async function setPassword(db: Database, personId: string, password: string, now: number): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('credentials')
    .set({ password, updated_at: now })
    .where('person_id', '=', personId)
    .where('provider_id', '=', 'credential')
    .executeTakeFirst()
  if (numUpdatedRows === 0n) await insertCredential(db, personId, password, now)
}

async function insertCredential(db: Database, personId: string, password: string, now: number): Promise<void> {
  await db
    .insertInto('credentials')
    .values({
      ...{ id: newId('crd', now), person_id: personId, provider_id: 'credential', account_id: personId },
      ...{ password, created_at: now, updated_at: now },
    })
    .execute()
}

/** Undefined when the person is an agent of the organization already. */
export async function insertAgent(
  db: Database,
  organizationId: string,
  { person, role }: { person: Person; role: AgentRole },
  now: number,
): Promise<string | undefined> {
  const id = newId('agt', now)
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('agents')
    .values({
      id,
      organization_id: organizationId,
      person_id: person.id,
      created_at: now,
      name: person.name,
      email: person.email,
      role,
    })
    .onConflict((conflict) => conflict.columns(['organization_id', 'person_id']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 0n ? undefined : id
}
