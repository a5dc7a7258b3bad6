import type { ConfirmationReason } from '#contract/reasons.ts'
import { isSubdomain } from '../dns/names.ts'
import type { Outcome } from '../dns/outcome.ts'
import { isFiltered } from '../dns/outcome.ts'
import type { AuthoritativeReply } from '../dns/resolver/authoritative-client.ts'
import {
  type Check,
  firstReply,
  type NameServerReply,
  type Query,
  resolverOf,
  type Step,
  sendQueries,
} from './check-state.ts'
import { isAnswer, isFailure, isSame } from './outcomes.ts'
import { CONFIRMATIONS } from './reasons.ts'

/** Undefined: the resolvers see the public zone. A reason: they see another view. `Query[]`: what to query first. */
type View = undefined | ConfirmationReason | Query[]

export function compareViews(check: Check): Step | undefined {
  const view = findOtherView(check)
  return Array.isArray(view) ? sendQueries(...view) : undefined
}

const MAX_ZONE_CUTS = 4

export function findOtherView(check: Check): View {
  // The zone's servers are sampled only after this was decided.
  if (check.observations.findLast(({ query }) => query.purpose === 'name_server_sample')) return
  const { usable } = check.zone
  const resolver = firstReply(check)!
  // A resolver that reports a filtered answer has no other view.
  if (usable.length === 0 || isFiltered(resolver) || usable.some(({ outcome }) => isSame(outcome, resolver.outcome)))
    return
  const isFailing = isFailure(resolver.outcome)
  const disagreement = findDisagreement(check, usable[0]!, resolver.outcome)
  if (Array.isArray(disagreement)) return disagreement
  // The top-level domain does not exist in the public DNS.
  if (disagreement.zone === '') return CONFIRMATIONS.splitHorizon(disagreement.zone)
  const { name, zone, nameServers } = disagreement
  const cuts = namesBetween(zone, name).slice(0, MAX_ZONE_CUTS)
  const missing = [zone, ...cuts].filter((cut) => !resolverDelegation(check, cut))
  if (missing.length > 0) {
    const attempts = isFailing ? 1 : 2
    const servers = resolverOf(check, resolver)
    return missing.map((cut): Query => ({ purpose: 'resolver_ns', name: cut, servers, attempts }))
  }
  const apex = resolverDelegation(check, zone)!
  const below = cuts.map((cut) => resolverDelegation(check, cut)!)
  if (below.some((outcome) => isAnswer(outcome) && outcome.chain.length === 0)) return CONFIRMATIONS.splitHorizon(zone)
  if (isFailure(apex) || below.some((outcome, index) => isFailure(outcome) && cuts[index] !== name)) {
    // A private name that fails must not be reported as nonexistent because it does not exist in the public DNS.
    const isDenial = usable.every(({ outcome }) => !isAnswer(outcome))
    return isDenial && isFailing ? CONFIRMATIONS.splitHorizonPossible(zone) : undefined
  }
  const resolverServers = valuesOf(apex)
  if (resolverServers.some((server) => nameServers.includes(server))) return
  // The NS records of a zone may differ from those of its parent.
  const apexReply = zoneDelegation(check, zone)
  if (!apexReply) return [{ purpose: 'zone_ns', name: zone }]
  return valuesOf(apexReply.outcome).some((server) => resolverServers.includes(server))
    ? undefined
    : CONFIRMATIONS.splitHorizon(zone)
}

type Disagreement = { name: string; zone: string; nameServers: readonly string[] }

/** The last name of the CNAME chain on which both agree, with its zone, which may differ from the zone of the owner name. */
function findDisagreement(check: Check, reply: NameServerReply, resolver: Outcome): Disagreement | Query[] {
  const { owner: name, zone, nameServers } = reply
  const lastCommon = lastCommonName(name, targetsOf(reply.outcome), targetsOf(resolver))
  if (lastCommon === name) return { name, zone, nameServers }
  const delegation = zoneDelegation(check, lastCommon)
  if (!delegation) return [{ purpose: 'zone_ns', name: lastCommon }]
  return delegation.isBusy ? { name, zone, nameServers } : { ...delegation, name: lastCommon }
}

function resolverDelegation({ observations }: Check, name: string): Outcome | undefined {
  for (const observation of observations) {
    const { query } = observation
    if (query.purpose === 'resolver_ns' && query.name === name && 'reply' in observation)
      return observation.reply.outcome
  }
}

function zoneDelegation({ observations }: Check, name: string): AuthoritativeReply | undefined {
  for (const observation of observations) {
    const { query } = observation
    if (query.purpose === 'zone_ns' && query.name === name && 'nsReply' in observation) return observation.nsReply
  }
}

function lastCommonName(owner: string, one: readonly string[], other: readonly string[]): string {
  const shared = one.findIndex((target, index) => target !== other[index])
  return (shared < 0 ? one : one.slice(0, shared)).at(-1) ?? owner
}

/** The targets of the CNAME records, in order. */
function targetsOf(outcome: Outcome): string[] {
  if (!('chain' in outcome)) return []
  const own = outcome.kind === 'answer' && outcome.rrset.type === 'CNAME' ? outcome.rrset.values : []
  return [...own, ...outcome.chain.map(({ target }) => target)]
}

function valuesOf(outcome: Outcome): string[] {
  return outcome.kind === 'answer' ? outcome.rrset.values : []
}

/** The names from just below the zone down to the name, where a private zone cut may be. */
function namesBetween(zone: string, last: string): string[] {
  const names: string[] = []
  for (let name = last; name !== zone && isSubdomain(name, zone); name = name.slice(name.indexOf('.') + 1)) {
    names.unshift(name)
    if (!name.includes('.')) break
  }
  return names
}

export function doesZoneDecide(check: Check): boolean {
  return check.zone.usable.length > 0 && findOtherView(check) === undefined
}
