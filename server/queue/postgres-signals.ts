import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Client } from 'pg'
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Topic, WakeUps } from './wake-up.ts'

const CHANNEL = 'zonewatch'
/** How often loops poll while signals of other servers do not arrive. */
const UNSIGNALLED_POLL_MS = 250
const ECHO_TIMEOUT_MS = 3_000
/** A connection that broke silently is noticed after this time. */
const ECHO_EVERY_MS = 30_000
const RECONNECT_MS = 1_000
/** The pause before another attempt if a pooler drops the signals. Its configuration may change. */
const RETRY_MS = 10 * 60_000

export type SignalsDeps = { db: Database; url: string; wakeUps: WakeUps; clock: Clock; log: Logger }

/**
 * Wake-up signals between servers on PostgreSQL, by LISTEN on a separate connection and NOTIFY through the pool, after the commit. The
 * process tests whether signals arrive by sending one to itself. A pooler in transaction mode drops them; then loops poll more often.
 */
export class PostgresSignals {
  readonly #deps: SignalsDeps
  readonly #self = randomUUID()
  #echo: (() => void) | undefined
  #isDropWarned = false

  constructor(deps: SignalsDeps) {
    this.#deps = deps
  }

  /** Wakes the loops of other servers. If a signal is lost, they find the work by polling. */
  async send(topic: Topic | 'echo'): Promise<void> {
    await sql`select pg_notify(${CHANNEL}, ${`${this.#self} ${topic}`})`.execute(this.#deps.db).catch(() => {})
  }

  /** Listens until `stop`, and reconnects when the connection ends. */
  async run({ stop }: { stop: AbortSignal }): Promise<void> {
    const { clock, log } = this.#deps
    while (!stop.aborted) {
      this.#pollEvery(UNSIGNALLED_POLL_MS)
      const end = await this.#listen(stop).catch(() => 'broken' as const)
      this.#pollEvery(UNSIGNALLED_POLL_MS)
      if (end === 'dropped' && !this.#isDropWarned) {
        log.warn(
          `PostgreSQL notifications do not arrive. A connection pooler in transaction mode drops them. Polling for due work every ${UNSIGNALLED_POLL_MS} ms instead.`,
        )
        this.#isDropWarned = true
      }
      await clock.sleep(end === 'dropped' ? RETRY_MS : RECONNECT_MS, stop)
    }
  }

  async #listen(stop: AbortSignal): Promise<'broken' | 'dropped' | 'stopped'> {
    const { url, wakeUps, clock } = this.#deps
    const { default: pg } = await import('pg')
    const client: Client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 5_000,
      query_timeout: 5_000,
      application_name: 'zonewatch',
    })
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    client.on('error', () => end())
    client.on('end', () => end())
    client.on('notification', ({ payload = '' }) => this.#receive(payload))
    stop.addEventListener('abort', () => end(), { once: true })
    try {
      await client.connect()
      await client.query(`listen ${CHANNEL}`)
      for (let isFirst = true; !stop.aborted; isFirst = false) {
        if (!(await this.#echoes(ended))) return isFirst && !stop.aborted ? 'dropped' : 'broken'
        if (isFirst) {
          // Earlier signals were not received.
          for (const wakeUp of Object.values(wakeUps)) wakeUp.receive()
          this.#pollEvery(undefined)
        }
        const isOver = await Promise.race([ended.then(() => true), clock.sleep(ECHO_EVERY_MS, stop)])
        if (isOver) return 'broken'
      }
      return 'stopped'
    } finally {
      await client.end().catch(() => {})
    }
  }

  async #echoes(ended: Promise<void>): Promise<boolean> {
    const { clock } = this.#deps
    const timer = new AbortController()
    const echo = new Promise<true>((resolve) => {
      this.#echo = () => resolve(true)
    })
    await this.send('echo')
    const timeout = clock.sleep(ECHO_TIMEOUT_MS, timer.signal).then(() => false)
    const hasEcho = await Promise.race([echo, timeout, ended.then(() => false)])
    timer.abort()
    return hasEcho
  }

  #receive(payload: string): void {
    const [from, topic] = payload.split(' ')
    if (topic === 'echo') {
      if (from === this.#self) this.#echo?.()
    } else if (from !== this.#self) this.#deps.wakeUps[topic as Topic]?.receive()
  }

  #pollEvery(ms: number | undefined): void {
    for (const wakeUp of Object.values(this.#deps.wakeUps)) wakeUp.pollEvery(ms)
  }
}
