import type { KeyLimit } from '#contract/api-keys.ts'
import { plural } from '#contract/wording.ts'

/** A request is counted in one class: each API key, and in the dashboard each person, has a window of its own for each of them. */
export type LimitClass = KeyLimit | 'dashboard' | 'setup_page'
/** Requests per minute; 0 = no limit. Null: counted in the class of `INSTEAD`. */
export type Limits = Record<Exclude<LimitClass, Optional>, number> & Record<Optional, number | null>
/** Those that one API key has of its own. */
export type OwnLimits = Partial<Record<KeyLimit, number>>

/** The class whose window a request takes a place of, where its own has no limit. */
type Optional = 'page' | 'check'
const INSTEAD = { page: 'read', check: 'write' } as const

/** `isOwn`: the limit is that of the API key itself. */
export type Budget = { kind: LimitClass; limit: number; isOwn: boolean }

/** What a request of this class is counted in. */
export function budgetOf(kind: LimitClass, limits: Limits, own: OwnLimits = {}): Budget {
  const ownLimit = kind === 'dashboard' || kind === 'setup_page' ? undefined : own[kind]
  if (ownLimit !== undefined) return { kind, limit: ownLimit, isOwn: true }
  const limit = limits[kind]
  if (limit !== null) return { kind, limit, isOwn: false }
  return budgetOf(INSTEAD[kind as Optional], limits, own)
}

/** `isKnown`: an API key or a person is counted; otherwise the address that the request comes from. */
export type Counted = Budget & { isKnown: boolean }

const LIMIT_SENTENCES: Record<LimitClass, { known(limit: number): string; unknown(limit: number): string }> = {
  read: {
    known: (limit) =>
      `The rate limit for reads (GET, HEAD) is reached: ${limit} per minute for each API key. The operator of the server can raise READ_LIMIT.`,
    unknown: (limit) =>
      `The rate limit for reads (GET, HEAD) without a valid API key is reached: ${limit} per minute for each address. Check the API key, or ask the operator of the server to raise READ_LIMIT.`,
  },
  page: {
    known: (limit) =>
      `The rate limit for further pages of lists is reached: ${limit} per minute for each API key. The operator of the server can raise PAGE_LIMIT.`,
    unknown: (limit) =>
      `The rate limit for further pages of lists without a valid API key is reached: ${limit} per minute for each address. Check the API key, or ask the operator of the server to raise PAGE_LIMIT.`,
  },
  write: {
    known: (limit) =>
      `The rate limit for writes (POST, PUT, PATCH, DELETE) is reached: ${limit} per minute for each API key. The operator of the server can raise WRITE_LIMIT.`,
    unknown: (limit) =>
      `The rate limit for writes (POST, PUT, PATCH, DELETE) without a valid API key is reached: ${limit} per minute for each address. Check the API key, or ask the operator of the server to raise WRITE_LIMIT.`,
  },
  create: {
    known: (limit) =>
      `The rate limit for requests that create monitors is reached: ${limit} per minute for each API key. The operator of the server can raise CREATE_LIMIT.`,
    unknown: (limit) =>
      `The rate limit for requests that create monitors without a valid API key is reached: ${limit} per minute for each address. Check the API key, or ask the operator of the server to raise CREATE_LIMIT.`,
  },
  check: {
    known: (limit) =>
      `The rate limit for checks on demand is reached: ${limit} per minute for each API key. The operator of the server can raise CHECK_LIMIT.`,
    unknown: (limit) =>
      `The rate limit for checks on demand without a valid API key is reached: ${limit} per minute for each address. Check the API key, or ask the operator of the server to raise CHECK_LIMIT.`,
  },
  dashboard: {
    known: (limit) =>
      `The rate limit of the dashboard is reached: ${limit} per minute for each user. The operator of the server can raise DASHBOARD_LIMIT.`,
    unknown: (limit) =>
      `The rate limit for requests without sign-in is reached: ${limit} per minute for each address. The operator of the server can raise DASHBOARD_LIMIT.`,
  },
  setup_page: { known: setupPageSentence, unknown: setupPageSentence },
}

/** Of an API key that has the limit of its own. */
const OWN_LIMIT_SENTENCES: Record<KeyLimit, (limit: number) => string> = {
  read: (limit) =>
    `The limit of this API key for reads (GET, HEAD) is reached: ${limit} per minute. An owner of the organization can raise limits.read of the key.`,
  page: (limit) =>
    `The limit of this API key for further pages of lists is reached: ${limit} per minute. An owner of the organization can raise limits.page of the key.`,
  write: (limit) =>
    `The limit of this API key for writes (POST, PUT, PATCH, DELETE) is reached: ${limit} per minute. An owner of the organization can raise limits.write of the key.`,
  create: (limit) =>
    `The limit of this API key for requests that create monitors is reached: ${limit} per minute. An owner of the organization can raise limits.create of the key.`,
  check: (limit) =>
    `The limit of this API key for checks on demand is reached: ${limit} per minute. An owner of the organization can raise limits.check of the key.`,
}

/** The person who opens a setup page has no account. */
function setupPageSentence(limit: number): string {
  return `The rate limit of setup pages is reached: ${limit} per minute for each address. The operator of the server can raise SETUP_PAGE_LIMIT.`
}

/** Why a request is refused, and when to send it again. `Retry-After` and `X-RateLimit-Limit` have the numbers. */
export function limitReached({ kind, isKnown, isOwn }: Counted, { limit }: LimitStatus, seconds: number): string {
  if (isOwn) return `${OWN_LIMIT_SENTENCES[kind as KeyLimit](limit)} ${tryAgainIn(seconds)}`
  const { known, unknown } = LIMIT_SENTENCES[kind]
  return `${isKnown ? known(limit) : unknown(limit)} ${tryAgainIn(seconds)}`
}

export const tryAgainIn = (seconds: number): string =>
  plural(seconds, 'Try again in 1 second.', (count) => `Try again in ${count} seconds.`)

export const WINDOW_MS = 60_000

/** How a bucket stands after a request. Instants in UTC epoch milliseconds. */
export type LimitStatus = {
  limit: number
  /** Requests left in the window. */
  remaining: number
  /** When the oldest counted request leaves the window. */
  freeAt: number
  isRefused: boolean
}

const CLASSES: Record<string, KeyLimit> = {
  'POST /monitors': 'create',
  'POST /monitors/bulk': 'create',
  'PUT /monitors/external/:external_id': 'create',
  'POST /monitors/:monitor/check': 'check',
}
const WRITING = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** `route`: as registered; undefined where there is none. `query`: a list is continued with a cursor. */
export function classOf(method: string, route: string | undefined, query: unknown): KeyLimit {
  if (WRITING.has(method)) return CLASSES[`${method} ${route}`] ?? 'write'
  const { after, before } = (query ?? {}) as Record<string, unknown>
  return after === undefined && before === undefined ? 'read' : 'page'
}

/** What stands for "no limit": a number that no client reaches and that every client's integers can hold. */
const UNLIMITED = 2_147_483_647

export const unlimited = (now: number): LimitStatus => ({
  limit: UNLIMITED,
  remaining: UNLIMITED,
  freeAt: now,
  isRefused: false,
})

/** Whole seconds after which a refused request can be sent again: at least 1. */
export function secondsToWait({ freeAt }: Pick<LimitStatus, 'freeAt'>, now: number): number {
  return Math.max(1, Math.ceil((freeAt - now) / 1_000))
}

/**
 * The three headers of every response. `Reset` is the second in which the oldest counted request leaves the window; with
 * a refusal it is now plus `Retry-After`, so that both state the same number.
 */
export function limitHeaders(standing: LimitStatus, now: number): Record<string, string> {
  const second = Math.floor(now / 1_000)
  const reset = standing.isRefused ? second + secondsToWait(standing, now) : Math.floor(standing.freeAt / 1_000)
  return {
    'x-ratelimit-limit': String(standing.limit),
    'x-ratelimit-remaining': String(standing.remaining),
    'x-ratelimit-reset': String(reset),
  }
}
