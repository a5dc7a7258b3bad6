import { hash } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import type { AgentRole } from '#contract/agents.ts'
import {
  type ApiKey,
  type ApiKeyQuery,
  type ApiKeyWithSecret,
  HIGHEST_KEY_ROLE,
  KEY_LIMITS,
} from '#contract/api-keys.ts'
import { type AuditRecord, recordAudit } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { listPage, type Page } from '../database/pagination.ts'
import type { ApiKeysTable } from '../database/schema-people.ts'
import { refuseAtLimit, updateTenantRow } from '../database/tenant-row.ts'
import { changedNothing, isMatch, type Match, nextVersion, withVersion } from '../database/versions.ts'
import type { KeyLimits, Limits } from '../http/rate-limits.ts'
import { newId } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { notFound } from '../problem.ts'
import { toIso, toIsoOrNull } from '../times.ts'
import { randomBase62 } from './account-tokens.ts'

export type KeyRole = ApiKeysTable['role']
export type ApiKeyRow = Omit<Selectable<ApiKeysTable>, 'hash' | 'previous_hash'>
type ApiKeyWithCreator = Selectable<ApiKeysTable> & { creator_name: string | null; creator_id: string | null }

/** The settings of the server for keys. `keyLimitMax`: the highest limit that owners can set; 0: any. */
export type KeySettings = { limits: Limits; keyLimitMax: number }

/** What every request reads of its key. */
export type ActiveKey = Pick<
  ApiKeyRow,
  'id' | 'organization_id' | 'name' | 'role' | 'last_used_at' | 'expires_at' | 'revoked_at' | 'limits' | 'limits_by'
>

/** Undefined for an unknown, revoked or expired key. */
export async function findActiveKey(db: Database, key: string, now: number): Promise<ActiveKey | undefined> {
  if (!KEY_PATTERN.test(key)) return undefined
  const keyHash = hashKey(key)
  // SQL text, because every request runs this: building the query would take ten times as long.
  const { rows } =
    await sql<ActiveKey>`select id, organization_id, name, role, last_used_at, expires_at, revoked_at, limits,
    limits_by from api_keys where hash = ${keyHash}`.execute(db)
  const row = rows[0] ?? (await findPreviousKey(db, keyHash, now))
  if (!row || row.revoked_at !== null || (row.expires_at !== null && row.expires_at <= now)) return undefined
  return row
}

/** The key before a rotation, during its grace period. */
async function findPreviousKey(db: Database, keyHash: string, now: number): Promise<ActiveKey | undefined> {
  const { rows } =
    await sql<ActiveKey>`select id, organization_id, name, role, last_used_at, expires_at, revoked_at, limits,
    limits_by from api_keys where previous_hash = ${keyHash} and previous_until > ${now}`.execute(db)
  return rows[0]
}

type ReadContext = Pick<RequestContext, 'organizationId' | 'now'>

/** Includes revoked and expired keys, unless the query excludes them. */
export async function listApiKeys(
  db: Database,
  { keyring, config }: { keyring: Keyring; config: KeySettings },
  { organizationId, now }: ReadContext,
  query: ApiKeyQuery,
): Promise<Page<ApiKey>> {
  const { state, created_by_key } = query
  let rows = keysWithCreator(db, organizationId)
  if (created_by_key !== undefined) rows = rows.where('api_keys.created_by_key', '=', created_by_key)
  if (state === 'revoked') rows = rows.where('api_keys.revoked_at', 'is not', null)
  else if (state !== undefined) rows = rows.where('api_keys.revoked_at', 'is', null)
  if (state === 'expired') rows = rows.where('api_keys.expires_at', '<=', now)
  if (state === 'active') {
    rows = rows.where(({ eb, or }) => or([eb('api_keys.expires_at', 'is', null), eb('api_keys.expires_at', '>', now)]))
  }
  const page = await listPage<ApiKeyWithCreator>(rows, {
    keyring,
    query,
    id: 'api_keys.id',
    orders: { created: { column: 'api_keys.id' } },
    scope: ['api keys', organizationId, state, created_by_key],
  })
  return { ...page, data: page.data.map((row) => toApiKey(row, now, config)) }
}

/** Throws `not_found`. */
export async function getApiKey(
  db: Database,
  config: KeySettings,
  { organizationId, now }: ReadContext,
  id: string,
): Promise<ApiKey> {
  const row = await keysWithCreator(db, organizationId).where('api_keys.id', '=', id).executeTakeFirst()
  if (!row) throw notFound()
  return withVersion(toApiKey(row, now, config), row.version)
}

/** Adds the key itself, which only the response to its creation or rotation contains. Throws `not_found`. */
export async function getApiKeyWithSecret(
  db: Database,
  config: KeySettings,
  context: ReadContext,
  { id, key }: { id: string; key: string },
): Promise<ApiKeyWithSecret> {
  return { ...(await getApiKey(db, config, context, id)), key }
}

function keysWithCreator(db: Database, organizationId: string) {
  return db
    .selectFrom('api_keys')
    .leftJoin('agents', (join) =>
      join
        .onRef('agents.id', '=', 'api_keys.created_by')
        .onRef('agents.organization_id', '=', 'api_keys.organization_id'),
    )
    .selectAll('api_keys')
    .select(['agents.name as creator_name', 'agents.id as creator_id'])
    .where('api_keys.organization_id', '=', organizationId)
}

function toApiKey(row: ApiKeyWithCreator, now: number, config: KeySettings): ApiKey {
  // Both keys of a rotation expire together.
  const previousUntil = row.previous_until && Math.min(row.previous_until, row.expires_at ?? Number.POSITIVE_INFINITY)
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    created: toIso(row.created_at),
    created_by: row.creator_name,
    created_by_id: row.creator_id,
    created_by_key_id: row.created_by_key,
    last_used: toIsoOrNull(row.last_used_at),
    expires: toIsoOrNull(row.expires_at),
    revoked: toIsoOrNull(row.revoked_at),
    rotated: toIsoOrNull(row.rotated_at),
    previous_expires: previousUntil !== null && previousUntil > now ? toIso(previousUntil) : null,
    limits: toKeyLimits(parseLimits(row, config)),
  }
}

/** The keys of one organization or, for the command line, of all. Newest last. */
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

/** For the command line, which names no organization. Throws `not_found`. */
export async function getOrganizationOfKey(db: Database, id: string): Promise<string> {
  const key = await db.selectFrom('api_keys').select('organization_id').where('id', '=', id).executeTakeFirst()
  if (!key) throw notFound()
  return key.organization_id
}

/** Of one organization. */
export const MAX_LIVE_KEYS = 500

export type NewKey = {
  name: string
  role: KeyRole
  createdBy?: string | null
  createdByKey?: string | undefined
  expiresAt?: number | null | undefined
  limits?: KeyLimits
  /** A key that the operator chose, instead of a random one. */
  key?: string
}

/** Returns the key itself, which is not stored. */
export async function insertKey(
  db: Database,
  context: RequestContext,
  newKey: NewKey,
): Promise<{ id: string; key: string }> {
  return await inTransaction(db, async (transaction) => {
    await refuseAtLimit(transaction, 'api_keys', context, {
      max: MAX_LIVE_KEYS,
      things: 'API keys that are not revoked and have not expired',
      counted: sql`revoked_at is null and (expires_at is null or expires_at > ${context.now})`,
      remedy: 'Revoke one first.',
    })
    const inserted = await insertKeyRow(transaction, context, newKey)
    const { name, role, expiresAt = null, limits = {} } = newKey
    const after = auditedKey({ name, role, expires_at: expiresAt, limits: stringifyLimits(limits) })
    await recordAudit(transaction, context, {
      action: 'api_key.created',
      object: { id: inserted.id, label: name },
      after,
    })
    return inserted
  })
}

/** Without an audit entry: for the first key of an organization. */
export async function insertKeyRow(
  db: Database,
  { organizationId, now }: RequestContext,
  { name, role, createdBy = null, createdByKey, expiresAt = null, limits = {}, key = newApiKey() }: NewKey,
): Promise<{ id: string; key: string }> {
  const id = newId('key', now)
  const limitsText = stringifyLimits(limits)
  await db
    .insertInto('api_keys')
    .values({
      id,
      organization_id: organizationId,
      created_at: now,
      name,
      role,
      hash: hashKey(key),
      created_by: createdBy,
      created_by_key: createdByKey ?? null,
      expires_at: expiresAt,
      limits: limitsText,
      limits_by: limitsText === null ? null : 'owner',
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
  await updateTenantRow(db, 'api_keys', context, row.id, { ...change, ...nextVersion })
  const object = { id: row.id, label: row.name }
  const [before, after] = [auditedKey(row), auditedKey(change)]
  await recordAudit(db, context, { action: 'api_key.updated', object, before, after })
}

const auditedKey = ({ name, role, expires_at, limits }: Omit<KeyChange, 'limits_by'>) => ({
  name,
  role,
  expires: toIsoOrNull(expires_at),
  limits: limits === null ? undefined : JSON.parse(limits),
})

/**
 * Returns the new key, which is not stored. The previous key works until `previousUntil`; null: it ends now. `by`: becomes the
 * creator, because an agent who sees the key must not keep it after leaving.
 */
export async function rotateKey(
  db: Database,
  context: RequestContext,
  row: Pick<ApiKeyRow, 'id' | 'name'>,
  { previousUntil, by }: { previousUntil: number | null; by?: Pick<NewKey, 'createdBy' | 'createdByKey'> },
): Promise<string> {
  const key = newApiKey()
  await updateTenantRow(db, 'api_keys', context, row.id, {
    ...nextVersion,
    ...(by && { created_by: by.createdBy ?? null, created_by_key: by.createdByKey ?? null }),
    hash: hashKey(key),
    rotated_at: context.now,
    previous_hash: previousUntil === null ? null : sql.ref('hash'),
    previous_until: previousUntil,
  })
  const object = { id: row.id, label: row.name }
  const after = { previous_expires: toIsoOrNull(previousUntil) }
  await recordAudit(db, context, { action: 'api_key.rotated', object, after })
  return key
}

/** Takes effect at once in every process. Throws `not_found`, and 412 for another version. */
export async function revokeKey(db: Database, context: RequestContext, id: string, match?: Match): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const revoked = await transaction
      .updateTable('api_keys')
      .where('organization_id', '=', context.organizationId)
      .where('id', '=', id)
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

/** The keys that a key created, and those that they created, which are not revoked. */
export async function findCreatedKeys(
  db: Database,
  { organizationId }: Pick<RequestContext, 'organizationId'>,
  id: string,
): Promise<Pick<ApiKeyRow, 'id' | 'name' | 'role'>[]> {
  const { rows } = await sql<Pick<ApiKeyRow, 'id' | 'name' | 'role'>>`
    with recursive created(id) as (
      select id from api_keys where organization_id = ${organizationId} and created_by_key = ${id}
      union
      select api_keys.id from api_keys join created on api_keys.created_by_key = created.id
      where organization_id = ${organizationId}
    )
    select id, name, role from api_keys
    where organization_id = ${organizationId} and revoked_at is null and id in (select id from created) order by id`.execute(
    db,
  )
  return rows
}

export const KEY_ROLE_RANKS: Record<KeyRole, number> = { read: 0, write: 1, admin: 2 }

/** Lowers the keys that an agent created to what `role` permits. Null: the agent leaves, so the keys are revoked. */
export async function limitKeysOfAgent(
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
    return await auditKeys(db, context, { action: 'api_key.revoked' }, revoked)
  }
  const highest = HIGHEST_KEY_ROLE[role]
  const above = (Object.keys(KEY_ROLE_RANKS) as KeyRole[]).filter(
    (keyRole) => KEY_ROLE_RANKS[keyRole] > KEY_ROLE_RANKS[highest],
  )
  if (above.length === 0) return
  const limited = await keys
    .set({ role: highest, ...nextVersion })
    .where('role', 'in', above)
    .execute()
  await auditKeys(db, context, { action: 'api_key.updated', after: { role: highest } }, limited)
}

async function auditKeys(
  db: Database,
  context: RequestContext,
  record: Pick<AuditRecord, 'action' | 'after'>,
  keys: readonly { id: string; name: string }[],
): Promise<void> {
  const [first, second] = keys
  if (!first) return
  const object = second ? {} : { id: first.id, label: first.name }
  await recordAudit(db, context, { ...record, object, ids: second ? keys.map(({ id }) => id) : [] })
}

/** The limits of a key; undefined without any. Limits that an owner set never exceed `keyLimitMax`. */
export function parseLimits(
  { limits, limits_by }: Pick<ApiKeysTable, 'limits' | 'limits_by'>,
  { keyLimitMax }: KeySettings,
): KeyLimits | undefined {
  if (limits === null) return undefined
  const parsed: KeyLimits = JSON.parse(limits)
  if (limits_by === 'operator' || keyLimitMax === 0) return parsed
  return Object.fromEntries(
    Object.entries(parsed).map(([kind, limit]) => [kind, limit === 0 ? keyLimitMax : Math.min(limit, keyLimitMax)]),
  )
}

/** For the column; null without any. */
export function stringifyLimits(limits: KeyLimits): string | null {
  const entries = KEY_LIMITS.flatMap((kind) => (limits[kind] === undefined ? [] : [[kind, limits[kind]]]))
  return entries.length === 0 ? null : JSON.stringify(Object.fromEntries(entries))
}

/** For the API. */
export const toKeyLimits = (limits: KeyLimits = {}): ApiKey['limits'] =>
  Object.fromEntries(KEY_LIMITS.map((kind) => [kind, limits[kind] ?? null])) as ApiKey['limits']

const KEY_PATTERN = /^zw_[0-9A-Za-z]{43}$/

/** `zw_` and 43 base62 characters: 256 bits. Only the hash is stored. */
export const newApiKey = (): string => `zw_${randomBase62(43)}`

/** A random key needs no slow hash. Searching by the hash leaks nothing through timing. */
const hashKey = (key: string): string => hash('sha256', key, 'hex')
