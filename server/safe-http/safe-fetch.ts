import type { FieldError } from '#contract/field-errors.ts'
import type { Clock } from '../clock.ts'
import { createDeadlines } from '../dns/deadlines.ts'
import { DENIED_PORTS, hostOf, type Networks, refusalOfUrl } from './addresses.ts'
import { Connections } from './connections.ts'
import { Exchange } from './exchange.ts'
import { type Lookup, type Phase, RefusedAddress, vettedAddresses, vettedConnector } from './vetted-connect.ts'

/** Whole milliseconds. What did not happen, on a connection kept alive for one, is left out. */
export type Timings = {
  /** Looking up the name. */
  nameMs?: number
  /** TCP. */
  connectMs?: number
  /** The TLS handshake. */
  tlsMs?: number
  /** From the sent request to the end of the answer's headers. */
  firstByteMs?: number
  totalMs: number
}

/** What sending one request came to. Everything here is a fact to record, so nothing throws. */
export type PostResult =
  /** `excerpt`: the answer's first 4,000 characters, read as UTF-8. `retryAfter`: the header as it came. */
  | { kind: 'response'; status: number; excerpt: string; retryAfter?: string; timings: Timings }
  /** The URL, or an address that its name leads to, must not be connected to. */
  | { kind: 'refused'; reason: string; timings: Timings }
  /** `phase` is what did not end in time. */
  | { kind: 'timeout'; phase: Phase; reason: string; timings: Timings }
  | { kind: 'failed'; reason: string; timings: Timings }
  /** `mayWrite` said no: nothing was written. */
  | { kind: 'withdrawn'; timings: Timings }

export type SafeFetch = {
  /**
   * Never rejects. With `signal`, gives up early: `failed`, without knowing whether the receiver got the request. `mayWrite` is
   * asked on a connection that was just opened, right before the request is written.
   */
  post(
    url: string,
    headers: Record<string, string>,
    body: Buffer,
    signal?: AbortSignal,
    mayWrite?: () => Promise<boolean>,
  ): Promise<PostResult>
  /** The same with other methods. */
  put: SafeFetch['post']
  patch: SafeFetch['post']
  /**
   * Why the URL would be refused, in one sentence, or null. Its name is looked up; one that cannot be is not refused, since
   * it may exist later and is judged again at every connection.
   */
  refusalOf(url: string): Promise<FieldError | null>
  /** Breaks off what is in progress (each ends as `failed`) and closes every connection. */
  close(): Promise<void>
}

export type SafeFetchOptions = {
  lookup: Lookup
  clock: Clock
  allowedNetworks: Networks
  deniedPorts?: readonly number[]
  /** From the start of the connection to the end of the answer's headers. 30 s. */
  timeoutMs?: number
  /** For looking up the name, before. 10 s. */
  lookupMs?: number
  /** For the answer's body, after which it is cut off. 5 s. */
  bodyMs?: number
  /** PEM. Certificate authorities to trust beside the usual ones. */
  authorities?: string
  /** An HTTP proxy that every connection goes through. It is told addresses that were vetted here, never names. */
  proxy?: URL
}

/** Receivers commonly close after 5 s of silence; being first avoids meeting their close with a request. */
const IDLE_MS = 4000

/** However long a receiver asks to be kept, idle or busy: its name may have moved, and is only asked on connecting. */
const CONNECTION_LIFE_MS = 60_000

const HEADERS_LIMIT_BYTES = 16_384

/** URLs whose parts are remembered: reading one costs as much as signing for it. */
const MOST_KNOWN = 10_000

/** What a URL itself tells, without any lookup: that does not change while the server runs. */
type Judged = { refusal: FieldError | null; origin: string; path: string }
const NOWHERE = { origin: '', pathname: '', search: '' }

/** Saving a webhook waits no longer for the lookup of its host name. */
const SAVING_LOOKUP_MS = 3000

/** HTTP/1.1 to receivers that strangers name: every address is vetted, redirects are not followed, all is bounded. */
export function createSafeFetch(options: SafeFetchOptions): SafeFetch {
  const { clock, allowedNetworks, deniedPorts = DENIED_PORTS } = options
  const limits = {
    timeoutMs: options.timeoutMs ?? 30_000,
    lookupMs: options.lookupMs ?? 10_000,
    bodyMs: options.bodyMs ?? 5000,
  }
  const common = {
    connect: vettedConnector(options),
    maxHeaderSize: HEADERS_LIMIT_BYTES,
    headersTimeout: 0, // the exchange keeps the time, by our clock
    bodyTimeout: 0,
  }
  const deadlines = createDeadlines(clock)
  const breaks = new Breaks()
  const lives = { clock, lifeMs: CONNECTION_LIFE_MS }
  const keepAlive = { keepAliveTimeout: IDLE_MS, keepAliveMaxTimeout: CONNECTION_LIFE_MS }
  const keptAlive = new Connections({ ...common, ...keepAlive }, lives)
  const oneRequestEach = new Connections({ ...common, pipelining: 0 }, { clock, lifeMs: -1 })

  const known = new Map<string, Judged>()
  const judged = (url: string): Judged => {
    const before = known.get(url)
    if (before) return before
    const refusal = refusalOfUrl(url, allowedNetworks, deniedPorts)
    const { origin, pathname, search } = refusal === null ? new URL(url) : NOWHERE
    const now = { refusal, origin, path: pathname + search }
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(url, now)
    return now
  }

  const send =
    (method: 'POST' | 'PUT' | 'PATCH'): SafeFetch['post'] =>
    async (url, headers, body, signal, mayWrite) => {
      const to = judged(url)
      if (to.refusal !== null) return { kind: 'refused', reason: to.refusal.text, timings: { totalMs: 0 } } as const
      const sendOn = async (connections: Connections) => {
        const exchange = new Exchange(clock, deadlines, limits, mayWrite)
        const { client, release } = await connections.take(to.origin, exchange)
        exchange.onEnd(release)
        if (signal) breaks.watch(signal, exchange)
        exchange.dispatch(client, { method, path: to.path, headers, body })
        return await exchange.result
      }
      const result = await sendOn(keptAlive)
      if (result.kind !== 'stale') return result
      // The receiver closed an idle connection as we wrote. If it did read the request, it knows the id: delivery is at least once.
      const again = await sendOn(oneRequestEach)
      return again.kind === 'stale' ? again.instead : again
    }

  async function refusalOfName(url: URL) {
    const exchange = { signal: AbortSignal.timeout(SAVING_LOOKUP_MS), entered: () => {} }
    try {
      await vettedAddresses(hostOf(url), options, exchange)
      return null
    } catch (error) {
      return error instanceof RefusedAddress ? error.refusal : null
    }
  }

  return {
    post: send('POST'),
    put: send('PUT'),
    patch: send('PATCH'),
    refusalOf: async (url) => refusalOfUrl(url, allowedNetworks, deniedPorts) ?? (await refusalOfName(new URL(url))),
    close: async () => {
      await Promise.all([keptAlive.destroy(), oneRequestEach.destroy()])
      deadlines.close()
    },
  }
}

/** Breaks off what is in progress when its signal is aborted; a signal has one listener, however much is in progress. */
class Breaks {
  readonly #inProgress = new WeakMap<AbortSignal, Set<Exchange>>()

  watch(signal: AbortSignal, exchange: Exchange): void {
    if (signal.aborted) {
      exchange.breakOff()
      return
    }
    const exchanges = this.#inProgress.get(signal) ?? this.#listen(signal)
    exchanges.add(exchange)
    exchange.onEnd(() => exchanges.delete(exchange))
  }

  #listen(signal: AbortSignal): Set<Exchange> {
    const exchanges = new Set<Exchange>()
    this.#inProgress.set(signal, exchanges)
    signal.addEventListener('abort', () => {
      for (const exchange of [...exchanges]) exchange.breakOff()
    })
    return exchanges
  }
}
