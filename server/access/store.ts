import { type Selectable, sql } from 'kysely'
import { HIGHEST_KEY_ROLE } from '#contract/account.ts'
import type { AgentRole } from '#contract/agents.ts'
import type { Database } from '../database/database.ts'
import type { ApiKeysTable } from '../database/schema.ts'
import { newId } from '../ids.ts'
import { notFound } from '../problem.ts'
import { hashOfApiKey, isApiKey, newApiKey } from './keys.ts'
import { touchIn } from './touch.ts'

export type KeyRole = ApiKeysTable['role']
export type ApiKey = Omit<Selectable<ApiKeysTable>, 'hash'>

/** What every request reads of its key. */
type LiveKey = Pick<ApiKey, 'id' | 'organization_id' | 'role' | 'last_used_at' | 'expires_at' | 'revoked_at'>

/** The live key behind the text that a caller sent; undefined for an unknown, revoked or expired one. */
export async function findLiveKey(db: Database, text: string, now: number): Promise<LiveKey | undefined> {
  if (!isApiKey(text)) return undefined
  const hash = hashOfApiKey(text)
  // Of every request: as text, because that costs a tenth of what building it does.
  const { rows } = await sql<LiveKey>`select id, organization_id, role, last_used_at, expires_at, revoked_at
    from api_keys where hash = ${hash}`.execute(db)
  const key = rows[0]
  if (!key || key.revoked_at !== null || (key.expires_at !== null && key.expires_at <= now)) return undefined
  return key
}

/** Writes a key's `last_used`, at most once a minute. */
export function touchKey(db: Database) {
  const touch = touchIn(db, 'api_keys', 'last_used_at')
  return (key: LiveKey, now: number) => touch(key, key.last_used_at, now)
}

export type NewKey = {
  organizationId: string
  name: string
  role: KeyRole
  createdBy?: string
  expiresAt?: number
  /** A key of the caller's own choosing, instead of a random one. */
  key?: string
}

/** Returns the key's id and the key itself, which is not kept. */
export async function insertKey(db: Database, given: NewKey, now: number): Promise<{ id: string; key: string }> {
  const key = given.key ?? newApiKey()
  const id = newId('key', now)
  await db
    .insertInto('api_keys')
    .values({
      id,
      organization_id: given.organizationId,
      created_at: now,
      name: given.name,
      role: given.role,
      hash: hashOfApiKey(key),
      created_by: given.createdBy ?? null,
      last_used_at: null,
      expires_at: given.expiresAt ?? null,
      revoked_at: null,
    })
    .execute()
  return { id, key }
}

/** Of one organization or, for the operator's command line, of all. Newest last. */
export async function listKeys(db: Database, organizationId?: string): Promise<(ApiKey & { organization: string })[]> {
  let query = db
    .selectFrom('api_keys')
    .innerJoin('organizations', 'organizations.id', 'api_keys.organization_id')
    .selectAll('api_keys')
    .select('organizations.slug as organization')
    .orderBy('api_keys.id')
    .limit(1_000)
  if (organizationId !== undefined) query = query.where('organization_id', '=', organizationId)
  return await query.execute()
}

/**
 * Holds in every process at once, because each request looks its key up. Without an organization, for the operator's command
 * line, of any. Throws `not_found`.
 */
export async function revokeKey(db: Database, id: string, now: number, organizationId?: string): Promise<void> {
  let query = db.updateTable('api_keys').set({ revoked_at: now }).where('id', '=', id).where('revoked_at', 'is', null)
  if (organizationId !== undefined) query = query.where('organization_id', '=', organizationId)
  const { numUpdatedRows } = await query.executeTakeFirst()
  if (numUpdatedRows === 0n) throw notFound()
}

/** Which ones may do more. */
const ABOVE: Record<KeyRole, KeyRole[]> = { read: ['write', 'admin'], write: ['admin'], admin: [] }

/**
 * The live keys that an agent made may do no more than the agent. `role`: what the agent may do from now on; null: nothing, so
 * that they are revoked.
 */
export async function limitKeysOf(
  db: Database,
  organizationId: string,
  { id, role }: { id: string; role: AgentRole | null },
  now: number,
): Promise<void> {
  const keys = db
    .updateTable('api_keys')
    .where('organization_id', '=', organizationId)
    .where('created_by', '=', id)
    .where('revoked_at', 'is', null)
  if (role === null) return void (await keys.set({ revoked_at: now }).execute())
  const most = HIGHEST_KEY_ROLE[role]
  if (most !== 'admin') await keys.set({ role: most }).where('role', 'in', ABOVE[most]).execute()
}
