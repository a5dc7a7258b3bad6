import { isSubdomain } from '../names.ts'
import { type Exchange, firstOfKinds, isUsable, type Outcome, truncatedWithoutTcp } from '../outcome.ts'
import type { Delegation, NameServer, Referral } from './delegation.ts'

/** Whether a response helps to resolve a name in the zone: it is authoritative, or refers to a zone below. */
export function isHelpful({ outcome, flags }: Exchange, zone: string): boolean {
  if (outcome === null) return false
  if (isReferralDown(outcome, zone)) return true
  return isFromZoneData(outcome) && flags.includes('aa')
}

/** Only referrals to a zone below are followed. Others would loop. */
export function isReferralDown(outcome: Outcome, zone: string): outcome is Referral {
  if (outcome.kind !== 'referral' || outcome.chain.length > 0 || outcome.zone === undefined) return false
  return outcome.zone !== zone && isSubdomain(outcome.zone, zone)
}

/** Cuts a CNAME chain where it leaves the zone: its servers have no authority for the target. RFC 2181 section 5.4.1. */
export function limitToZone(outcome: Outcome, zone: string): Outcome {
  if (!('chain' in outcome)) return outcome
  const outside = outcome.chain.findIndex(({ name }) => !isSubdomain(name, zone))
  if (outcome.kind === 'answer' && outcome.rrset.type === 'CNAME') {
    return outside < 0 ? outcome : { ...outcome, chain: outcome.chain.slice(0, outside) }
  }
  const last = outcome.chain.at(-1)
  if (outside < 0 && (last === undefined || isSubdomain(last.target, zone))) return outcome
  const chain = outside < 0 ? outcome.chain : outcome.chain.slice(0, outside)
  return { kind: 'referral', chain, zone: undefined, nameServers: [], glue: [], ttl: 0 }
}

/** The outcome if no name server of a zone gave a helpful response. `evidence`: every exchange with them. */
export function failureOf({ zone, nameServers }: Delegation, evidence: readonly Exchange[]): Outcome {
  const names = nameServers.map(({ name }) => name)
  if (nameServers.every(({ ips }) => ips?.length === 0)) return lame(zone, names, 'have no usable address')
  const queried = new Set(evidence.map(({ name }) => name))
  const lameServers = new Set(evidence.filter((exchange) => isLame(exchange, zone)).map(({ name }) => name))
  const others = nameServers.filter(({ name, ips }) => !queried.has(name) && ips?.length !== 0)
  if (
    queried.size > 0 &&
    lameServers.size === queried.size &&
    (others.length === 0 || queried.size >= ENOUGH_LAME_SERVERS)
  ) {
    return lame(zone, names, 'do not serve it')
  }
  const outcomes = evidence.flatMap(({ outcome }) => outcome ?? [])
  const reported = firstOfKinds(outcomes, ['failure', 'malformed']) ?? truncatedWithoutTcp(evidence)
  return reported ?? firstOfKinds(outcomes, ['unreachable']) ?? { kind: 'timeout' }
}

/** If this many name servers are lame, the others are taken to be lame too. */
const ENOUGH_LAME_SERVERS = 4

/** The server responds, but does not serve the zone. */
function isLame({ outcome, flags }: Exchange, zone: string): boolean {
  if (outcome === null) return false
  if (outcome.kind === 'failure') return outcome.rcode === 'REFUSED' || outcome.rcode === 'NOTAUTH'
  if (outcome.kind === 'referral') return !isReferralDown(outcome, zone)
  return isFromZoneData(outcome) && !flags.includes('aa')
}

function isFromZoneData(outcome: Outcome): boolean {
  return isUsable(outcome) || (outcome.kind === 'referral' && outcome.chain.length > 0)
}

/** The outcome if none of the name servers of a zone serves it. */
export function lameZone(zone: string, nameServers: readonly NameServer[]): Outcome {
  const hasAddress = nameServers.some(({ ips }) => ips?.length !== 0)
  const names = nameServers.map(({ name }) => name)
  return lame(zone, names, hasAddress ? 'do not serve it' : 'have no usable address')
}

function lame(zone: string, nameServers: string[], what: string): Outcome {
  const names = nameServers.slice(0, 4).join(', ')
  return {
    kind: 'lame',
    zone,
    nameServers,
    reason: `the zone ${zone || '.'} is delegated to ${names || 'no name server'}, and these servers ${what}`,
  }
}
