import type { AgentRole } from '#contract/agents.ts'
import { type ApiKey, HIGHEST_KEY_ROLE, KEY_LIMITS, type KeyLimit, type NewKeyLimits } from '#contract/api-keys.ts'

export type KeyRole = ApiKey['role']

export const KEY_ROLES: Record<KeyRole, { label: string; hint: string }> = {
  read: { label: 'Read', hint: 'Read-only access.' },
  write: { label: 'Write', hint: 'Also creates and changes monitors, groups and webhooks.' },
  admin: {
    label: 'Admin',
    hint: 'Full access, including billing. Only owners can create, change and revoke these keys.',
  },
}

export type KeyCondition = 'live' | 'expired' | 'revoked'

export function keyCondition({ revoked, expires }: Pick<ApiKey, 'revoked' | 'expires'>, now: number): KeyCondition {
  if (revoked !== null) return 'revoked'
  return expires !== null && Date.parse(expires) <= now ? 'expired' : 'live'
}

const DAY_MS = 86_400_000
export const EXPIRY_OPTIONS = [
  { value: '', label: 'Never' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In 1 year' },
]

/** `days` as in EXPIRY_OPTIONS. Null means never. */
export const expiryOf = (days: string, now: number): string | null =>
  days === '' ? null : new Date(now + Number(days) * DAY_MS).toISOString()

/** Hours for which the old key works after a rotation. */
export const GRACE_OPTIONS = [
  { value: '0', label: 'None. The old key stops working at once' },
  { value: '1', label: '1 hour' },
  { value: '24', label: '24 hours' },
  { value: '72', label: '3 days' },
  { value: '168', label: '7 days' },
]

export const LIMIT_LABELS: Record<KeyLimit, string> = {
  read: 'Reads',
  page: 'Further pages of lists',
  write: 'Writes',
  create: 'Monitor creations',
  check: 'Checks on demand',
}

/** The fields that show their own errors. */
export const KEY_FIELDS = ['name', 'role', 'expires', ...KEY_LIMITS.map((kind) => `limits.${kind}`)]

/** The limits as text. Empty means the limit of the server. */
export type LimitTexts = Record<KeyLimit, string>

const limitTextsBy = (text: (kind: KeyLimit) => string) =>
  Object.fromEntries(KEY_LIMITS.map((kind) => [kind, text(kind)])) as LimitTexts

export const NO_LIMIT_TEXTS = limitTextsBy(() => '')
export const limitTextsOf = (limits: ApiKey['limits']): LimitTexts =>
  limitTextsBy((kind) => (limits[kind] === null ? '' : String(limits[kind])))

/** The changed limits. Text that is not a number is sent unchanged, so that the API reports the error. */
export function limitChanges(before: LimitTexts, texts: LimitTexts): NewKeyLimits {
  const changed = KEY_LIMITS.filter((kind) => before[kind].trim() !== texts[kind].trim())
  return Object.fromEntries(changed.map((kind) => [kind, parseLimit(texts[kind].trim())]))
}

const parseLimit = (text: string) => (text === '' ? null : /^\d+$/.test(text) ? Number(text) : text) as number | null

/** "300 reads, 600 further pages of lists per minute"; undefined if the key has no own limits. */
export function limitsSentence(limits: ApiKey['limits']): string | undefined {
  const own = KEY_LIMITS.filter((kind) => limits[kind] !== null)
  if (own.length === 0) return undefined
  const parts = own.map(
    (kind) => `${limits[kind] === 0 ? 'unlimited' : limits[kind]} ${LIMIT_LABELS[kind].toLowerCase()}`,
  )
  return `${parts.join(', ')} per minute`
}

/** An example request with the key. */
export const curlOf = (key: string, baseUrl: string): string =>
  `curl -H 'X-Api-Key: ${key}' '${baseUrl.replace(/\/$/, '')}/monitors'`

/** The live keys that a key created, and those that they created. */
export function createdKeys(id: string, keys: readonly ApiKey[]): ApiKey[] {
  return keys
    .filter((key) => key.created_by_key_id === id)
    .flatMap((key) => [...(key.revoked === null ? [key] : []), ...createdKeys(key.id, keys)])
}

const RANKS: readonly KeyRole[] = ['read', 'write', 'admin']

/** Live keys of an agent that lose permissions with the new role. Null: the agent is removed. */
export function affectedKeys(keys: readonly ApiKey[], agentId: string, role: AgentRole | null, now: number): ApiKey[] {
  const live = keys.filter((key) => key.created_by_id === agentId && keyCondition(key, now) === 'live')
  return role === null ? live : live.filter((key) => RANKS.indexOf(key.role) > RANKS.indexOf(HIGHEST_KEY_ROLE[role]))
}
