import { monotonicFactory } from 'ulid'

export type IdPrefix = 'org' | 'agt' | 'inv' | 'key' | 'grp' | 'mon' | 'evt' | 'whk' | 'req' | 'usr' | 'mail'

const nextUlid = monotonicFactory()

/** `<prefix>_` and 26 lower-case characters (a ULID): ids made later sort later, also within one millisecond. */
export function newId(prefix: IdPrefix, now: number): string {
  return `${prefix}_${nextUlid(now).toLowerCase()}`
}
