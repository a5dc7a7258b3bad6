import { Secret, TOTP } from 'otpauth'
import { recordAccountAudit } from '../audit-log.ts'
import type { Actor, Origin } from '../context.ts'
import { type Database, forUpdate } from '../database/database.ts'
import { conflict } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { deleteTokens, randomBase62, SIGN_IN_PURPOSES } from './account-tokens.ts'
import type { Account, User } from './users.ts'

/** Stored sealed. `secret`: base32. */
type SecondFactor = { secret: string; backupCodes: string[] }

const BACKUP_CODE_COUNT = 10

/** Replaces an unconfirmed second factor. It takes effect with `confirmSecondFactor`. */
export async function insertSecondFactor(db: Database, seal: Seal, { id, email }: Pick<User, 'id' | 'email'>) {
  const secret = new Secret({ size: 20 })
  const backupCodes = newBackupCodes()
  const sealed = close(seal, id, { secret: secret.base32, backupCodes })
  await db
    .insertInto('second_factors')
    .values({ person_id: id, sealed })
    .onConflict((conflict) => conflict.column('person_id').doUpdateSet({ sealed, last_step: 0 }))
    .execute()
  return { totpURI: new TOTP({ issuer: 'Zonewatch', label: email, secret }).toString(), backupCodes }
}

export async function confirmSecondFactor(db: Database, userId: string): Promise<void> {
  await db.updateTable('people').set({ two_factor_enabled: 1 }).where('id', '=', userId).execute()
}

/** `account`: locked. Also ends pending sign-ins and trusted browsers. `actor`: by default the user. */
export async function disableSecondFactor(
  db: Database,
  account: Account,
  origin: Origin,
  actor?: Actor,
): Promise<void> {
  await db.updateTable('people').set({ two_factor_enabled: 0 }).where('id', '=', account.id).execute()
  await db.deleteFrom('second_factors').where('person_id', '=', account.id).execute()
  await deleteTokens(db, account.id, SIGN_IN_PURPOSES)
  if (!account.hasSecondFactor) return
  await recordAccountAudit(db, origin, account.id, { action: 'agent.second_factor_disabled', ...(actor && { actor }) })
}

/**
 * Accepts a code once: RFC 6238 section 5.2. Of two concurrent requests with one code, only one gets `accepted`. `none`: the user
 * has no second factor.
 */
export async function useCode(
  db: Database,
  seal: Seal,
  { userId, code }: { userId: string; code: string },
  now: number,
): Promise<'accepted' | 'wrong' | 'used' | 'none'> {
  const factor = await findFactor(db, seal, userId)
  if (!factor) return 'none'
  const totp = new TOTP({ secret: factor.secret })
  // The clock of the authenticator may be one step off: section 5.2.
  const delta = totp.validate({ token: code, timestamp: now, window: 1 })
  if (delta === null) return 'wrong'
  const step = totp.counter({ timestamp: now }) + delta
  const { numUpdatedRows } = await db
    .updateTable('second_factors')
    .set({ last_step: step })
    .where('person_id', '=', userId)
    .where('last_step', '<', step)
    .executeTakeFirst()
  return numUpdatedRows === 0n ? 'used' : 'accepted'
}

/** Accepts each code once. */
export async function useBackupCode(
  db: Database,
  seal: Seal,
  { userId, code }: { userId: string; code: string },
): Promise<'accepted' | 'wrong' | 'none'> {
  const factor = await findFactor(db, seal, userId)
  if (!factor) return 'none'
  const backupCodes = factor.backupCodes.filter((unused) => unused !== code)
  if (backupCodes.length === factor.backupCodes.length) return 'wrong'
  await updateFactor(db, seal, userId, { ...factor, backupCodes })
  return 'accepted'
}

/** The previous codes stop working. Undefined for a user without a second factor. */
export async function replaceBackupCodes(db: Database, seal: Seal, userId: string): Promise<string[] | undefined> {
  const factor = await findFactor(db, seal, userId)
  if (!factor) return undefined
  const backupCodes = newBackupCodes()
  await updateFactor(db, seal, userId, { ...factor, backupCodes })
  return backupCodes
}

/** Locks the row until the transaction ends. */
async function findFactor(db: Database, seal: Seal, userId: string): Promise<SecondFactor | undefined> {
  const row = await db
    .selectFrom('second_factors')
    .select('sealed')
    .where('person_id', '=', userId)
    .modifyEnd(forUpdate(db))
    .executeTakeFirst()
  return row && (JSON.parse(seal.open(row.sealed, secondFactorContext(userId))) as SecondFactor)
}

async function updateFactor(db: Database, seal: Seal, userId: string, factor: SecondFactor): Promise<void> {
  const sealed = close(seal, userId, factor)
  await db.updateTable('second_factors').set({ sealed }).where('person_id', '=', userId).execute()
}

const close = (seal: Seal, userId: string, factor: SecondFactor) =>
  seal.close(JSON.stringify(factor), secondFactorContext(userId))

export const secondFactorContext = (userId: string): string => `second factor of ${userId}`

/** `aB3de-Fg4hi`: 59 bits each. */
const newBackupCodes = (): string[] =>
  Array.from({ length: BACKUP_CODE_COUNT }, () => `${randomBase62(5)}-${randomBase62(5)}`)

export const noSecondFactor = () => conflict('Two-factor authentication is not set up. Turn it on first.')
