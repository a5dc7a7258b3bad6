import { isIPv4 } from 'node:net'
import type { Clock } from '../../clock.ts'
import { isSubdomain } from '../names.ts'
import type { Outcome, ServerAddress } from '../outcome.ts'

/** `ips`: IPv4 before IPv6. Empty if the server has none, undefined until they are resolved. */
export type NameServer = { name: string; ips: string[] | undefined }

/** The name servers of a zone according to its parent. `learnedAt`, `expiresAt`: the clock's elapsed milliseconds. */
export type Delegation = { zone: string; nameServers: NameServer[]; learnedAt: number; expiresAt: number }

export type Referral = Extract<Outcome, { kind: 'referral' }>

/** No delegation is cached for longer, so that a zone that moves is noticed. */
const MAX_TTL_S = 3_600
/** As many as fit into a response without EDNS. More would allow a hostile zone to cause many queries. */
const MAX_NAME_SERVERS = 13
const MAX_ADDRESSES = 4

/** Never expires. The names of its servers are their addresses. */
export function rootDelegation(roots: readonly ServerAddress[]): Delegation {
  const nameServers = roots.map(({ ip }) => ({ name: ip, ips: [ip] }))
  return { zone: '', nameServers, learnedAt: Number.NEGATIVE_INFINITY, expiresAt: Number.POSITIVE_INFINITY }
}

/** Uses glue only for names in the zone of the server that refers, `parent` (RFC 2181 section 5.4.1), and only if `isAllowed`. */
export function delegationOf(
  { zone = '', nameServers, glue, ttl }: Referral,
  parent: string,
  isAllowed: (ip: string) => boolean,
  now: number,
): Delegation {
  const servers = nameServers.slice(0, MAX_NAME_SERVERS).map((name): NameServer => {
    const ips = isSubdomain(name, parent) ? glue.filter((address) => address.name === name).map(({ ip }) => ip) : []
    return { name, ips: ips.length > 0 ? usableAddresses(ips, isAllowed) : undefined }
  })
  return { zone, nameServers: servers, learnedAt: now, expiresAt: now + Math.min(ttl, MAX_TTL_S) * 1000 }
}

/** IPv4 first, because more networks carry it. */
export function usableAddresses(ips: readonly string[], isAllowed: (ip: string) => boolean): string[] {
  const allowed = [...new Set(ips)].filter(isAllowed)
  return [...allowed.filter(isIPv4), ...allowed.filter((ip) => !isIPv4(ip))].slice(0, MAX_ADDRESSES)
}

/** Recent delegations, until their TTLs expire. The root's is always there. */
export type DelegationCache = {
  /** The deepest cached zone that contains the name. */
  closest(name: string): Delegation
  add(delegation: Delegation): void
  delete(zone: string): void
  /** Deletes the delegations to the name that were learned before that time, except for the top-level domain. */
  deletePathTo(name: string, before: number): void
}

export function createDelegationCache(root: Delegation, clock: Clock, limit = 10_000): DelegationCache {
  const zones = new Map<string, Delegation>() // the least recently used first

  return {
    closest(name) {
      const now = clock.elapsed()
      for (const zone of ancestors(name)) {
        const cached = zones.get(zone)
        if (cached && cached.expiresAt > now) {
          zones.delete(zone)
          zones.set(zone, cached)
          return cached
        }
      }
      return root
    },
    add(delegation) {
      zones.delete(delegation.zone)
      if (delegation.expiresAt <= clock.elapsed()) return
      zones.set(delegation.zone, delegation)
      const oldest = zones.keys().next().value
      if (zones.size > limit && oldest !== undefined) zones.delete(oldest)
    },
    delete: (zone) => void zones.delete(zone),
    deletePathTo(name, before) {
      for (const zone of ancestors(name)) {
        const cached = zones.get(zone)
        if (cached && cached.learnedAt < before && zone.includes('.')) zones.delete(zone)
      }
    },
  }
}

/** The name itself and every name above it but the root, deepest first. */
export function* ancestors(name: string): Generator<string> {
  for (let zone = name; zone !== ''; ) {
    yield zone
    const dot = zone.indexOf('.')
    zone = dot < 0 ? '' : zone.slice(dot + 1)
  }
}
