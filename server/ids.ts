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

const nextUlid = monotonicFactory()

/** `<prefix>_` and 26 lower-case characters (a ULID): ids made later sort later, also within one millisecond. */
export function newId(prefix: IdPrefix, now: number): string {
  return `${prefix}_${nextUlid(now).toLowerCase()}`
}

/** Sorts before every id of the kind that is made at this instant or later, and after those made before it. */
export function lowestIdAt(prefix: IdPrefix, instant: number): string {
  return `${prefix}_${encodeTime(Math.max(0, instant), 10).toLowerCase()}`
}
