import type { ApiKey } from '#contract/account.ts'

export type KeyRole = ApiKey['role']

export const KEY_ROLES: Record<KeyRole, { label: string; hint: string }> = {
  read: { label: 'Read', hint: 'Reads everything, changes nothing.' },
  write: { label: 'Write', hint: 'Also makes and changes monitors, groups and webhooks.' },
  admin: { label: 'Admin', hint: 'Everything the API offers, billing included. Only owners make such keys.' },
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
  { value: '365', label: 'In a year' },
]

/** `days` as in EXPIRIES; null: never. */
export const expiryOf = (days: string, now: number): string | null =>
  days === '' ? null : new Date(now + Number(days) * DAY_MS).toISOString()

/** A first call with the key, for a shell. */
export const curlOf = (key: string, baseUrl: string): string =>
  `curl -H 'X-Api-Key: ${key}' '${baseUrl.replace(/\/$/, '')}/monitors'`
