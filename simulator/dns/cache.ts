import { parentOf, type Rcode, type RRset } from './message.ts'

/** How much an RRset is believed. RFC 2181 section 5.4.1. */
export const TRUST = { referral: 1, besideAnswer: 2, answer: 3 } as const
export type Trust = (typeof TRUST)[keyof typeof TRUST]

/** `rrset` is undefined for a denial, whose `rcode` says which. Instants in virtual milliseconds. */
export type CacheEntry = {
  rrset: RRset | undefined
  rcode: Rcode
  storedAt: number
  until: number
  trust: Trust
  /** A validated signature covers it. */
  isSecure?: boolean
}

/** One cache of a resolver. Expired entries stay, because some resolvers serve them. */
export type Cache = {
  entries: Map<string, CacheEntry>
  /** Questions whose resolution failed, until when, and with which extended errors. */
  failures: Map<string, { until: number; ede: readonly number[] }>
  /** Addresses that did not help lately are asked last. */
  avoidUntil: Map<string, number>
}

export function newCache(): Cache {
  return { entries: new Map(), failures: new Map(), avoidUntil: new Map() }
}

/** The entry for a name and type; a denial of the name counts for all types. `time`: only if it has not expired. */
export function findEntry({ entries }: Cache, name: string, type: string, time?: number): CacheEntry | undefined {
  const own = entries.get(`${name} ${type}`)
  if (own && (time === undefined || own.until > time)) return own
  const denial = entries.get(`${name} NXDOMAIN`)
  return denial && (time === undefined || denial.until > time) ? denial : undefined
}

/** Records of less trust do not replace better ones. NS records that were not better before do not extend their life. */
export function store(cache: Cache, key: string, entry: CacheEntry): void {
  const known = cache.entries.get(key)
  if (known && known.until > entry.storedAt) {
    if (known.trust > entry.trust) return
    if (known.trust === entry.trust && entry.rrset?.type === 'NS') entry.until = Math.min(entry.until, known.until)
  }
  cache.entries.set(key, entry)
}

/** The deepest zone above the name whose NS records are in the cache. */
export function closestDelegation(cache: Cache, name: string, time: number): RRset | undefined {
  for (let zone = name; zone !== ''; zone = parentOf(zone)) {
    const entry = cache.entries.get(`${zone} NS`)
    if (entry?.rrset && entry.until > time) return entry.rrset
  }
  return undefined
}
