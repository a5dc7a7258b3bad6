import type { buildConnector, Client } from 'undici'
import type { Clock } from '../clock.ts'
import type { Opening } from './vetted-connect.ts'

/** A client of undici: at most one connection, which it opens when it needs one. */
type Kept = {
  client: Client
  origin: string
  madeAt: number
  isFree: boolean
  /** Whom a connection is opened for: undici says for which origin it needs one, not for which request. */
  user: Opening | undefined
}

export type Connect = (
  target: buildConnector.Options,
  user: Opening | undefined,
  callback: buildConnector.Callback,
) => void
type ConnectionsOptions = Omit<Client.Options, 'connect'> & { connect: Connect }

/** Anyone who has it sends one request, then gives it back. */
export type Line = { client: Client; release: () => void }

/**
 * Connections by origin, one request at a time on each. Taking one costs the same however many there are, which undici's
 * own pool does not promise. The latest used is taken first, so that those not needed fall silent and close.
 */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #clock: Clock
  readonly #lifeMs: number
  readonly #free = new Map<string, Kept[]>()
  readonly #all = new Set<Client>()
  #isDestroyed = false

  /** `lifeMs`: an older connection gets no further request. */
  constructor(options: ConnectionsOptions, { clock, lifeMs }: { clock: Clock; lifeMs: number }) {
    this.#options = options
    this.#clock = clock
    this.#lifeMs = lifeMs
  }

  async take(origin: string, user: Opening): Promise<Line> {
    const kept = this.#freeOne(origin) ?? (await this.#newOne(origin))
    kept.isFree = false
    kept.user = user
    return { client: kept.client, release: () => this.#release(kept) }
  }

  /** Breaks off what is in progress, and refuses what comes later. */
  async destroy(): Promise<void> {
    this.#isDestroyed = true
    await Promise.all([...this.#all].map((client) => client.destroy()))
  }

  #freeOne(origin: string): Kept | undefined {
    const free = this.#free.get(origin)
    for (let kept = free?.pop(); kept; kept = free?.pop()) {
      if (!this.#isOld(kept)) return kept
      this.#close(kept)
    }
    return undefined
  }

  async #newOne(origin: string): Promise<Kept> {
    const { Client } = await import('undici') // a tenth of the start of a process that may never send anything
    const connect: buildConnector.connector = (target, callback) => this.#options.connect(target, kept.user, callback)
    const client = new Client(origin, { ...this.#options, connect })
    const kept: Kept = { client, origin, madeAt: this.#clock.elapsed(), isFree: false, user: undefined }
    this.#all.add(client)
    if (this.#isDestroyed) void client.destroy()
    client.on('disconnect', () => this.#forget(kept))
    return kept
  }

  #release(kept: Kept): void {
    kept.user = undefined
    if (kept.client.destroyed || this.#isOld(kept)) {
      this.#close(kept)
      return
    }
    kept.isFree = true
    const free = this.#free.get(kept.origin)
    if (free) free.push(kept)
    else this.#free.set(kept.origin, [kept])
  }

  #isOld({ madeAt }: Kept): boolean {
    return this.#clock.elapsed() - madeAt > this.#lifeMs
  }

  #close({ client }: Kept): void {
    this.#all.delete(client)
    if (!client.destroyed && !client.closed) void client.close()
  }

  /** Its connection closed; without one it is worth nothing while nobody uses it. */
  #forget(kept: Kept): void {
    if (!kept.isFree) return
    const left = (this.#free.get(kept.origin) ?? []).filter((other) => other !== kept)
    if (left.length > 0) this.#free.set(kept.origin, left)
    else this.#free.delete(kept.origin)
    this.#close(kept)
  }
}
