import type { Clock } from '../../clock.ts'
import type { DnsClient } from '../client.ts'
import type { Question, Reply, ServerAddress } from '../outcome.ts'
import { OverloadError } from '../semaphore.ts'
import { createSingleFlight } from '../single-flight.ts'
import { isSpecialAddress } from '../special-addresses.ts'
import { rootDelegation } from './delegation.ts'
import { createDelegationCache } from './delegation-cache.ts'
import { type Resolution, type ResolverDeps, resolve } from './iterative-resolver.ts'
import { createRootReachability, type RootProblem } from './root-reachability.ts'

/** Asks the zones' own name servers, found by following the delegation from the root. RFC 1034 section 5.3.3. */
export type AuthoritativeClient = {
  /** Undefined while name servers outside can be asked; else why not, as a clause. */
  findRootProblem(): Promise<RootProblem | undefined>
  /**
   * What the name's own zone says. `firstServer` n begins with the n-th name server of every zone. `fresh` asks for the way
   * again instead of trusting what was learned before. Resolves about within `patienceMs`. The same question in flight is
   * asked once: the reply is shared and must not be changed.
   */
  query(question: Question, options?: AuthoritativeClientOptions): Promise<AuthoritativeReply>
}

export type AuthoritativeClientOptions = {
  firstServer?: number
  fresh?: boolean
  /** Where it is to be less than the patience. */
  totalTimeoutMs?: number | undefined
  signal?: AbortSignal | undefined
}

/** `zone`: the one that holds the name. `nameServers`: all of its, by name. `nameServer`: who answered, if anyone did. */
export type AuthoritativeReply = Reply & {
  zone: string
  nameServers: string[]
  nameServer: string | undefined
  /** Whether the way there, or to the target of an alias, was learned for an earlier question. */
  isFromCache: boolean
  /** Nobody answered because there was no turn in time at the servers that are to be asked. */
  isBusy?: true
}

export const RESOLUTION_TIMEOUT_MS = 6_000
const QUERY_TIMEOUT_MS = 1_000
/** Questions for one lookup, those for name servers' addresses included: what a hostile tree can make us send. */
const MAX_QUERIES = 60

/** `dns`: a client of its own, paced for other people's servers. Every server of the tree is asked on the roots' port. */
export function createAuthoritativeClient({
  dns,
  clock,
  roots,
  timeoutMs = QUERY_TIMEOUT_MS,
  resolutionTimeoutMs: patienceMs = RESOLUTION_TIMEOUT_MS,
}: {
  dns: DnsClient
  clock: Clock
  roots: readonly ServerAddress[]
  timeoutMs?: number
  resolutionTimeoutMs?: number
}): AuthoritativeClient {
  const cache = createDelegationCache(rootDelegation(roots), clock)
  // A public tree must not lead us into the operator's own network.
  const isPrivateTree = roots.some(({ ip }) => isSpecialAddress(ip))
  const isAllowed = (ip: string) => isPrivateTree || !isSpecialAddress(ip)
  const deps: ResolverDeps = { dns, clock, cache, port: roots[0]?.port ?? 53, timeoutMs, isAllowed }
  const singleFlight = createSingleFlight<AuthoritativeReply>()
  const reachability = createRootReachability({ dns, clock, roots, timeoutMs })

  // Where very much is asked of one server, the wait for a turn there is longer than a check can last; silence is not.
  async function withinTimeout<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>) {
    const over = new AbortController()
    const late = new AbortController()
    void clock.sleep(patienceMs + timeoutMs, over.signal).then(() => late.abort('late'))
    try {
      return await work(signal ? AbortSignal.any([signal, late.signal]) : late.signal)
    } catch (error) {
      if (error === 'late' || error instanceof OverloadError) return 'busy'
      throw error
    } finally {
      over.abort()
    }
  }

  async function resolveQuestion(
    question: Question,
    { firstServer = 0, fresh = false, totalTimeoutMs, signal }: AuthoritativeClientOptions,
  ) {
    const startedAt = clock.elapsed()
    const resolution = {
      ...newResolution(startedAt, Math.min(patienceMs, totalTimeoutMs ?? patienceMs)),
      firstServer,
      fresh,
    }
    const found = await withinTimeout(signal, (both) => resolve(deps, question, { ...resolution, signal: both }))
    if (found === 'busy') return { ...NO_REPLY, evidence: resolution.evidence }
    const { outcome, zone, nameServer, isFromCache } = found
    return {
      outcome,
      evidence: resolution.evidence,
      zone: zone.zone,
      nameServers: zone.nameServers.map(({ name }) => name),
      nameServer,
      isFromCache,
    }
  }

  return {
    findRootProblem: reachability.findProblem,
    query(question, options = {}) {
      const { firstServer = 0, fresh = false, totalTimeoutMs = '', signal } = options
      const key = `${firstServer} ${fresh} ${totalTimeoutMs} ${question.type} ${question.name}`
      return singleFlight(key, signal, () => resolveQuestion(question, options))
    },
  }
}

const NO_REPLY = {
  outcome: { kind: 'timeout' },
  zone: '',
  nameServers: [],
  nameServer: undefined,
  isFromCache: false,
  isBusy: true,
} satisfies Omit<AuthoritativeReply, 'evidence'>

function newResolution(startedAt: number, patienceMs: number): Omit<Resolution, 'firstServer' | 'fresh' | 'signal'> {
  const giveUpAt = startedAt + patienceMs
  return { deadline: giveUpAt, startedAt, budget: { queries: MAX_QUERIES }, resolving: [], evidence: [] }
}
