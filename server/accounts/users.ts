import type { AgentRole } from '#contract/agents.ts'
import { type Database, forUpdate } from '../database/database.ts'
import { nextVersion } from '../database/versions.ts'
import { newId } from '../ids.ts'
import { conflict } from '../problem.ts'

export type User = { id: string; email: string; name: string }
/** `isVerified`: mail to the address reached the person. */
export type NewUser = { email: string; name?: string; passwordHash?: string; isVerified?: boolean }

/** Two spellings of one address are one person. */
export const normalizeEmail = (text: string): string => text.trim().toLowerCase()

/** The person with this address, made where there is none. One who is known keeps the name, and the password where there is one. */
export async function ensureUser(db: Database, given: NewUser, now: number): Promise<User> {
  const made = await insertUserIfNew(db, given, now)
  if (made) return made
  const { passwordHash, hasSecondFactor, ...known } = (await findAccount(db, given.email))!
  if (given.passwordHash && passwordHash === null) await setPassword(db, known.id, given.passwordHash, now)
  return known
}

/** Undefined when there is a person with this address already. */
export async function insertUserIfNew(db: Database, given: NewUser, now: number): Promise<User | undefined> {
  const email = normalizeEmail(given.email)
  const person = { id: newId('usr', now), email, name: given.name ?? email.split('@')[0]! }
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('people')
    .values({
      ...{ ...person, password_hash: given.passwordHash || null, email_verified: given.isVerified ? 1 : 0 },
      ...{ created_at: now, updated_at: now },
    })
    .onConflict((conflict) => conflict.column('email').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 0n ? undefined : person
}

/** Throws 409 when the address has an account already: who it belongs to signs in with it. */
export async function insertUser(db: Database, given: NewUser, now: number): Promise<User> {
  const person = await insertUserIfNew(db, given, now)
  if (!person) throw known()
  return person
}

/** Before the password of a new account is hashed. Throws 409 when the address has an account already. */
export async function refuseExistingAccount(db: Database, email: string): Promise<void> {
  if (await findUser(db, email)) throw known()
}

const known = () => conflict('An account with this address already exists. Sign in first.')

export async function findUser(db: Database, email: string): Promise<User | undefined> {
  const query = db.selectFrom('people').select(['id', 'email', 'name']).where('email', '=', normalizeEmail(email))
  return await query.executeTakeFirst()
}

/** A person as signing in needs them. `passwordHash`: null for one who cannot sign in yet. */
export type Account = User & { passwordHash: string | null; hasSecondFactor: boolean }

export async function findAccount(db: Database, email: string): Promise<Account | undefined> {
  return toAccount(await accounts(db).where('email', '=', normalizeEmail(email)).executeTakeFirst())
}

export async function findAccountById(db: Database, id: string): Promise<Account | undefined> {
  return toAccount(await accounts(db).where('id', '=', id).executeTakeFirst())
}

/** Until the transaction ends, the password, the address and the second factor stay as they are. */
export async function lockAccount(transaction: Database, id: string): Promise<Account | undefined> {
  return toAccount(
    await accounts(transaction).where('id', '=', id).modifyEnd(forUpdate(transaction)).executeTakeFirst(),
  )
}

const accounts = (db: Database) =>
  db.selectFrom('people').select(['id', 'email', 'name', 'password_hash', 'two_factor_enabled'])

function toAccount(row: Awaited<ReturnType<ReturnType<typeof accounts>['executeTakeFirst']>>): Account | undefined {
  if (!row) return undefined
  const { id, email, name, password_hash: passwordHash, two_factor_enabled } = row
  return { id, email, name, passwordHash, hasSecondFactor: two_factor_enabled === 1 }
}

/** The person and the memberships that repeat the name. */
export async function renameUser(db: Database, id: string, name: string, now: number): Promise<void> {
  await db.updateTable('people').set({ name, updated_at: now }).where('id', '=', id).execute()
  await db
    .updateTable('agents')
    .set({ name, ...nextVersion })
    .where('person_id', '=', id)
    .execute()
}

export async function setPassword(db: Database, id: string, passwordHash: string, now: number): Promise<void> {
  const set = { password_hash: passwordHash, updated_at: now }
  await db.updateTable('people').set(set).where('id', '=', id).execute()
}

/** Undefined when the person is an agent of the organization already. */
export async function insertAgent(
  db: Database,
  organizationId: string,
  { person, role }: { person: User; role: AgentRole },
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
