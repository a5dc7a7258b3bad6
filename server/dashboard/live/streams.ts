import { Readable } from 'node:stream'
import type { Logger } from 'pino'
import type { LiveChange } from '#contract/dashboard.ts'
import type { Clock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import { type ReadReplica, readList } from '../../database/read-replica.ts'
import { Problem } from '../../problem.ts'
import { WakeUp } from '../../wake-up.ts'
import { differenceOf, monitorsOfEvents, readSnapshot, type Snapshot } from './snapshot.ts'

export type LiveDeps = { db: Database; replica: ReadReplica | undefined; clock: Clock; log: Logger }

/** How often the database is looked at while somebody watches. */
const POLL_MS = 500
const CHECKED_MS = 1_000
const HEARTBEAT_MS = 5_000
const RECHECK_MS = 30_000
/** How long before a page opened its stream it may have read what it shows. */
const OVERLAP_MS = 10_000
export const MOST_OF_ONE = 8
const MOST_OF_ORGANIZATION = 100
const MOST_IN_ALL = 1_000
/** Octets that wait for a page which does not read; beyond that it is cut off and comes again. */
const MOST_WAITING = 64 * 1024

export type Listener = {
  organizationId: string
  /** Whose streams are counted together: a person or a key. */
  who: string
  /** Whether the caller may still listen; asked now and then. */
  isWelcome: () => Promise<boolean>
}

/** Instants of `Clock.elapsed()`. */
type Stream = Listener & { out: Readable; isOver: boolean; isGreeted: boolean; toldAt: number; askedAt: number }
type Watched = {
  streams: Set<Stream>
  snapshot: Snapshot | undefined
  /** When the database last answered. */
  readAt: number
  checked: Set<string>
  checkedAt: number
}

/**
 * The open pages of this process. While there are any, one loop looks at the database for each organization that is watched,
 * so that a change reaches its pages within a second, whichever process made it.
 */
export class LiveStreams {
  readonly #deps: LiveDeps
  readonly #watched = new Map<string, Watched>()
  readonly #wakeUp = new WakeUp()
  readonly #stop = new AbortController()
  #turning: Promise<void> | undefined

  constructor(deps: LiveDeps) {
    this.#deps = deps
  }

  /** Throws 429 where one caller or one organization has too many already, 503 where the process has or is stopping. */
  open(listener: Listener): Readable {
    const all = [...this.#watched.values()].flatMap(({ streams }) => [...streams])
    if (this.#stop.signal.aborted || all.length >= MOST_IN_ALL) {
      throw new Problem(
        503,
        'This server has reached its limit of live pages. This page refreshes periodically instead.',
      )
    }
    if (all.filter(({ who }) => who === listener.who).length >= MOST_OF_ONE) {
      throw new Problem(
        429,
        `You have ${MOST_OF_ONE} pages open with live updates, which is the limit. Close one of them. This page refreshes periodically until then.`,
      )
    }
    if ((this.#watched.get(listener.organizationId)?.streams.size ?? 0) >= MOST_OF_ORGANIZATION) {
      throw new Problem(
        429,
        `Your organization has ${MOST_OF_ORGANIZATION} pages open with live updates on this server, which is the limit. This page refreshes periodically instead.`,
      )
    }
    const now = this.#deps.clock.elapsed()
    const stream: Stream = {
      ...listener,
      out: new Readable({ read() {} }),
      isOver: false,
      isGreeted: false,
      toldAt: now,
      askedAt: now,
    }
    const watched = this.#watched.get(listener.organizationId) ?? newlyWatched()
    this.#watched.set(listener.organizationId, watched)
    watched.streams.add(stream)
    stream.out.once('close', () => this.#remove(stream))
    stream.out.push('retry: 3000\n\n')
    this.#wakeUp.send()
    this.#turning ??= this.#turn()
    return stream.out
  }

  /** Looks at the database at once: somebody of this process changed something. */
  wake(organizationId: string): void {
    if (this.#watched.has(organizationId)) this.#wakeUp.send()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    for (const { streams } of this.#watched.values()) for (const stream of streams) end(stream)
    await this.#turning
  }

  async #turn(): Promise<void> {
    const { clock } = this.#deps
    while (!this.#stop.signal.aborted && this.#watched.size > 0) {
      for (const [organizationId, watched] of this.#watched) await this.#look(organizationId, watched)
      await this.#tend()
      await this.#wakeUp.wait(POLL_MS, clock, this.#stop.signal)
    }
    this.#turning = undefined
  }

  async #look(organizationId: string, watched: Watched): Promise<void> {
    const { clock, log } = this.#deps
    try {
      // From where the lists are read: a page that is notified of an event must find it.
      const { now, difference, monitors } = await readList(this.#deps, { organizationId }, async (db) => {
        const now = await readSnapshot(db, organizationId)
        const difference = differenceOf(watched.snapshot ?? now, now)
        return { now, difference, monitors: await monitorsOfEvents(db, organizationId, difference.events) }
      })
      const { lists, checked } = difference
      watched.snapshot = now
      watched.readAt = clock.elapsed()
      for (const id of checked) watched.checked.add(id)
      this.#greet(watched, now)
      if (lists.length > 0) this.#tellAll(watched, eventText('change', { lists, monitors }))
      if (watched.checked.size === 0 || clock.elapsed() - watched.checkedAt < CHECKED_MS) return
      this.#tellAll(watched, eventText('checked', { monitors: [...watched.checked] }))
      watched.checked.clear()
      watched.checkedAt = clock.elapsed()
    } catch (err) {
      log.debug({ err }, 'Live updates are delayed: the database is unavailable.')
    }
  }

  /** What happened while a page was loading may be missing on it. */
  #greet({ streams }: Watched, { events }: Snapshot): void {
    const from = this.#deps.clock.now() - OVERLAP_MS
    const isRecent = events.values().some((at) => at > from)
    for (const stream of streams) {
      if (!stream.isGreeted) this.#tell(stream, isRecent ? eventText('change', RECENTLY) : BEAT)
      stream.isGreeted = true
    }
  }

  /**
   * A beat says that the page is current, so there is none while the database does not answer; and it keeps proxies from
   * closing what is quiet. Anyone who signed out or is no longer a member is not notified any more.
   */
  async #tend(): Promise<void> {
    const now = this.#deps.clock.elapsed()
    for (const { streams, readAt } of this.#watched.values()) {
      const isCurrent = now - readAt < HEARTBEAT_MS
      for (const stream of streams) {
        if (isCurrent && now - stream.toldAt >= HEARTBEAT_MS) this.#tell(stream, BEAT)
        if (now - stream.askedAt < RECHECK_MS) continue
        stream.askedAt = now
        if (!(await stream.isWelcome())) end(stream)
      }
    }
  }

  #tellAll({ streams }: Watched, text: string): void {
    for (const stream of streams) this.#tell(stream, text)
  }

  #tell(stream: Stream, text: string): void {
    if (stream.isOver) return
    if (stream.out.readableLength > MOST_WAITING) {
      stream.isOver = true
      stream.out.destroy()
    } else stream.out.push(text)
    stream.toldAt = this.#deps.clock.elapsed()
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

const RECENTLY: LiveChange = { lists: ['events', 'monitors', 'requests'], monitors: [] }

const newlyWatched = (): Watched => ({
  streams: new Set(),
  snapshot: undefined,
  readAt: Number.NEGATIVE_INFINITY,
  checked: new Set(),
  checkedAt: 0,
})

/** In the form of server-sent events: WHATWG HTML, section 9.2. */
const eventText = (name: string, data: LiveChange | Pick<LiveChange, 'monitors'>) =>
  `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

const BEAT = 'event: beat\ndata: {}\n\n'
