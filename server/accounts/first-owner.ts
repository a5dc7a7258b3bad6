import { sql } from 'kysely'
import { type Database, inTransaction } from '../database/database.ts'
import { advisoryLock } from '../database/dialect.ts'
import type { Keyring } from '../keyring.ts'

/** A URL to set up the server; undefined once it is set up. */
export async function findSetupLink(db: Database, keyring: Keyring, baseUrl: string): Promise<string | undefined> {
  if (await hasOrganizations(db)) return undefined
  return `${baseUrl}/dashboard/setup/${await setupToken(db, keyring)}`
}

/**
 * 128 bits that only this server can compute: the same in every process on one database, and different for another
 * database. The token is useless once an organization exists.
 */
export async function setupToken(db: Database, keyring: Keyring): Promise<string> {
  return keyring.sign(await signedText(db)).toString('base64url')
}

export async function isSetupToken(db: Database, keyring: Keyring, token: string): Promise<boolean> {
  return keyring.verify(await signedText(db), Buffer.from(token, 'base64url'))
}

async function signedText(db: Database): Promise<string> {
  const { rows } = await sql<{ applied_at: number }>`select applied_at from migrations where number = 1`.execute(db)
  return `set-up of the database made at ${rows[0]!.applied_at}`
}

/** Runs work that creates the first organization; undefined if one exists. If several processes try, one of them succeeds. */
export async function setUpOnce<T>(db: Database, work: (transaction: Database) => Promise<T>): Promise<T | undefined> {
  return await inTransaction(db, async (transaction) => {
    await advisoryLock(transaction, SETUP_LOCK)
    return (await hasOrganizations(transaction)) ? undefined : await work(transaction)
  })
}

/** Any constant that all processes share. */
const SETUP_LOCK = 7_209_462n

export async function hasOrganizations(db: Database): Promise<boolean> {
  return (await db.selectFrom('organizations').select('id').limit(1).executeTakeFirst()) !== undefined
}
