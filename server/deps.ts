import type { Logger } from 'pino'
import { type Clock, systemClock } from './clock.ts'
import type { Config } from './config/config.ts'
import type { Tenant } from './context.ts'
import type { Database } from './database/database.ts'
import { openDatabase } from './database/open.ts'
import { ReadReplica, readList } from './database/read-replica.ts'
import { createDnsClient, type DnsClient } from './dns/client.ts'
import { createNetworkCheck, type NetworkCheck } from './dns/network-check.ts'
import type { Evidence } from './dns/outcome.ts'
import { type AuthoritativeClient, createAuthoritativeClient } from './dns/resolver/authoritative-client.ts'
import { formatServer, systemServers } from './dns/server-address.ts'
import { LoopHealth } from './loop-health.ts'
import type { Exposition } from './metrics/families.ts'
import { Metrics } from './metrics/metrics.ts'
import type { Tracing } from './metrics/tracing.ts'
import { RDATA_FORMATS } from './monitors/record-types/record-types.ts'
import { lookupThrough } from './safe-http/lookup.ts'
import { createSafeFetch, type SafeFetch } from './safe-http/safe-fetch.ts'
import { createSeal, type Seal } from './seal.ts'
import { createWakeUps, type WakeUps } from './wake-up.ts'

/** What the server uses outside of itself: settings, clock, log, database, network. */
export type Deps = {
  config: Config
  clock: Clock
  log: Logger
  db: Database
  /** Where lists are read from while it has all that their organization changed; undefined without one. */
  replica: ReadReplica | undefined
  /** Reads a list of an organization from the replica, or where that lacks something, from the primary. */
  readList<T>(tenant: Tenant, read: (db: Database) => Promise<T>): Promise<T>
  dns: DnsClient
  /** Undefined where recursive servers alone decide. */
  authorities: AuthoritativeClient | undefined
  networkCheck: NetworkCheck | undefined
  closeDns(): Promise<void>
  safeFetch: SafeFetch
  seal: Seal
  loopHealth: LoopHealth
  metrics: Metrics
  /** Undefined where no traces are wanted. */
  tracing?: Tracing | undefined
  /** The metrics of all processes of the server; undefined where there is but one. `accept`: the header of that name. */
  scrape?: (accept: string) => Promise<Exposition>
  wakeUps: WakeUps
  /** True while the server listens and its database is not yet up to date. */
  isStarting?: () => boolean
  /** True from the signal to stop on, while what is in progress is finished. */
  isStopping?: () => boolean
}

/** `secret`: the server's own, from the settings or the data folder, and those before it. Opens no connection yet. */
export function openDeps(
  config: Config,
  secret: string | readonly string[],
  log: Logger,
  clock: Clock = systemClock,
): Deps {
  const [own = '', ...previous] = [secret].flat()
  const metrics = new Metrics((config.dnsServers ?? systemServers()).map(formatServer))
  const checking = openChecking(config, log, clock, (evidence) => metrics.query(evidence))
  metrics.readDnsStatus(() => ({ upstreams: checking.dns.statuses(), canaries: checking.networkCheck?.lastState() }))
  const safeFetch = createSafeFetch({
    lookup: lookupThrough(checking.dns),
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
    ...checking,
    safeFetch,
    seal: createSeal(own, ...previous),
    loopHealth: new LoopHealth(),
    metrics,
    wakeUps: createWakeUps(),
    readList: (tenant, read) => readList(deps, tenant, read),
  }
  return deps
}

type CheckingDeps = Pick<Deps, 'dns' | 'authorities' | 'networkCheck' | 'closeDns'>

/** All that a check asks: recursive servers, the zones' own, and canaries. */
export function openChecking(
  config: Config,
  log: Logger,
  clock: Clock = systemClock,
  onExchange?: (evidence: Evidence) => void,
): CheckingDeps {
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
  const perSecond = config.dnsAuthoritativePerSecond
  const others = createDnsClient({
    formats: RDATA_FORMATS,
    servers: [],
    clock,
    queriesPerSecond: perSecond,
    maxInFlightPerServer: config.dnsInFlight,
    onExchange,
  })
  const roots = config.dnsRoots
  const names = config.dnsCanaries
  return {
    dns,
    authorities: roots.length > 0 ? createAuthoritativeClient({ dns: others, clock, roots }) : undefined,
    networkCheck:
      names.length > 0 ? createNetworkCheck({ dns, clock, canaries: names, ...outageNotes(log, names) }) : undefined,
    closeDns: async () => void (await Promise.all([dns.close(), others.close()])),
  }
}

function outageNotes(log: Logger, names: readonly string[]) {
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
