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
} from './check.ts'
import { isAnswer, isFailure, isSame } from './outcomes.ts'
import { CONFIRMATIONS } from './reasons.ts'

/** Undefined: the same zone. A reason: why the zone's servers do not count. `Query[]`: what has to be asked to tell. */
type View = undefined | ConfirmationReason | Query[]

export function compareViews(check: Check): Step | undefined {
  const view = findOtherView(check)
  return Array.isArray(view) ? sendQueries(...view) : undefined
}

const MAX_ZONE_CUTS = 4

export function findOtherView(check: Check): View {
  // The zone's servers are sampled only when this is settled.
  if (check.observations.findLast(({ query }) => query.purpose === 'name_server_sample')) return
  const { usable } = check.zone
  const resolver = firstReply(check)!
  // A server that says that it blocks or forges has no view of its own.
  if (usable.length === 0 || isFiltered(resolver) || usable.some(({ outcome }) => isSame(outcome, resolver.outcome)))
    return
  const isFailing = isFailure(resolver.outcome)
  const dispute = findDisagreement(check, usable[0]!, resolver.outcome)
  if (Array.isArray(dispute)) return dispute
  // The root knows no such top-level domain: the resolver has it from somewhere else.
  if (dispute.zone === '') return CONFIRMATIONS.splitHorizon(dispute.zone)
  const { name, zone, nameServers } = dispute
  const cuts = namesBetween(zone, name).slice(0, MAX_ZONE_CUTS)
  const missing = [zone, ...cuts].filter((each) => !resolverDelegation(check, each))
  if (missing.length > 0) {
    const attempts = isFailing ? 1 : 2
    const servers = resolverOf(check, resolver)
    return missing.map((each): Query => ({ purpose: 'resolver_ns', name: each, servers, attempts }))
  }
  const apex = resolverDelegation(check, zone)!
  const below = cuts.map((each) => resolverDelegation(check, each)!)
  if (below.some((outcome) => isAnswer(outcome) && outcome.chain.length === 0)) return CONFIRMATIONS.splitHorizon(zone)
  if (isFailure(apex) || below.some((outcome, at) => isFailure(outcome) && cuts[at] !== name)) {
    // A name that only fails inside must not be taken for one that does not exist because the public does not know it.
    const isDenial = usable.every(({ outcome }) => !isAnswer(outcome))
    return isDenial && isFailing ? CONFIRMATIONS.splitHorizonPossible(zone) : undefined
  }
  const named = valuesOf(apex)
  if (named.some((each) => nameServers.includes(each))) return
  // A zone may name other servers than its parent does.
  const own = zoneDelegation(check, zone)
  if (!own) return [{ purpose: 'zone_ns', name: zone }]
  return valuesOf(own.outcome).some((each) => named.includes(each)) ? undefined : CONFIRMATIONS.splitHorizon(zone)
}

type Disagreement = { name: string; zone: string; nameServers: readonly string[] }

/** Both agree on the CNAME chain up to the name at which they part, and that may be in another zone than the owner. */
function findDisagreement(check: Check, zoneReply: NameServerReply, resolver: Outcome): Disagreement | Query[] {
  const { owner: name, zone, nameServers } = zoneReply
  const parting = lastCommonName(name, targetsOf(zoneReply.outcome), targetsOf(resolver))
  if (parting === name) return { name, zone, nameServers }
  const there = zoneDelegation(check, parting)
  if (!there) return [{ purpose: 'zone_ns', name: parting }]
  return there.isBusy ? { name, zone, nameServers } : { ...there, name: parting }
}

function resolverDelegation({ observations }: Check, name: string): Outcome | undefined {
  for (const one of observations) {
    if (one.query.purpose === 'resolver_ns' && one.query.name === name && 'reply' in one) return one.reply.outcome
  }
}

function zoneDelegation({ observations }: Check, name: string): AuthoritativeReply | undefined {
  for (const one of observations) {
    if (one.query.purpose === 'zone_ns' && one.query.name === name && 'nsReply' in one) return one.nsReply
  }
}

function lastCommonName(owner: string, one: readonly string[], other: readonly string[]): string {
  const shared = one.findIndex((target, at) => target !== other[at])
  return (shared < 0 ? one : one.slice(0, shared)).at(-1) ?? owner
}

/** The names that the CNAME records lead to, in order. */
function targetsOf(outcome: Outcome): string[] {
  if (!('chain' in outcome)) return []
  const own = outcome.kind === 'answer' && outcome.rrset.type === 'CNAME' ? outcome.rrset.values : []
  return [...own, ...outcome.chain.map(({ target }) => target)]
}

function valuesOf(outcome: Outcome): string[] {
  return outcome.kind === 'answer' ? outcome.rrset.values : []
}

/** The names from just below the zone down to the name itself, where the resolvers may see a zone of their own. */
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
