import type { ConfirmationReason } from '#contract/reasons.ts'
import { isSubdomain } from '../dns/names.ts'
import type { Outcome, Reply, ServerAddress } from '../dns/outcome.ts'
import { isFiltered, isUsable } from '../dns/outcome.ts'
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
  if (check.recorded.resolution === 'public') return
  // The zone's servers are sampled only after this was decided.
  if (check.observations.findLast(({ query }) => query.purpose === 'name_server_sample')) return
  const { usable } = check.zone
  const resolver = firstReply(check)!
  // A resolver that reports a filtered answer has no other view.
  if (usable.length === 0 || isFiltered(resolver) || usable.some(({ outcome }) => isSame(outcome, resolver.outcome)))
    return
  const candidate = findCandidate(check, resolver)
  return candidate === undefined || Array.isArray(candidate) ? candidate : proveOtherView(check, candidate)
}

/** A zone cut that the first resolver sees with other name servers than the public ones. `publicServers`: empty below a public zone. */
type Candidate = { cut: string; publicServers: readonly string[]; reason: ConfirmationReason }

function findCandidate(check: Check, resolver: Reply): undefined | Query[] | Candidate {
  const { usable, view } = check.zone
  const isFailing = isFailure(resolver.outcome)
  const disagreement = findDisagreement(check, usable[0]!, resolver.outcome)
  if (Array.isArray(disagreement)) return disagreement
  const { name, zone, nameServers } = disagreement
  const candidate = (cut: string, publicServers: readonly string[]) => ({
    ...{ cut, publicServers },
    reason: CONFIRMATIONS.splitHorizon(zone),
  })
  // The top-level domain does not exist in the public DNS.
  if (zone === '') return candidate('', [])
  const cuts = namesBetween(zone, name).slice(0, MAX_ZONE_CUTS)
  const servers = resolverOf(check, resolver)
  const missing = [zone, ...cuts].filter((cut) => !resolverDelegation(check, cut, servers))
  if (missing.length > 0) {
    const attempts = isFailing ? 1 : 2
    return missing.map((cut): Query => ({ purpose: 'resolver_ns', name: cut, servers, attempts }))
  }
  const apex = resolverDelegation(check, zone, servers)!.outcome
  const below = cuts.map((cut) => resolverDelegation(check, cut, servers)!.outcome)
  const privateCut = below.findIndex((outcome) => isAnswer(outcome) && outcome.chain.length === 0)
  if (privateCut >= 0) return candidate(cuts[privateCut]!, [])
  if (isFailure(apex) || below.some((outcome, index) => isFailure(outcome) && cuts[index] !== name)) {
    // A private name that fails must not be reported as nonexistent because it does not exist in the public DNS.
    const isDenial = usable.every(({ outcome }) => !isAnswer(outcome))
    const reason = CONFIRMATIONS.splitHorizonPossible(zone)
    // Once another view is proven, a resolver that fails to show its delegation does not disprove it.
    const isPossible = (isDenial && isFailing) || check.recorded.hasOwnView === true
    return isPossible ? { cut: zone, publicServers: [], reason } : undefined
  }
  const resolverServers = valuesOf(apex)
  if (resolverServers.some((server) => nameServers.includes(server))) return
  // The NS records of a zone may differ from those of its parent.
  const own = view?.zone === zone ? view.ownNameServers : undefined
  const apexReply = own === undefined ? zoneDelegation(check, zone) : undefined
  if (own === undefined && !apexReply) return [{ purpose: 'zone_ns', name: zone }]
  const ownServers = own ?? (apexReply ? valuesOf(apexReply.outcome) : [])
  return ownServers.some((server) => resolverServers.includes(server))
    ? undefined
    : candidate(zone, [...nameServers, ...ownServers])
}

/** A cache counts the TTL of its copy down, and gives a copy that it could not refresh 30 seconds (RFC 8767 section 4). */
const STATIC_PAUSE_MS = 2_100
/**
 * Before the pause and after it. Several caches may answer behind one address, each with a copy that it has just fetched: most of
 * them are filled before the pause, and one of them shows a lower TTL after it.
 */
const STATIC_SAMPLES = 8
const MAX_STALE_TTL_S = 30
/** How many resolvers beside the first must see the other view too. */
const MAX_OTHERS = 2

/**
 * A resolver whose delegation is older than the registry's is no other view. It is proven by a public denial of what never was
 * public, by a resolver with authority for the zone, or by NS records whose TTL does not run down; and all resolvers must see it.
 */
function proveOtherView(check: Check, { cut, publicServers, reason }: Candidate): View {
  const { recorded, capabilities, zone } = check
  if (recorded.hasOwnView || cut === '') return reason
  const isDenied = zone.usable.every(({ outcome }) => outcome.kind === 'nxdomain')
  if (recorded.fingerprint === null && isDenied) return reason
  const first = resolverOf(check, firstReply(check)!)
  const others = capabilities.resolvers.filter((server) => !first.includes(server)).slice(0, MAX_OTHERS)
  const missing = others.filter((server) => !resolverDelegation(check, cut, [server]))
  if (missing.length > 0)
    return missing.map((server): Query => ({ purpose: 'resolver_ns', name: cut, servers: [server], attempts: 1 }))
  const outcomes = others.map((server) => resolverDelegation(check, cut, [server])!.outcome)
  const isContradiction = (outcome: Outcome) =>
    isUsable(outcome) && (!isAnswer(outcome) || valuesOf(outcome).some((server) => publicServers.includes(server)))
  if (outcomes.some(isContradiction)) return
  const delegations = resolverDelegations(check, cut, first)
  if (delegations.some(({ evidence }) => evidence.at(-1)?.flags.includes('aa'))) return reason
  const ttls = delegations.map(({ outcome }) => (isAnswer(outcome) ? outcome.rrset.ttl : 0))
  if (ttls.length === 0 || ttls[0]! <= MAX_STALE_TTL_S || ttls.some((ttl) => ttl !== ttls[0])) return
  if (ttls.length >= 2 * STATIC_SAMPLES) return reason
  const notBefore = ttls.length === STATIC_SAMPLES ? { notBefore: check.now.elapsed + STATIC_PAUSE_MS } : {}
  return [{ purpose: 'resolver_ns', name: cut, servers: first, attempts: 1, ...notBefore }]
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

function resolverDelegation(check: Check, name: string, servers: readonly ServerAddress[]): Reply | undefined {
  return resolverDelegations(check, name, servers)[0]
}

/** Oldest first. */
function resolverDelegations({ observations }: Check, name: string, servers: readonly ServerAddress[]): Reply[] {
  return observations.flatMap((observation) => {
    const { query } = observation
    const isAsked = query.purpose === 'resolver_ns' && query.name === name && query.servers[0] === servers[0]
    return isAsked && 'reply' in observation ? [observation.reply] : []
  })
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

/** Whether at least half of the delegated servers answered. */
export function isQuorum({ zone: { view, usable, bogus } }: Pick<Check, 'zone'>): boolean {
  if (!view || view.isDenied) return true
  return new Set([...usable, ...bogus].map(({ server }) => server)).size * 2 >= view.nameServers.length
}
