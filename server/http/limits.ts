/** A request is counted in one class: each API key, and in the dashboard each person, has a window of its own for each of them. */
export type LimitClass = 'read' | 'write' | 'create' | 'dashboard'
/** Requests per minute; 0 = no limit. */
export type Limits = Record<LimitClass, number>

/** What is counted in each class, and the setting with which an operator changes how much. */
const COUNTED: Record<LimitClass, { what: string; setting: string }> = {
  read: { what: 'reads (GET, HEAD)', setting: 'READ_LIMIT' },
  write: { what: 'writes (POST, PUT, PATCH, DELETE)', setting: 'WRITE_LIMIT' },
  create: { what: 'requests that create monitors', setting: 'CREATE_LIMIT' },
  dashboard: { what: 'requests', setting: 'DASHBOARD_LIMIT' },
}

export type Counted = { kind: LimitClass; whose: 'with one API key' | 'without a valid API key' | 'of one user' }

/** The sentence of a 429. */
export function limitReached({ kind, whose }: Counted, { limit }: Standing, seconds: number): string {
  const { what, setting } = COUNTED[kind]
  const wait = `${seconds} ${seconds === 1 ? 'second' : 'seconds'}`
  return `Too many requests: the limit for ${what} ${whose} is ${limit} per minute. Try again in ${wait}, or ask the operator of the server to raise ${setting}.`
}

export const WINDOW_MS = 60_000

/** How a bucket stands after a request. Instants in UTC epoch milliseconds. */
export type Standing = {
  limit: number
  /** Requests left in the window. */
  remaining: number
  /** When the oldest counted request leaves the window. */
  freeAt: number
  isRefused: boolean
}

const CREATING = new Set(['/monitors', '/monitors/bulk'])
const WRITING = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** `route`: as registered; undefined where there is none. */
export function classOf(method: string, route: string | undefined): LimitClass {
  if (!WRITING.has(method)) return 'read'
  return method === 'POST' && route !== undefined && CREATING.has(route) ? 'create' : 'write'
}

/** What stands for "no limit": a number that no client reaches and that every client's integers can hold. */
const UNLIMITED = 2_147_483_647

export const unlimited = (now: number): Standing => ({
  limit: UNLIMITED,
  remaining: UNLIMITED,
  freeAt: now,
  isRefused: false,
})

/** Whole seconds after which a refused request can be sent again: at least 1. */
export function secondsToWait({ freeAt }: Pick<Standing, 'freeAt'>, now: number): number {
  return Math.max(1, Math.ceil((freeAt - now) / 1_000))
}

/**
 * The three headers of every response. `Reset` is the second in which the oldest counted request leaves the window; with
 * a refusal it is now plus `Retry-After`, so that both state the same number.
 */
export function limitHeaders(standing: Standing, now: number): Record<string, string> {
  const second = Math.floor(now / 1_000)
  const reset = standing.isRefused ? second + secondsToWait(standing, now) : Math.floor(standing.freeAt / 1_000)
  return {
    'x-ratelimit-limit': String(standing.limit),
    'x-ratelimit-remaining': String(standing.remaining),
    'x-ratelimit-reset': String(reset),
  }
}
