import packageJson from '../../package.json' with { type: 'json' }
import { type MetricFamily, Registry } from './registry.ts'

/** The supervisor's metrics about the processes of a server. */
export class ServerMetrics {
  readonly #registry = new Registry()
  readonly #up = this.#registry.gauge(
    'zonewatch_process_up',
    'Whether a process of the server is ready and answers: 1, else 0.',
    ['process', 'roles'],
  )
  readonly #restarts = this.#registry.counter(
    'zonewatch_process_restarts_total',
    'How often a process of the server ended unexpectedly and was started again.',
    ['process'],
  )

  constructor() {
    this.#registry
      .gauge('zonewatch_build_info', 'Always 1; the version of Zonewatch and of Node.', ['version', 'node'])
      .set(1, packageJson.version, process.versions.node)
  }

  up(process: string, roles: readonly string[], isUp: boolean): void {
    this.#up.set(isUp ? 1 : 0, process, roles.join())
    this.#restarts.add(0, process) // rate() needs a value before the first restart
  }

  restarted(process: string): void {
    this.#restarts.add(1, process)
  }

  collect(): MetricFamily[] {
    return this.#registry.collect()
  }
}
