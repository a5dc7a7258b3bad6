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

/** Callers read the clock a moment before they ask for an id. Only more than this is a clock that was set back. */
const CLOCK_STEP_MS = 1_000

let nextUlid = monotonicFactory()
let lastInstant = 0

/**
 * `<prefix>_` and 26 lower-case characters (a ULID). Of two ids of one process the later one sorts later, also within one
 * millisecond; of two processes, by their clocks. After the clock was set back, ids carry the time that it shows.
 */
export function newId(prefix: IdPrefix, now: number): string {
  const isSetBack = now < lastInstant - CLOCK_STEP_MS
  if (isSetBack) nextUlid = monotonicFactory()
  lastInstant = isSetBack ? now : Math.max(now, lastInstant)
  return `${prefix}_${nextUlid(now).toLowerCase()}`
}

/** Makes ids that all carry this instant, each greater than the one before. */
export function newIdsAt(prefix: IdPrefix, instant: number): () => string {
  const next = monotonicFactory()
  return () => `${prefix}_${next(instant).toLowerCase()}`
}

/** Sorts before every id of the kind that is made at this instant or later, and after those made before it. */
export function lowestIdAt(prefix: IdPrefix, instant: number): string {
  return `${prefix}_${encodeTime(Math.max(0, instant), 10).toLowerCase()}`
}
