import type { DnsClient } from '../dns/client.ts'
import { isBelow } from '../dns/names.ts'
import type { Outcome, ServerAddress } from '../dns/outcome.ts'
import { isFailure } from './replies.ts'
import type { Testimony } from './testimony.ts'

/**
 * Whether the recursive servers see the zone that the public name servers speak for. `other`: split horizon, they are shown
 * a zone of the same name, or one below it, that the public does not see. `unknown`: they do not say.
 */
export type View = 'same' | 'other' | 'unknown'

const MOST_CUTS = 4

/** `servers`: the recursive servers in question. */
export async function viewOf(
  { zone, nameServers, owner }: Testimony,
  dns: DnsClient,
  servers: readonly ServerAddress[],
  signal: AbortSignal,
): Promise<View> {
  // The root knows no such top-level domain: whoever does has it from somewhere else.
  if (zone === '') return 'other'
  const cuts = namesBetween(zone, owner).slice(0, MOST_CUTS)
  const [apex, ...below] = await Promise.all(
    [zone, ...cuts].map(async (name) => (await dns.ask({ name, type: 'NS' }, { servers, signal })).outcome),
  )
  if (below.some((outcome) => isZoneCut(outcome))) return 'other'
  if (isFailure(apex!) || below.some((outcome, at) => isFailure(outcome) && cuts[at] !== owner)) return 'unknown'
  return apex!.kind === 'answer' && apex!.rrset.values.some((name) => nameServers.includes(name)) ? 'same' : 'other'
}

function isZoneCut(outcome: Outcome): boolean {
  return outcome.kind === 'answer' && outcome.chain.length === 0
}

/** The names from just below the zone down to the owner itself, where the recursive servers may see a zone of their own. */
function namesBetween(zone: string, owner: string): string[] {
  const names: string[] = []
  for (let name = owner; name !== zone && isBelow(name, zone); name = name.slice(name.indexOf('.') + 1)) {
    names.unshift(name)
    if (!name.includes('.')) break
  }
  return names
}
