import type { TimeRange } from '../dns/host.ts'
import type { Member } from '../dns/zone.ts'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** The names that the worlds have in common. */
export const ZONE = 'shop.demo'
export const OWNER = 'www.shop.demo'
export const PARENT = 'demo'
export const PARENT_KEY = 'demo-key'

/** What a provider's servers publish for the zone. `ns`: the providers that the zone's own NS records name. */
export type Publication = {
  ns: readonly number[]
  /** A failure of all servers of the provider: they no longer serve the zone, or fail. */
  content: 'records' | 'nxdomain' | 'nodata' | 'parked' | 'refused' | 'servfail' | 'silent' | 'upward'
  members: readonly Member[]
  /** How many members one answer contains. If fewer than all, the RRset rotates. */
  size: number
  /** The owner name is a CNAME record to a name of another zone, which has the records. */
  isAlias?: boolean
  /** More keys in the zone's DNSKEY records, during a rollover. */
  moreKeys?: readonly string[]
  signedBy?: { key: string; from: number; until: number; isForged?: true }
}

/** `stuck`: it answers, but takes no change. `expired`: it could not reach the primary for too long. RFC 1035 section 3.3.13. */
export type ServerStatus = 'ok' | 'stuck' | 'silent' | 'refused' | 'expired'

/** One step of a change. Instants are virtual milliseconds since the beginning of the world. */
export type Step = { at: number } & (
  | { delegation: readonly number[] | null }
  | { ds: readonly string[] }
  | { provider: number; publication: Publication }
  | { provider: number; server: number; status: ServerStatus }
)

export const CHANGE_KINDS = [
  'records',
  'rotation',
  'denial',
  'outage',
  'move',
  'suspension',
  'parking',
  'hijack',
  'dnssec',
] as const
export type ChangeKind = (typeof CHANGE_KINDS)[number]
export type Change = { kind: ChangeKind; steps: readonly Step[] }

/**
 * One name server. `delayMs`: how long after a change of its provider it answers the new records; for each machine behind the
 * address. `region`: it always answers this value, because it is in another region.
 */
export type ServerSetup = {
  delaysMs: readonly number[]
  region?: string
  perSecond?: number
  /** It does not answer over TCP, so it never returns records that do not fit into a UDP response. */
  isUdpOnly?: true
}

/** `status`: `lies`: it denies every name. `isLocal`: it is in the own network, and answers from its cache while the uplink fails. */
export type ResolverInWorld = {
  model: string
  caches: number
  isPopular: boolean
  isLocal: boolean
  /** The zone's servers give it the value of this region. EDNS Client Subset (RFC 7871), or its own location. */
  region: string
  status: 'ok' | 'silent' | 'lies'
  rewritesNxdomain?: true
}

/** `all`: nothing is reachable. `uplink`: only resolvers in the own network are. */
export type Outage = TimeRange & { reach: 'all' | 'uplink' }

/** Everything that happens to one monitor, drawn from a seed, so that the true state of every instant is known. */
export type World = {
  seed: number
  days: number
  /** Minutes. */
  frequency: number
  slot: number
  recordType: 'A' | 'CNAME' | 'MX' | 'NS' | 'TXT'
  isExactMatch: boolean
  expected: readonly string[]
  /** Seconds: of the records, of denials, of the parent's delegation, of the zone's own NS records. */
  ttl: number
  negativeTtl: number
  delegationTtl: number
  nsTtl: number
  /** How long after a change of the registry each server of the parent zone has it. */
  parentDelaysMs: readonly number[]
  providers: readonly (readonly ServerSetup[])[]
  /** The servers of the first provider have names in the zone itself, with glue. */
  isVanity: boolean
  delegation: readonly number[]
  ds: readonly string[]
  /** The parent zone is signed, and its signatures are expired in this time, so that everything below it is bogus. */
  parentExpiry?: TimeRange
  publications: readonly Publication[]
  changes: readonly Change[]
  resolvers: readonly ResolverInWorld[]
  /** Whether the zone's servers can be queried (`DNS_ROOTS`). */
  roots: boolean
  canaries: boolean
  loss: number
  outages: readonly Outage[]
  captive: readonly TimeRange[]
  /** Port 53 is blocked, so that only the resolvers can be queried. */
  closed: readonly TimeRange[]
  /** When a forged record enters one cache. */
  poisoned: readonly number[]
  clockSteps: readonly { at: number; by: number }[]
  /** The records do not fit into a UDP response. */
  truncates: boolean
  /** As the monitor says it. */
  resolution: 'auto' | 'public' | 'resolvers'
  /** The zone exists only inside: the resolvers know its servers, and the public DNS denies it or has another version. */
  privateZone?: 'denied' | 'other_version'
}

/** All steps of all changes, in their order. */
export function stepsOf({ changes }: Pick<World, 'changes'>): Step[] {
  return changes.flatMap(({ steps }) => steps).sort((one, other) => one.at - other.at)
}

export function rotates({ members, size, content }: Publication): boolean {
  return content === 'records' && size < members.length
}

/** What the zone's servers answer to a client in another region. */
export const OTHER_REGION = 'elsewhere'
export const regionalValue = (type: World['recordType']) => sampleValue(type, 245)

/** The n-th value of a type. Values from 100 on belong to changes. */
export function sampleValue(type: World['recordType'], number: number): string {
  switch (type) {
    case 'A':
      return `203.0.113.${number}`
    case 'CNAME':
      return `target${number}.cdn.demo`
    case 'MX':
      return `10 mail${number}.cdn.demo`
    case 'TXT':
      return `text ${number}`
    case 'NS':
      return `unused${number}.cdn.demo`
  }
}
