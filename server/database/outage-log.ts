import type { Logger, LoggerOptions } from 'pino'
import type { Clock } from '../clock.ts'
import { isDatabaseError, isDatabaseUnavailable } from './unavailable.ts'

const REPEAT_MS = 60_000
/** Longer than the pause of a loop that failed: while the database still fails, some error is younger. */
const QUIET_MS = 5_000

type Outage = { beganAt: number; lastErrorAt: number; lastLineAt: number; errors: number }

/**
 * Replaces the log lines of an outage of the database, of which each loop and each request writes one: a line when it begins, one a
 * minute with the number of errors, and one when it ends.
 */
export class OutageLog {
  readonly #clock: Pick<Clock, 'elapsed'>
  #outage: Outage | undefined

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock
  }

  /** For pino: an error of an unavailable database under `err` is counted instead of logged. Child loggers inherit this. */
  get hooks(): NonNullable<LoggerOptions['hooks']> {
    const failed = (err: Error, log: Logger) => this.#failed(err, log)
    return {
      logMethod(args, method) {
        const [fields] = args as unknown[]
        const err = (fields as { err?: unknown } | null)?.err
        if (isDatabaseError(err) && isDatabaseUnavailable(err)) failed(err, this)
        else method.apply(this, args)
      },
    }
  }

  /** A write succeeded. The outage has ended if nothing else failed lately: a full disk still accepts some writes. */
  wrote(log: Logger): void {
    const outage = this.#outage
    if (!outage || this.#clock.elapsed() - outage.lastErrorAt < QUIET_MS) return
    this.#outage = undefined
    const seconds = Math.round((outage.lastErrorAt - outage.beganAt) / 1_000)
    log.info({ errors: outage.errors, seconds }, 'The database is available again.')
  }

  #failed({ message: reason }: Error, log: Logger): void {
    const now = this.#clock.elapsed()
    if (!this.#outage) {
      this.#outage = { beganAt: now, lastErrorAt: now, lastLineAt: now, errors: 1 }
      log.error(
        { reason },
        'The database is unavailable. Requests that need it are a 503; checks and deliveries wait. Zonewatch retries, and logs the number of errors once a minute.',
      )
      return
    }
    this.#outage.errors++
    this.#outage.lastErrorAt = now
    if (now - this.#outage.lastLineAt < REPEAT_MS) return
    this.#outage.lastLineAt = now
    log.error({ errors: this.#outage.errors, reason }, 'The database is still unavailable.')
  }
}
