import type { buildConnector, Client } from 'undici'
import type { Clock } from '../clock.ts'
import type { ConnectionAttempt } from './vetted-connect.ts'

/** A client of undici with at most one connection, which it opens when needed. */
type Connection = {
  client: Client
  origin: string
  openedAt: number
  isIdle: boolean
  /** The exchange that needs a new connection: undici passes only its origin. */
  opening: ConnectionAttempt | undefined
}

export type Connect = (
  target: buildConnector.Options,
  user: ConnectionAttempt | undefined,
  callback: buildConnector.Callback,
) => void
type ConnectionsOptions = Omit<Client.Options, 'connect'> & { connect: Connect }

/** For one request. Call `release` after it. */
export type AcquiredConnection = { client: Client; release: () => void }

/**
 * A pool of connections by origin with one request at a time on each. Acquiring one takes constant time, unlike in undici's
 * pool. The one used last is taken first, so that surplus connections become idle and close.
 */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #clock: Clock
  readonly maxAgeMs: number
  readonly #idle = new Map<string, Connection[]>()
  readonly #all = new Set<Client>()
  #isDestroyed = false

  /** A connection older than `maxAgeMs` gets no further request. */
  constructor(options: ConnectionsOptions, { clock, lifeMs }: { clock: Clock; lifeMs: number }) {
    this.#options = options
    this.#clock = clock
    this.maxAgeMs = lifeMs
  }

  async acquire(origin: string, user: ConnectionAttempt): Promise<AcquiredConnection> {
    const connection = this.#takeIdle(origin) ?? (await this.#create(origin))
    connection.isIdle = false
    connection.opening = user
    return { client: connection.client, release: () => this.#release(connection) }
  }

  /** Aborts the requests in progress and rejects later ones. */
  async destroy(): Promise<void> {
    this.#isDestroyed = true
    await Promise.all([...this.#all].map((client) => client.destroy()))
  }

  #takeIdle(origin: string): Connection | undefined {
    const free = this.#idle.get(origin)
    for (let connection = free?.pop(); connection; connection = free?.pop()) {
      if (!this.#isExpired(connection)) return connection
      this.#close(connection)
    }
    return undefined
  }

  async #create(origin: string): Promise<Connection> {
    const { Client } = await import('undici') // loading it takes a tenth of the start of a process, and many never send a request
    const connect: buildConnector.connector = (target, callback) =>
      this.#options.connect(target, connection.opening, callback)
    const client = new Client(origin, { ...this.#options, connect })
    const connection: Connection = {
      client,
      origin,
      openedAt: this.#clock.elapsed(),
      isIdle: false,
      opening: undefined,
    }
    this.#all.add(client)
    if (this.#isDestroyed) void client.destroy()
    client.on('disconnect', () => this.#onDisconnect(connection))
    return connection
  }

  #release(connection: Connection): void {
    connection.opening = undefined
    if (connection.client.destroyed || this.#isExpired(connection)) {
      this.#close(connection)
      return
    }
    connection.isIdle = true
    const free = this.#idle.get(connection.origin)
    if (free) free.push(connection)
    else this.#idle.set(connection.origin, [connection])
  }

  #isExpired({ openedAt: madeAt }: Connection): boolean {
    return this.#clock.elapsed() - madeAt > this.maxAgeMs
  }

  #close({ client }: Connection): void {
    this.#all.delete(client)
    if (!client.destroyed && !client.closed) void client.close()
  }

  /** Removes a client whose idle connection was closed. */
  #onDisconnect(connection: Connection): void {
    if (!connection.isIdle) return
    const others = (this.#idle.get(connection.origin) ?? []).filter((other) => other !== connection)
    if (others.length > 0) this.#idle.set(connection.origin, others)
    else this.#idle.delete(connection.origin)
    this.#close(connection)
  }
}
