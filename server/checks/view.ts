import type { DnsClient } from '../dns/client.ts'
import type { Authorities } from '../dns/delegation/authorities.ts'
import { isBelow } from '../dns/names.ts'
import type { Outcome, ServerAddress } from '../dns/outcome.ts'
import { isFailure } from './replies.ts'
import type { Testimony } from './testimony.ts'

/**
 * Whether the recursive servers see the zone that the public name servers speak for. `other`: split horizon, they are shown
 * a zone of the same name, or one below it, that the public does not see. `unknown`: they do not say.
 */
export type View = 'same' | 'other' | 'unknown'

/** What is asked of whom. `servers`: the recursive servers in question. `tries`: how often, as one that fails may well be silent. */
export type ViewDoors = {
  dns: Pick<DnsClient, 'ask'>
  authorities: Pick<Authorities, 'ask'>
  servers: readonly ServerAddress[]
  tries: number
  signal: AbortSignal
}

/** The name about which the two contradict each other, and the public zone that holds it. */
export type Dispute = { name: string; zone: string; nameServers: readonly string[] }

const MOST_CUTS = 4

/** They agree on the aliases up to the name at which their ways part, and that may lie in another zone than the owner. */
export async function findDispute(
  testimony: Testimony,
  recursive: Outcome,
  { authorities, signal }: ViewDoors,
): Promise<Dispute> {
  const { owner: name, zone, nameServers } = testimony
  const parting = partingName(name, targetsOf(testimony.outcome), targetsOf(recursive))
  if (parting === name) return { name, zone, nameServers }
  const there = await authorities.ask({ name: parting, type: 'NS' }, { signal })
  return there.isBusy ? { name, zone, nameServers } : { ...there, name: parting }
}

export async function viewOf({ name, zone, nameServers }: Dispute, doors: ViewDoors): Promise<View> {
  const { dns, authorities, servers, tries, signal } = doors
  // The root knows no such top-level domain: whoever does has it from somewhere else.
  if (zone === '') return 'other'
  const cuts = namesBetween(zone, name).slice(0, MOST_CUTS)
  const [apex, ...below] = await Promise.all(
    [zone, ...cuts].map(
      async (each) => (await dns.ask({ name: each, type: 'NS' }, { servers, tries, signal })).outcome,
    ),
  )
  if (below.some((outcome) => isZoneCut(outcome))) return 'other'
  if (isFailure(apex!) || below.some((outcome, at) => isFailure(outcome) && cuts[at] !== name)) return 'unknown'
  const named = valuesOf(apex!)
  if (named.some((each) => nameServers.includes(each))) return 'same'
  // A zone may name other servers than its parent does.
  const { outcome } = await authorities.ask({ name: zone, type: 'NS' }, { signal })
  return valuesOf(outcome).some((each) => named.includes(each)) ? 'same' : 'other'
}

function partingName(owner: string, one: readonly string[], other: readonly string[]): string {
  const shared = one.findIndex((target, at) => target !== other[at])
  return (shared < 0 ? one : one.slice(0, shared)).at(-1) ?? owner
}

/** The names that the aliases lead to, in order. */
function targetsOf(outcome: Outcome): string[] {
  if (!('chain' in outcome)) return []
  const first = outcome.kind === 'answer' && outcome.rrset.type === 'CNAME' ? outcome.rrset.values : []
  return [...first, ...outcome.chain.map(({ target }) => target)]
}

function valuesOf(outcome: Outcome): string[] {
  return outcome.kind === 'answer' ? outcome.rrset.values : []
}

function isZoneCut(outcome: Outcome): boolean {
  return outcome.kind === 'answer' && outcome.chain.length === 0
}

/** The names from just below the zone down to the name itself, where the recursive servers may see a zone of their own. */
function namesBetween(zone: string, last: string): string[] {
  const names: string[] = []
  for (let name = last; name !== zone && isBelow(name, zone); name = name.slice(name.indexOf('.') + 1)) {
    names.unshift(name)
    if (!name.includes('.')) break
  }
  return names
}
