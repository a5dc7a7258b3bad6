import type { Clock } from '../../clock.ts'
import type { DnsClient } from '../client.ts'
import { withChainBefore } from '../cname-chain.ts'
import { isSubdomain } from '../names.ts'
import { type CnameChain, type Exchange, isUsable, type Outcome, type Question } from '../outcome.ts'
import { formatServer } from '../server-address.ts'
import type { DelegationCache } from './delegation.ts'
import { type Delegation, delegationOf, type NameServer, usableAddresses } from './delegation.ts'
import type { QueryBudget } from './query-budget.ts'
import { failureOf, isHelpful, isReferralDown, limitToZone } from './zone-response.ts'

export type ResolverDeps = {
  dns: DnsClient
  clock: Clock
  cache: DelegationCache
  /** The port of all name servers. */
  port: number
  timeoutMs: number
  isAllowed(ip: string): boolean
}

/** The state of one resolution. It shares its budget with the resolutions of name servers' addresses. */
export type Resolution = {
  /** n: the n-th name server of each zone is queried first. */
  firstServer: number
  /** Follows delegations again that were learned before this time, instead of using the cache; also for CNAME targets. */
  since: number | undefined
  /** Names in this zone are asked of its name servers, without following the delegation. */
  pinned?: Delegation | undefined
  deadline: number
  startedAt: number
  budget: { queries: number }
  /** Of the check that this resolution is part of. */
  checkBudget?: QueryBudget | undefined
  /** False: name servers whose addresses are not known yet are not queried. */
  resolvesNameServers?: boolean
  /** The name servers whose addresses are being resolved, outermost first. */
  resolving: readonly string[]
  /** Of the organization for which it is made: queries that wait for a server take turns by group. */
  group: string | undefined
  signal: AbortSignal | undefined
  evidence: Exchange[]
}

/**
 * `zone`: the one that contains the question's name. `nameServer`: the one that answered, if any. `isFromCache`: whether a
 * delegation to the name, or to a CNAME target, was cached from an earlier question.
 */
export type Resolved = Result & { isFromCache: boolean }
type Result = { outcome: Outcome; zone: Delegation; nameServer: string | undefined }

const MAX_DEPTH = 4
const MAX_ATTEMPTS = 8

/** Follows the delegation to the zone of the name and queries its servers. CNAME targets in other zones are resolved in the same way. */
export async function resolve(deps: ResolverDeps, question: Question, resolution: Resolution): Promise<Resolved> {
  let chain: CnameChain = []
  let first: Result | undefined
  let isFromCache = false
  for (let name = question.name; ; name = chain.at(-1)!.target) {
    if (resolution.since !== undefined) deps.cache.deletePathTo(name, resolution.since)
    const result = await followDelegations(deps, { ...question, name }, resolution)
    first ??= result
    isFromCache ||= isFromEarlierQuery(result.zone, resolution)
    const outcome = withChainBefore(chain, result.outcome)
    const hasNextTarget = outcome.kind === 'referral' && outcome.chain.length > chain.length
    if (!hasNextTarget) return { ...first, outcome, isFromCache }
    chain = outcome.chain
  }
}

/**
 * Goes from the deepest cached zone down to the zone whose servers answer. The DS records of a zone are in its parent zone.
 * RFC 4035 section 3.1.4.1.
 */
async function followDelegations(deps: ResolverDeps, question: Question, resolution: Resolution): Promise<Result> {
  const { cache, clock, isAllowed } = deps
  const pinned = resolution.pinned && isSubdomain(question.name, resolution.pinned.zone) ? resolution.pinned : undefined
  let isRetried = pinned !== undefined
  const closest = () => cache.closest(question.type === 'DS' ? parentName(question.name) : question.name)
  for (let zone = pinned ?? closest(); ; ) {
    const result = await queryZone(deps, zone, question, resolution)
    if (isReferralDown(result.outcome, zone.zone)) {
      // A server without DNSSEC support refers to the child zone instead of answering NODATA.
      if (question.type === 'DS' && result.outcome.zone === question.name) {
        return { ...result, outcome: { kind: 'nodata', chain: [] }, zone }
      }
      zone = delegationOf(result.outcome, zone.zone, isAllowed, clock.elapsed())
      cache.add(zone)
      continue
    }
    if (result.nameServer !== undefined || isRetried || !isFromEarlierQuery(zone, resolution)) {
      return { ...result, outcome: limitToZone(result.outcome, zone.zone), zone }
    }
    // The zone may have moved: query its parent again.
    isRetried = true
    cache.delete(zone.zone)
    zone = closest()
  }
}

function parentName(name: string): string {
  const dot = name.indexOf('.')
  return dot < 0 ? '' : name.slice(dot + 1)
}

/** Whether the delegation was cached from an earlier question. */
function isFromEarlierQuery({ zone, learnedAt }: Delegation, { startedAt }: Resolution): boolean {
  return zone !== '' && Number.isFinite(learnedAt) && learnedAt < startedAt
}

type ServerResult = { outcome: Outcome; nameServer: string | undefined }

/** Queries a zone's servers until a response is helpful. */
export async function queryZone(
  deps: ResolverDeps,
  zone: Delegation,
  question: Question,
  resolution: Resolution,
): Promise<ServerResult> {
  const servers = rotate(zone.nameServers, resolution.firstServer + offsetOf(question.name))
  const reachable = servers.filter(({ ips }) => ips !== undefined && ips.length > 0)
  if (reachable.length < Math.min(2, servers.length)) await fillInAddresses(deps, servers, resolution)
  const result = await queryNameServers(deps, zone, servers, question, resolution)
  const unresolved = servers.filter(({ ips }) => ips === undefined)
  if (result.nameServer !== undefined || unresolved.length === 0) return result
  await fillInAddresses(deps, unresolved, resolution)
  return unresolved.some(({ ips }) => ips?.length)
    ? await queryNameServers(deps, zone, unresolved, question, resolution)
    : result
}

async function queryNameServers(
  { dns, clock, port, timeoutMs }: ResolverDeps,
  zone: Delegation,
  servers: NameServer[],
  question: Question,
  resolution: Resolution,
): Promise<ServerResult> {
  const addresses = firstAddressesFirst(servers)
  const names = new Map(addresses.map(({ name, ip }) => [formatServer({ ip, port }), name]))
  const attempts = Math.min(
    servers.length === 1 ? addresses.length + 1 : 2 * addresses.length,
    MAX_ATTEMPTS,
    resolution.budget.queries,
    resolution.checkBudget?.leftFor(zone.zone) ?? Number.POSITIVE_INFINITY,
    Math.floor((resolution.deadline - clock.elapsed()) / timeoutMs),
  )
  if (addresses.length > 0 && attempts < 1) return { outcome: { kind: 'timeout' }, nameServer: undefined }
  const spend = (queries: number) => {
    resolution.budget.queries -= queries
    resolution.checkBudget?.spend(zone.zone, queries)
  }
  spend(1) // at once, because other resolutions share the budget
  const { evidence } = await dns.query(question, {
    servers: addresses.map(({ ip }) => ({ ip, port })),
    recursionDesired: false,
    accept: (response) => isHelpful(response, zone.zone),
    timeoutMs,
    attempts: Math.max(1, attempts),
    group: resolution.group,
    beforeTcp: (signal) => resolution.checkBudget?.takePlace(signal) ?? Promise.resolve(),
    signal: resolution.signal,
  })
  spend(Math.max(0, evidence.length - 1))
  const named = evidence.map((exchange): Exchange => {
    const name = names.get(exchange.server)
    return { ...exchange, path: 'authoritative', ...(name === undefined ? {} : { name }) }
  })
  resolution.evidence.push(...named)
  const last = named.at(-1)
  if (last?.outcome && isHelpful(last, zone.zone)) return { outcome: last.outcome, nameServer: last.name }
  return { outcome: failureOf(zone, named), nameServer: undefined }
}

/** Resolves the addresses of name servers without glue, in parallel. */
export async function fillInAddresses(
  deps: ResolverDeps,
  servers: readonly NameServer[],
  resolution: Resolution,
  limit = resolution.resolving.length === 0 ? 4 : 2,
): Promise<void> {
  if (resolution.resolvesNameServers === false) return
  const unknown = servers.filter(({ ips }) => ips === undefined).slice(0, limit)
  await Promise.all(
    unknown.map(async (server) => {
      server.ips = await resolveAddresses(deps, server.name, resolution)
    }),
  )
}

/** Undefined if they cannot be resolved now. A name server inside its own zone without glue has none. */
async function resolveAddresses(
  deps: ResolverDeps,
  name: string,
  resolution: Resolution,
): Promise<string[] | undefined> {
  if (resolution.resolving.includes(name)) return []
  if (resolution.resolving.length >= MAX_DEPTH) return undefined
  const inner: Resolution = {
    ...resolution,
    since: undefined,
    pinned: undefined,
    resolving: [...resolution.resolving, name],
    evidence: [],
  }
  const replies = await Promise.all(
    (['A', 'AAAA'] as const).map((type) => resolve(deps, { name, type }, { ...inner, evidence: [] })),
  )
  const ips = replies.flatMap(({ outcome }) => (outcome.kind === 'answer' ? outcome.rrset.values : []))
  if (ips.length > 0) return usableAddresses(ips, deps.isAllowed)
  return replies.every(({ outcome }) => isUsable(outcome) || outcome.kind === 'lame') ? [] : undefined
}

/** First one address of every server, then the second addresses: another server is a better retry. */
function firstAddressesFirst(servers: readonly NameServer[]): { name: string; ip: string }[] {
  const longest = Math.max(0, ...servers.map(({ ips }) => ips?.length ?? 0))
  return Array.from({ length: longest }, (_, index) =>
    servers.flatMap(({ name, ips }) => (ips?.[index] === undefined ? [] : [{ name, ip: ips[index] }])),
  ).flat()
}

/** Different names begin at different servers. */
function offsetOf(name: string): number {
  let offset = 0
  for (let index = 0; index < name.length; index++) offset = (31 * offset + name.charCodeAt(index)) % 10_007
  return offset
}

function rotate<T>(list: readonly T[], by: number): T[] {
  const first = list.length === 0 ? 0 : by % list.length
  return [...list.slice(first), ...list.slice(0, first)]
}
