import { isIPv4 } from 'node:net'
import { isSubdomain } from '../names.ts'
import type { Outcome, ServerAddress } from '../outcome.ts'

/** `ips`: IPv4 before IPv6; empty where it has none, undefined while that is not known. Filled in when it is. */
export type NameServer = { name: string; ips: string[] | undefined }

/** Who serves a zone, as its parent says. `learnedAt`, `expiresAt`: the clock's elapsed milliseconds. */
export type Delegation = { zone: string; nameServers: NameServer[]; learnedAt: number; expiresAt: number }

export type Referral = Extract<Outcome, { kind: 'referral' }>

/** No delegation is trusted for longer than this: who moves a zone is heard within it. */
const MAX_TTL_S = 3_600
/** As many as a response without EDNS has room for; more help nobody and could flood us. */
const MAX_NAME_SERVERS = 13
const MAX_ADDRESSES = 4

/** The root's own, which never expires. Its servers are named by their addresses. */
export function rootDelegation(roots: readonly ServerAddress[]): Delegation {
  const nameServers = roots.map(({ ip }) => ({ name: ip, ips: [ip] }))
  return { zone: '', nameServers, learnedAt: Number.NEGATIVE_INFINITY, expiresAt: Number.POSITIVE_INFINITY }
}

/**
 * What a referral by a server of `parent` is worth: its addresses count only for names in the zone that the server speaks
 * for (RFC 2181 section 5.4.1), and only where `isAllowed`.
 */
export function delegationOf(
  { zone = '', nameServers, glue, ttl }: Referral,
  parent: string,
  isAllowed: (ip: string) => boolean,
  now: number,
): Delegation {
  const servers = nameServers.slice(0, MAX_NAME_SERVERS).map((name): NameServer => {
    const ips = isSubdomain(name, parent) ? glue.filter((each) => each.name === name).map(({ ip }) => ip) : []
    return { name, ips: ips.length > 0 ? usableAddresses(ips, isAllowed) : undefined }
  })
  return { zone, nameServers: servers, learnedAt: now, expiresAt: now + Math.min(ttl, MAX_TTL_S) * 1000 }
}

/** IPv4 first: where a machine has both families, it is the one that more paths carry. */
export function usableAddresses(ips: readonly string[], isAllowed: (ip: string) => boolean): string[] {
  const allowed = [...new Set(ips)].filter(isAllowed)
  return [...allowed.filter(isIPv4), ...allowed.filter((ip) => !isIPv4(ip))].slice(0, MAX_ADDRESSES)
}
