import { isSubdomain } from '../names.ts'
import type { Evidence, Outcome } from '../outcome.ts'
import type { Delegation, Referral } from './delegation.ts'

/** Whether an exchange is worth something for a zone: its server speaks with authority, or leads further down. */
export function isUseful({ outcome, flags }: Evidence, zone: string): boolean {
  if (outcome === null) return false
  if (isReferralDown(outcome, zone)) return true
  return isOfRecords(outcome) && flags.includes('aa')
}

/** A referral to a zone below this one: only such a one is believed, others go in circles. */
export function isReferralDown(outcome: Outcome, zone: string): outcome is Referral {
  if (outcome.kind !== 'referral' || outcome.chain.length > 0 || outcome.zone === undefined) return false
  return outcome.zone !== zone && isSubdomain(outcome.zone, zone)
}

/**
 * What a server of `zone` may say: an alias that leaves the zone is where its word ends, whatever it says of the target.
 * RFC 2181 section 5.4.1.
 */
export function limitToZone(outcome: Outcome, zone: string): Outcome {
  if (!('chain' in outcome)) return outcome
  const out = outcome.chain.findIndex(({ name }) => !isSubdomain(name, zone))
  if (outcome.kind === 'answer' && outcome.rrset.type === 'CNAME') {
    return out < 0 ? outcome : { ...outcome, chain: outcome.chain.slice(0, out) }
  }
  const last = outcome.chain.at(-1)
  if (out < 0 && (last === undefined || isSubdomain(last.target, zone))) return outcome
  const chain = out < 0 ? outcome.chain : outcome.chain.slice(0, out)
  return { kind: 'referral', chain, zone: undefined, nameServers: [], glue: [], ttl: 0 }
}

/** What it comes to when no server of a zone was of use. `evidence`: every exchange with them. */
export function failureOf({ zone, nameServers }: Delegation, evidence: readonly Evidence[]): Outcome {
  const names = nameServers.map(({ name }) => name)
  if (nameServers.every(({ ips }) => ips?.length === 0)) return lame(zone, names, 'have no usable address')
  const asked = new Set(evidence.map(({ name }) => name))
  const lameOnes = new Set(evidence.filter((each) => isLame(each, zone)).map(({ name }) => name))
  const others = nameServers.filter(({ name, ips }) => !asked.has(name) && ips?.length !== 0)
  if (asked.size > 0 && lameOnes.size === asked.size && (others.length === 0 || asked.size >= ENOUGH_LAME_SERVERS)) {
    return lame(zone, names, 'do not serve it')
  }
  return mostTelling(evidence)
}

/** When this many name servers are lame, so are those that were not asked. */
const ENOUGH_LAME_SERVERS = 4

/** The server answers, and has nothing to say about the zone. */
function isLame({ outcome, flags }: Evidence, zone: string): boolean {
  if (outcome === null) return false
  if (outcome.kind === 'failure') return outcome.rcode === 'REFUSED' || outcome.rcode === 'NOTAUTH'
  if (outcome.kind === 'referral') return !isReferralDown(outcome, zone)
  return isOfRecords(outcome) && !flags.includes('aa')
}

function isOfRecords(outcome: Outcome): boolean {
  switch (outcome.kind) {
    case 'answer':
    case 'nodata':
    case 'nxdomain':
    case 'cname_loop':
      return true
    case 'referral':
      return outcome.chain.length > 0
    case 'failure':
    case 'lame':
    case 'malformed':
    case 'timeout':
    case 'unreachable':
      return false
  }
}

function mostTelling(evidence: readonly Evidence[]): Outcome {
  for (const kind of ['failure', 'malformed', 'unreachable'] as const) {
    const found = evidence.find(({ outcome }) => outcome?.kind === kind)?.outcome
    if (found) return found
  }
  return { kind: 'timeout' }
}

function lame(zone: string, nameServers: string[], what: string): Outcome {
  const shown = nameServers.slice(0, 4).join(', ')
  return {
    kind: 'lame',
    zone,
    nameServers,
    reason: `the zone ${zone || '.'} is delegated to ${shown || 'no name server'}, and these servers ${what}`,
  }
}
