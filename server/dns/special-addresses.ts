import net from 'node:net'
import ipaddr from 'ipaddr.js'

export type Address = ipaddr.IPv4 | ipaddr.IPv6

/** The names of ipaddr.js for the IANA special-purpose blocks, in plain words. Others are `reserved`. */
const RANGE_NAMES: Record<string, string> = {
  unspecified: 'this network',
  broadcast: 'broadcast',
  multicast: 'multicast',
  linkLocal: 'link-local',
  loopback: 'loopback',
  carrierGradeNat: 'carrier-grade NAT',
  private: 'private',
  uniqueLocal: 'private, unique local',
  deprecatedSiteLocal: 'private, site-local',
  discard: 'discard',
  teredo: 'Teredo',
  benchmarking: 'benchmarking',
}

/** A public address that reaches the platform's internal services from inside its network. */
const AZURE_PLATFORM = '168.63.129.16'

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')
const SIX_TO_FOUR = ipaddr.IPv6.parseCIDR('2002::/16')

/** Whether an address is not public: loopback, private, link-local, … */
export function isSpecialAddress(ip: string): boolean {
  const address = parseAddress(ip)
  return address === null || specialRangeOf(address) !== null
}

/** Whether both are in the same kind of special range, such as loopback. */
export function areInSameRange(one: string, other: string): boolean {
  const [range, otherRange] = [one, other].map((ip) => {
    const address = parseAddress(ip)
    return address && specialRangeOf(address)
  })
  return range === otherRange
}

/** Converts IPv4-mapped addresses to IPv4, and drops the zone of a link-local address. Null for other text. */
export function parseAddress(ip: string): Address | null {
  if (net.isIPv4(ip)) return ipaddr.IPv4.parse(ip)
  if (!net.isIPv6(ip)) return null
  // ipaddr.js parses ::192.0.2.1 as a mapped address, so the URL parser converts it to hexadecimal first.
  const groups = new URL(`http://[${ip.replace(/%.*/, '')}]`).hostname.slice(1, -1)
  return ipaddr.process(groups)
}

/** The special range of the address; null for a public one. Pass mapped addresses in their IPv4 form. */
export function specialRangeOf(address: Address): string | null {
  if (address instanceof ipaddr.IPv6) return specialNameOfIpv6(address)
  if (address.toString() === AZURE_PLATFORM) return 'Azure platform'
  return rangeName(address.range())
}

function specialNameOfIpv6(address: ipaddr.IPv6): string | null {
  const embedded = embeddedIpv4(address)
  if (embedded !== null) {
    const range = specialRangeOf(embedded)
    return range === null ? null : `${range} ${embedded}`
  }
  const range = rangeName(address.range())
  if (range !== null) return range
  // RFC 4291 section 2.4 calls all other addresses unicast too, but none are assigned.
  return address.match(GLOBAL_UNICAST) ? null : 'outside 2000::/3'
}

/** RFC 6052 section 2.1 keeps the IPv4 address in the last 32 bits of 64:ff9b::/96, RFC 3056 in bits 16 to 47 of 2002::/16. */
function embeddedIpv4(address: ipaddr.IPv6): ipaddr.IPv4 | null {
  const octets = address.toByteArray()
  if (address.match(NAT64)) return new ipaddr.IPv4(octets.slice(12))
  if (address.match(SIX_TO_FOUR)) return new ipaddr.IPv4(octets.slice(2, 6))
  return null
}

function rangeName(range: string): string | null {
  if (range === 'unicast') return null
  return RANGE_NAMES[range] ?? 'reserved'
}
