import { performance } from 'node:perf_hooks'
import { CHANNEL_TYPES } from '#contract/alerts.ts'
import { NETWORK_STATES, type NetworkState } from '#contract/server.ts'
import { Recent, type RecentActivity } from './recent.ts'
import { type MetricFamily, Registry } from './registry.ts'

/** The state of one upstream. `setAside`: number of record types for which it is queried last. */
export type UpstreamStatus = { address: string; inFlight: number; queued: number; setAside: number }

/** Read when the metrics are collected. */
export type DnsStatus = { upstreams: UpstreamStatus[]; canaries: NetworkState | undefined }

/** `rcode`: null without a readable response; then `outcome` says what happened. */
export type QueryResult = {
  server: string
  transport: string
  rcode: string | null
  outcome: { kind: string } | null
  ms: number
}

/**
 * What a resolver does, each null if it is not known. `validates`: its answer for the signed root zone has the AD bit, RFC 4035 section
 * 3.2.3. `rewrites_nxdomain`: it has records of a name that does not exist. `observed_at`: UTC epoch milliseconds.
 */
export type ResolverTraits = { validates: boolean | null; rewrites_nxdomain: boolean | null; observed_at: number }

/** `failed`: without a readable response. `stale_at`: when it last said that its answer had expired, in UTC epoch milliseconds. */
export type RecentQueries = {
  address: string
  queries: number
  failed: number
  average_ms: number | null
  set_aside: boolean
  traits: ResolverTraits | null
  stale_at: number | null
}

const CHECK_OUTCOMES = [
  'unchanged',
  'verdict',
  'inconclusive',
  'withheld',
  'postponed',
  'deleted',
  'interrupted',
] as const
const CONFIRMATION_REASONS = ['first_check', 'changed', 'stale', 'rotating', 'inconclusive'] as const
const MAIL_RESULTS = ['sent', 'kept', 'waiting', 'failed'] as const
const ALERT_RESULTS = ['sent', 'retry', 'failed'] as const
const DELIVERY_RESULTS = ['delivered', 'rejected', 'gone', 'no_response', 'withdrawn'] as const
export type CheckOutcome = (typeof CHECK_OUTCOMES)[number]
export type DeliveryResult = (typeof DELIVERY_RESULTS)[number]
export type ConfirmationReason = (typeof CONFIRMATION_REASONS)[number]

const LATENESS_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900]
const NETWORK_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5]
const HTTP_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const STATEMENT_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5]

/** The response codes with a label. Others are counted as `other`, because a server can send any number. */
const RCODES = new Set([
  'NOERROR',
  'FORMERR',
  'SERVFAIL',
  'NXDOMAIN',
  'NOTIMP',
  'REFUSED',
  'NOTAUTH',
  'NOTZONE',
  'BADVERS',
])
/** What comes instead of a response. */
const UNANSWERED = ['timeout', 'unreachable', 'malformed']
/** The label of all authoritative name servers together, because their number has no bound. */
const AUTHORITATIVE_LABEL = 'authoritative'

/**
 * The metrics of one process. Names follow the conventions of Prometheus. The number of label values is bounded, and no value
 * comes from a tenant. docs/reference/metrics.md describes every metric.
 */
export class Metrics {
  readonly #registry = new Registry()
  /** The queries of the last minute to each configured resolver. */
  readonly #upstreams: ReadonlyMap<string, Recent>
  readonly #traits = new Map<string, ResolverTraits>()
  readonly #staleAt = new Map<string, number>()
  readonly #recentLateness = new Recent()
  #dnsStatus: () => DnsStatus = () => ({ upstreams: [], canaries: undefined })

  /** `upstreams`: the configured recursive resolvers, `ip:port`. */
  constructor(upstreams: readonly string[] = []) {
    this.#upstreams = new Map(upstreams.map((address) => [address, new Recent()]))
    this.#startAtZero()
  }

  /** A counter that first appears at 1 hides the first failure: increase() and rate() need a value before it. */
  #startAtZero(): void {
    for (const outcome of CHECK_OUTCOMES) this.#checks.add(0, outcome)
    for (const reason of CONFIRMATION_REASONS) this.#confirmations.add(0, reason)
    for (const result of DELIVERY_RESULTS) this.#deliveries.add(0, result)
    for (const result of MAIL_RESULTS) this.#mails.add(0, result)
    for (const channel of CHANNEL_TYPES) {
      for (const result of ALERT_RESULTS) this.#alerts.add(0, channel, result)
    }
    for (const upstream of [...this.#upstreams.keys(), AUTHORITATIVE_LABEL]) {
      for (const result of ['NOERROR', ...UNANSWERED]) this.#queries.add(0, upstream, 'udp', result)
    }
    for (const result of ['ok', 'error']) this.#statements.startAtZero(result)
  }

  // Checks

  readonly #checks = this.#registry.counter('zonewatch_checks_total', 'Checks, by result.', ['outcome'])
  readonly #lateness = this.#registry.histogram(
    'zonewatch_check_lateness_seconds',
    'Time from when a check was due to when a process claimed it and sent the first query.',
    LATENESS_BUCKETS,
  )
  readonly #confirmations = this.#registry.counter(
    'zonewatch_confirmations_total',
    'Checks that needed more than the first query, by reason.',
    ['reason'],
  )
  readonly #events = this.#registry.counter(
    'zonewatch_events_total',
    'Events recorded: confirmed changes and first results.',
  )

  readonly #lostLeases = this.#registry.counter(
    'zonewatch_lost_leases_total',
    'Results of checks that were not recorded, because the lease of the check had expired.',
  )

  lostLeases(count: number): void {
    this.#lostLeases.add(count)
  }

  checks(outcome: CheckOutcome, count: number): void {
    this.#checks.add(count, outcome)
  }

  confirmation(reason: ConfirmationReason): void {
    this.#confirmations.add(1, reason)
  }

  late(ms: number): void {
    const late = Math.max(0, ms)
    this.#lateness.observe(late)
    this.#recentLateness.add(late)
  }

  events(count: number): void {
    this.#events.add(count)
  }

  // DNS

  readonly #queries = this.#registry.counter(
    'zonewatch_dns_queries_total',
    'DNS queries, by upstream, transport and response code, or what came instead of a response.',
    ['upstream', 'transport', 'rcode'],
  )
  readonly #queryDuration = this.#registry.histogram(
    'zonewatch_dns_query_duration_seconds',
    'Time from a DNS query to its response or its timeout.',
    NETWORK_BUCKETS,
    ['upstream'],
  )
  readonly #canaries = this.#registry.gauge(
    'zonewatch_canary_state',
    'Whether canary names resolve: 1 for the current state.',
    ['state'],
  )
  readonly #inFlight = this.#registry.gauge(
    'zonewatch_dns_queries_in_flight',
    'DNS queries that wait for a response.',
    ['upstream'],
  )
  readonly #queued = this.#registry.gauge('zonewatch_dns_queries_queued', 'DNS queries that wait to be sent.', [
    'upstream',
  ])
  readonly #setAside = this.#registry.gauge(
    'zonewatch_dns_upstream_set_aside',
    'Question types for which an upstream is queried last because it keeps failing.',
    ['upstream'],
  )

  query({ server, transport, rcode, outcome, ms }: QueryResult): void {
    const recent = this.#upstreams.get(server)
    recent?.add(ms, rcode === null && outcome !== null)
    const upstream = recent ? server : AUTHORITATIVE_LABEL
    const result = rcode === null ? (outcome?.kind ?? 'other') : RCODES.has(rcode) ? rcode : 'other'
    this.#queries.add(1, upstream, transport, result)
    this.#queryDuration.observe(ms, upstream)
  }

  noteTraits(address: string, traits: ResolverTraits): void {
    this.#traits.set(address, traits)
  }

  /** `at`: UTC epoch milliseconds. Name servers of zones are no resolvers. */
  noteStale(address: string, at: number): void {
    if (this.#upstreams.has(address)) this.#staleAt.set(address, at)
  }

  readDnsStatus(status: () => DnsStatus): void {
    this.#dnsStatus = status
  }

  // Webhooks and mail

  readonly #deliveries = this.#registry.counter('zonewatch_deliveries_total', 'Delivery attempts, by result.', [
    'result',
  ])
  readonly #deliveryDuration = this.#registry.histogram(
    'zonewatch_delivery_duration_seconds',
    'Time of one delivery attempt, from connecting to the end of the response.',
    HTTP_BUCKETS,
  )
  readonly #mails = this.#registry.counter('zonewatch_mails_total', 'Attempts to send an email, by result.', ['result'])

  delivery(result: DeliveryResult, ms?: number): void {
    this.#deliveries.add(1, result)
    if (ms !== undefined) this.#deliveryDuration.observe(ms)
  }

  mail(result: (typeof MAIL_RESULTS)[number]): void {
    this.#mails.add(1, result)
  }

  readonly #alerts = this.#registry.counter(
    'zonewatch_alerts_total',
    'Attempts to send an alert, by type of the channel and result.',
    ['channel', 'result'],
  )

  /** `channel`: its type, never its id. */
  alert(channel: string, result: (typeof ALERT_RESULTS)[number]): void {
    this.#alerts.add(1, channel, result)
  }

  // API

  readonly #requests = this.#registry.counter(
    'zonewatch_http_requests_total',
    'HTTP requests, by route and status code.',
    ['method', 'route', 'status'],
  )
  readonly #requestDuration = this.#registry.histogram(
    'zonewatch_http_request_duration_seconds',
    'Time from an HTTP request to the end of its response.',
    HTTP_BUCKETS,
    ['method', 'route'],
  )

  /** `route`: the pattern, never the requested path. */
  request(method: string, route: string | undefined, status: number, ms: number): void {
    const pattern = route ?? 'unmatched'
    this.#requests.add(1, method, pattern, String(status))
    this.#requestDuration.observe(ms, method, pattern)
  }

  // Database

  readonly #statements = this.#registry.histogram(
    'zonewatch_database_statement_duration_seconds',
    'Time of one statement, including the wait for a connection or for the write lock.',
    STATEMENT_BUCKETS,
    ['result'],
  )
  readonly #busy = this.#registry.counter(
    'zonewatch_database_busy_retries_total',
    'Retries of a write because another process held the write lock (SQLite).',
  )

  statement(ms: number, isFailed: boolean): void {
    this.#statements.observe(ms, isFailed ? 'error' : 'ok')
  }

  busyRetry(): void {
    this.#busy.add(1)
  }

  /** The last minute of this process, for the Server page. `elapsed`: `Clock.elapsed()`. */
  recent(elapsed: number): { lateness: RecentActivity; upstreams: RecentQueries[] } {
    const { upstreams } = this.#dnsStatus()
    const setAside = new Map(upstreams.map((upstream) => [upstream.address, upstream.setAside]))
    return {
      lateness: this.#recentLateness.read(elapsed),
      upstreams: [...this.#upstreams].map(([address, recent]) => {
        const { count, failed, averageMs } = recent.read(elapsed)
        const set_aside = (setAside.get(address) ?? 0) > 0
        const traits = this.#traits.get(address) ?? null
        const stale_at = this.#staleAt.get(address) ?? null
        return { address, queries: count, failed, average_ms: averageMs, set_aside, traits, stale_at }
      }),
    }
  }

  // Process

  readonly #startTime = this.#registry.gauge(
    'process_start_time_seconds',
    'When the process started, in seconds since 1970.',
  )
  readonly #memory = this.#registry.gauge('process_resident_memory_bytes', 'Resident memory of the process.')
  readonly #heap = this.#registry.gauge('nodejs_heap_used_bytes', "Used part of V8's heap.")
  readonly #cpu = this.#registry.counter('process_cpu_seconds_total', 'User and system CPU time of the process.')
  readonly #active = this.#registry.counter(
    'nodejs_eventloop_active_seconds_total',
    'Time in which the event loop worked; its rate is the part of the time in which it was busy.',
  )

  collect(): MetricFamily[] {
    this.#readDns()
    this.#startTime.set(performance.timeOrigin / 1_000)
    this.#memory.set(process.memoryUsage.rss())
    this.#heap.set(process.memoryUsage().heapUsed)
    const { user, system } = process.cpuUsage()
    this.#cpu.set((user + system) / 1e6)
    this.#active.set(performance.eventLoopUtilization().active / 1_000)
    return this.#registry.collect()
  }

  #readDns(): void {
    const { upstreams, canaries } = this.#dnsStatus()
    for (const state of NETWORK_STATES) {
      if (canaries !== undefined) this.#canaries.set(canaries === state ? 1 : 0, state)
    }
    for (const { address: upstream, inFlight, queued, setAside } of upstreams) {
      this.#inFlight.set(inFlight, upstream)
      this.#queued.set(queued, upstream)
      this.#setAside.set(setAside, upstream)
    }
  }
}
