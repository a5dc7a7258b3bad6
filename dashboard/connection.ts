import { useSyncExternalStore } from 'react'

/** Whether what is shown can be current. `heardAt`: when the server last gave a sign of life, epoch milliseconds. */
export type Connection = { isLost: boolean; isOffline: boolean; heardAt: number; problem: string }

const LOOK_MS = 1_000
/** The server says more often over the stream that it lives. When it is silent for longer, it is asked. */
const ASK_AFTER_MS = 7_000
const ASK_EVERY_MS = 3_000
const ASK_TIMEOUT_MS = 4_000
/** A server that restarts is back within this. */
const FAILS_FOR_MS = 5_000
/** A server that says nothing for this long is not there. */
export const SILENT_MS = 12_000
/** This page itself stood still: a laptop was closed, or the tab is in the background. */
const STOOD_STILL_MS = 5_000

const NO_ANSWER = 'The server does not respond.'

let heardAt = Date.now()
let silentSince = heardAt
let lookedAt = heardAt
let failing: { since: number; problem: string } | undefined
let current: Connection = { isLost: false, isOffline: false, heardAt, problem: '' }
const listeners = new Set<() => void>()

/** Of every answer: one of a proxy without a server, or of a server without its database, is none. */
export function noteAnswer(status: number, sentence?: string): void {
  if (status === 502 || status === 503 || status === 504) noteFailure(sentence ?? `The server returns HTTP ${status}.`)
  else noteLife()
}

export function noteLife(): void {
  heardAt = Date.now()
  silentSince = heardAt
  failing = undefined
  if (current.isLost) look()
}

export function noteFailure(problem = NO_ANSWER): void {
  failing = { since: failing?.since ?? Date.now(), problem }
}

let asking: Promise<boolean> | undefined
let askedAt = 0

/** Sends a request that needs the database, as every page does. Returns whether the server responds. */
export function askServer(): Promise<boolean> {
  askedAt = Date.now()
  asking ??= ask().finally(() => {
    asking = undefined
    look()
  })
  return asking
}

async function ask(): Promise<boolean> {
  try {
    noteAnswer((await fetch('/dashboard/api/me', { signal: AbortSignal.timeout(ASK_TIMEOUT_MS) })).status)
  } catch {
    noteFailure()
  }
  return failing === undefined
}

function look(): void {
  const now = Date.now()
  if (now - lookedAt > STOOD_STILL_MS) silentSince = Math.max(silentSince, now - ASK_AFTER_MS)
  lookedAt = now
  const isDoubtful = now - silentSince >= ASK_AFTER_MS || !navigator.onLine
  if (isDoubtful && now - askedAt >= ASK_EVERY_MS) void askServer()
  const isOffline = failing !== undefined && !navigator.onLine
  const isFailing = failing !== undefined && now - failing.since > FAILS_FOR_MS
  const isLost = isOffline || isFailing || now - silentSince > SILENT_MS
  if (isLost === current.isLost && isOffline === current.isOffline) return
  current = { isLost, isOffline, heardAt, problem: failing?.problem ?? NO_ANSWER }
  for (const listener of listeners) listener()
}

let timer: ReturnType<typeof setInterval> | undefined

/** Calls when the connection is lost and when it is back. Returns what ends that. */
export function onConnection(listener: () => void): () => void {
  listeners.add(listener)
  if (timer === undefined) {
    lookedAt = silentSince = heardAt = Date.now()
    timer = setInterval(look, LOOK_MS)
    addEventListener('offline', askServer)
    addEventListener('online', askServer)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
    removeEventListener('offline', askServer)
    removeEventListener('online', askServer)
  }
}

export const connectionNow = (): Connection => current

export const useConnection = (): Connection => useSyncExternalStore(onConnection, connectionNow)
