import { Counter, Gauge, Registry } from 'prom-client'
import packageJson from '../../package.json' with { type: 'json' }
import type { Family } from './fast.ts'
import { familiesOf } from './metrics.ts'

/** What the supervisor knows of the processes of a server. */
export class ServerMetrics {
  readonly #registry = new Registry()
  readonly #up = new Gauge({
    name: 'zonewatch_process_up',
    help: 'Whether a process of the server is ready and answers: 1, else 0.',
    labelNames: ['process', 'roles'],
    registers: [this.#registry],
  })
  readonly #restarts = new Counter({
    name: 'zonewatch_process_restarts_total',
    help: 'How often a process of the server ended unexpectedly and was started again.',
    labelNames: ['process'],
    registers: [this.#registry],
  })

  constructor() {
    const labels = { version: packageJson.version, node: process.versions.node }
    new Gauge({
      name: 'zonewatch_build_info',
      help: 'Always 1; the version of Zonewatch and of Node.',
      labelNames: ['version', 'node'],
      registers: [this.#registry],
    }).set(labels, 1)
  }

  up(process: string, roles: readonly string[], isUp: boolean): void {
    this.#up.set({ process, roles: roles.join() }, isUp ? 1 : 0)
    this.#restarts.inc({ process }, 0) // so that it is there before the first restart
  }

  restarted(process: string): void {
    this.#restarts.inc({ process })
  }

  collect(): Promise<Family[]> {
    return familiesOf(this.#registry)
  }
}
