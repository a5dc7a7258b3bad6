import type { ChildProcess } from 'node:child_process'
import type { Logger } from 'pino'
import { CliError } from './cli-error.ts'
import type { Clock } from './clock.ts'
import type { Role } from './config/parse.ts'
import { type Exposition, expose, type Family, type Part } from './metrics/families.ts'
import { ServerMetrics } from './metrics/server-metrics.ts'
import type { Topic } from './wake-up.ts'

/** What the supervisor sends to a process. */
export type Order =
  /** `predecessor`: the instance whose leases this process takes over. `isFirst`: of the whole server. */
  | { kind: 'start'; predecessor: number | undefined; isFirst: boolean }
  | { kind: 'stop' }
  | Forwarded
  /** Report metrics. `isWhole`: with those of the whole server, which one process of it is enough for. */
  | { kind: 'collect'; id: number; isWhole: boolean }
  /** The answer to `scrape`. */
  | { kind: 'scraped'; id: number; exposition: Exposition }

/** What a process sends to the supervisor. */
export type Report =
  | { kind: 'ready'; instance: number }
  /** It cannot start, for a reason that the person who started the server can change. */
  | { kind: 'failed'; message: string }
  | Forwarded
  /** The answer to `collect`. `problems`: why the process is not ready. */
  | { kind: 'collected'; id: number; families: Family[]; whole: Family[]; problems: string[] }
  /** The metrics of all processes are wanted, in the format that `accept` asks for. */
  | { kind: 'scrape'; id: number; accept: string }

type Forwarded =
  /** There is work in this queue, for the processes whose loops do it. */
  | { kind: 'wake'; topic: Topic }
  /** These loops work. For the process with the role `api`, which answers for all of them. */
  | { kind: 'beat'; loops: string[] }

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
  message: string | undefined
  /** Who waits for its metrics. */
  collecting: Map<number, (report: Collected) => void>
}

/** The reports of a server's processes, and which processes do not answer. */
export type Collected = Extract<Report, { kind: 'collected' }>
export type State = { parts: Part[]; problems: string[] }

/** `workers`: processes for checks and deliveries; with 0 one process has all roles. */
export function planProcesses(roles: ReadonlySet<Role>, workers: number): Role[][] {
  const background = [...roles].filter((role) => role !== 'api')
  if (workers === 0 || background.length === 0) return [[...roles]]
  const api: Role[][] = roles.has('api') ? [['api']] : []
  return [...api, ...Array.from({ length: workers }, () => background)]
}

/** Longer than a process takes to finish what is in progress. */
const STOP_MS = 9_000
/** A process that ran for this long did not end because of how it was started. */
const STABLE_MS = 10_000
const FIRST_DELAY_MS = 100
const LAST_DELAY_MS = 10_000
/** Failed starts in a row: of a server that was never ready, and of one that was. */
const MAX_STARTS = 3
const MAX_RESTARTS = 30

/** A process that does not report its metrics within this is reported as down. */
const COLLECT_MS = 3_000

/**
 * Starts the processes of a server and restarts those that end. The first one prepares the database, then the others start.
 * Passes wake-up signals on. Nothing here uses the database.
 */
export class Supervisor {
  readonly #deps: SupervisorDeps
  readonly #children = new Map<number, Child>()
  /** Each process by its place: `api`, `worker-1`, … */
  readonly #names: readonly string[]
  /** Restarts in a row of the process at each place. */
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
    for (const place of this.#deps.processes.keys()) this.#start(place)
    this.#order(0, { kind: 'start', predecessor: undefined, isFirst: true })
    try {
      await this.#ended.promise
    } finally {
      await this.#endAll()
    }
  }

  stop(): void {
    if (this.#stop.signal.aborted) return
    this.#deps.log.info('Stopping. Work in progress is completed first.')
    this.#stop.abort()
    this.#ended.resolve()
  }

  #start(place: number): void {
    const { fork, clock, processes } = this.#deps
    const process = fork(processes[place]!)
    const child: Child = {
      process,
      startedAt: clock.elapsed(),
      hasStarted: false,
      instance: undefined,
      message: undefined,
      collecting: new Map(),
    }
    this.#children.set(place, child)
    process.on('message', (report: Report) => this.#receive(place, child, report))
    process.once('error', () => {}) // it could not be signalled, or not be started: then it also ends
    process.once('exit', (code, signal) => {
      this.#children.delete(place)
      void this.#onExit(place, child, signal ?? `exit code ${code}`)
    })
  }

  #receive(place: number, child: Child, report: Report): void {
    switch (report.kind) {
      case 'ready':
        child.instance = report.instance
        if (this.#ready.size === 0) this.#deps.onPrepared()
        if (!this.#ready.has(place) && this.#ready.size === this.#deps.processes.length - 1) this.#deps.onReady()
        this.#ready.add(place)
        for (const [other, { hasStarted }] of this.#children) {
          if (!hasStarted) this.#order(other, { kind: 'start', predecessor: undefined, isFirst: false })
        }
        return
      case 'failed':
        child.message = report.message
        return
      case 'wake':
        this.#forward(place, report.topic === 'checks' ? 'checker' : 'delivery', report)
        return
      case 'beat':
        this.#forward(place, 'api', report)
        return
      case 'collected':
        child.collecting.get(report.id)?.(report)
        return
      case 'scrape':
        void this.scrape(report.accept).then((exposition) =>
          this.#order(place, { kind: 'scraped', id: report.id, exposition }),
        )
    }
  }

  #forward(from: number, to: Role, message: Forwarded): void {
    for (const [place, roles] of this.#deps.processes.entries()) {
      if (place !== from && roles.includes(to)) this.#order(place, message)
    }
  }

  async #onExit(place: number, child: Child, reason: string): Promise<void> {
    const { clock, log, processes } = this.#deps
    if (this.#stop.signal.aborted) return
    const isReady = child.instance !== undefined
    if (isReady && clock.elapsed() - child.startedAt > STABLE_MS) this.#restarts[place] = 0
    const restarts = this.#restarts[place]!++
    const wereAllReady = this.#ready.size === processes.length
    if (!isReady && (restarts >= (wereAllReady ? MAX_RESTARTS : MAX_STARTS) || (child.message && !wereAllReady))) {
      const sentence = `A process with the roles ${processes[place]!.join(', ')} cannot start (${reason}). See its output above.`
      this.#ended.reject(new CliError(child.message ?? sentence))
      return
    }
    const { pid } = child.process
    log.warn(
      { pid, roles: processes[place], reason, ...(child.message ? { message: child.message } : {}) },
      'A process ended unexpectedly. Restarting it.',
    )
    const delay = isReady && restarts === 0 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** restarts, LAST_DELAY_MS)
    await clock.sleep(delay, this.#stop.signal)
    if (this.#stop.signal.aborted) return
    this.#metrics.restarted(this.#names[place]!)
    this.#start(place)
    const isFirst = this.#ready.size === 0
    if (!isFirst || place === 0) this.#order(place, { kind: 'start', predecessor: child.instance, isFirst })
  }

  /** The metrics of all processes as one text. */
  async scrape(accept: string): Promise<Exposition> {
    return await expose((await this.collect()).parts, accept)
  }

  /** What each process reports at this moment. Those that do not answer in time are a problem each. */
  async collect(): Promise<State> {
    const first = [...this.#children].find(([, { instance }]) => instance !== undefined)?.[0]
    const answers = await Promise.all(this.#names.map((_, place) => this.#collectFrom(place, place === first)))
    const state: State = { parts: [], problems: [] }
    for (const [place, process] of this.#names.entries()) {
      const answer = answers[place]
      this.#metrics.up(process, this.#deps.processes[place]!, answer !== undefined)
      if (!answer) state.problems.push(`the process ${process} does not answer`)
      else state.parts.push({ families: answer.families, process }, { families: answer.whole })
      state.problems.push(...(answer?.problems ?? []))
    }
    state.parts.push({ families: this.#metrics.collect() })
    return { ...state, problems: [...new Set(state.problems)] }
  }

  async #collectFrom(place: number, isWhole: boolean): Promise<Collected | undefined> {
    const child = this.#children.get(place)
    if (child?.instance === undefined) return undefined
    const id = ++this.#lastCollection
    const over = new AbortController()
    const answered = new Promise<Collected>((resolve) => child.collecting.set(id, resolve))
    this.#order(place, { kind: 'collect', id, isWhole })
    const late = this.#deps.clock.sleep(COLLECT_MS, over.signal).then(() => undefined)
    try {
      return await Promise.race([answered, late])
    } finally {
      over.abort()
      child.collecting.delete(id)
    }
  }

  /** A process that has just ended takes no more orders. */
  #order(place: number, order: Order): void {
    const child = this.#children.get(place)
    if (!child?.process.connected) return
    if (order.kind === 'start') child.hasStarted = true
    child.process.send(order, () => {})
  }

  async #endAll(): Promise<void> {
    this.#stop.abort()
    const children = [...this.#children.values()]
    const exits = children.map(({ process }) => new Promise((resolve) => process.once('exit', resolve)))
    for (const place of this.#children.keys()) this.#order(place, { kind: 'stop' })
    await Promise.race([Promise.all(exits), this.#deps.clock.sleep(STOP_MS)])
    for (const { process } of this.#children.values()) process.kill('SIGKILL')
    await Promise.all(exits)
  }
}
