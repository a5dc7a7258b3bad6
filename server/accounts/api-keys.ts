import { hash } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { AgentRole } from '#contract/agents.ts'
import { HIGHEST_KEY_ROLE } from '#contract/api-keys.ts'
import { type AuditRecord, recordAudit } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { ApiKeysTable } from '../database/schema-people.ts'
import { changedNothing, isMatch, type Match, nextVersion } from '../database/versions.ts'
import type { OwnLimits } from '../http/limits.ts'
import { newId } from '../ids.ts'
import { notFound } from '../problem.ts'
import { toIsoOrNull } from '../times.ts'
import { storedLimits } from './api-key-limits.ts'
import { touchIn } from './last-used.ts'
import { randomBase62 } from './random-base62.ts'

export type KeyRole = ApiKeysTable['role']
export type ApiKeyRow = Omit<Selectable<ApiKeysTable>, 'hash' | 'previous_hash'>

/** What every request reads of its key. */
export type LiveKey = Pick<
  ApiKeyRow,
  'id' | 'organization_id' | 'name' | 'role' | 'last_used_at' | 'expires_at' | 'revoked_at' | 'limits' | 'limits_by'
>

/** The live key behind the text that a caller sent; undefined for an unknown, revoked or expired one. */
export async function findLiveKey(db: Database, text: string, now: number): Promise<LiveKey | undefined> {
  if (!isApiKey(text)) return undefined
  const hash = hashOfApiKey(text)
  // Of every request: as text, because that costs a tenth of what building it does.
  const { rows } =
    await sql<LiveKey>`select id, organization_id, name, role, last_used_at, expires_at, revoked_at, limits,
    limits_by from api_keys where hash = ${hash}`.execute(db)
  const key = rows[0] ?? (await findPreviousKey(db, hash, now))
  if (!key || key.revoked_at !== null || (key.expires_at !== null && key.expires_at <= now)) return undefined
  return key
}

/** The one that a rotation replaced, while it still works. */
async function findPreviousKey(db: Database, hash: string, now: number): Promise<LiveKey | undefined> {
  const { rows } =
    await sql<LiveKey>`select id, organization_id, name, role, last_used_at, expires_at, revoked_at, limits,
    limits_by from api_keys where previous_hash = ${hash} and previous_until > ${now}`.execute(db)
  return rows[0]
}

/** Writes a key's `last_used`, at most once a minute. */
export function touchKey(db: Database) {
  const touch = touchIn(db, 'api_keys', 'last_used_at')
  return (key: LiveKey, now: number) => touch(key, key.last_used_at, now)
}

export type NewKey = {
  name: string
  role: KeyRole
  createdBy?: string | null
  /** The key that makes it. */
  createdByKey?: string | undefined
  expiresAt?: number | null | undefined
  /** As set by an owner. */
  limits?: OwnLimits
  /** A key of the caller's own choosing, instead of a random one. */
  key?: string
}

/** Returns the key's id and the key itself, which is not kept. */
export async function insertKey(
  db: Database,
  context: RequestContext,
  given: NewKey,
): Promise<{ id: string; key: string }> {
  return await inTransaction(db, async (transaction) => {
    const made = await writeKey(transaction, context, given)
    const { name, role, expiresAt = null, limits = {} } = given
    const after = { name, role, expires: toIsoOrNull(expiresAt), limits: auditedLimits(storedLimits(limits)) }
    await recordAudit(transaction, context, { action: 'api_key.created', object: { id: made.id, label: name }, after })
    return made
  })
}

/** As part of something that is recorded as a whole. */
export async function writeKey(
  db: Database,
  { organizationId, now }: RequestContext,
  given: NewKey,
): Promise<{ id: string; key: string }> {
  const key = given.key ?? newApiKey()
  const id = newId('key', now)
  const limits = storedLimits(given.limits ?? {})
  await db
    .insertInto('api_keys')
    .values({
      id,
      organization_id: organizationId,
      created_at: now,
      name: given.name,
      role: given.role,
      hash: hashOfApiKey(key),
      created_by: given.createdBy ?? null,
      created_by_key: given.createdByKey ?? null,
      expires_at: given.expiresAt ?? null,
      limits,
      limits_by: limits === null ? null : 'owner',
    })
    .execute()
  return { id, key }
}

export type KeyChange = Pick<ApiKeyRow, 'name' | 'role' | 'expires_at' | 'limits' | 'limits_by'>

/** `row`: read in this transaction, under the organization's lock. */
export async function updateKey(
  db: Database,
  context: RequestContext,
  row: ApiKeyRow,
  change: KeyChange,
): Promise<void> {
  await keyOf(db, context, row.id)
    .set({ ...change, ...nextVersion })
    .execute()
  const audited = (key: KeyChange) => ({
    ...{ name: key.name, role: key.role, expires: toIsoOrNull(key.expires_at), limits: auditedLimits(key.limits) },
  })
  const object = { id: row.id, label: row.name }
  const fields = { before: audited(row), after: audited(change) }
  await recordAudit(db, context, { action: 'api_key.updated', object, ...fields })
}

/**
 * Returns the new key, which is not kept. The one before also works until `previousUntil`; null: it ends now. `by`: whose key it
 * is from now on, because the agent who sees a key must not keep it after leaving.
 */
export async function rotateKey(
  db: Database,
  context: RequestContext,
  row: Pick<ApiKeyRow, 'id' | 'name'>,
  { previousUntil, by }: { previousUntil: number | null; by?: Pick<NewKey, 'createdBy' | 'createdByKey'> },
): Promise<string> {
  const key = newApiKey()
  await keyOf(db, context, row.id)
    .set(({ ref }) => ({
      ...nextVersion,
      ...(by && { created_by: by.createdBy ?? null, created_by_key: by.createdByKey ?? null }),
      hash: hashOfApiKey(key),
      rotated_at: context.now,
      previous_hash: previousUntil === null ? null : ref('hash'),
      previous_until: previousUntil,
    }))
    .execute()
  const object = { id: row.id, label: row.name }
  const after = { previous_expires: toIsoOrNull(previousUntil) }
  await recordAudit(db, context, { action: 'api_key.rotated', object, after })
  return key
}

const keyOf = (db: Database, { organizationId }: RequestContext, id: string) =>
  db.updateTable('api_keys').where('organization_id', '=', organizationId).where('id', '=', id)

const auditedLimits = (limits: string | null): unknown => (limits === null ? undefined : JSON.parse(limits))

/** Of one organization or, for the operator's command line, of all. Newest last. */
export async function listKeys(
  db: Database,
  organizationId?: string,
): Promise<(Selectable<ApiKeysTable> & { organization: string })[]> {
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

/** Holds in every process at once, because each request looks its key up. Throws `not_found`, and 412 for another version. */
export async function revokeKey(db: Database, context: RequestContext, id: string, match?: Match): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const revoked = await keyOf(transaction, context, id)
      .set({ revoked_at: context.now, previous_hash: null, previous_until: null, ...nextVersion })
      .where('revoked_at', 'is', null)
      .where(isMatch(match))
      .returning(['name', 'role'])
      .executeTakeFirst()
    if (!revoked) throw changedNothing(match)
    const object = { id, label: revoked.name }
    await recordAudit(transaction, context, { action: 'api_key.revoked', object, before: revoked })
  })
}

/** For the operator's command line, which names no organization. Throws `not_found`. */
export async function getOrganizationOfKey(db: Database, id: string): Promise<string> {
  const key = await db.selectFrom('api_keys').select('organization_id').where('id', '=', id).executeTakeFirst()
  if (!key) throw notFound()
  return key.organization_id
}

export const RANKS: Record<KeyRole, number> = { read: 0, write: 1, admin: 2 }

/**
 * The live keys that an agent made may do no more than the agent. `role`: what the agent may do from now on; null: nothing, so
 * that they are revoked.
 */
export async function limitKeysOf(
  db: Database,
  context: RequestContext,
  { id, role }: { id: string; role: AgentRole | null },
): Promise<void> {
  const { organizationId, now } = context
  const keys = db
    .updateTable('api_keys')
    .where('organization_id', '=', organizationId)
    .where('created_by', '=', id)
    .where('revoked_at', 'is', null)
    .returning(['id', 'name'])
  if (role === null) {
    const revoked = await keys.set({ revoked_at: now, ...nextVersion }).execute()
    return await recordLimited(db, context, { action: 'api_key.revoked' }, revoked)
  }
  const most = HIGHEST_KEY_ROLE[role]
  const above = (Object.keys(RANKS) as KeyRole[]).filter((each) => RANKS[each] > RANKS[most])
  if (above.length === 0) return
  const limited = await keys
    .set({ role: most, ...nextVersion })
    .where('role', 'in', above)
    .execute()
  await recordLimited(db, context, { action: 'api_key.updated', after: { role: most } }, limited)
}

async function recordLimited(
  db: Database,
  context: RequestContext,
  audited: Pick<AuditRecord, 'action' | 'after'>,
  keys: readonly { id: string; name: string }[],
): Promise<void> {
  const [first, second] = keys
  if (!first) return
  const object = second ? {} : { id: first.id, label: first.name }
  await recordAudit(db, context, { ...audited, object, ids: second ? keys.map(({ id }) => id) : [] })
}

const KEY_SHAPE = /^zw_[0-9A-Za-z]{43}$/

/** `zw_` and 43 base62 characters: 256 bits. Shown once; only its hash is kept. */
export const newApiKey = (): string => `zw_${randomBase62(43)}`

const isApiKey = (text: string): boolean => KEY_SHAPE.test(text)

/** SHA-256, hex. A random key needs no slow hash, and looking up by the hash of what was sent leaks nothing by its timing. */
const hashOfApiKey = (key: string): string => hash('sha256', key, 'hex')
