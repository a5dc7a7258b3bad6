import { Secret, TOTP } from 'otpauth'
import { fieldError } from '#contract/field-errors.ts'
import { recordAccountAudit } from '../audit-log.ts'
import type { Actor, Origin } from '../context.ts'
import type { Database } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import type { Keyring } from '../keyring.ts'
import { conflict, invalid } from '../problem.ts'
import { deleteTokens, randomBase62, SIGN_IN_PURPOSES } from './account-tokens.ts'
import type { Account } from './users.ts'

/** `secret`: base32. */
type SecondFactor = { secret: string; recoveryCodes: string[] }
/** The encrypted JSON, with the names that existing rows have. */
type StoredFactor = { secret: string; backupCodes: string[] }

const RECOVERY_CODE_COUNT = 10

/** `account`: locked. Replaces an unconfirmed second factor. It takes effect with `enableSecondFactor`. Throws 409 if one is in effect. */
export async function insertSecondFactor(db: Database, keyring: Keyring, { id, email, hasSecondFactor }: Account) {
  if (hasSecondFactor) throw conflict('Two-factor authentication is on. Turn it off first.')
  const secret = new Secret({ size: 20 })
  const recoveryCodes = newRecoveryCodes()
  const sealed = encryptFactor(keyring, id, { secret: secret.base32, recoveryCodes })
  await db
    .insertInto('second_factors')
    .values({ person_id: id, sealed })
    .onConflict((target) => target.column('person_id').doUpdateSet({ sealed, last_step: 0 }))
    .execute()
  return { totpURI: new TOTP({ issuer: 'Zonewatch', label: email, secret }).toString(), recoveryCodes }
}

/** After the first correct code. */
export async function enableSecondFactor(db: Database, userId: string, origin: Origin): Promise<void> {
  await db.updateTable('people').set({ two_factor_enabled: 1 }).where('id', '=', userId).execute()
  await recordAccountAudit(db, origin, userId, { action: 'agent.second_factor_enabled' })
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
 * Accepts a code once, also in concurrent requests: RFC 6238 section 5.2. Throws 400 for a wrong or used code, 409 without a
 * second factor.
 */
export async function useCode(
  db: Database,
  keyring: Keyring,
  { userId, code }: { userId: string; code: string },
  now: number,
): Promise<void> {
  const factor = await getFactor(db, keyring, userId)
  const totp = new TOTP({ secret: factor.secret })
  // The clock of the authenticator may be one step off: section 5.2.
  const delta = totp.validate({ token: code, timestamp: now, window: 1 })
  if (delta === null) throw invalid({ code: fieldError('wrong_code') })
  const step = totp.counter({ timestamp: now }) + delta
  const { numUpdatedRows } = await db
    .updateTable('second_factors')
    .set({ last_step: step })
    .where('person_id', '=', userId)
    .where('last_step', '<', step)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw invalid({ code: fieldError('used_code') })
}

/** Accepts each code once. Throws 400 for a wrong or used code, 409 without a second factor. */
export async function useRecoveryCode(
  db: Database,
  keyring: Keyring,
  { userId, code }: { userId: string; code: string },
): Promise<void> {
  const factor = await getFactor(db, keyring, userId)
  const recoveryCodes = factor.recoveryCodes.filter((unused) => unused !== code)
  if (recoveryCodes.length === factor.recoveryCodes.length) throw invalid({ code: fieldError('wrong_backup_code') })
  await updateFactor(db, keyring, userId, { ...factor, recoveryCodes })
}

/**
 * A code of the authenticator app or a recovery code, of a signed-in user who changes the second factor. Accepts each code once.
 * `account`: locked. Throws 400 for a wrong or used code, 409 if no second factor is in effect.
 */
export async function useAnyCode(
  db: Database,
  keyring: Keyring,
  { account, code }: { account: Account; code: string },
  now: number,
): Promise<void> {
  if (!account.hasSecondFactor) throw noSecondFactor()
  const userId = account.id
  const digits = code.replaceAll(/[ -]/g, '')
  if (/^\d{6}$/.test(digits)) await useCode(db, keyring, { userId, code: digits }, now)
  else await useRecoveryCode(db, keyring, { userId, code: code.trim() })
}

/** `account`: locked, with a second factor in effect. The previous codes stop working. */
export async function replaceRecoveryCodes(
  db: Database,
  keyring: Keyring,
  { id }: Account,
  origin: Origin,
): Promise<string[]> {
  const factor = await getFactor(db, keyring, id)
  const recoveryCodes = newRecoveryCodes()
  await updateFactor(db, keyring, id, { ...factor, recoveryCodes })
  await recordAccountAudit(db, origin, id, { action: 'agent.backup_codes_created' })
  return recoveryCodes
}

/** Locks the row until the transaction ends. Throws 409 without a second factor. */
async function getFactor(db: Database, keyring: Keyring, userId: string): Promise<SecondFactor> {
  const row = await db
    .selectFrom('second_factors')
    .select('sealed')
    .where('person_id', '=', userId)
    .modifyEnd(forUpdate(db))
    .executeTakeFirst()
  if (!row) throw noSecondFactor()
  const { secret, backupCodes }: StoredFactor = JSON.parse(keyring.decrypt(row.sealed, secondFactorContext(userId)))
  return { secret, recoveryCodes: backupCodes }
}

async function updateFactor(db: Database, keyring: Keyring, userId: string, factor: SecondFactor): Promise<void> {
  const sealed = encryptFactor(keyring, userId, factor)
  await db.updateTable('second_factors').set({ sealed }).where('person_id', '=', userId).execute()
}

function encryptFactor(keyring: Keyring, userId: string, { secret, recoveryCodes }: SecondFactor): Buffer {
  const stored: StoredFactor = { secret, backupCodes: recoveryCodes }
  return keyring.encrypt(JSON.stringify(stored), secondFactorContext(userId))
}

export const secondFactorContext = (userId: string): string => `second factor of ${userId}`

/** `aB3de-Fg4hi`: 59 bits each. */
const newRecoveryCodes = (): string[] =>
  Array.from({ length: RECOVERY_CODE_COUNT }, () => `${randomBase62(5)}-${randomBase62(5)}`)

export const noSecondFactor = () => conflict('Two-factor authentication is not set up. Turn it on first.')
