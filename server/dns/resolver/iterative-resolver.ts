import type { Clock } from '../../clock.ts'
import type { DnsClient } from '../client.ts'
import { withChainBefore } from '../cname-chain.ts'
import type { CnameChain, Evidence, Outcome, Question } from '../outcome.ts'
import { formatServer } from '../server-address.ts'
import { type Delegation, delegationOf, type NameServer, usableAddresses } from './delegation.ts'
import type { DelegationCache } from './delegation-cache.ts'
import { failureOf, isReferralDown, isUseful, limitToZone } from './zone-response.ts'

export type ResolverDeps = {
  dns: DnsClient
  clock: Clock
  cache: DelegationCache
  /** The port of every server of the tree. */
  port: number
  timeoutMs: number
  isAllowed(ip: string): boolean
}

/** One lookup's way down. What it may still use is shared with the lookups of name servers' addresses on its way. */
export type Resolution = {
  /** Which of a zone's servers is queried first. */
  firstServer: number
  /** Whether the delegation is followed again instead of using the cache; also for CNAME targets. */
  fresh: boolean
  deadline: number
  startedAt: number
  budget: { queries: number }
  /** The name servers whose addresses are being looked up, outermost first. */
  resolving: readonly string[]
  signal: AbortSignal | undefined
  evidence: Evidence[]
}

/**
 * `zone`: the one that holds the question's own name. `nameServer`: the server that answered, undefined where none did. `isFromCache`:
 * whether any of the ways, to the name or to the target of an alias, was learned before.
 */
export type Resolved = Result & { isFromCache: boolean }
type Result = { outcome: Outcome; zone: Delegation; nameServer: string | undefined }

const MAX_DEPTH = 4
const MAX_ATTEMPTS = 8

/** Follows the delegation to the zone of the name and asks there; aliases into other zones are followed from the root. */
export async function resolve(deps: ResolverDeps, question: Question, resolution: Resolution): Promise<Resolved> {
  let chain: CnameChain = []
  let first: Result | undefined
  let isFromCache = false
  for (let name = question.name; ; name = chain.at(-1)!.target) {
    if (resolution.fresh) deps.cache.deletePathTo(name, resolution.startedAt)
    const found = await followDelegations(deps, { ...question, name }, resolution)
    first ??= found
    isFromCache ||= isFromEarlierQuery(found.zone, resolution)
    const outcome = withChainBefore(chain, found.outcome)
    const goesOn = outcome.kind === 'referral' && outcome.chain.length > chain.length
    if (!goesOn) return { ...first, outcome, isFromCache }
    chain = outcome.chain
  }
}

/**
 * From the deepest known zone down to the one whose servers answer, one cut after the other. The DS records of a zone are in the
 * zone above: the child's servers say that there are none. RFC 4035 section 3.1.4.1.
 */
async function followDelegations(deps: ResolverDeps, question: Question, resolution: Resolution): Promise<Result> {
  const { cache, clock, isAllowed } = deps
  let isRetried = false
  const closest = () => cache.closest(question.type === 'DS' ? parentName(question.name) : question.name)
  for (let zone = closest(); ; ) {
    const result = await queryZone(deps, zone, question, resolution)
    if (isReferralDown(result.outcome, zone.zone)) {
      // A server that knows no DNSSEC refers to the child instead of saying that there are none.
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
    // The zone may have moved since: its parent knows.
    isRetried = true
    cache.delete(zone.zone)
    zone = closest()
  }
}

function parentName(name: string): string {
  const dot = name.indexOf('.')
  return dot < 0 ? '' : name.slice(dot + 1)
}

/** Whether the zone's delegation was learned for an earlier question. */
function isFromEarlierQuery({ zone, learnedAt }: Delegation, { startedAt }: Resolution): boolean {
  return zone !== '' && learnedAt < startedAt
}

type ServerResult = { outcome: Outcome; nameServer: string | undefined }

/** Asks a zone's servers, the firstServer's own first, until one is of use. */
async function queryZone(
  deps: ResolverDeps,
  zone: Delegation,
  question: Question,
  resolution: Resolution,
): Promise<ServerResult> {
  const servers = rotate(zone.nameServers, resolution.firstServer + offsetOf(question.name))
  const known = servers.filter(({ ips }) => ips !== undefined && ips.length > 0)
  if (known.length < Math.min(2, servers.length)) await fillInAddresses(deps, servers, resolution)
  const result = await queryNameServers(deps, zone, servers, question, resolution)
  const unknown = servers.filter(({ ips }) => ips === undefined)
  if (result.nameServer !== undefined || unknown.length === 0) return result
  await fillInAddresses(deps, unknown, resolution)
  return unknown.some(({ ips }) => ips?.length)
    ? await queryNameServers(deps, zone, unknown, question, resolution)
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
  const tries = Math.min(
    2 * addresses.length,
    MAX_ATTEMPTS,
    resolution.budget.queries,
    Math.floor((resolution.deadline - clock.elapsed()) / timeoutMs),
  )
  if (addresses.length > 0 && tries < 1) return { outcome: { kind: 'timeout' }, nameServer: undefined }
  resolution.budget.queries-- // at once, as others may be in progress beside this one
  const { evidence } = await dns.query(question, {
    servers: addresses.map(({ ip }) => ({ ip, port })),
    recursionDesired: false,
    accept: (each) => isUseful(each, zone.zone),
    timeoutMs,
    attempts: Math.max(1, tries),
    signal: resolution.signal,
  })
  resolution.budget.queries -= Math.max(0, evidence.length - 1)
  const named = evidence.map((each): Evidence => {
    const name = names.get(each.server)
    return { ...each, path: 'authoritative', ...(name === undefined ? {} : { name }) }
  })
  resolution.evidence.push(...named)
  const last = named.at(-1)
  if (last?.outcome && isUseful(last, zone.zone)) return { outcome: last.outcome, nameServer: last.name }
  return { outcome: failureOf(zone, named), nameServer: undefined }
}

/** Looks up the addresses of name servers that came without, at once. */
async function fillInAddresses(deps: ResolverDeps, servers: NameServer[], resolution: Resolution): Promise<void> {
  const most = resolution.resolving.length === 0 ? 4 : 2
  const unknown = servers.filter(({ ips }) => ips === undefined).slice(0, most)
  await Promise.all(
    unknown.map(async (server) => {
      server.ips = await resolveAddresses(deps, server.name, resolution)
    }),
  )
}

/** Undefined where it cannot be told now. A name server below its own zone and without glue has none: it leads in a circle. */
async function resolveAddresses(
  deps: ResolverDeps,
  name: string,
  resolution: Resolution,
): Promise<string[] | undefined> {
  if (resolution.resolving.includes(name)) return []
  if (resolution.resolving.length >= MAX_DEPTH) return undefined
  const inner: Resolution = { ...resolution, fresh: false, resolving: [...resolution.resolving, name], evidence: [] }
  const found = await Promise.all(
    (['A', 'AAAA'] as const).map((type) => resolve(deps, { name, type }, { ...inner, evidence: [] })),
  )
  const ips = found.flatMap(({ outcome }) => (outcome.kind === 'answer' ? outcome.rrset.values : []))
  if (ips.length > 0) return usableAddresses(ips, deps.isAllowed)
  return found.every(({ outcome }) => isDefinitive(outcome)) ? [] : undefined
}

function isDefinitive({ kind }: Outcome): boolean {
  return kind === 'answer' || kind === 'nodata' || kind === 'nxdomain' || kind === 'cname_loop' || kind === 'lame'
}

/** Every server's first address before anyone's second: a second address is no second server. */
function firstAddressesFirst(servers: readonly NameServer[]): { name: string; ip: string }[] {
  const most = Math.max(0, ...servers.map(({ ips }) => ips?.length ?? 0))
  return Array.from({ length: most }, (_, at) =>
    servers.flatMap(({ name, ips }) => (ips?.[at] === undefined ? [] : [{ name, ip: ips[at] }])),
  ).flat()
}

/** Names begin at different servers, and each query of one name at another. */
function offsetOf(name: string): number {
  let spin = 0
  for (let at = 0; at < name.length; at++) spin = (31 * spin + name.charCodeAt(at)) % 10_007
  return spin
}

function rotate<T>(list: readonly T[], by: number): T[] {
  const at = list.length === 0 ? 0 : by % list.length
  return [...list.slice(at), ...list.slice(0, at)]
}
