import type { AgentRole } from '#contract/agents.ts'
import {
  type ApiKeyChange,
  type ApiKeyRevocation,
  HIGHEST_KEY_ROLE,
  KEY_LIMITS,
  type KeyLimit,
  type NewApiKey,
  type NewKeyLimits,
} from '#contract/api-keys.ts'
import { fieldError } from '#contract/field-errors.ts'
import type { RequestContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { getTenantRow, lockOrganization } from '../database/tenant-row.ts'
import { type Match, refuseStale } from '../database/versions.ts'
import { type Budget, budgetOf, type KeyLimits } from '../http/rate-limits.ts'
import { conflict, type FieldErrors, forbidden, invalid, notFound, throwIfInvalid } from '../problem.ts'
import { HOUR_MS, parseTime } from '../times.ts'
import {
  type ApiKeyRow,
  findCreatedKeys,
  insertKey,
  KEY_ROLE_RANKS,
  type KeyRole,
  type KeySettings,
  parseLimits,
  revokeKey,
  rotateKey,
  stringifyLimits,
  updateKey,
} from './api-key-store.ts'
import { revokeInvitationsOfKey } from './invitations.ts'
import { findActorRole } from './memberships.ts'

/** Returns the key itself, which is not stored. Throws 403 for what the caller may not grant. */
export async function createApiKey(
  db: Database,
  settings: KeySettings,
  context: RequestContext,
  input: NewApiKey,
): Promise<{ id: string; key: string }> {
  return await asAdmin(db, settings, context, async (transaction, caller) => {
    refuseAdminKey(caller.role, input.role)
    const callerRights = caller.key?.rights
    const limits = changeLimits(callerRights?.limits ?? {}, input.limits, settings.keyLimitMax)
    refuseLimits(caller.role, callerRights?.limits ?? {}, limits)
    const expiresAt = parseExpiry(input.expires, context.now)
    const rights: Rights = {
      limits,
      expiresAt: expiresAt === undefined ? (callerRights?.expiresAt ?? null) : expiresAt,
    }
    if (callerRights) refuseHigherRights(callerRights, rights, settings)
    const { name, role } = input
    return await insertKey(transaction, context, { name, role, ...rights, ...creatorOf(caller) })
  })
}

/** Absent fields keep their values. Throws 403 for what the caller may not grant, 409 for a revoked key, 412 for another version. */
export async function updateApiKey(
  db: Database,
  settings: KeySettings,
  context: RequestContext,
  id: string,
  change: ApiKeyChange,
  match: Match,
): Promise<void> {
  await asAdmin(db, settings, context, async (transaction, caller) => {
    const row = await getUnrevokedRow(transaction, context, id)
    refuseStale(row, match)
    const role = change.role ?? row.role
    refuseAdminKey(caller.role, row.role)
    refuseAdminKey(caller.role, role)
    if (role !== row.role) await refuseRoleAboveCreator(transaction, context, row, role)
    const before = parseLimits(row, settings) ?? {}
    const limits = changeLimits(before, change.limits, settings.keyLimitMax)
    refuseLimits(caller.role, before, limits)
    const expiresAt = parseExpiry(change.expires, context.now)
    const rights: Rights = { limits, expiresAt: expiresAt === undefined ? row.expires_at : expiresAt }
    const changesRights = change.role !== undefined || change.limits !== undefined || change.expires !== undefined
    if (caller.key && changesRights) refuseHigherRights(caller.key.rights, rights, settings)
    const limitsText = change.limits === undefined ? row.limits : stringifyLimits(limits)
    await updateKey(transaction, context, row, {
      name: change.name ?? row.name,
      role,
      expires_at: rights.expiresAt,
      limits: limitsText,
      limits_by: limitsText === null ? null : (row.limits_by ?? 'owner'),
    })
  })
}

/** Returns the new key, which is not stored. Throws 403 if the key has more rights than the caller, 409 for a revoked or expired key. */
export async function rotateApiKey(
  db: Database,
  settings: KeySettings,
  context: RequestContext,
  id: string,
  graceHours: number,
): Promise<string> {
  return await asAdmin(db, settings, context, async (transaction, caller) => {
    const row = await getUnrevokedRow(transaction, context, id)
    refuseAdminKey(caller.role, row.role)
    if (row.expires_at !== null && row.expires_at <= context.now) {
      throw conflict('This API key has expired. Change expires first, or create another key.')
    }
    if (caller.key) refuseHigherRights(caller.key.rights, rightsOf(row, settings), settings)
    const graceUntil = Math.min(context.now + graceHours * HOUR_MS, row.expires_at ?? Number.POSITIVE_INFINITY)
    const previousUntil = graceHours === 0 ? null : graceUntil
    const by = (await isCreatedBy(transaction, context, caller, row.id)) ? {} : { by: creatorOf(caller) }
    return await rotateKey(transaction, context, row, { previousUntil, ...by })
  })
}

/**
 * Whether the caller is the key, or a key that it created, also over others. It then does not become the creator: two keys that are each
 * other's would no longer be revoked with the key that created the first one.
 */
async function isCreatedBy(db: Database, context: RequestContext, { key }: KeyAdmin, id: string): Promise<boolean> {
  if (!key || key.id === id) return key !== undefined
  return (await findCreatedKeys(db, context, id)).some((created) => created.id === key.id)
}

/**
 * `created_keys`: whether the keys that it created are revoked too. Throws `not_found` also for a revoked key, 403 if only owners may
 * revoke one of them, 412 for another version.
 */
export async function revokeApiKey(
  db: Database,
  context: RequestContext,
  id: string,
  { created_keys }: ApiKeyRevocation,
  match: Match,
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, context.organizationId)
    const row = await getTenantRow(transaction, 'api_keys', context, id)
    refuseAdminKey(context.role, row.role)
    if (row.revoked_at !== null) throw notFound()
    await revokeKeyAndInvitations(transaction, context, id, match)
    if (created_keys !== 'revoke') return
    for (const created of await findCreatedKeys(transaction, context, id)) {
      refuseAdminKey(context.role, created.role)
      await revokeKeyAndInvitations(transaction, context, created.id)
    }
  })
}

/** Open invitations of the key end with it. Members that it invited before stay. Throws `not_found`, 412 for another version. */
export async function revokeKeyAndInvitations(
  db: Database,
  context: RequestContext,
  id: string,
  match?: Match,
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, context.organizationId)
    await revokeKey(transaction, context, id, match)
    await revokeInvitationsOfKey(transaction, context, id)
  })
}

/** For the operator, whom KEY_LIMIT_MAX does not bind. Returns all limits of the key. Throws `not_found`, 409 for a revoked key. */
export async function setKeyLimits(
  db: Database,
  settings: KeySettings,
  context: RequestContext,
  id: string,
  change: NewKeyLimits,
): Promise<KeyLimits> {
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, context.organizationId)
    const row = await getUnrevokedRow(transaction, context, id)
    const limits = changeLimits(parseLimits(row, settings) ?? {}, change, 0)
    const limitsText = stringifyLimits(limits)
    const { name, role, expires_at } = row
    const limits_by = limitsText === null ? null : 'operator'
    await updateKey(transaction, context, row, { name, role, expires_at, limits: limitsText, limits_by })
    return limits
  })
}

/** What a key may do: how often, and until when. */
type Rights = { limits: KeyLimits; expiresAt: number | null }

/** `agentId`: the agent or, if the caller is a key, the agent who created it. */
type KeyAdmin = { role: AgentRole; agentId: string | null; key?: { id: string; rights: Rights } }

/** Runs work under the organization's lock, so that nobody grants access while losing it. Throws 403. */
async function asAdmin<T>(
  db: Database,
  settings: KeySettings,
  context: RequestContext,
  work: (transaction: Database, caller: KeyAdmin) => Promise<T>,
): Promise<T> {
  const { actor, organizationId } = context
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId)
    const role = await findActorRole(transaction, context, actor.id)
    if (role !== 'admin' && role !== 'owner') throw forbidden('You can no longer change API keys.')
    if (actor.type !== 'key') return await work(transaction, { role, agentId: actor.id })
    const row = await getTenantRow(transaction, 'api_keys', context, actor.id)
    const key = { id: row.id, rights: rightsOf(row, settings) }
    return await work(transaction, { role, agentId: row.created_by, key })
  })
}

const rightsOf = (row: ApiKeyRow, settings: KeySettings): Rights => ({
  limits: parseLimits(row, settings) ?? {},
  expiresAt: row.expires_at,
})

const creatorOf = ({ agentId, key }: KeyAdmin) => ({ createdBy: agentId, createdByKey: key?.id })

async function getUnrevokedRow(db: Database, context: RequestContext, id: string): Promise<ApiKeyRow> {
  const row = await getTenantRow(db, 'api_keys', context, id)
  if (row.revoked_at !== null) throw conflict('This API key is revoked. Create another key.')
  return row
}

/** Undefined: the expiry stays. Throws 400 for a time in the past. */
function parseExpiry(text: string | null | undefined, now: number): number | null | undefined {
  if (text === null || text === undefined) return text
  const instant = parseTime('expires', text)
  if (instant > now) return instant
  throw invalid({ expires: fieldError('not_in_future') })
}

/** An absent limit stays, null removes it. `max`: 0 for any. Throws 400 for a limit that only the operator can set. */
function changeLimits(before: KeyLimits, change: NewKeyLimits | null | undefined, max: number): KeyLimits {
  if (change === undefined) return before
  if (change === null) return {}
  const errors: FieldErrors = {}
  const limits = { ...before }
  for (const [name, limit] of Object.entries(change)) {
    const kind = name as KeyLimit
    if (limit === null) delete limits[kind]
    else if (max !== 0 && (limit === 0 || limit > max) && limit !== before[kind]) {
      errors[`limits.${kind}`] = fieldError('above_key_limit', { max, given: limit })
    } else limits[kind] = limit!
  }
  throwIfInvalid(errors)
  return limits
}

/** Throws 403. */
function refuseAdminKey(callerRole: AgentRole, role: KeyRole): void {
  if (role !== 'admin' || callerRole === 'owner') return
  throw forbidden('Only owners can create, change and revoke keys with the role admin.')
}

/** Throws 403. */
function refuseLimits(callerRole: AgentRole, before: KeyLimits, after: KeyLimits): void {
  if (callerRole === 'owner' || stringifyLimits(before) === stringifyLimits(after)) return
  throw forbidden('Only owners can change the limits of API keys. Ask an owner of the organization.')
}

/** A key may not exceed the role of the agent who created it. Throws 409. */
async function refuseRoleAboveCreator(
  db: Database,
  context: RequestContext,
  { created_by }: ApiKeyRow,
  role: KeyRole,
): Promise<void> {
  const agentRole = created_by === null ? undefined : await findActorRole(db, context, created_by)
  if (agentRole === undefined || KEY_ROLE_RANKS[role] <= KEY_ROLE_RANKS[HIGHEST_KEY_ROLE[agentRole]]) return
  throw conflict(
    `The agent who created this API key has the role ${agentRole}, so the key can have at most the role ${HIGHEST_KEY_ROLE[agentRole]}. Create another key.`,
  )
}

/** No key grants another key more than it has itself: the other key would outlive it. Throws 403. */
function refuseHigherRights(callerRights: Rights, rights: Rights, { limits }: KeySettings): void {
  const rate = ({ limit }: Budget) => (limit === 0 ? Number.POSITIVE_INFINITY : limit)
  for (const kind of KEY_LIMITS) {
    const callerBudget = budgetOf(kind, limits, callerRights.limits)
    const budget = budgetOf(kind, limits, rights.limits)
    // A separate window adds to the window in which the class is otherwise counted.
    const isSeparate = budget.kind === kind && callerBudget.kind !== kind
    const max = isSeparate && callerBudget.limit !== 0 ? 0 : rate(callerBudget)
    if (rate(budget) <= max) continue
    throw forbidden(
      `An API key cannot give another key more than it has itself: limits.${kind} of the key ${isSeparate ? 'is not set' : `is ${max}`}. Use a lower limit, or sign in to the dashboard.`,
    )
  }
  const { expiresAt } = callerRights
  if (expiresAt !== null && (rights.expiresAt === null || rights.expiresAt > expiresAt)) {
    throw forbidden(
      'An API key cannot give another key more than it has itself: the other key must not expire later. Use an earlier time in expires, or sign in to the dashboard.',
    )
  }
}
