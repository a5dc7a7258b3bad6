import type { DnsClient } from '../dns/client.ts'
import type { Outcome } from '../dns/outcome.ts'
import type { Lookup } from './vetted-connect.ts'

/** Resolves A and AAAA with the DNS client of Zonewatch, without the hosts file of the machine. */
export function createLookup(dns: DnsClient): Lookup {
  return async (name, signal) => {
    const replies = await Promise.all([
      dns.query({ name, type: 'A' }, { signal }),
      dns.query({ name, type: 'AAAA' }, { signal }),
    ])
    const addresses = replies.flatMap(({ outcome }) => (outcome.kind === 'answer' ? outcome.rrset.values : []))
    if (addresses.length > 0) return addresses
    for (const { outcome } of replies) {
      const trouble = failureReason(outcome)
      if (trouble !== null) throw new Error(`the host name cannot be resolved: ${trouble}`)
    }
    return []
  }
}

function failureReason(outcome: Outcome): string | null {
  switch (outcome.kind) {
    case 'answer':
    case 'nodata':
    case 'nxdomain':
      return null
    case 'failure':
      return `the name server answered ${outcome.rcode}`
    case 'referral':
      return 'the name server refuses recursive queries'
    case 'lame':
      return outcome.reason
    case 'cname_loop':
      return 'the CNAME chain does not end at an address'
    case 'malformed':
      return outcome.reason
    case 'timeout':
      return 'no name server answered in time'
    case 'unreachable':
      return outcome.reason
  }
}
