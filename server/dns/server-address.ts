import { getServers } from 'node:dns'
import { isIP, isIPv6 } from 'node:net'
import { canonicalAddress } from './ip-addresses.ts'
import type { ServerAddress } from './outcome.ts'

/** `reason` is a sentence. */
export type ParsedServer = { ok: true; server: ServerAddress } | { ok: false; reason: string }

const DNS_PORT = 53

/** Parses `ip`, `ip:port` or `[ipv6]:port`. The default port is 53. Keeps an IPv6 zone (`%eth0`). */
export function parseServerAddress(text: string): ParsedServer {
  const [, bracketed, port] = text.match(/^\[([^\]]+)\](?::(\d{1,5}))?$/) ?? []
  if (bracketed !== undefined) return isIPv6(bracketed) ? toServer(bracketed, port, text) : invalid(text)
  if (isIP(text)) return toServer(text, undefined, text)
  const [, ip = '', ipv4Port] = text.match(/^([\d.]+):(\d{1,5})$/) ?? []
  return isIP(ip) ? toServer(ip, ipv4Port, text) : invalid(text)
}

/** `ip:port`, IPv6 in brackets. */
export function formatServer({ ip, port }: ServerAddress): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`
}

/** The resolvers that the operating system uses, in its order. Can be empty. */
export function systemServers(): ServerAddress[] {
  return getServers().flatMap((text) => {
    const parsed = parseServerAddress(text)
    return parsed.ok ? [parsed.server] : []
  })
}

function toServer(ip: string, portText: string | undefined, text: string): ParsedServer {
  const port = portText === undefined ? DNS_PORT : Number(portText)
  if (port < 1 || port > 65535) return invalid(text)
  const [address = '', zone] = ip.split('%')
  const canonical = canonicalAddress(address) ?? address
  return { ok: true, server: { ip: zone === undefined ? canonical : `${canonical}%${zone}`, port } }
}

function invalid(text: string): ParsedServer {
  return { ok: false, reason: `"${text}" is not the address of a DNS server. Use ip, ip:port or [ipv6]:port.` }
}
