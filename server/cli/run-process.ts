import { hostname } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { CliError, reasonOf } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { parseRoles } from '../config/parse.ts'
import { engineOf } from '../database/database.ts'
import { enterProcess, leaveProcess, runPresence } from '../database/instances.ts'
import { PostgresSignals } from '../database/postgres-signals.ts'
import { closeDeps, type Deps, openDeps } from '../deps.ts'
import { readinessProblems } from '../http/health.ts'
import { createLog } from '../log.ts'
import { LoopHealth } from '../loop-health.ts'
import type { Exposition } from '../metrics/families.ts'
import { DatabaseMetrics } from '../operations/database-metrics.ts'
import { runSizeHistory } from '../operations/database-size.ts'
import { reportOf } from '../operations/instances.ts'
import { followKey } from '../secrets/current-key.ts'
import type { Collected, Order, Report } from '../supervisor.ts'
import { createWakeUps, type Topic } from '../wake-up.ts'
import { isAlive } from './is-alive.ts'
import { loadConfig } from './load-config.ts'
import { loadSecret, prepareDatabase, prepareDataFolder, readSecrets, type Secret } from './open.ts'

/** What is in progress at SIGTERM is finished within this, then given up and left to be done again. */
const DRAIN_MS = 6_000
/** The same when the supervisor was killed: a new server may be starting. */
const ORPHAN_DRAIN_MS = 1_000

/** How often the process with the API knows which loops work. */
const BEAT_MS = 5_000

/** How long at least /readyz is 503 before the port is closed, so that a load balancer notices. */
const LEAVING_MS = 1_000

/** One process of a server. It waits for the order to start, does what its roles say, and ends with nothing claimed. */
export async function runProcess(roles: string): Promise<void> {
  const supervisor = connectToSupervisor()
  try {
    await run(parseRoles(roles), supervisor)
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    await supervisor.report({ kind: 'failed', message: error.message })
    process.exit(1)
  }
}

type Supervisor = ReturnType<typeof connectToSupervisor>

async function run(roles: Config['roles'], supervisor: Supervisor): Promise<void> {
  const config = loadConfig()
  const server = roles.has('api') ? await import('../app.ts') : undefined
  const workers = roles.size > 1 || !server ? await import('./run-loops.ts') : undefined
  const { predecessor, isFirst } = await supervisor.start
  let isServing = false
  let isStopping = false
  void supervisor.end.then(() => {
    if (!isServing) process.exit(0)
  })
  prepareDataFolder(config)
  const secret = loadSecret(config)
  let toServers: PostgresSignals | undefined
  const wakeUps = createWakeUps((topic) => {
    void supervisor.report({ kind: 'wake', topic })
    void toServers?.send(topic)
  })
  supervisor.onWake((topic) => wakeUps[topic].receive())
  const deps = {
    ...openDeps(shareOf(config, roles), [secret.text, ...secret.previous], await createLog(config)),
    loopHealth: supervisor.loopHealth,
    wakeUps,
    isStarting: () => !isServing,
    isStopping: () => isStopping,
    scrape: supervisor.scrape,
    tracing: await tracingOf(config),
  }
  const { db, clock, log } = deps
  supervisor.onCollect(metricsReporter(deps))
  if (engineOf(db) === 'postgres') toServers = new PostgresSignals({ ...deps, url: config.databaseUrl })
  const app = await server?.createApp(deps)
  await app?.listen({ host: config.host, port: config.port }).catch(refuseToListen(config))
  await prepareDatabase(db, config, secret, deps.seal)
  const first = isFirst ? await import('./first-process.ts') : undefined
  await first?.makeAdmin(db, config, clock.now())
  const self = { pid: process.pid, machine: hostname(), isAlive }
  const id = await enterProcess(db, self, clock.now(), predecessor)

  const stop = new AbortController()
  const abandon = new AbortController()
  const signals = { stop: stop.signal, abandon: abandon.signal }
  isServing = true
  // In a process without loops the loopHealth holds those of the others, for the readiness of the whole server.
  const loopHealth = workers ? deps.loopHealth : new LoopHealth()
  const describe = () => JSON.stringify(reportOf(deps, roles))
  const loops = [
    runPresence({ ...deps, loopHealth, self, process: id, describe, followKey: keyFollower(deps, secret) }, signals),
    runSizeHistory(deps, signals),
  ]
  if (workers) loops.push(...workers.runLoops({ ...deps, process: id }, roles, signals))
  if (workers && toServers) loops.push(toServers.run(signals))
  if (workers) loops.push(reportBeats(deps, supervisor, stop.signal))
  await supervisor.report({ kind: 'ready', instance: id })
  await first?.greet(deps)
  freeStartMemory()

  const end = await supervisor.end
  if (end === 'orphaned') log.error('The supervisor was killed. Its processes stop.')
  isStopping = true
  stop.abort()
  const noticed = app && end === 'ordered' ? systemClock.sleep(LEAVING_MS) : undefined
  const drained = Promise.allSettled([noticed, ...loops]).then(() => app?.close())
  await Promise.race([drained, systemClock.sleep(end === 'ordered' ? DRAIN_MS : ORPHAN_DRAIN_MS)])
  abandon.abort()
  await Promise.race([drained, systemClock.sleep(1_000)])
  await leaveProcess(db, id, clock.now()).catch((err: unknown) =>
    log.error({ err }, 'Claims could not be released. They expire with their leases.'),
  )
  await Promise.race([Promise.allSettled([closeDeps(deps), deps.tracing?.close()]), systemClock.sleep(1_000)])
  process.exit(0)
}

/** A rotation changes the key of the database, and before that the file. */
function keyFollower({ db, seal, log }: Deps, { from, path }: Secret): () => Promise<void> {
  let wasKnown = true
  return async () => {
    if (from !== 'settings') seal.learn(readSecrets(path))
    const isKnown = await followKey(db, seal)
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
  let wake = (_: Topic) => {}
  const loopHealth = new LoopHealth()
  const start = Promise.withResolvers<Order & { kind: 'start' }>()
  const end = Promise.withResolvers<'ordered' | 'orphaned'>()
  let collect: Collect | undefined
  const scrapes = new Map<number, (exposition: Exposition) => void>()
  let lastScrape = 0
  const report = (said: Report) => new Promise<void>((resolve) => process.send?.(said, () => resolve()))
  process.on('message', (order: Order) => {
    switch (order.kind) {
      case 'start':
        return start.resolve(order)
      case 'stop':
        return end.resolve('ordered')
      case 'wake':
        return wake(order.topic)
      case 'beat':
        for (const loop of order.loops) loopHealth.beat(loop, systemClock.elapsed())
        return
      case 'collect':
        return void collect?.(order.isWhole).then((found) => report({ kind: 'collected', id: order.id, ...found }))
      case 'scraped':
        scrapes.get(order.id)?.(order.exposition)
        scrapes.delete(order.id)
    }
  })
  process.once('disconnect', () => end.resolve('orphaned'))
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => end.resolve('ordered'))
  let hasStarted = false
  void start.promise.then(() => {
    hasStarted = true
  })
  void end.promise.then(() => {
    if (!hasStarted) process.exit(0)
  })
  return {
    /** Another process of the server made work. */
    onWake: (receive: (topic: Topic) => void) => {
      wake = receive
    },
    loopHealth,
    start: start.promise,
    end: end.promise,
    report,
    /** Once there is something to collect. */
    onCollect: (given: Collect) => {
      collect = given
    },
    scrape: (accept: string) =>
      new Promise<Exposition>((resolve) => {
        const id = ++lastScrape
        scrapes.set(id, resolve)
        void report({ kind: 'scrape', id, accept })
      }),
  }
}

type Collect = (isWhole: boolean) => Promise<Pick<Collected, 'families' | 'whole' | 'problems'>>

/** Without the setting OpenTelemetry is not loaded. */
async function tracingOf({ tracesEndpoint }: Config) {
  if (tracesEndpoint === null) return undefined
  const { openTracing } = await import('../metrics/tracing.ts')
  return openTracing(tracesEndpoint, { machine: hostname(), pid: process.pid })
}

/** What the supervisor asks for when the metrics are scraped. */
function metricsReporter(deps: Deps): Collect {
  const ofDatabase = new DatabaseMetrics(deps)
  return async (isWhole) => ({
    families: deps.metrics.collect(),
    whole: isWhole ? await ofDatabase.collect() : [],
    problems: await readinessProblems(deps),
  })
}

/** What the start leaves behind takes a third of the memory of a process that is idle, and V8 frees it only under load. */
function freeStartMemory(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (options: { type: 'major'; flavor: 'last-resort' }) => void
  setFlagsFromString('--no-expose-gc')
  gc({ type: 'major', flavor: 'last-resort' })
}

async function reportBeats({ loopHealth, clock }: Deps, supervisor: Supervisor, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await supervisor.report({ kind: 'beat', loops: loopHealth.working(clock.elapsed(), BEAT_MS) })
    await clock.sleep(BEAT_MS, stop)
  }
}

/** The limits in the settings are those of a machine, and its processes share them. */
function shareOf(config: Config, roles: Config['roles']): Config {
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

function refuseToListen({ host, port }: Config) {
  return (error: unknown): never => {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') throw new CliError(`Port ${port} on ${host} is already in use. Set PORT to a free port.`)
    throw new CliError(`Port ${port} on ${host} cannot be opened (${reasonOf(error)}). Check HOST and PORT.`)
  }
}
