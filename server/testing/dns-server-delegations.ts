import { isIPv4 } from 'node:net'
import { type LookupResult, lower, parentOf, toAnswer } from './dns-server-zone.ts'

/** The zones that a test DNS server delegates to others. */
export type Delegations = {
  add(zone: string, nameServers: Record<string, string[]>, options?: { ttl?: number }): void
  remove(zone: string): void
  /** The referral for a name at or below a delegated zone. */
  find(name: string): LookupResult | undefined
}

export function createDelegations(): Delegations {
  const referrals = new Map<string, LookupResult>()
  return {
    add(zone, nameServers, { ttl = 300 } = {}) {
      const names = Object.keys(nameServers)
      referrals.set(lower(zone), {
        rcode: 'NOERROR',
        isReferral: true,
        answers: [],
        authorities: names.map((name) => toAnswer(lower(zone), 'NS', name, ttl)),
        additionals: Object.entries(nameServers).flatMap(([name, ips]) =>
          ips.map((ip) => toAnswer(name, isIPv4(ip) ? 'A' : 'AAAA', ip, ttl)),
        ),
      })
    },
    remove: (zone) => void referrals.delete(lower(zone)),
    find(name) {
      for (let zone: string | undefined = lower(name); zone !== undefined; zone = parentOf(zone)) {
        const referral = referrals.get(zone)
        if (referral) return referral
      }
      return undefined
    },
  }
}
