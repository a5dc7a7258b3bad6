import type { Database } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { newId } from '../ids.ts'
import { conflict } from '../problem.ts'

export type User = { id: string; email: string; name: string }
/** `isVerified`: the user has opened a link in a mail to the address. */
export type NewUser = { email: string; name?: string; passwordHash?: string; isVerified?: boolean }

/** Two spellings of one address belong to one user. */
export const normalizeEmail = (text: string): string => text.trim().toLowerCase()

/** Finds or creates the user. An existing user keeps name and password; a missing password is set. */
export async function ensureUser(db: Database, newUser: NewUser, now: number): Promise<User> {
  const inserted = await insertUserIfNew(db, newUser, now)
  if (inserted) return inserted
  const { passwordHash, hasSecondFactor, ...user } = (await findAccount(db, newUser.email))!
  if (newUser.passwordHash && passwordHash === null) await setPassword(db, user.id, newUser.passwordHash, now)
  return user
}

/** Undefined if the address belongs to a user already. */
export async function insertUserIfNew(db: Database, newUser: NewUser, now: number): Promise<User | undefined> {
  const email = normalizeEmail(newUser.email)
  const user = { id: newId('usr', now), email, name: newUser.name ?? email.split('@')[0]! }
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('people')
    .values({
      ...user,
      password_hash: newUser.passwordHash || null,
      email_verified: newUser.isVerified ? 1 : 0,
      created_at: now,
      updated_at: now,
    })
    .onConflict((target) => target.column('email').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 0n ? undefined : user
}

/** Throws 409 if the address belongs to a user already. */
export async function insertUser(db: Database, newUser: NewUser, now: number): Promise<User> {
  const user = await insertUserIfNew(db, newUser, now)
  if (!user) throw emailTaken()
  return user
}

/** Throws the same 409 before a password is hashed. */
export async function refuseTakenEmail(db: Database, email: string): Promise<void> {
  if (await findUser(db, email)) throw emailTaken()
}

const emailTaken = () => conflict('An account with this address already exists. Sign in first.')

export async function findUser(db: Database, email: string): Promise<User | undefined> {
  const query = db.selectFrom('people').select(['id', 'email', 'name']).where('email', '=', normalizeEmail(email))
  return await query.executeTakeFirst()
}

/** A user with what signing in needs. `passwordHash`: null for a user who cannot sign in yet. */
export type Account = User & { passwordHash: string | null; hasSecondFactor: boolean }

export async function findAccount(db: Database, email: string): Promise<Account | undefined> {
  return toAccount(await selectAccounts(db).where('email', '=', normalizeEmail(email)).executeTakeFirst())
}

export async function findAccountById(db: Database, id: string): Promise<Account | undefined> {
  return toAccount(await selectAccounts(db).where('id', '=', id).executeTakeFirst())
}

/** Password, address and second factor do not change until the transaction ends. */
export async function lockAccount(transaction: Database, id: string): Promise<Account | undefined> {
  const query = selectAccounts(transaction).where('id', '=', id).modifyEnd(forUpdate(transaction))
  return toAccount(await query.executeTakeFirst())
}

const selectAccounts = (db: Database) =>
  db.selectFrom('people').select(['id', 'email', 'name', 'password_hash', 'two_factor_enabled'])

type AccountRow = Awaited<ReturnType<ReturnType<typeof selectAccounts>['executeTakeFirst']>>

function toAccount(row: AccountRow): Account | undefined {
  if (!row) return undefined
  const { id, email, name, password_hash: passwordHash, two_factor_enabled } = row
  return { id, email, name, passwordHash, hasSecondFactor: two_factor_enabled === 1 }
}

export async function setPassword(db: Database, id: string, passwordHash: string, now: number): Promise<void> {
  const change = { password_hash: passwordHash, updated_at: now }
  await db.updateTable('people').set(change).where('id', '=', id).execute()
}
