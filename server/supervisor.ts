import type { ChildProcess } from 'node:child_process'
import type { Logger } from 'pino'
import { CliError } from './cli-error.ts'
import type { Clock } from './clock.ts'
import type { Role } from './config/parse.ts'
import { type Exposition, expose, type MetricFamily, type Part } from './metrics/registry.ts'
import { ServerMetrics } from './metrics/server-metrics.ts'
import type { Topic } from './queue/wake-up.ts'

/** From the supervisor to a process. */
export type SupervisorMessage =
  /** `predecessor`: the instance whose leases this process takes over. `isFirst`: it prepares the database. */
  | { kind: 'start'; predecessor: number | undefined; isFirst: boolean }
  | { kind: 'stop' }
  | ForwardedMessage
  /** Asks for metrics. `withDatabase`: also those of the database, which only one process reports. */
  | { kind: 'collect'; id: number; withDatabase: boolean }
  /** The response to `scrape`. */
  | { kind: 'scraped'; id: number; exposition: Exposition }

/** From a process to the supervisor. */
export type ProcessMessage =
  | { kind: 'ready'; instance: number }
  /** The process cannot start. `mayPass`: because the database is unavailable. Otherwise the operator has to fix the reason. */
  | { kind: 'failed'; message: string; mayPass: boolean }
  | ForwardedMessage
  /** The response to `collect`. `problems`: why the process is not ready. */
  | { kind: 'collected'; id: number; families: MetricFamily[]; databaseFamilies: MetricFamily[]; problems: string[] }
  /** Asks for the metrics of all processes. `accept`: the header with the wanted format. */
  | { kind: 'scrape'; id: number; accept: string }

/** From one process to others, through the supervisor. */
type ForwardedMessage =
  /** This queue has work. For the processes whose loops do it. */
  | { kind: 'wake'; topic: Topic }
  /** These loops run. For the process with the API, whose readiness covers all processes. */
  | { kind: 'loops'; running: string[] }

export type SupervisorDeps = {
  /** The roles of each process. */
  processes: readonly (readonly Role[])[]
  fork(roles: readonly Role[]): ChildProcess
  /** The first process has prepared the database. */
  onPrepared(): void
  /** All processes are ready, for the first time. */
  onReady(): void
  clock: Clock
  log: Logger
}

type Child = {
  process: ChildProcess
  startedAt: number
  hasStarted: boolean
  /** Set when it is ready. */
  instance: number | undefined
  /** Why it could not start. */
  startError: Extract<ProcessMessage, { kind: 'failed' }> | undefined
  /** By the id of the `collect` message. */
  collections: Map<number, (metrics: CollectedMetrics) => void>
}

export type CollectedMetrics = Extract<ProcessMessage, { kind: 'collected' }>
/** The metrics of all processes, and why the server is not ready. */
export type ServerState = { parts: Part[]; problems: string[] }

/** `workers`: processes for checks and deliveries; with 0 one process has all roles. */
export function planProcesses(roles: ReadonlySet<Role>, workers: number): Role[][] {
  const background = [...roles].filter((role) => role !== 'api')
  if (workers === 0 || background.length === 0) return [[...roles]]
  const api: Role[][] = roles.has('api') ? [['api']] : []
  return [...api, ...Array.from({ length: workers }, () => background)]
}

/** Longer than a process takes to finish its work in progress. */
const STOP_TIMEOUT_MS = 9_000
/** A process that ran this long had no problem at its start, so its restarts are counted from 0 again. */
const STABLE_MS = 10_000
const MIN_RESTART_DELAY_MS = 100
const MAX_RESTART_DELAY_MS = 10_000
/** Failed starts in a row before the server gives up: if it was never ready, and if it was. */
const MAX_STARTS = 3
const MAX_RESTARTS = 30

/** A process that does not report its metrics within this time counts as down. */
const COLLECT_TIMEOUT_MS = 3_000

/** The supervisor sends SIGKILL only when it stops; so does nobody else, except an operator and the kernel without memory. */
function reasonOf(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal === 'SIGKILL') return 'SIGKILL, probably by the kernel because memory ran out: give the server more memory'
  if (signal === 'SIGABRT' || code === 134)
    return 'SIGABRT, probably because V8 ran out of memory: see the output above'
  return signal ?? `exit code ${code}`
}

/**
 * Starts the processes of a server, restarts those that end, and forwards wake-up signals. The first process prepares the
 * database, then the others start. The supervisor itself does not use the database.
 */
export class Supervisor {
  readonly #deps: SupervisorDeps
  readonly #children = new Map<number, Child>()
  /** `api`, `worker-1`, …, in the order of `deps.processes`. */
  readonly #names: readonly string[]
  /** Restarts in a row, in the same order. */
  readonly #restarts: number[]
  readonly #stop = new AbortController()
  readonly #ended = Promise.withResolvers<void>()
  readonly #ready = new Set<number>()
  readonly #metrics = new ServerMetrics()
  #lastCollection = 0

  constructor(deps: SupervisorDeps) {
    this.#deps = deps
    this.#restarts = deps.processes.map(() => 0)
    let workers = 0
    this.#names = deps.processes.map((roles) => (roles.includes('api') ? 'api' : `worker-${++workers}`))
  }

  /** Resolves when all processes have ended after `stop()`. Rejects with a `CliError` when they cannot start. */
  async run(): Promise<void> {
    for (const index of this.#deps.processes.keys()) this.#start(index)
    this.#send(0, { kind: 'start', predecessor: undefined, isFirst: true })
    try {
      await this.#ended.promise
    } finally {
      await this.#stopAll()
    }
  }

  stop(): void {
    if (this.#stop.signal.aborted) return
    this.#deps.log.info('Stopping. Work in progress is completed first.')
    this.#stop.abort()
    this.#ended.resolve()
  }

  /** Ends all processes at once, and `run()` with this message. For a loss that more work would only make larger. */
  abort(message: string): void {
    if (this.#stop.signal.aborted) return
    this.#deps.log.fatal(message)
    this.#stop.abort()
    for (const { process } of this.#children.values()) process.kill('SIGKILL')
    this.#ended.reject(new CliError(message))
  }

  #start(index: number): void {
    const { fork, clock, processes } = this.#deps
    const childProcess = fork(processes[index]!)
    const child: Child = {
      process: childProcess,
      startedAt: clock.elapsed(),
      hasStarted: false,
      instance: undefined,
      startError: undefined,
      collections: new Map(),
    }
    this.#children.set(index, child)
    childProcess.on('message', (message: ProcessMessage) => this.#receive(index, child, message))
    childProcess.once('error', () => {}) // a process that could not be started also emits `exit`
    childProcess.once('exit', (code, signal) => {
      this.#children.delete(index)
      void this.#onExit(index, child, reasonOf(code, signal))
    })
  }

  #receive(index: number, child: Child, message: ProcessMessage): void {
    switch (message.kind) {
      case 'ready':
        child.instance = message.instance
        if (this.#ready.size === 0) this.#deps.onPrepared()
        if (!this.#ready.has(index) && this.#ready.size === this.#deps.processes.length - 1) this.#deps.onReady()
        this.#ready.add(index)
        for (const [index, { hasStarted }] of this.#children) {
          if (!hasStarted) this.#send(index, { kind: 'start', predecessor: undefined, isFirst: false })
        }
        return
      case 'failed':
        child.startError = message
        return
      case 'wake':
        this.#forward(index, message.topic === 'checks' ? 'checker' : 'delivery', message)
        return
      case 'loops':
        this.#forward(index, 'api', message)
        return
      case 'collected':
        child.collections.get(message.id)?.(message)
        return
      case 'scrape':
        void this.scrape(message.accept).then((exposition) =>
          this.#send(index, { kind: 'scraped', id: message.id, exposition }),
        )
    }
  }

  #forward(from: number, to: Role, message: ForwardedMessage): void {
    for (const [index, roles] of this.#deps.processes.entries()) {
      if (index !== from && roles.includes(to)) this.#send(index, message)
    }
  }

  async #onExit(index: number, child: Child, reason: string): Promise<void> {
    const { clock, log, processes } = this.#deps
    if (this.#stop.signal.aborted) return
    const wasReady = child.instance !== undefined
    if (wasReady && clock.elapsed() - child.startedAt > STABLE_MS) this.#restarts[index] = 0
    const restarts = this.#restarts[index]!++
    const { startError } = child
    if (!wasReady && !this.#isRestarted(restarts, startError)) {
      const error = `A process with the roles ${processes[index]!.join(', ')} cannot start (${reason}). See its output above.`
      this.#ended.reject(new CliError(startError?.message ?? error))
      return
    }
    const { pid } = child.process
    log.warn(
      { pid, roles: processes[index], reason, ...(startError ? { message: startError.message } : {}) },
      'A process ended unexpectedly. Restarting it.',
    )
    const delay = wasReady && restarts === 0 ? 0 : Math.min(MIN_RESTART_DELAY_MS * 2 ** restarts, MAX_RESTART_DELAY_MS)
    await clock.sleep(delay, this.#stop.signal)
    if (this.#stop.signal.aborted) return
    this.#metrics.restarted(this.#names[index]!)
    this.#start(index)
    const isFirst = this.#ready.size === 0
    if (!isFirst || index === 0) this.#send(index, { kind: 'start', predecessor: child.instance, isFirst })
  }

  /** Whether a process that could not start is started again. */
  #isRestarted(restarts: number, startError: Child['startError']): boolean {
    const wasPrepared = this.#ready.size > 0
    if (startError?.mayPass && wasPrepared) return true // the database was there when the first process started
    const wereAllReady = this.#ready.size === this.#deps.processes.length
    if (startError && !wereAllReady) return false
    return restarts < (wereAllReady ? MAX_RESTARTS : MAX_STARTS)
  }

  /** The metrics of all processes as one text. */
  async scrape(accept: string): Promise<Exposition> {
    return await expose((await this.collect()).parts, accept)
  }

  /** Collects the metrics of all processes now. A process that does not answer in time is a problem. */
  async collect(): Promise<ServerState> {
    const firstReady = [...this.#children].find(([, { instance }]) => instance !== undefined)?.[0]
    const responses = await Promise.all(this.#names.map((_, index) => this.#collectFrom(index, index === firstReady)))
    const parts: Part[] = []
    const problems = new Set<string>()
    for (const [index, response] of responses.entries()) {
      const process = this.#names[index]!
      this.#metrics.up(process, this.#deps.processes[index]!, response !== undefined)
      if (response) parts.push({ families: response.families, process }, { families: response.databaseFamilies })
      for (const problem of response?.problems ?? [`the process ${process} does not answer`]) problems.add(problem)
    }
    parts.push({ families: this.#metrics.collect() })
    return { parts, problems: [...problems] }
  }

  async #collectFrom(index: number, withDatabase: boolean): Promise<CollectedMetrics | undefined> {
    const child = this.#children.get(index)
    if (child?.instance === undefined) return undefined
    const id = ++this.#lastCollection
    const timer = new AbortController()
    const response = new Promise<CollectedMetrics>((resolve) => child.collections.set(id, resolve))
    this.#send(index, { kind: 'collect', id, withDatabase })
    const timeout = this.#deps.clock.sleep(COLLECT_TIMEOUT_MS, timer.signal).then(() => undefined)
    try {
      return await Promise.race([response, timeout])
    } finally {
      timer.abort()
      child.collections.delete(id)
    }
  }

  /** Does nothing if the process has just ended. */
  #send(index: number, message: SupervisorMessage): void {
    const child = this.#children.get(index)
    if (!child?.process.connected) return
    if (message.kind === 'start') child.hasStarted = true
    child.process.send(message, () => {})
  }

  async #stopAll(): Promise<void> {
    this.#stop.abort()
    const children = [...this.#children.values()]
    const exits = children.map(({ process }) => new Promise((resolve) => process.once('exit', resolve)))
    for (const index of this.#children.keys()) this.#send(index, { kind: 'stop' })
    await Promise.race([Promise.all(exits), this.#deps.clock.sleep(STOP_TIMEOUT_MS)])
    for (const { process } of this.#children.values()) process.kill('SIGKILL')
    await Promise.all(exits)
  }
}
