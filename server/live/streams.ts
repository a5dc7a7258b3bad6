import { Readable } from 'node:stream'
import type { Logger } from 'pino'
import type { LiveChange } from '#contract/dashboard.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { type ReadReplica, readList } from '../database/read-replica.ts'
import { Problem } from '../problem.ts'
import { WakeUp } from '../queue/wake-up.ts'
import { differenceOf, monitorsOfEvents, readSnapshot, type Snapshot } from './snapshot.ts'

export type LiveDeps = { db: Database; replica: ReadReplica | undefined; clock: Clock; log: Logger }

/** How often the database is polled while a page is open. */
const POLL_MS = 500
const HEARTBEAT_MS = 5_000
/** A revoked key or session ends its streams within 5 s. */
const RECHECK_MS = 4_000
/** A page may have loaded its data up to this long before it opened its stream. */
const OVERLAP_MS = 10_000
export const MAX_STREAMS_PER_CALLER = 8
const MAX_STREAMS_PER_ORGANIZATION = 100
const MAX_STREAMS = 1_000
/** Unread bytes of a stream. Beyond that it is closed, and the page reconnects. */
const MAX_BUFFERED_BYTES = 64 * 1024

export type Listener = {
  organizationId: string
  /** The user, or all API keys of the organization, for the limit per caller: an organization can have many keys. */
  who: string
  /** Whether the caller is still allowed to listen. Called every 4 s. */
  isAllowed: () => Promise<boolean>
}

/** Instants of `Clock.elapsed()`. */
type Stream = Listener & { out: Readable; isOver: boolean; isInitialized: boolean; sentAt: number; allowedAt: number }
type WatchedOrganization = {
  streams: Set<Stream>
  snapshot: Snapshot | undefined
  /** When the database last answered. */
  readAt: number
}

/**
 * The event streams of this process. While there are any, one loop polls the database for each organization with open pages, so
 * that a change by any process reaches them within a second.
 */
export class LiveStreams {
  readonly #deps: LiveDeps
  readonly #watched = new Map<string, WatchedOrganization>()
  readonly #wakeUp = new WakeUp()
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined

  constructor(deps: LiveDeps) {
    this.#deps = deps
  }

  /** Throws 429 at the limit of the caller or the organization, 503 at the limit of the process or while it stops. */
  open(listener: Listener): Readable {
    const all = [...this.#watched.values()].flatMap(({ streams }) => [...streams])
    if (this.#stop.signal.aborted || all.length >= MAX_STREAMS) {
      throw new Problem(
        503,
        'This server has reached its limit of live pages. This page refreshes periodically instead.',
      )
    }
    if (all.filter(({ who }) => who === listener.who).length >= MAX_STREAMS_PER_CALLER) {
      throw new Problem(
        429,
        `You have ${MAX_STREAMS_PER_CALLER} pages open with live updates, which is the limit. Close one of them. This page refreshes periodically until then.`,
      )
    }
    if ((this.#watched.get(listener.organizationId)?.streams.size ?? 0) >= MAX_STREAMS_PER_ORGANIZATION) {
      throw new Problem(
        429,
        `Your organization has ${MAX_STREAMS_PER_ORGANIZATION} pages open with live updates on this server, which is the limit. This page refreshes periodically instead.`,
      )
    }
    const now = this.#deps.clock.elapsed()
    const stream: Stream = {
      ...listener,
      out: new Readable({ read() {} }),
      isOver: false,
      isInitialized: false,
      sentAt: now,
      allowedAt: now,
    }
    const watched = this.#watched.get(listener.organizationId) ?? newWatch()
    this.#watched.set(listener.organizationId, watched)
    watched.streams.add(stream)
    stream.out.once('close', () => this.#remove(stream))
    stream.out.push('retry: 3000\n\n')
    this.#wakeUp.send()
    this.#running ??= this.#run()
    return stream.out
  }

  /** Polls the database at once, after a change by this process. */
  wake(organizationId: string): void {
    if (this.#watched.has(organizationId)) this.#wakeUp.send()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    for (const { streams } of this.#watched.values()) for (const stream of streams) end(stream)
    await this.#running
  }

  async #run(): Promise<void> {
    const { clock } = this.#deps
    while (!this.#stop.signal.aborted && this.#watched.size > 0) {
      for (const [organizationId, watched] of this.#watched) await this.#poll(organizationId, watched)
      await this.#maintain()
      await this.#wakeUp.wait(POLL_MS, clock, this.#stop.signal)
    }
    this.#running = undefined
  }

  async #poll(organizationId: string, watched: WatchedOrganization): Promise<void> {
    const { clock, log } = this.#deps
    try {
      // Uses the same database as the lists, so that a page finds the event it is notified of.
      const { now, difference, monitors } = await readList(this.#deps, { organizationId }, async (db) => {
        const now = await readSnapshot(db, organizationId)
        const difference = differenceOf(watched.snapshot ?? now, now)
        return { now, difference, monitors: await monitorsOfEvents(db, organizationId, difference.events) }
      })
      const { lists } = difference
      watched.snapshot = now
      watched.readAt = clock.elapsed()
      this.#initialize(watched, now)
      if (lists.length > 0) this.#sendAll(watched, eventText('change', { lists, monitors }))
    } catch (err) {
      log.debug({ err }, 'Live updates are delayed: the database is unavailable.')
    }
  }

  /** Sends the first message: the page may lack changes that happened while it was loading. */
  #initialize({ streams }: WatchedOrganization, { events }: Snapshot): void {
    const from = this.#deps.clock.now() - OVERLAP_MS
    const isRecent = events.values().some((at) => at > from)
    for (const stream of streams) {
      if (!stream.isInitialized) this.#send(stream, isRecent ? eventText('change', RECENT_CHANGE) : BEAT)
      stream.isInitialized = true
    }
  }

  /**
   * Sends heartbeats, which say that the page is current and keep proxies from closing the stream; none while the database does
   * not answer. Ends the streams of callers that are no longer allowed.
   */
  async #maintain(): Promise<void> {
    const now = this.#deps.clock.elapsed()
    for (const { streams, readAt } of this.#watched.values()) {
      const isCurrent = now - readAt < HEARTBEAT_MS
      for (const stream of streams) {
        if (isCurrent && now - stream.sentAt >= HEARTBEAT_MS) this.#send(stream, BEAT)
        if (now - stream.allowedAt < RECHECK_MS) continue
        stream.allowedAt = now
        if (!(await stream.isAllowed())) end(stream)
      }
    }
  }

  #sendAll({ streams }: WatchedOrganization, text: string): void {
    for (const stream of streams) this.#send(stream, text)
  }

  #send(stream: Stream, text: string): void {
    if (stream.isOver) return
    if (stream.out.readableLength > MAX_BUFFERED_BYTES) {
      stream.isOver = true
      stream.out.destroy()
    } else stream.out.push(text)
    stream.sentAt = this.#deps.clock.elapsed()
  }

  #remove(stream: Stream): void {
    stream.isOver = true
    const watched = this.#watched.get(stream.organizationId)
    watched?.streams.delete(stream)
    if (watched?.streams.size === 0) this.#watched.delete(stream.organizationId)
  }
}

function end(stream: Stream): void {
  if (!stream.isOver) stream.out.push(null)
  stream.isOver = true
}

const RECENT_CHANGE: LiveChange = { lists: ['events', 'monitors', 'requests'], monitors: [] }

const newWatch = (): WatchedOrganization => ({
  streams: new Set(),
  snapshot: undefined,
  readAt: Number.NEGATIVE_INFINITY,
})

/** Server-sent event: WHATWG HTML, section 9.2. */
const eventText = (name: string, data: LiveChange) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

const BEAT = 'event: beat\ndata: {}\n\n'
