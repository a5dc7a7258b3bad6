import { Type } from 'typebox'
import { addressOctets } from '../../dns/ip-addresses.ts'
import { aboutZone, delegated, UNKNOWN, zoneCheck } from '../zone-check.ts'

export const singleNetwork = zoneCheck({
  code: 'single_network',
  level: 'info',
  about:
    'All addresses of the name servers are in one /24 network (IPv4) or one /48 network (IPv6), so that one fault can affect all. RFC 2182 section 3.1.',
  params: { zone: Type.String(), network: Type.String() },
  text: ({ zone, network }) => `All name servers of ${zone} are in ${network}.`,
  advice: () => 'Add a name server in another network, unless the addresses are anycast.',
  find: ({ zone, servers }) => {
    const own = delegated(servers)
    if (own.some(({ ips }) => ips === null)) return UNKNOWN
    const networks = [...new Set(own.flatMap(({ ips }) => ips ?? []).map(networkOf))]
    // A single server is a finding of its own.
    return aboutZone(own.length > 1 && networks.length === 1 ? { zone, network: networks[0]! } : undefined)
  },
})

function networkOf(ip: string): string {
  const octets = addressOctets(ip) ?? new Uint8Array()
  if (octets.length === 4) return `${octets.slice(0, 3).join('.')}.0/24`
  return `${Buffer.from(octets.slice(0, 6)).toString('hex').match(/.{4}/g)?.join(':')}::/48`
}
