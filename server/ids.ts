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
  | 'crd'
  | 'lnk'
  | 'mail'

let nextUlid = monotonicFactory()
let lastInstant = 0

/**
 * `<prefix>_` and 26 lower-case characters (a ULID). Ids of later instants sort later, and so do those that a thread makes
 * later within one millisecond. After the clock was set back they carry the time that it shows, in every thread.
 */
export function newId(prefix: IdPrefix, now: number): string {
  if (now < lastInstant) nextUlid = monotonicFactory()
  lastInstant = now
  return `${prefix}_${nextUlid(now).toLowerCase()}`
}

/** Makes ids that all carry this instant, each greater than the one before. */
export function idsAt(prefix: IdPrefix, instant: number): () => string {
  const next = monotonicFactory()
  return () => `${prefix}_${next(instant).toLowerCase()}`
}

/** Sorts before every id of the kind that is made at this instant or later, and after those made before it. */
export function lowestIdAt(prefix: IdPrefix, instant: number): string {
  return `${prefix}_${encodeTime(Math.max(0, instant), 10).toLowerCase()}`
}
