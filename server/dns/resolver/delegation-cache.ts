import type { Clock } from '../../clock.ts'
import type { Delegation } from './delegation.ts'

/** The delegations learned lately, for their TTLs. The root's is always there. */
export type DelegationCache = {
  /** The deepest known zone that holds the name. */
  closest(name: string): Delegation
  add(delegation: Delegation): void
  delete(zone: string): void
  /** Forgets what was learned before then of the way to the name, but for the top-level zone: it is asked for again. */
  deletePathTo(name: string, before: number): void
}

export function createDelegationCache(root: Delegation, clock: Clock, limit = 10_000): DelegationCache {
  const zones = new Map<string, Delegation>() // the least recently used first

  return {
    closest(name) {
      const now = clock.elapsed()
      for (const zone of ancestors(name)) {
        const known = zones.get(zone)
        if (known && known.expiresAt > now) {
          zones.delete(zone)
          zones.set(zone, known)
          return known
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
        const known = zones.get(zone)
        if (known && known.learnedAt < before && zone.includes('.')) zones.delete(zone)
      }
    },
  }
}

/** The name itself and every name above it but the root, deepest first. */
function* ancestors(name: string): Generator<string> {
  for (let zone = name; zone !== ''; ) {
    yield zone
    const dot = zone.indexOf('.')
    zone = dot < 0 ? '' : zone.slice(dot + 1)
  }
}
