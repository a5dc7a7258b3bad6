import type { Clock } from '../clock.ts'
import { withChainBefore } from './cname-chain.ts'
import { createDeadlines } from './deadlines.ts'
import { type BeforeTcp, type PendingQuery, queryServers } from './failover.ts'
import type { Exchange, Outcome, Question, QuestionType, Reply, ServerAddress } from './outcome.ts'
import { type PacketSender, sendPacket } from './packet-sender.ts'
import { createRdataTypes, type RdataFormats } from './rdata.ts'
import { formatServer } from './server-address.ts'
import { createSingleFlight } from './single-flight.ts'
import { createUpstreams, mayQuery, SOCKETS, type Transports, type Upstream, type UpstreamStatus } from './upstreams.ts'

export type QueryOptions = {
  /** Replaces the default servers for this question. Queried in this order, failing ones last. */
  servers?: readonly ServerAddress[]
  /** Which of the default servers is queried first, modulo their number. Default: each question starts at another one. */
  startAt?: number
  signal?: AbortSignal | undefined
  /** Default true. If false, a referral is a final answer and CNAME chains are not followed. */
  recursionDesired?: boolean
  /** Default false. If true, resolvers return data that fails DNSSEC validation. */
  checkingDisabled?: boolean
  /** Of one attempt. */
  timeoutMs?: number
  attempts?: number
  /** Of all attempts together. */
  totalTimeoutMs?: number
  /** Of the organization for which it is sent: queries that wait for a server take turns by group. */
  group?: string | undefined
  /** The longest wait for the rate limit of one server. Default 20 s. */
  maxWaitMs?: number
  /** Called before each query over TCP, which waits for it. */
  beforeTcp?: BeforeTcp | undefined
  /** Decides whether a response ends the query. Otherwise the next server is queried. */
  accept?: (exchange: Exchange) => boolean
}

/** Queries name servers. Never throws for what the network does: every result is an `Outcome`. */
export type DnsClient = {
  /** The default servers: the configured recursive resolvers, in order. */
  readonly servers: readonly ServerAddress[]
  /**
   * Resolves within `timeoutMs * attempts` after the first query is sent. Rejects with the signal's reason when aborted, with
   * `OverloadError` when the wait for a busy server would be too long, and when the client is closed.
   * Equal questions with equal options share one query and one reply, which must not be changed.
   */
  query(question: Question, options?: QueryOptions): Promise<Reply>
  /** The current status of the default servers. */
  statuses(): UpstreamStatus[]
  close(): Promise<void>
}

/** `formats`: how rdata is read. `transports`: instead of sockets. */
export type DnsClientOptions = {
  servers: readonly ServerAddress[]
  clock: Clock
  formats: RdataFormats
  timeoutMs?: number
  attempts?: number
  maxInFlightPerServer?: number
  maxWaitingPerServer?: number
  queriesPerSecond?: number
  /** Called after every exchange. */
  onExchange?: ((exchange: Exchange) => void) | undefined
  transports?: Transports
}

const DEFAULT_MAX_WAIT_MS = 20_000
const NO_SERVER: Outcome = { kind: 'unreachable', reason: 'no name server is configured' }

export function createDnsClient({
  servers,
  clock,
  formats,
  timeoutMs = 2000,
  attempts = 3,
  maxInFlightPerServer = 256,
  maxWaitingPerServer = 20_000,
  queriesPerSecond = Number.POSITIVE_INFINITY,
  onExchange = () => {},
  transports = SOCKETS,
}: DnsClientOptions): DnsClient & PacketSender {
  const deadlines = createDeadlines(clock)
  const limits = { maxInFlightPerServer, maxWaitingPerServer, queriesPerSecond }
  const upstreams = createUpstreams(servers, clock, deadlines, limits, transports)
  const deps = { clock, deadlines, types: createRdataTypes(formats), onExchange }
  const singleFlight = createSingleFlight<Reply>()
  let nextFirst = 0
  let closed: Error | undefined

  // Failing servers come last.
  function sortUpstreams(list: readonly ServerAddress[], type: QuestionType, startAt: number): Upstream[] {
    if (list.length === 1) return [upstreams.get(list[0]!)]
    const first = list.length > 0 ? startAt % list.length : 0
    const rotated = [...list.slice(first), ...list.slice(0, first)].map(upstreams.get)
    const now = clock.elapsed()
    const preferred = new Set(rotated.filter((upstream) => mayQuery(upstream, type, now)))
    return [...preferred, ...rotated.filter((upstream) => !preferred.has(upstream))]
  }

  function newPendingQuery(options: QueryOptions): PendingQuery {
    const limit = options.attempts ?? attempts
    const attemptTimeoutMs = options.timeoutMs ?? timeoutMs
    return {
      recursionDesired: options.recursionDesired ?? true,
      checkingDisabled: options.checkingDisabled ?? false,
      // Some name servers answer NXDOMAIN to mixed case, so queries to named servers are in lower case.
      mixesCase: options.servers === undefined,
      timeoutMs: attemptTimeoutMs,
      attempts: limit,
      maxWaitMs: options.maxWaitMs ?? DEFAULT_MAX_WAIT_MS,
      remainingMs: Math.min(options.totalTimeoutMs ?? Number.POSITIVE_INFINITY, attemptTimeoutMs * limit),
      signal: options.signal,
      group: options.group,
      beforeTcp: options.beforeTcp,
      accept: options.accept,
      evidence: [],
    }
  }

  async function resolve(question: Question, options: QueryOptions): Promise<Reply> {
    const pending = newPendingQuery(options)
    const startAt = options.servers ? 0 : (options.startAt ?? nextFirst++)
    const candidates = sortUpstreams(options.servers ?? servers, question.type, startAt)
    if (candidates.length === 0) return { outcome: NO_SERVER, evidence: [] }
    let outcome = await queryServers(deps, candidates, question, pending)
    if (pending.recursionDesired && outcome.kind === 'referral') {
      outcome = await followCnameTargets((next) => queryServers(deps, candidates, next, pending), question, outcome)
    }
    if (closed) throw closed
    return { outcome, evidence: pending.evidence }
  }

  return {
    servers,
    query(question, options = {}) {
      if (closed) return Promise.reject(closed)
      // Callers with different `accept` functions cannot share a reply.
      if (options.accept) return resolve(question, options)
      return singleFlight(singleFlightKey(question, options), options.signal, () => resolve(question, options))
    },
    async sendPacket(packet, server, options) {
      if (closed) throw closed
      return await sendPacket(deps, upstreams.get(server), packet, options)
    },
    statuses: upstreams.statuses,
    async close() {
      closed ??= new Error('The DNS client is closed.')
      upstreams.close(closed)
      deadlines.close()
    },
  }
}

/** Equal for questions that result in the same packets to the same servers, and that wait in the same queue. */
function singleFlightKey({ name, type }: Question, options: QueryOptions): string {
  const { recursionDesired = true, checkingDisabled = false, servers, group = '' } = options
  const flags = (recursionDesired ? 1 : 0) + (checkingDisabled ? 2 : 0)
  const { timeoutMs = '', attempts = '', totalTimeoutMs = '', maxWaitMs = '' } = options
  const limits = `${timeoutMs} ${attempts} ${totalTimeoutMs} ${maxWaitMs}`
  return `${type} ${flags} ${limits} ${group} ${servers?.map(formatServer) ?? ''} ${name}`
}

/** Some resolvers return a CNAME record without its target. The chain is then joined from several answers. */
async function followCnameTargets(
  query: (question: Question) => Promise<Outcome>,
  question: Question,
  first: Outcome,
): Promise<Outcome> {
  let outcome = first
  while (outcome.kind === 'referral' && outcome.chain.length > 0) {
    const { chain } = outcome
    const next = await query({ ...question, name: chain.at(-1)!.target })
    outcome = withChainBefore(chain, next)
    if (next.kind === 'referral' && next.chain.length === 0) return outcome
  }
  return outcome
}
