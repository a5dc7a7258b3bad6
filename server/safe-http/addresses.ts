import net from 'node:net'
import ipaddr from 'ipaddr.js'
import { type FieldError, fieldError } from '#contract/field-errors.ts'
import { type Address, parseAddress, specialRangeOf } from '../dns/special-addresses.ts'

/** A block of addresses that the operator allows although it is special. */
export type Network = { address: Address; bits: number }
export type Networks = readonly Network[]

/**
 * Ports whose services can be made to act on lines of an HTTP request: those of the Fetch standard's section on port blocking,
 * and 0, Redis, memcached and the rest of IRC.
 */
export const DENIED_PORTS: readonly number[] = [
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6379, 6566, 6660, 6661, 6662, 6663, 6664, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211,
]

const URL_LIMIT = 2000

/**
 * Reads blocks or single addresses (`10.0.0.0/8, fd00::/8 127.0.0.1`), separated by commas or spaces.
 * A refusal names the entry at fault and what to write instead.
 */
export function parseNetworks(text: string): { ok: true; networks: Networks } | { ok: false; reason: string } {
  const networks: Network[] = []
  for (const entry of text.split(/[\s,]+/).filter((part) => part !== '')) {
    const network = parseNetwork(entry)
    if (typeof network === 'string') return { ok: false, reason: network }
    networks.push(network)
  }
  return { ok: true, networks }
}

/**
 * Why requests must not go to the address, or null where they may. Special are the addresses of the IANA registries
 * (RFC 6890 and its updates), and in IPv6 everything outside 2000::/3. An allowed network lifts the refusal.
 *
 * IPv4-mapped addresses are the IPv4 address they carry: the kernel connects to that one. NAT64 (RFC 6052) and 6to4
 * (RFC 3056) addresses are refused with what they carry, but allowed only by a block of IPv6: a gateway elsewhere unwraps
 * them, so 64:ff9b::127.0.0.1 is not the 127.0.0.1 that the operator allowed.
 */
export function refusalOf(ip: string, allowedNetworks: Networks): FieldError | null {
  const address = parseAddress(ip)
  if (address === null) return fieldError('not_an_address', { value: ip })
  if (allowedNetworks.some((network) => contains(network, address))) return null
  const range = specialRangeOf(address)
  return range === null ? null : fieldError('address_not_public', { address: ip, range })
}

/**
 * Why a receiver's URL is refused, or null. Literal addresses are judged here, in any spelling that
 * a URL allows; names are judged by their addresses when they are connected to.
 */
export function refusalOfUrl(
  text: string,
  allowedNetworks: Networks,
  deniedPorts: readonly number[] = DENIED_PORTS,
): FieldError | null {
  if (text === '' || text.length > URL_LIMIT) return fieldError('invalid_url_length', { max: URL_LIMIT })
  // The parser would silently drop them, and then what is shown is not what is called.
  if (/[\p{Cc}\p{Z}\\]/u.test(text)) return fieldError('invalid_url_character')
  const url = URL.parse(text)
  if (url === null) return fieldError('malformed_url')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return fieldError('unsupported_scheme')
  if (url.username !== '' || url.password !== '') {
    return fieldError('credentials_in_url')
  }
  if (deniedPorts.includes(portOf(url))) return fieldError('port_not_allowed', { port: portOf(url) })
  return refusalOfHost(hostOf(url), allowedNetworks)
}

/** The port that is connected to, with the scheme's own where the URL names none. */
function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}

/** The host without the brackets of IPv6 and without a trailing dot. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$|\.$/g, '')
}

function refusalOfHost(host: string, allowedNetworks: Networks): FieldError | null {
  if (!/^(?=.{1,253}$)([^.]{1,63}\.)*[^.]{1,63}$/.test(host)) {
    return fieldError('invalid_url_host')
  }
  if (host === 'localhost' || host.endsWith('.localhost')) {
    return fieldError('localhost_not_allowed')
  }
  return net.isIP(host) !== 0 ? refusalOf(host, allowedNetworks) : null
}

/** The network, or the reason why it is none. */
function parseNetwork(entry: string): Network | string {
  const [ip = '', prefix, ...rest] = entry.split('/')
  const address = ip.includes('%') || rest.length > 0 ? null : parseAddress(ip)
  if (address === null) return `"${entry}" is not a network. Use a CIDR like 10.0.0.0/8 or fd00::/8.`
  // Mapped blocks were turned into blocks of IPv4, which are 96 bits shorter.
  const shorterBy = net.isIPv6(ip) && address.kind() === 'ipv4' ? 96 : 0
  const width = net.isIPv6(ip) ? 128 : 32
  const length = prefix === undefined ? width : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1
  if (length < shorterBy || length > width) return `"${entry}" needs a prefix length of ${shorterBy} to ${width}.`
  const bits = length - shorterBy
  const first = firstAddress(address, bits)
  if (first !== address.toString()) return `"${entry}" has bits set beyond its prefix. Use ${first}/${bits}.`
  return { address, bits }
}

function firstAddress(address: Address, bits: number): string {
  return address instanceof ipaddr.IPv4
    ? ipaddr.IPv4.networkAddressFromCIDR(`${address}/${bits}`).toString()
    : ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`).toString()
}

function contains(network: Network, address: Address): boolean {
  return address.kind() === network.address.kind() && address.match(network.address, network.bits)
}
