import type { Clock } from '../clock.ts'
import { withChainBefore } from './cname-chain.ts'
import { createDeadlines } from './deadlines.ts'
import type { Evidence, Outcome, Question, QuestionType, Reply, ServerAddress } from './outcome.ts'
import { type PendingQuery, queryServers } from './query-servers.ts'
import { createRdataTypes, type RdataFormats } from './rdata.ts'
import { formatServer } from './server-address.ts'
import { createSingleFlight } from './single-flight.ts'
import { createUpstreams, mayQuery, type Upstream, type UpstreamStatus } from './upstreams.ts'

/**
 * `servers` replaces the default list for this question, and is asked in the order given (those set aside last).
 * Without `recursionDesired` (default true) a referral is a good answer and alias chains are not asked on.
 * `checkingDisabled` (default false) lets bogus DNSSEC data through. `timeoutMs` and `tries` replace the client's own.
 * `withinMs` bounds the time of all tries singleFlight, and `mostWaitMs` (default 20 s) the wait for a turn at a server that is paced.
 * `accept` says whether what a server answered will do, so that the next one need not be asked.
 */
export type QueryOptions = {
  servers?: readonly ServerAddress[]
  signal?: AbortSignal | undefined
  recursionDesired?: boolean
  checkingDisabled?: boolean
  timeoutMs?: number
  attempts?: number
  totalTimeoutMs?: number
  maxWaitMs?: number
  accept?: (evidence: Evidence) => boolean
}

/** Queries name servers. Never throws for what the network does: every result is an `Outcome`. */
export type DnsClient = {
  /** Servers queried by default: the configured recursive servers, in order. */
  readonly servers: readonly ServerAddress[]
  /**
   * Resolves within `timeoutMs * tries` of the first query, waiting for a place at a busy server not counted. Rejects
   * with the signal's reason when aborted, with `OverloadError` when the wait would be too long, and when the client is closed.
   * The same question with the same options is asked once while it is in progress; the reply is shared and must not be changed.
   */
  query(question: Question, options?: QueryOptions): Promise<Reply>
  /** How the default servers stand at this moment. */
  statuses(): UpstreamStatus[]
  close(): Promise<void>
}

/** `formats`: how rdata is read. Times in milliseconds. `tries`: servers asked for one question, at most. The last three are bounds for each server. */
export type DnsClientOptions = {
  servers: readonly ServerAddress[]
  clock: Clock
  formats: RdataFormats
  timeoutMs?: number
  attempts?: number
  maxInFlightPerServer?: number
  maxWaitingPerServer?: number
  queriesPerSecond?: number
  /** Is told of every exchange. */
  onExchange?: ((evidence: Evidence) => void) | undefined
}

const DEFAULT_MAX_WAIT_MS = 20_000
const noServer: Outcome = { kind: 'unreachable', reason: 'no name server is configured' }

export function createDnsClient({
  servers,
  clock,
  formats,
  timeoutMs = 2000,
  attempts = 3,
  maxInFlightPerServer: inFlightPerServer = 256,
  maxWaitingPerServer: waitingPerServer = 20_000,
  queriesPerSecond = Number.POSITIVE_INFINITY,
  onExchange = () => {},
}: DnsClientOptions): DnsClient {
  const deadlines = createDeadlines(clock)
  const upstreams = createUpstreams(servers, clock, deadlines, {
    maxInFlightPerServer: inFlightPerServer,
    maxWaitingPerServer: waitingPerServer,
    queriesPerSecond,
  })
  const deps = { clock, deadlines, types: createRdataTypes(formats), onExchange }
  const singleFlight = createSingleFlight<Reply>()
  let nextFirst = 0
  let closed: Error | undefined

  // Every question begins at another server; those set aside come last.
  function sortUpstreams(list: readonly ServerAddress[], type: QuestionType, rotate: boolean): Upstream[] {
    if (list.length === 1) return [upstreams.get(list[0]!)]
    const first = rotate && list.length > 0 ? nextFirst++ % list.length : 0
    const rotated = [...list.slice(first), ...list.slice(0, first)].map(upstreams.get)
    const now = clock.elapsed()
    const inTurn = new Set(rotated.filter((upstream) => mayQuery(upstream, type, now)))
    return [...inTurn, ...rotated.filter((upstream) => !inTurn.has(upstream))]
  }

  function newLookup(options: QueryOptions): PendingQuery {
    const most = options.attempts ?? attempts
    const eachMs = options.timeoutMs ?? timeoutMs
    return {
      recursionDesired: options.recursionDesired ?? true,
      checkingDisabled: options.checkingDisabled ?? false,
      // Some name servers say NXDOMAIN to mixed case: what confirms a change, and names its servers, is sent in lower case.
      mixesCase: options.servers === undefined,
      timeoutMs: eachMs,
      attempts: most,
      maxWaitMs: options.maxWaitMs ?? DEFAULT_MAX_WAIT_MS,
      remainingMs: Math.min(options.totalTimeoutMs ?? Number.POSITIVE_INFINITY, eachMs * most),
      signal: options.signal,
      accept: options.accept,
      evidence: [],
    }
  }

  async function resolve(question: Question, options: QueryOptions): Promise<Reply> {
    const lookup = newLookup(options)
    const asked = sortUpstreams(options.servers ?? servers, question.type, options.servers === undefined)
    if (asked.length === 0) return { outcome: noServer, evidence: [] }
    let outcome = await queryServers(deps, asked, question, lookup)
    if (lookup.recursionDesired && outcome.kind === 'referral') {
      outcome = await followCnameTargets((part) => queryServers(deps, asked, part, lookup), question, outcome)
    }
    if (closed) throw closed
    return { outcome, evidence: lookup.evidence }
  }

  return {
    servers,
    query(question, options = {}) {
      if (closed) return Promise.reject(closed)
      // What will do for one asker need not for another.
      if (options.accept) return resolve(question, options)
      return singleFlight(keyOf(question, options), options.signal, () => resolve(question, options))
    },
    statuses: upstreams.statuses,
    async close() {
      closed ??= new Error('The DNS client is closed.')
      upstreams.close(closed)
      deadlines.close()
    },
  }
}

/** Equal for questions that come to the same packets to the same servers. */
function keyOf({ name, type }: Question, options: QueryOptions): string {
  const { recursionDesired = true, checkingDisabled = false, servers } = options
  const bits = (recursionDesired ? 1 : 0) + (checkingDisabled ? 2 : 0)
  const { timeoutMs = '', attempts = '', totalTimeoutMs = '', maxWaitMs = '' } = options
  const bounds = `${timeoutMs} ${attempts} ${totalTimeoutMs} ${maxWaitMs}`
  return `${type} ${bits} ${bounds} ${servers?.map(formatServer) ?? ''} ${name}`
}

/** Some servers give an alias and leave its target to the asker: the chain is then put singleFlight from several answers. */
async function followCnameTargets(
  ask: (question: Question) => Promise<Outcome>,
  question: Question,
  first: Outcome,
): Promise<Outcome> {
  let outcome = first
  while (outcome.kind === 'referral' && outcome.chain.length > 0) {
    const { chain } = outcome
    const next = await ask({ ...question, name: chain.at(-1)!.target })
    outcome = withChainBefore(chain, next)
    if (next.kind === 'referral' && next.chain.length === 0) return outcome // it leads no further
  }
  return outcome
}
