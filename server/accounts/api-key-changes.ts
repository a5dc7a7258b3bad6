import type { AgentRole } from '#contract/agents.ts'
import { type ApiKeyChange, HIGHEST_KEY_ROLE, type NewApiKey, type NewKeyLimits } from '#contract/api-keys.ts'
import { fieldError } from '#contract/field-errors.ts'
import type { RequestContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { getTenantRow, lockOrganization } from '../database/tenant-row.ts'
import { type Match, refuseStale } from '../database/versions.ts'
import type { OwnLimits } from '../http/limits.ts'
import { conflict, forbidden, invalid, notFound } from '../problem.ts'
import { parseTime } from '../times.ts'
import {
  changedLimits,
  ownLimits,
  type Rights,
  refuseMoreThan,
  type ServerLimits,
  storedLimits,
} from './api-key-limits.ts'
import { type ApiKeyRow, insertKey, type KeyRole, RANKS, revokeKey, rotateKey, updateKey } from './api-keys.ts'
import { findActorRole } from './memberships.ts'

const HOUR_MS = 60 * 60_000

/** Returns the key's id and the key itself, which is not kept. Throws 403 for what the caller cannot give. */
export async function createApiKey(
  db: Database,
  server: ServerLimits,
  context: RequestContext,
  given: NewApiKey,
): Promise<{ id: string; key: string }> {
  return await asAdmin(db, server, context, async (transaction, maker) => {
    refuseAdminKey(maker.role, given.role)
    const own = maker.key?.rights
    const limits = changedLimits(own?.limits ?? {}, given.limits, server.keyLimitMax)
    refuseLimits(maker.role, own?.limits ?? {}, limits)
    const expiresAt = expiryOf(given.expires, context.now)
    const rights: Rights = { limits, expiresAt: expiresAt === undefined ? (own?.expiresAt ?? null) : expiresAt }
    if (own) refuseMoreThan(own, rights, server)
    return await insertKey(transaction, context, {
      ...{ name: given.name, role: given.role, ...rights },
      ...issuedBy(maker),
    })
  })
}

/** What is absent stays. Throws 403 for what the caller cannot give, 409 for a revoked key, 412 for another version. */
export async function changeApiKey(
  db: Database,
  server: ServerLimits,
  context: RequestContext,
  id: string,
  given: ApiKeyChange,
  match: Match,
): Promise<void> {
  await asAdmin(db, server, context, async (transaction, maker) => {
    const row = await getLiveRow(transaction, context, id)
    refuseStale(row, match)
    const role = given.role ?? row.role
    refuseAdminKey(maker.role, row.role)
    refuseAdminKey(maker.role, role)
    if (role !== row.role) await refuseMoreThanAgent(transaction, context, row, role)
    const before = ownLimits(row, server) ?? {}
    const limits = changedLimits(before, given.limits, server.keyLimitMax)
    refuseLimits(maker.role, before, limits)
    const expiresAt = expiryOf(given.expires, context.now)
    const rights: Rights = { limits, expiresAt: expiresAt === undefined ? row.expires_at : expiresAt }
    const givesRights = given.role !== undefined || given.limits !== undefined || given.expires !== undefined
    if (maker.key && givesRights) refuseMoreThan(maker.key.rights, rights, server)
    const stored = given.limits === undefined ? row.limits : storedLimits(limits)
    await updateKey(transaction, context, row, {
      name: given.name ?? row.name,
      role,
      expires_at: rights.expiresAt,
      limits: stored,
      limits_by: stored === null ? null : (row.limits_by ?? 'owner'),
    })
  })
}

/** Returns the new key, which is not kept. Throws 403 where the key is more than the caller can have, 409 for one that has ended. */
export async function rotateApiKey(
  db: Database,
  server: ServerLimits,
  context: RequestContext,
  id: string,
  graceHours: number,
): Promise<string> {
  return await asAdmin(db, server, context, async (transaction, maker) => {
    const row = await getLiveRow(transaction, context, id)
    refuseAdminKey(maker.role, row.role)
    if (row.expires_at !== null && row.expires_at <= context.now) {
      throw conflict('This API key has expired. Change expires first, or create another key.')
    }
    if (maker.key) {
      refuseMoreThan(maker.key.rights, { limits: ownLimits(row, server) ?? {}, expiresAt: row.expires_at }, server)
    }
    const previousUntil = graceHours === 0 ? null : context.now + graceHours * HOUR_MS
    const isItself = maker.key?.id === row.id
    return await rotateKey(transaction, context, row, {
      previousUntil,
      ...(isItself ? {} : { by: issuedBy(maker) }),
    })
  })
}

/** Throws `not_found` for a revoked key too, 403 where only owners revoke it, 412 for another version. */
export async function revokeApiKey(db: Database, context: RequestContext, id: string, match: Match): Promise<void> {
  const row = await getTenantRow(db, 'api_keys', context, id)
  refuseAdminKey(context.role, row.role)
  if (row.revoked_at !== null) throw notFound()
  await revokeKey(db, context, id, match)
}

/** By the operator, whom KEY_LIMIT_MAX does not bind. Returns all limits that the key then has. Throws `not_found`, 409 for a revoked key. */
export async function setLimitsOf(
  db: Database,
  server: ServerLimits,
  context: RequestContext,
  id: string,
  given: NewKeyLimits,
): Promise<OwnLimits> {
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, context.organizationId)
    const row = await getLiveRow(transaction, context, id)
    const limits = changedLimits(ownLimits(row, server) ?? {}, given, 0)
    const { name, role, expires_at } = row
    const stored = storedLimits(limits)
    const change = { name, role, expires_at, limits: stored, limits_by: stored === null ? null : ('operator' as const) }
    await updateKey(transaction, context, row, change)
    return limits
  })
}

/** Who makes or changes a key. `agent`: of a key, the agent whose key it is. */
type Maker = {
  role: AgentRole
  agent: string | null
  /** Where it is a key. */
  key?: { id: string; rights: Rights }
}

/** One transaction under the organization's lock, so that nobody gives access while losing it. Throws 403. */
async function asAdmin<T>(
  db: Database,
  server: ServerLimits,
  context: RequestContext,
  work: (transaction: Database, maker: Maker) => Promise<T>,
): Promise<T> {
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, context.organizationId)
    const role = await findActorRole(transaction, context, context.actor.id)
    if (role !== 'admin' && role !== 'owner') throw forbidden('You can no longer change API keys.')
    if (context.actor.type !== 'key') return await work(transaction, { role, agent: context.actor.id })
    const row = await getTenantRow(transaction, 'api_keys', context, context.actor.id)
    const rights = { limits: ownLimits(row, server) ?? {}, expiresAt: row.expires_at }
    return await work(transaction, {
      ...{ role, agent: row.created_by, key: { id: row.id, rights } },
    })
  })
}

const issuedBy = ({ agent, key }: Maker) => ({ createdBy: agent, createdByKey: key?.id })

async function getLiveRow(db: Database, context: RequestContext, id: string): Promise<ApiKeyRow> {
  const row = await getTenantRow(db, 'api_keys', context, id)
  if (row.revoked_at !== null) throw conflict('This API key is revoked. Create another key.')
  return row
}

/** Undefined: stays. Throws 400 for what is not in the future. */
function expiryOf(text: string | null | undefined, now: number): number | null | undefined {
  if (text === null || text === undefined) return text
  const instant = parseTime('expires', text)
  if (instant > now) return instant
  throw invalid({ expires: fieldError('not_in_future') })
}

/** Throws 403. */
function refuseAdminKey(by: AgentRole, role: KeyRole): void {
  if (role !== 'admin' || by === 'owner') return
  throw forbidden('Only owners can create, change and revoke keys with the role admin.')
}

/** Throws 403. */
function refuseLimits(by: AgentRole, before: Rights['limits'], after: Rights['limits']): void {
  if (by === 'owner' || storedLimits(before) === storedLimits(after)) return
  throw forbidden('Only owners can change the limits of API keys. Ask an owner of the organization.')
}

/** The keys of an agent are limited to the role of the agent. Throws 409. */
async function refuseMoreThanAgent(
  db: Database,
  context: RequestContext,
  { created_by }: ApiKeyRow,
  role: KeyRole,
): Promise<void> {
  const agent = created_by === null ? undefined : await findActorRole(db, context, created_by)
  if (agent === undefined || RANKS[role] <= RANKS[HIGHEST_KEY_ROLE[agent]]) return
  throw conflict(
    `The agent who created this API key has the role ${agent}, so the key can have at most the role ${HIGHEST_KEY_ROLE[agent]}. Create another key.`,
  )
}
