import type { KeyLimit } from '#contract/api-keys.ts'
import { plural } from '#contract/wording.ts'
import { WRITE_METHODS } from './methods.ts'

/** Every API key, and every user of the dashboard, has a separate window for each class. */
export type LimitClass = KeyLimit | 'dashboard' | 'setup_page'
/** Requests per minute; 0: no limit. Null: the class counts as its fallback. */
export type Limits = Record<Exclude<LimitClass, OptionalClass>, number> & Record<OptionalClass, number | null>
/** The limits that one API key has instead of those of the server. */
export type KeyLimits = Partial<Record<KeyLimit, number>>

type OptionalClass = 'page' | 'check'
const FALLBACK = { page: 'read', check: 'write' } as const

/** `isKeyLimit`: the API key has this limit instead of that of the server. */
export type Budget = { kind: LimitClass; limit: number; isKeyLimit: boolean }

/** The class that a request is counted in, and its limit. */
export function budgetOf(kind: LimitClass, limits: Limits, keyLimits: KeyLimits = {}): Budget {
  const keyLimit = kind === 'dashboard' || kind === 'setup_page' ? undefined : keyLimits[kind]
  if (keyLimit !== undefined) return { kind, limit: keyLimit, isKeyLimit: true }
  const limit = limits[kind]
  if (limit !== null) return { kind, limit, isKeyLimit: false }
  return budgetOf(FALLBACK[kind as OptionalClass], limits, keyLimits)
}

/** All keys of an organization together have this many times the limit of the one that sends the request. */
export const ORGANIZATION_FACTOR = 10

export const WINDOW_MS = 60_000

/** A bucket after a request. Instants in UTC epoch milliseconds. */
export type LimitStatus = {
  limit: number
  remaining: number
  /** When the oldest counted request leaves the window. */
  resetAt: number
  isRefused: boolean
}

/** `counted`: what the request is counted by. */
export type CountedBudget = Budget & { counted: 'key' | 'user' | 'address' | 'organization' }

/** The message of a 429. */
export function limitReached(budget: CountedBudget, limit: number, seconds: number): string {
  return `${limitText(budget, limit)} ${tryAgainIn(seconds)}`
}

function limitText({ kind, counted, isKeyLimit }: CountedBudget, limit: number): string {
  if (kind === 'setup_page')
    return `The rate limit of setup pages is reached: ${limit} per minute for each address. The operator of the server can raise SETUP_PAGE_LIMIT.`
  if (kind === 'dashboard') {
    return counted === 'user'
      ? `The rate limit of the dashboard is reached: ${limit} per minute for each user. The operator of the server can raise DASHBOARD_LIMIT.`
      : `The rate limit for requests without sign-in is reached: ${limit} per minute for each address. The operator of the server can raise DASHBOARD_LIMIT.`
  }
  const { requests, setting } = KEY_CLASSES[kind]
  if (counted === 'organization')
    return `The rate limit of the organization for ${requests} is reached: ${limit} per minute for all of its API keys, ${ORGANIZATION_FACTOR} times the limit of this key. The operator of the server can raise ${setting}.`
  if (isKeyLimit)
    return `The limit of this API key for ${requests} is reached: ${limit} per minute. An owner of the organization can raise limits.${kind} of the key.`
  return counted === 'key'
    ? `The rate limit for ${requests} is reached: ${limit} per minute for each API key. The operator of the server can raise ${setting}.`
    : `The rate limit for ${requests} without a valid API key is reached: ${limit} per minute for each address. Check the API key, or ask the operator of the server to raise ${setting}.`
}

const KEY_CLASSES: Record<KeyLimit, { requests: string; setting: string }> = {
  read: { requests: 'reads (GET, HEAD)', setting: 'READ_LIMIT' },
  page: { requests: 'further pages of lists', setting: 'PAGE_LIMIT' },
  write: { requests: 'writes (POST, PUT, PATCH, DELETE)', setting: 'WRITE_LIMIT' },
  create: { requests: 'requests that create monitors', setting: 'CREATE_LIMIT' },
  check: { requests: 'checks on demand', setting: 'CHECK_LIMIT' },
}

export const tryAgainIn = (seconds: number): string =>
  plural(seconds, 'Try again in 1 second.', (count) => `Try again in ${count} seconds.`)

/** Whole seconds from `now` to an instant, at least 1: a value for `Retry-After`. */
export const secondsUntil = (instant: number, now: number): number => Math.max(1, Math.ceil((instant - now) / 1_000))

const CLASS_BY_ROUTE: Record<string, KeyLimit> = {
  'POST /monitors': 'create',
  'POST /monitors/bulk': 'create',
  'PUT /monitors/external/:external_id': 'create',
  'POST /zones': 'create',
  'POST /zones/bulk': 'create',
  'POST /monitors/:monitor/check': 'check',
  'POST /zones/:zone/check': 'check',
}

/** `route`: the registered path; undefined for an unknown one. A `query` with a cursor reads a further page. */
export function classOf(method: string, route: string | undefined, query: unknown): KeyLimit {
  if (WRITE_METHODS.has(method)) return CLASS_BY_ROUTE[`${method} ${route}`] ?? 'write'
  const { after, before } = (query ?? {}) as Record<string, unknown>
  return after === undefined && before === undefined ? 'read' : 'page'
}

/** The number that means "no limit". Fits into a signed 32-bit integer. */
export const UNLIMITED = 2_147_483_647

export const unlimitedStatus = (now: number): LimitStatus => ({
  limit: UNLIMITED,
  remaining: UNLIMITED,
  resetAt: now,
  isRefused: false,
})

/** The three headers of every response. With a refusal, the reset is exactly `Retry-After` seconds from now. */
export function limitHeaders(status: LimitStatus, now: number): Record<string, string> {
  const reset = status.isRefused
    ? Math.floor(now / 1_000) + secondsUntil(status.resetAt, now)
    : Math.floor(status.resetAt / 1_000)
  return {
    'x-ratelimit-limit': String(status.limit),
    'x-ratelimit-remaining': String(status.remaining),
    'x-ratelimit-reset': String(reset),
  }
}
