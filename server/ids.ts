import { encodeTime, monotonicFactory } from 'ulid'

export type IdPrefix =
  | 'org'
  | 'agt'
  | 'inv'
  | 'key'
  | 'grp'
  | 'mon'
  | 'evt'
  | 'whk'
  | 'req'
  | 'usr'
  | 'ses'
  | 'lnk'
  | 'mail'
  | 'aud'
  | 'chn'
  | 'rul'
  | 'inc'
  | 'alr'
  | 'adr'
  | 'job'
  | 'stp'
  | 'ent'
  | 'mnt'
  | 'pch'
  | 'viw'
  | 'zon'
  | 'zev'

/** Callers read the clock a moment before they create an id. A larger difference means that the clock was set back. */
const CLOCK_STEP_MS = 1_000

let nextUlid = monotonicFactory()
let lastInstant = 0

/**
 * `<prefix>_` and 26 lower-case characters (a ULID). The ids of one process ascend, also within a millisecond; those of several processes
 * are ordered by their clocks. After the clock was set back, ids contain the new time.
 */
export function newId(prefix: IdPrefix, now: number): string {
  const isSetBack = now < lastInstant - CLOCK_STEP_MS
  if (isSetBack) nextUlid = monotonicFactory()
  lastInstant = isSetBack ? now : Math.max(now, lastInstant)
  return `${prefix}_${nextUlid(now).toLowerCase()}`
}

/** Returns a function that creates ids for this instant, in ascending order. */
export function newIdsAt(prefix: IdPrefix, instant: number): () => string {
  const next = monotonicFactory()
  return () => `${prefix}_${next(instant).toLowerCase()}`
}

/** A lower bound for the ids created at this instant or later, and an upper bound for earlier ones. */
export function lowestIdAt(prefix: IdPrefix, instant: number): string {
  return `${prefix}_${encodeTime(Math.max(0, instant), 10).toLowerCase()}`
}
