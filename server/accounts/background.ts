import type { Logger } from 'pino'

/** Work that no answer waits for. What fails is logged. */
export class Background {
  readonly #log: Logger
  readonly #underWay = new Set<Promise<void>>()

  constructor(log: Logger) {
    this.#log = log
  }

  start(given: Promise<void>, failure: string): void {
    const work = given
      .catch((err: unknown) => this.#log.error({ err }, failure))
      .finally(() => this.#underWay.delete(work))
    this.#underWay.add(work)
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#underWay)
  }
}
