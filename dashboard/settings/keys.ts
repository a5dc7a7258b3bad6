import { type ApiKey, HIGHEST_KEY_ROLE } from '#contract/account.ts'
import type { AgentRole } from '#contract/agents.ts'

export type KeyRole = ApiKey['role']

export const KEY_ROLES: Record<KeyRole, { label: string; hint: string }> = {
  read: { label: 'Read', hint: 'Read-only access.' },
  write: { label: 'Write', hint: 'Also creates and changes monitors, groups and webhooks.' },
  admin: {
    label: 'Admin',
    hint: 'Full access, including billing. Only owners can create and revoke these keys.',
  },
}

export type KeyCondition = 'live' | 'expired' | 'revoked'

export function conditionOf({ revoked, expires }: Pick<ApiKey, 'revoked' | 'expires'>, now: number): KeyCondition {
  if (revoked !== null) return 'revoked'
  return expires !== null && Date.parse(expires) <= now ? 'expired' : 'live'
}

const DAY_MS = 86_400_000
export const EXPIRIES = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In 1 year' },
]

/** `days` as in EXPIRIES; null: never. */
export const expiryOf = (days: string, now: number): string | null =>
  days === '' ? null : new Date(now + Number(days) * DAY_MS).toISOString()

/** A first call with the key, for a shell. */
export const curlOf = (key: string, baseUrl: string): string =>
  `curl -H 'X-Api-Key: ${key}' '${baseUrl.replace(/\/$/, '')}/monitors'`

const RANKS: readonly KeyRole[] = ['read', 'write', 'admin']

/** Live keys of an agent that end or may do less once the agent has this role; null: once the agent is removed. */
export function keysThatChange(
  keys: readonly ApiKey[],
  agentId: string,
  role: AgentRole | null,
  now: number,
): ApiKey[] {
  const live = keys.filter((key) => key.created_by_id === agentId && conditionOf(key, now) === 'live')
  return role === null ? live : live.filter((key) => RANKS.indexOf(key.role) > RANKS.indexOf(HIGHEST_KEY_ROLE[role]))
}
