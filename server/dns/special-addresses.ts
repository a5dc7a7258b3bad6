import net from 'node:net'
import ipaddr from 'ipaddr.js'

export type Address = ipaddr.IPv4 | ipaddr.IPv6

/** What ipaddr.js calls the blocks of the IANA special-purpose registries, as people call them. Those not listed here are `reserved`. */
const WORDS: Record<string, string> = {
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

/** Reaches a platform's internals from inside its network although the registries call it ordinary. */
const AZURE_PLATFORM = '168.63.129.16'

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')
const SIX_TO_FOUR = ipaddr.IPv6.parseCIDR('2002::/16')

/** Whether an address means something on this machine or in its own network only: loopback, private, link-local, … */
export function isSpecialAddress(ip: string): boolean {
  const address = parseAddress(ip)
  return address === null || specialRangeOf(address) !== null
}

/** IPv4-mapped addresses come out as IPv4. The zone of a link-local address is dropped. Null for any other text. */
export function parseAddress(ip: string): Address | null {
  if (net.isIPv4(ip)) return ipaddr.IPv4.parse(ip)
  if (!net.isIPv6(ip)) return null
  // ipaddr.js takes ::192.0.2.1 for a mapped address, so that the URL parser writes the groups in hexadecimal first.
  const groups = new URL(`http://[${ip.replace(/%.*/, '')}]`).hostname.slice(1, -1)
  return ipaddr.process(groups)
}

/**
 * The range of the address, when requests must not go there by default; null for an ordinary public one.
 * Mapped addresses are expected in their IPv4 form.
 */
export function specialRangeOf(address: Address): string | null {
  if (address instanceof ipaddr.IPv6) return specialNameOfIpv6(address)
  if (address.toString() === AZURE_PLATFORM) return 'Azure platform'
  return wordsOf(address.range())
}

function specialNameOfIpv6(address: ipaddr.IPv6): string | null {
  const carried = carriedIpv4(address)
  if (carried !== null) {
    const range = specialRangeOf(carried)
    return range === null ? null : `${range} ${carried}`
  }
  const what = wordsOf(address.range())
  if (what !== null) return what
  // RFC 4291 section 2.4 calls the rest of the space unicast too, but nothing is assigned there.
  return address.match(GLOBAL_UNICAST) ? null : 'outside 2000::/3'
}

/** RFC 6052 section 2.1 keeps the IPv4 address in the last 32 bits of 64:ff9b::/96, RFC 3056 in bits 16 to 47 of 2002::/16. */
function carriedIpv4(address: ipaddr.IPv6): ipaddr.IPv4 | null {
  const octets = address.toByteArray()
  if (address.match(NAT64)) return new ipaddr.IPv4(octets.slice(12))
  if (address.match(SIX_TO_FOUR)) return new ipaddr.IPv4(octets.slice(2, 6))
  return null
}

function wordsOf(range: string): string | null {
  if (range === 'unicast') return null
  return WORDS[range] ?? 'reserved'
}
