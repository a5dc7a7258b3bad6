import { useSyncExternalStore } from 'react'

/** Whether the displayed data can be current. `lastResponseAt`: when the server last sent anything, epoch milliseconds. */
export type Connection = { isLost: boolean; isOffline: boolean; lastResponseAt: number; problem: string }

const UPDATE_INTERVAL_MS = 1_000
/** The stream sends a beat more often than this. After a longer silence, a ping asks the server. */
const PING_AFTER_MS = 7_000
const PING_INTERVAL_MS = 3_000
const PING_TIMEOUT_MS = 4_000
/** A restart takes less than this, and is not shown. */
const FAILURE_GRACE_MS = 5_000
/** After this silence the connection is lost. */
export const SILENCE_LIMIT_MS = 12_000
/** Longer gaps between updates mean that the page was suspended: a closed laptop, or a tab in the background. */
const SUSPENDED_MS = 5_000

const NO_RESPONSE = 'The server does not respond.'

let lastResponseAt = Date.now()
let quietSince = lastResponseAt
let updatedAt = lastResponseAt
let failing: { since: number; problem: string } | undefined
let current: Connection = { isLost: false, isOffline: false, lastResponseAt, problem: '' }
const listeners = new Set<() => void>()

/** Call it for every response. 502, 503 and 504 are failures: a proxy without a server, or a server without its database. */
export function recordResponse(status: number, message?: string): void {
  if (status === 502 || status === 503 || status === 504) recordFailure(message ?? `The server returns HTTP ${status}.`)
  else recordActivity()
}

export function recordActivity(): void {
  lastResponseAt = Date.now()
  quietSince = lastResponseAt
  failing = undefined
  if (current.isLost) update()
}

export function recordFailure(problem = NO_RESPONSE): void {
  failing = { since: failing?.since ?? Date.now(), problem }
}

let pending: Promise<boolean> | undefined
let pingedAt = 0

/** Sends a request that needs the database, as every page does. Resolves with whether the server responds. */
export function pingServer(): Promise<boolean> {
  pingedAt = Date.now()
  pending ??= ping().finally(() => {
    pending = undefined
    update()
  })
  return pending
}

async function ping(): Promise<boolean> {
  try {
    recordResponse((await fetch('/dashboard/api/me', { signal: AbortSignal.timeout(PING_TIMEOUT_MS) })).status)
  } catch {
    recordFailure()
  }
  return failing === undefined
}

function update(): void {
  const now = Date.now()
  if (now - updatedAt > SUSPENDED_MS) quietSince = Math.max(quietSince, now - PING_AFTER_MS)
  updatedAt = now
  const isPingDue = now - quietSince >= PING_AFTER_MS || !navigator.onLine
  if (isPingDue && now - pingedAt >= PING_INTERVAL_MS) void pingServer()
  const isOffline = failing !== undefined && !navigator.onLine
  const isFailing = failing !== undefined && now - failing.since > FAILURE_GRACE_MS
  const isLost = isOffline || isFailing || now - quietSince > SILENCE_LIMIT_MS
  if (isLost === current.isLost && isOffline === current.isOffline) return
  current = { isLost, isOffline, lastResponseAt, problem: failing?.problem ?? NO_RESPONSE }
  for (const listener of listeners) listener()
}

let timer: ReturnType<typeof setInterval> | undefined

/** The listener runs when the connection is lost or back. Returns the function that unsubscribes. */
export function subscribeToConnection(listener: () => void): () => void {
  listeners.add(listener)
  if (timer === undefined) {
    updatedAt = quietSince = lastResponseAt = Date.now()
    timer = setInterval(update, UPDATE_INTERVAL_MS)
    addEventListener('offline', pingServer)
    addEventListener('online', pingServer)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
    removeEventListener('offline', pingServer)
    removeEventListener('online', pingServer)
  }
}

export const getConnection = (): Connection => current

export const useConnection = (): Connection => useSyncExternalStore(subscribeToConnection, getConnection)
