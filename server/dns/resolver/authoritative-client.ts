import type { Clock } from '../../clock.ts'
import type { DnsClient } from '../client.ts'
import type { Question, Reply, ServerAddress } from '../outcome.ts'
import { OverloadError } from '../semaphore.ts'
import { createSingleFlight } from '../single-flight.ts'
import { areInSameRange, isSpecialAddress } from '../special-addresses.ts'
import { createDelegationCache, rootDelegation } from './delegation.ts'
import { type Resolution, type ResolverDeps, resolve } from './iterative-resolver.ts'
import type { QueryBudget } from './query-budget.ts'
import { createRootReachability, type RootProblem } from './root-servers.ts'
import { type CachedView, createZoneViews, delegationTo, type ZoneView } from './zone-view.ts'

/** Queries the zones' own name servers, found by following the delegation from the root. RFC 1034 section 5.3.3. */
export type AuthoritativeClient = {
  /** Why authoritative name servers cannot be queried; undefined while they can. `isAgain`: an outage may be over. */
  findRootProblem(isAgain?: boolean): Promise<RootProblem | undefined>
  /** Whether the root servers answered in the last 10 minutes, and are silent now. */
  areRootsLost(): Promise<boolean>
  /**
   * Resolves about within the resolution timeout. Equal questions with equal options share one resolution and one reply, which
   * must not be changed.
   */
  query(question: Question, options?: AuthoritativeClientOptions): Promise<AuthoritativeReply>
  /** Undefined if too many queries are pending. `number`: begins with the n-th server of each parent zone. */
  zoneView(question: Question, options: ZoneViewOptions): Promise<CachedView | undefined>
  /** Whether an address is private where the roots are public. */
  isPrivate(ip: string): boolean
}

/** `fresh`: from all servers of the parent zone now; otherwise as one of them gave it within the last minutes. */
export type ZoneViewOptions = {
  fresh: boolean
  number?: number
  /** Of the check: shared by its questions. */
  budget?: QueryBudget | undefined
  group?: string | undefined
  signal?: AbortSignal | undefined
}

export type AuthoritativeClientOptions = {
  /** n: begins with the n-th name server of every zone. */
  firstServer?: number
  /** Follows the delegation again instead of using the cache. */
  fresh?: boolean
  /** Follows delegations again that were learned before, in elapsed milliseconds. */
  since?: number
  /** Asks only the n-th name server of the zone. CNAME targets in other zones are resolved as usual. */
  at?: { view: ZoneView; server: number }
  /** Of the check: shared by its questions. */
  budget?: QueryBudget | undefined
  /** False: only name servers with known addresses are queried. Default true. */
  resolvesNameServers?: boolean | undefined
  /** If shorter than the resolution timeout. */
  totalTimeoutMs?: number | undefined
  /** Of the organization for which it is sent: queries that wait for a server take turns by group. */
  group?: string | undefined
  signal?: AbortSignal | undefined
}

/** `zone`: the one that contains the name. `nameServers`: the names of all of its. `nameServer`: the one that answered, if any. */
export type AuthoritativeReply = Reply & {
  zone: string
  nameServers: string[]
  nameServer: string | undefined
  /** Whether a delegation to the name, or to a CNAME target, was cached from an earlier question. */
  isFromCache: boolean
  /** No name server was queried in time, because too many queries to them are pending. */
  isBusy?: true
}

export const RESOLUTION_TIMEOUT_MS = 6_000
const QUERY_TIMEOUT_MS = 1_000
/** For one resolution, including the addresses of name servers. It limits the traffic that a hostile tree can cause. */
const MAX_QUERIES = 60
/** For one zone view: up to 13 servers of each parent, and the addresses of up to 13 name servers. */
const MAX_VIEW_QUERIES = 120

/** `dns`: a separate client, rate-limited for name servers of others. All servers are queried on the port of the roots. */
export function createAuthoritativeClient({
  dns,
  clock,
  roots,
  timeoutMs = QUERY_TIMEOUT_MS,
  resolutionTimeoutMs = RESOLUTION_TIMEOUT_MS,
}: {
  dns: DnsClient
  clock: Clock
  roots: readonly ServerAddress[]
  timeoutMs?: number
  resolutionTimeoutMs?: number
}): AuthoritativeClient {
  const cache = createDelegationCache(rootDelegation(roots), clock)
  // Delegations in the public tree must not lead into the operator's network.
  const isPrivateTree = roots.some(({ ip }) => isSpecialAddress(ip))
  const isAllowed = (ip: string) => isPrivateTree || !isSpecialAddress(ip)
  const deps: ResolverDeps = { dns, clock, cache, port: roots[0]?.port ?? 53, timeoutMs, isAllowed }
  const views = createZoneViews(deps)
  const singleFlight = createSingleFlight<AuthoritativeReply>()

  // A server that does not respond cannot take longer than this, but the wait for a busy one can.
  async function withinTimeout<T>(signal: AbortSignal | undefined, run: (signal: AbortSignal) => Promise<T>) {
    const finished = new AbortController()
    const timeout = new AbortController()
    void clock.sleep(resolutionTimeoutMs + timeoutMs, finished.signal).then(() => {
      if (!finished.signal.aborted) timeout.abort('timeout')
    })
    try {
      return await run(signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal)
    } catch (error) {
      if (error === 'timeout' || error instanceof OverloadError) return 'busy'
      throw error
    } finally {
      finished.abort('finished') // without a reason, an error with its stack is made each time
    }
  }

  function newResolution(
    { firstServer = 0, group }: Pick<AuthoritativeClientOptions, 'firstServer' | 'group'>,
    queries: number,
    totalTimeoutMs = resolutionTimeoutMs,
  ) {
    const startedAt = clock.elapsed()
    const resolution: Omit<Resolution, 'signal'> = {
      firstServer,
      group,
      since: undefined,
      deadline: startedAt + Math.min(resolutionTimeoutMs, totalTimeoutMs),
      startedAt,
      budget: { queries },
      resolving: [],
      evidence: [],
    }
    return resolution
  }

  async function resolveQuestion(question: Question, options: AuthoritativeClientOptions): Promise<AuthoritativeReply> {
    const { fresh = false, totalTimeoutMs, signal, at, budget, resolvesNameServers = true } = options
    const resolution = newResolution(options, MAX_QUERIES, totalTimeoutMs)
    Object.assign(resolution, { checkBudget: budget, resolvesNameServers })
    const { evidence, startedAt } = resolution
    resolution.since = fresh ? startedAt : options.since
    if (at) resolution.pinned = delegationTo(at.view, at.server)
    const resolved = await withinTimeout(signal, (both) => resolve(deps, question, { ...resolution, signal: both }))
    const isCutShort = resolved !== 'busy' && budget?.isExhausted() === true && resolved.nameServer === undefined
    if (resolved === 'busy' || isCutShort) return { ...BUSY, evidence }
    const { outcome, zone, nameServer, isFromCache } = resolved
    // A reply of one server names all servers of its zone.
    const all = at && zone.zone === at.view.zone ? at.view : zone
    const nameServers = all.nameServers.map(({ name }) => name)
    return { outcome, evidence, zone: zone.zone, nameServers, nameServer, isFromCache }
  }

  const rootReachability = createRootReachability({ dns, clock, roots, timeoutMs })
  return {
    findRootProblem: rootReachability.findProblem,
    areRootsLost: rootReachability.areLost,
    query(question, options = {}) {
      const {
        firstServer = 0,
        fresh = false,
        totalTimeoutMs = '',
        signal,
        since = '',
        at,
        group = '',
        resolvesNameServers = true,
      } = options
      // Views of one zone may differ.
      const pinned = at ? at.view.nameServers[at.server]?.name : ''
      const limits = `${resolvesNameServers} ${firstServer} ${fresh} ${since} ${totalTimeoutMs} ${group}`
      const key = `${limits} ${pinned} ${question.type} ${question.name}`
      return singleFlight(key, signal, () => resolveQuestion(question, options))
    },
    async zoneView(question, { fresh, number = 0, budget, group, signal }) {
      const resolution = { ...newResolution({ firstServer: number, group }, MAX_VIEW_QUERIES), checkBudget: budget }
      const view = await withinTimeout(signal, (both) =>
        views[fresh ? 'fresh' : 'recent'](question, { ...resolution, signal: both }),
      )
      return view === 'busy' ? undefined : view
    },
    isPrivate: (ip) => isSpecialAddress(ip) && !roots.some((root) => areInSameRange(root.ip, ip)),
  }
}

const BUSY = {
  outcome: { kind: 'timeout' },
  zone: '',
  nameServers: [],
  nameServer: undefined,
  isFromCache: false,
  isBusy: true,
} satisfies Omit<AuthoritativeReply, 'evidence'>
