import type { Logger } from 'pino'
import { type Clock, systemClock } from './clock.ts'
import type { Config } from './config/config.ts'
import type { Tenant } from './context.ts'
import type { Database } from './database/database.ts'
import { openDatabase } from './database/open.ts'
import { ReadReplica, readList } from './database/read-replica.ts'
import { createDnsClient, type DnsClient } from './dns/client.ts'
import { createChainOfTrust } from './dns/dnssec/chain-of-trust.ts'
import { createServerValidator, type ServerValidator, validatorForRules } from './dns/dnssec/server-validator.ts'
import type { DnssecValidator } from './dns/dnssec-validator.ts'
import { createNetworkCheck, type NetworkCheck } from './dns/network-check.ts'
import { type Exchange, isStale } from './dns/outcome.ts'
import type { PacketSender } from './dns/packet-sender.ts'
import { type AuthoritativeClient, createAuthoritativeClient } from './dns/resolver/authoritative-client.ts'
import { LARGE_CHECKS } from './dns/resolver/query-budget.ts'
import { createSemaphore, type Semaphore } from './dns/semaphore.ts'
import { formatServer, systemServers } from './dns/server-address.ts'
import { createKeyring, type Keyring } from './keyring.ts'
import { LoopHealth } from './loop-health.ts'
import { Metrics } from './metrics/metrics.ts'
import type { Exposition } from './metrics/registry.ts'
import type { Tracing } from './metrics/tracing.ts'
import { createWakeUps, type WakeUps } from './queue/wake-up.ts'
import { RDATA_FORMATS } from './record-types/record-types.ts'
import { createLookup } from './safe-http/lookup.ts'
import { createSafeFetch, type SafeFetch } from './safe-http/safe-fetch.ts'

/** What the server depends on: settings, clock, log, database, network. */
export type Deps = {
  config: Config
  clock: Clock
  log: Logger
  db: Database
  /** Serves lists while it has every change of their organization. Undefined without DATABASE_READ_URL. */
  replica: ReadReplica | undefined
  /** Reads a list of an organization from the replica, or from the primary if the replica lacks a change. */
  readList<T>(tenant: Tenant, read: (db: Database) => Promise<T>): Promise<T>
  dns: DnsClient
  /** Undefined with DNS_ROOTS=off: then recursive servers alone decide. */
  authoritativeClient: AuthoritativeClient | undefined
  /** Undefined with DNS_ROOTS=off. */
  serverValidator: ServerValidator | undefined
  /** Sends packets to name servers, within the same limits as `authoritativeClient`. */
  packetSender: PacketSender
  /** Undefined without trust anchors: then only recursive servers validate DNSSEC. */
  validator: DnssecValidator | undefined
  /** Undefined with DNS_CANARIES=off. */
  networkCheck: NetworkCheck | undefined
  /** Places for checks with large answers. */
  largeChecks: Semaphore
  closeDns(): Promise<void>
  safeFetch: SafeFetch
  keyring: Keyring
  loopHealth: LoopHealth
  metrics: Metrics
  /** Undefined without OTEL_EXPORTER_OTLP_ENDPOINT. */
  tracing?: Tracing | undefined
  /** The metrics of all processes of the server; undefined without a supervisor. `accept`: the request header. */
  scrape?: (accept: string) => Promise<Exposition>
  wakeUps: WakeUps
  /** True while the server listens and the migrations still run. */
  isStarting?: () => boolean
  /** True after the signal to stop, while work in progress is completed. */
  isStopping?: () => boolean
}

/** `secret`: the current SECRET, then the previous ones. Opens no connection yet. */
export function openDeps(
  config: Config,
  secret: string | readonly string[],
  log: Logger,
  clock: Clock = systemClock,
): Deps {
  const [current = '', ...previous] = [secret].flat()
  const metrics = new Metrics((config.dnsServers ?? systemServers()).map(formatServer))
  const dnsDeps = openDns(config, log, clock, (exchange) => {
    metrics.query(exchange)
    if (isStale({ evidence: [exchange] })) metrics.noteStale(exchange.server, clock.now())
  })
  metrics.readDnsStatus(() => ({ upstreams: dnsDeps.dns.statuses(), canaries: dnsDeps.networkCheck?.lastState() }))
  const safeFetch = createSafeFetch({
    lookup: createLookup(dnsDeps.dns),
    clock,
    allowedNetworks: config.webhookAllowedNetworks,
    deniedPorts: config.webhookDeniedPorts,
    ...(config.webhookAuthorities === null ? {} : { authorities: config.webhookAuthorities }),
    ...(config.webhookProxy === null ? {} : { proxy: config.webhookProxy }),
  })
  const deps: Deps = {
    config,
    clock,
    log,
    db: openDatabase(config.databaseUrl, { observer: metrics }),
    replica:
      config.databaseReadUrl === null
        ? undefined
        : new ReadReplica({ url: config.databaseReadUrl, clock, observer: metrics }),
    ...dnsDeps,
    safeFetch,
    keyring: createKeyring(current, ...previous),
    loopHealth: new LoopHealth(),
    metrics,
    wakeUps: createWakeUps(),
    readList: (tenant, read) => readList(deps, tenant, read),
  }
  return deps
}

/** More than may be in progress. */
const MAX_WAITING_CHECKS = 20_000

/** What a check queries: recursive servers, the name servers of the zones, and canary names. */
export function openDns(
  config: Config,
  log: Logger,
  clock: Clock = systemClock,
  onExchange?: (exchange: Exchange) => void,
): Pick<
  Deps,
  | 'dns'
  | 'authoritativeClient'
  | 'serverValidator'
  | 'packetSender'
  | 'validator'
  | 'networkCheck'
  | 'largeChecks'
  | 'closeDns'
> {
  const dns = createDnsClient({
    formats: RDATA_FORMATS,
    servers: config.dnsServers ?? systemServers(),
    clock,
    timeoutMs: config.dnsTimeoutMs,
    attempts: config.dnsTries,
    maxInFlightPerServer: config.dnsInFlight,
    queriesPerSecond: config.dnsPerSecond,
    onExchange,
  })
  const authoritativeDns = createDnsClient({
    formats: RDATA_FORMATS,
    servers: [],
    clock,
    queriesPerSecond: config.dnsAuthoritativePerSecond,
    maxInFlightPerServer: config.dnsInFlight,
    onExchange,
  })
  const roots = config.dnsRoots
  const names = config.dnsCanaries
  const authoritativeClient =
    roots.length > 0 ? createAuthoritativeClient({ dns: authoritativeDns, clock, roots }) : undefined
  const serverValidator =
    authoritativeClient &&
    createServerValidator({
      sender: authoritativeDns,
      chainOfTrust: createChainOfTrust({
        sender: authoritativeDns,
        authoritativeClient,
        clock,
        anchors: config.dnsTrustAnchors,
      }),
      clock,
      port: roots[0]!.port,
    })
  const networkCheck = () =>
    createNetworkCheck({
      dns,
      clock,
      canaries: names,
      isOptional: config.areCanariesOptional,
      ...(authoritativeClient && { areRootsLost: authoritativeClient.areRootsLost }),
      ...logOutages(log, names),
    })
  return {
    dns,
    authoritativeClient,
    serverValidator,
    packetSender: authoritativeDns,
    validator: serverValidator && validatorForRules(serverValidator),
    networkCheck: names.length > 0 ? networkCheck() : undefined,
    largeChecks: createSemaphore(LARGE_CHECKS, MAX_WAITING_CHECKS),
    closeDns: async () => void (await Promise.all([dns.close(), authoritativeDns.close()])),
  }
}

function logOutages(log: Logger, names: readonly string[]) {
  return {
    onOutage: () =>
      log.error(
        { canaries: names },
        'No canary name resolves. Check the network of this server and DNS_SERVERS. Failures are not recorded until a canary name resolves.',
      ),
    onRecovery: () => log.info({ canaries: names }, 'The canary names resolve again. Checks continue.'),
  }
}

export async function closeDeps({ closeDns, safeFetch, db, replica }: Deps): Promise<void> {
  await Promise.allSettled([closeDns(), safeFetch.close(), replica?.close()])
  await db.destroy()
}
