import { hostname } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Logger } from 'pino'
import { CliError, errorMessage } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { parseRoles } from '../config/parse.ts'
import { isFile } from '../database/dialect.ts'

import { OutageLog } from '../database/outage-log.ts'
import { isDatabaseUnavailable } from '../database/unavailable.ts'
import { closeDeps, type Deps, openDeps } from '../deps.ts'
import { readinessProblems } from '../http/health.ts'
import { createLog } from '../log.ts'
import { LoopHealth } from '../loop-health.ts'
import type { Exposition } from '../metrics/registry.ts'
import { DatabaseMetrics } from '../operations/database-metrics.ts'
import { runSizeHistory } from '../operations/database-size.ts'
import { reportOf } from '../operations/instances.ts'
import { registerProcess, runHeartbeat, unregisterProcess } from '../queue/heartbeat.ts'
import { PostgresSignals } from '../queue/postgres-signals.ts'
import { createWakeUps, type Topic } from '../queue/wake-up.ts'
import { followKey } from '../secrets/current-key.ts'
import type { CollectedMetrics, ProcessMessage, SupervisorMessage } from '../supervisor.ts'
import { prepareDataFolder } from './data-folder.ts'
import { isAlive } from './is-alive.ts'
import { loadConfig } from './load-config.ts'
import { prepareDatabase } from './prepare-database.ts'
import { loadOrCreateSecret, readSecrets, type Secret } from './secret.ts'

/** Work in progress at SIGTERM has this long to complete. Then it is abandoned; another process repeats it. */
const DRAIN_MS = 6_000
/** Shorter when the supervisor was killed, because a new server may be starting. */
const ORPHAN_DRAIN_MS = 1_000

/** How often a worker process reports which loops run. */
const LOOP_REPORT_MS = 5_000

/** /readyz is 503 at least this long before the port is closed, so that a load balancer notices. */
const UNREADY_MS = 1_000

/** One process of a server: waits for the supervisor's `start`, runs its roles, and releases its claims when it stops. */
export async function runProcess(roles: string): Promise<void> {
  const supervisor = connectToSupervisor()
  try {
    await run(parseRoles(roles), supervisor)
  } catch (error) {
    const mayPass = isDatabaseUnavailable(error instanceof CliError ? error.cause : error)
    if (!(error instanceof CliError || mayPass)) throw error
    await supervisor.report({ kind: 'failed', message: errorMessage(error), mayPass })
    process.exit(1)
  }
}

type Supervisor = ReturnType<typeof connectToSupervisor>

async function run(roles: Config['roles'], supervisor: Supervisor): Promise<void> {
  const config = loadConfig()
  const api = roles.has('api') ? await import('../app.ts') : undefined
  const workers = roles.size > 1 || !api ? await import('./run-loops.ts') : undefined
  const { predecessor, isFirst } = await supervisor.start
  let isServing = false
  let isStopping = false
  void supervisor.end.then(() => {
    if (!isServing) process.exit(0)
  })
  prepareDataFolder(config)
  const secret = loadOrCreateSecret(config)
  let otherServers: PostgresSignals | undefined
  const wakeUps = createWakeUps((topic) => {
    void supervisor.report({ kind: 'wake', topic })
    void otherServers?.send(topic)
  })
  supervisor.onWake((topic) => wakeUps[topic].receive())
  const outages = new OutageLog(systemClock)
  const log = await createLog(config, outages.hooks)
  const deps = {
    ...openDeps(withShareOfLimits(config, roles), [secret.text, ...secret.previous], log),
    loopHealth: supervisor.loopHealth,
    wakeUps,
    isStarting: () => !isServing,
    isStopping: () => isStopping,
    scrape: supervisor.scrape,
    tracing: await loadTracing(config, log),
  }
  const { db, clock } = deps
  supervisor.onCollect(metricsReporter(deps))
  if (!isFile(db)) otherServers = new PostgresSignals({ ...deps, url: config.databaseUrl })
  const app = await api?.createApp(deps)
  await app?.listen({ host: config.host, port: config.port }).catch(throwListenError(config))
  await prepareDatabase(db, config, secret, deps.keyring)
  const firstProcess = isFirst ? await import('./first-process.ts') : undefined
  await firstProcess?.createAdmin(db, config, clock.now())
  const self = { pid: process.pid, machine: hostname(), isAlive }
  const id = await registerProcess(db, self, clock.now(), predecessor)

  const stop = new AbortController()
  const abandon = new AbortController()
  const signals = { stop: stop.signal, abandon: abandon.signal }
  isServing = true
  // In a process without loops, `deps.loopHealth` holds the loops of the other processes: they are not its own to report. Processes
  // that never start would report none.
  if (!workers) for (const role of config.roles) if (role !== 'api') deps.loopHealth.begin(role, clock.elapsed())
  const loopHealth = workers ? deps.loopHealth : new LoopHealth()
  const describe = () => JSON.stringify(reportOf(deps, roles))
  const wrote = (elapsed: number) => {
    deps.loopHealth.wrote(elapsed)
    outages.wrote(log)
  }
  wrote(clock.elapsed()) // the process has just registered itself
  const followKey = keyFollower(deps, secret)
  const loops = [
    runHeartbeat({ ...deps, loopHealth, self, process: id, describe, followKey, wrote }, signals),
    runSizeHistory(deps, signals),
  ]
  if (workers) loops.push(...workers.runLoops({ ...deps, process: id }, roles, signals))
  if (workers && otherServers) loops.push(otherServers.run(signals))
  if (workers) loops.push(reportRunningLoops(deps, supervisor, stop.signal))
  await supervisor.report({ kind: 'ready', instance: id })
  await firstProcess?.logGreeting(deps)
  freeStartMemory()

  const end = await supervisor.end
  if (end === 'orphaned') log.error('The supervisor was killed. Its processes stop.')
  isStopping = true
  stop.abort()
  const isNoticed = app && end === 'ordered' ? systemClock.sleep(UNREADY_MS) : undefined
  const drained = Promise.allSettled([isNoticed, ...loops]).then(() => app?.close())
  await Promise.race([drained, systemClock.sleep(end === 'ordered' ? DRAIN_MS : ORPHAN_DRAIN_MS)])
  abandon.abort()
  await Promise.race([drained, systemClock.sleep(1_000)])
  await unregisterProcess(db, id, clock.now()).catch((err: unknown) =>
    log.error({ err }, 'Claims could not be released. They expire with their leases.'),
  )
  await Promise.race([Promise.allSettled([closeDeps(deps), deps.tracing?.close()]), systemClock.sleep(1_000)])
  process.exit(0)
}

/** Follows a rotation of SECRET, which changes first the file and then the key of the database. */
function keyFollower({ db, keyring, log }: Deps, { source, path }: Secret): () => Promise<void> {
  let wasKnown = true
  return async () => {
    if (source !== 'settings') keyring.addSecrets(readSecrets(path))
    const isKnown = await followKey(db, keyring)
    if (!isKnown && wasKnown) {
      log.error(
        'Another node uses a SECRET that is not set here. Set SECRET and SECRET_PREVIOUS here as well, and restart.',
      )
    }
    wasKnown = isKnown
  }
}

function connectToSupervisor() {
  if (!process.send) throw new CliError('This command is internal. Start the server with: zonewatch serve')
  let onWake = (_: Topic) => {}
  const loopHealth = new LoopHealth()
  const start = Promise.withResolvers<SupervisorMessage & { kind: 'start' }>()
  const end = Promise.withResolvers<'ordered' | 'orphaned'>()
  let collect: CollectMetrics | undefined
  const scrapes = new Map<number, (exposition: Exposition) => void>()
  let lastScrape = 0
  const report = (message: ProcessMessage) => new Promise<void>((resolve) => process.send?.(message, () => resolve()))
  process.on('message', (message: SupervisorMessage) => {
    switch (message.kind) {
      case 'start':
        return start.resolve(message)
      case 'stop':
        return end.resolve('ordered')
      case 'wake':
        return onWake(message.topic)
      case 'loops':
        for (const loop of message.running) loopHealth.report(loop, systemClock.elapsed())
        return
      case 'collect':
        return void collect?.(message.withDatabase).then((metrics) =>
          report({ kind: 'collected', id: message.id, ...metrics }),
        )
      case 'scraped':
        scrapes.get(message.id)?.(message.exposition)
        scrapes.delete(message.id)
    }
  })
  process.once('disconnect', () => end.resolve('orphaned'))
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => end.resolve('ordered'))
  let hasStarted = false
  void start.promise.then(() => {
    hasStarted = true
  })
  void end.promise.then(() => {
    if (!hasStarted) process.exit(0)
  })
  return {
    /** Sets the handler for wake-up signals of other processes. */
    onWake: (handler: typeof onWake) => {
      onWake = handler
    },
    loopHealth,
    start: start.promise,
    end: end.promise,
    report,
    /** Sets the handler that collects the metrics of this process. */
    onCollect: (handler: CollectMetrics) => {
      collect = handler
    },
    scrape: (accept: string) =>
      new Promise<Exposition>((resolve) => {
        const id = ++lastScrape
        scrapes.set(id, resolve)
        void report({ kind: 'scrape', id, accept })
      }),
  }
}

type CollectMetrics = (withDatabase: boolean) => Promise<Omit<CollectedMetrics, 'kind' | 'id'>>

/** Loads OpenTelemetry only if it is used. */
async function loadTracing({ tracesEndpoint }: Config, log: Logger) {
  if (tracesEndpoint === null) return undefined
  const { openTracing } = await import('../metrics/tracing.ts')
  return openTracing(tracesEndpoint, { machine: hostname(), pid: process.pid }, log)
}

function metricsReporter(deps: Deps): CollectMetrics {
  const databaseMetrics = new DatabaseMetrics(deps)
  return async (withDatabase) => ({
    families: deps.metrics.collect(),
    databaseFamilies: withDatabase ? await databaseMetrics.collect() : [],
    problems: await readinessProblems(deps),
  })
}

/** Garbage of the start is a third of the memory of an idle process, and V8 frees it only under load. */
function freeStartMemory(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (options: { type: 'major'; flavor: 'last-resort' }) => void
  setFlagsFromString('--no-expose-gc')
  gc({ type: 'major', flavor: 'last-resort' })
}

async function reportRunningLoops({ loopHealth, clock }: Deps, supervisor: Supervisor, stop: AbortSignal) {
  while (!stop.aborted) {
    await supervisor.report({ kind: 'loops', running: loopHealth.runningLoops(clock.elapsed(), LOOP_REPORT_MS) })
    await clock.sleep(LOOP_REPORT_MS, stop)
  }
}

/** The limits in the settings are per machine, so each process gets a share. */
function withShareOfLimits(config: Config, roles: Config['roles']): Config {
  const processes = roles.has('api') ? 1 : Math.max(1, config.workers)
  const share = (limit: number) => Math.ceil(limit / processes)
  return {
    ...config,
    dnsInFlight: share(config.dnsInFlight),
    dnsPerSecond: share(config.dnsPerSecond),
    dnsAuthoritativePerSecond: share(config.dnsAuthoritativePerSecond),
    webhookConcurrency: share(config.webhookConcurrency),
    deliveryConcurrency: share(config.deliveryConcurrency),
  }
}

function throwListenError({ host, port }: Config) {
  return (error: unknown): never => {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') throw new CliError(`Port ${port} on ${host} is already in use. Set PORT to a free port.`)
    throw new CliError(`Port ${port} on ${host} cannot be opened (${errorMessage(error)}). Check HOST and PORT.`)
  }
}
