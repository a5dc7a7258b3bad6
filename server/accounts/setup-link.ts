import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import type { Seal } from '../seal.ts'
import { hasOrganizations } from './organizations.ts'

/**
 * The token of the set-up link: 128 bits that only this server can compute, the same in every process on one database and
 * another one for another database. It is worth nothing once there is an organization.
 */
export async function setupToken(db: Database, seal: Seal): Promise<string> {
  return seal.sign(await textFor(db)).toString('base64url')
}

export async function isSetupToken(db: Database, seal: Seal, token: string): Promise<boolean> {
  return seal.isSigned(await textFor(db), Buffer.from(token, 'base64url'))
}

/** Where to set the server up; undefined once it is. */
export async function findSetupLink(db: Database, seal: Seal, baseUrl: string): Promise<string | undefined> {
  if (await hasOrganizations(db)) return undefined
  return `${baseUrl}/dashboard/setup/${await setupToken(db, seal)}`
}

async function textFor(db: Database): Promise<string> {
  const { rows } = await sql<{ applied_at: number }>`select applied_at from migrations where number = 1`.execute(db)
  return `set-up of the database made at ${rows[0]!.applied_at}`
}
