import { type Ds, parseDsText } from '../dns/dnssec/dnssec-records.ts'
import { ROOT_TRUST_ANCHORS } from '../dns/dnssec/root-trust-anchors.ts'
import { parseDomainName } from '../dns/names.ts'
import type { ServerAddress } from '../dns/outcome.ts'
import { ROOT_SERVERS } from '../dns/resolver/root-servers.ts'
import { formatServer } from '../dns/server-address.ts'
import { isSpecialAddress } from '../dns/special-addresses.ts'
import {
  InvalidSetting,
  parseBaseUrl,
  parseInteger,
  parseOneOf,
  parseServers,
  type ReadSetting,
  splitList,
} from './parse.ts'

/** Names of three operators. Their TTLs are short, so that a cache does not answer for long while the network is down. */
const DEFAULT_CANARIES = 'www.google.com,www.cloudflare.com,www.amazon.com'

const OPTIONAL_CANARIES: readonly string[] = DEFAULT_CANARIES.split(',')

export function readDnsSettings(read: ReadSetting) {
  const dnsServers = read(
    'DNS_SERVERS',
    '',
    "recursive resolvers: ip[:port], comma-separated; the system's when empty",
    parseServers,
  )
  // Private servers may resolve no public names at all.
  const isPrivate = dnsServers?.every(({ ip }) => isSpecialAddress(ip)) ?? false
  const dnsCanaries = read(
    'DNS_CANARIES',
    isPrivate ? 'auto' : DEFAULT_CANARIES,
    'names that always resolve; while none does, the network of this server is down and failures are not recorded; auto: the default names, unless there is no public DNS; off',
    parseCanaries,
  )
  const dnsRoots = read(
    'DNS_ROOTS',
    'public',
    'name servers at which iterative resolution starts: ip[:port], comma-separated; public for the root servers; off',
    parseRoots,
  )
  const isPublicTree = dnsRoots === ROOT_SERVERS
  return {
    isRdapOn: read(
      'RDAP',
      'off',
      'whether the registration of each zone is looked up once a day at its registry (RDAP): on or off',
      (text) => parseOneOf(text, ['on', 'off'] as const) === 'on',
    ),
    rdapBootstrap: read(
      'RDAP_BOOTSTRAP',
      'https://data.iana.org/rdap/dns.json',
      'the file that names the RDAP servers of the registries, read once a day (RFC 9224); off to use only the copy that Zonewatch comes with',
      (text) => (text === 'off' ? null : parseBaseUrl(text)),
    ),
    /** Null: the system's resolvers. */
    dnsServers,
    /** All on the same port. Empty: recursive servers alone decide. */
    dnsRoots,
    /** DS records of the root zone. Empty: DNSSEC is validated by recursive servers only. */
    dnsTrustAnchors: read(
      'DNS_TRUST_ANCHORS',
      'public',
      'DS records of the root zone, from which DNSSEC is validated: 20326 8 2 E06D…, comma-separated; public for those of IANA, which other DNS_ROOTS do not use; off',
      (text) => (text === 'public' && !isPublicTree ? [] : parseTrustAnchors(text)),
    ),
    dnsCanaries,
    /** Private resolvers may have no public DNS. */
    areCanariesOptional: dnsCanaries === OPTIONAL_CANARIES,
    dnsTimeoutMs: read('DNS_TIMEOUT_MS', '2000', 'timeout of one query attempt', (text) =>
      parseInteger(text, 10, 30_000),
    ),
    dnsTries: read('DNS_TRIES', '3', 'attempts per query, each at another server', (text) => parseInteger(text, 1, 10)),
    dnsInFlight: read(
      'DNS_IN_FLIGHT',
      '256',
      'pending queries per server; up to 8 times more may be pending for longer than 250 ms',
      (text) => parseInteger(text, 1, 10_000),
    ),
    dnsPerSecond: read('DNS_PER_SECOND', '5000', 'queries per second to one recursive resolver', parseRate),
    dnsAuthoritativePerSecond: read(
      'DNS_AUTHORITATIVE_PER_SECOND',
      '50',
      'queries per second to one authoritative server',
      parseRate,
    ),
  }
}

const parseRate = (text: string): number => parseInteger(text, 1, 1_000_000)

function parseRoots(text: string): readonly ServerAddress[] {
  if (text === 'off') return []
  if (text === 'public') return ROOT_SERVERS
  const roots = parseServers(text) ?? []
  // Glue records have no port, so all name servers must use the port of the roots.
  const other = roots.find(({ port }) => port !== roots[0]?.port)
  if (other) throw new InvalidSetting(`must use the same port for all roots, unlike ${formatServer(other)}.`)
  return roots
}

function parseTrustAnchors(text: string): readonly Ds[] {
  if (text === 'off') return []
  if (text === 'public') return ROOT_TRUST_ANCHORS
  return splitList(text).map((record) => {
    const ds = parseDsText(record)
    if (!ds) throw new InvalidSetting(`must have DS records such as "20326 8 2 E06D44B8…", not "${record}".`)
    return ds
  })
}

function parseCanaries(text: string): readonly string[] {
  if (text === 'off') return []
  if (text === 'auto') return OPTIONAL_CANARIES
  return splitList(text).map((entry) => {
    const parsed = parseDomainName(entry)
    if (!parsed.ok) throw new InvalidSetting(`has an invalid name: ${parsed.reason.text}`)
    return parsed.name
  })
}
