import type { AgentRole } from '#contract/agents.ts'
import type { Database } from '../database/database.ts'
import { newId } from '../ids.ts'

export type Person = { id: string; email: string; name: string }
export type NewPerson = { email: string; name?: string; passwordHash?: string }

/** Two spellings of one address are one person. */
export const emailOf = (text: string): string => text.trim().toLowerCase()

/** The person with this address, made where there is none. One who is known keeps name and password. */
export async function ensurePerson(db: Database, given: NewPerson, now: number): Promise<Person> {
  const email = emailOf(given.email)
  await db
    .insertInto('people')
    .values({
      id: newId('usr', now),
      created_at: now,
      email,
      name: given.name ?? email.split('@')[0]!,
      password_hash: given.passwordHash ?? null,
    })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .execute()
  return await db
    .selectFrom('people')
    .select(['id', 'email', 'name'])
    .where('email', '=', email)
    .executeTakeFirstOrThrow()
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
