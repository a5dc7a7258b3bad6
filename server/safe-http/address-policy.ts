import net from 'node:net'
import ipaddr from 'ipaddr.js'
import { type FieldError, fieldError } from '#contract/field-errors.ts'
import { type Address, parseAddress, specialRangeOf } from '../dns/special-addresses.ts'

/** A special-purpose network that the operator allows. */
export type Network = { address: Address; bits: number }
export type Networks = readonly Network[]

/**
 * Ports of services that may execute lines of an HTTP request as commands: those that the Fetch standard blocks, and 0, Redis,
 * memcached and the other ports of IRC.
 */
export const DENIED_PORTS: readonly number[] = [
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6379, 6566, 6660, 6661, 6662, 6663, 6664, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 11211,
]

const MAX_URL_LENGTH = 2000

/** Parses networks and addresses (`10.0.0.0/8, fd00::/8 127.0.0.1`), separated by commas or spaces. */
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
 * Why the address is not allowed, or null. Refused are the addresses of the IANA special-purpose registries (RFC 6890 and its
 * updates) and IPv6 outside of 2000::/3, except those in `allowedNetworks`.
 *
 * An IPv4-mapped address is treated as its IPv4 address, because the kernel connects to that. NAT64 (RFC 6052) and 6to4
 * (RFC 3056) addresses are refused if their IPv4 address is, but only an IPv6 network can allow them: a gateway elsewhere
 * translates them, so 64:ff9b::127.0.0.1 is not the 127.0.0.1 that the operator allowed.
 */
export function addressError(ip: string, allowedNetworks: Networks): FieldError | null {
  const address = parseAddress(ip)
  if (address === null) return fieldError('not_an_address', { value: ip })
  if (allowedNetworks.some((network) => contains(network, address))) return null
  const range = specialRangeOf(address)
  return range === null ? null : fieldError('address_not_public', { address: ip, range })
}

/** Why the URL is not allowed, or null. Checks addresses in any notation. The addresses of a name are checked when connecting. */
export function urlError(
  text: string,
  allowedNetworks: Networks,
  deniedPorts: readonly number[] = DENIED_PORTS,
): FieldError | null {
  if (text === '' || text.length > MAX_URL_LENGTH) return fieldError('invalid_url_length', { max: MAX_URL_LENGTH })
  // The parser would drop or replace them, so that the URL called is not the URL shown.
  if (/[\p{Cc}\p{Z}\\]/u.test(text)) return fieldError('invalid_url_character')
  const url = URL.parse(text)
  if (url === null) return fieldError('malformed_url')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return fieldError('unsupported_scheme')
  if (url.username !== '' || url.password !== '') {
    return fieldError('credentials_in_url')
  }
  if (deniedPorts.includes(portOf(url))) return fieldError('port_not_allowed', { port: portOf(url) })
  return hostError(hostOf(url), allowedNetworks)
}

/** The port of the URL, or the default port of its scheme. */
function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}

/** The host without the brackets of IPv6 and without a trailing dot. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$|\.$/g, '')
}

function hostError(host: string, allowedNetworks: Networks): FieldError | null {
  if (!/^(?=.{1,253}$)([^.]{1,63}\.)*[^.]{1,63}$/.test(host)) {
    return fieldError('invalid_url_host')
  }
  if (host === 'localhost' || host.endsWith('.localhost')) {
    return fieldError('localhost_not_allowed')
  }
  return net.isIP(host) !== 0 ? addressError(host, allowedNetworks) : null
}

/** The network, or why it is invalid. */
function parseNetwork(entry: string): Network | string {
  const [ip = '', prefix, ...rest] = entry.split('/')
  const address = ip.includes('%') || rest.length > 0 ? null : parseAddress(ip)
  if (address === null) return `"${entry}" is not a network. Use a CIDR like 10.0.0.0/8 or fd00::/8.`
  // IPv4-mapped networks were converted to IPv4, whose prefixes are 96 bits shorter.
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
