import type { FieldError } from '#contract/field-errors.ts'
import type { Clock } from '../clock.ts'
import { createDeadlines } from '../dns/deadlines.ts'
import { DENIED_PORTS, hostOf, type Networks, urlError } from './address-policy.ts'
import { Connections } from './connections.ts'
import { Exchange } from './exchange.ts'
import { type Lookup, type Phase, RefusedAddress, vettedAddresses, vettedConnector } from './vetted-connect.ts'

/** Whole milliseconds. Phases that did not happen are absent, such as those of a kept-alive connection. */
export type Timings = {
  /** Resolving the name. */
  nameMs?: number
  /** TCP. */
  connectMs?: number
  /** The TLS handshake. */
  tlsMs?: number
  /** From the sent request to the end of the response headers. */
  firstByteMs?: number
  totalMs: number
}

/** The result of sending one request. Every case is a fact to record, so nothing throws. */
export type PostResult =
  /** `excerpt`: the first 4,000 characters of the response, decoded as UTF-8. `retryAfter`: the header as received. */
  | { kind: 'response'; status: number; excerpt: string; retryAfter?: string; timings: Timings; whole?: WholeResponse }
  /** The URL or an address of its host is not allowed. */
  | { kind: 'refused'; reason: string; timings: Timings }
  /** `phase` did not end in time. */
  | { kind: 'timeout'; phase: Phase; reason: string; timings: Timings }
  | { kind: 'failed'; reason: string; timings: Timings }
  /** `mayWrite` returned false. Nothing was written. */
  | { kind: 'withdrawn'; timings: Timings }

/** Of `get`. `isComplete`: the body ended in time and below the limit. `location`: the header as received. */
export type WholeResponse = { body: Buffer; isComplete: boolean; location: string | undefined }

export type SafeFetch = {
  /**
   * Never rejects. Aborting `signal` ends it as `failed`; the receiver may have received the request. `mayWrite` is called on a
   * new connection, right before the request is written.
   */
  post(
    url: string,
    headers: Record<string, string>,
    body: Buffer,
    signal?: AbortSignal,
    mayWrite?: () => Promise<boolean>,
  ): Promise<PostResult>
  put: SafeFetch['post']
  patch: SafeFetch['post']
  /** As `post`. A response has `whole`, with at most `maxBytes` of the body (and what the last packet has beyond). */
  get(url: string, headers: Record<string, string>, maxBytes: number, signal?: AbortSignal): Promise<PostResult>
  /**
   * Why the URL is not allowed, or null. Resolves its host. A name that cannot be resolved is allowed, because it may exist
   * later and every connection checks it again.
   */
  refusalOf(url: string): Promise<FieldError | null>
  /** Aborts the requests in progress, which end as `failed`, and closes all connections. */
  close(): Promise<void>
}

export type SafeFetchOptions = {
  lookup: Lookup
  clock: Clock
  allowedNetworks: Networks
  deniedPorts?: readonly number[]
  /** From the start of the connection to the end of the response headers. Default: 30 s. */
  timeoutMs?: number
  /** For resolving the name. Default: 10 s. */
  lookupMs?: number
  /** For the response body, which is cut off then. Default: 5 s. */
  bodyMs?: number
  /** PEM. Additional certificate authorities. */
  authorities?: string
  /** An HTTP proxy for all connections. It receives vetted addresses, never names. */
  proxy?: URL
}

/** Many receivers close idle connections after 5 s. Closing first avoids a request on a connection that is being closed. */
const MAX_IDLE_MS = 4000

/** The name is resolved only when connecting, and its addresses may change. */
const MAX_CONNECTION_AGE_MS = 60_000

const MAX_HEADER_BYTES = 16_384

/** Checked URLs are cached: parsing one costs as much as signing a request. */
const MAX_CHECKED_URLS = 10_000

/** The result of checking a URL without resolving its host. */
type CheckedUrl = { refusal: FieldError | null; origin: string; path: string }
const NOWHERE = { origin: '', pathname: '', search: '' }

/** Saving a webhook waits at most this long for resolving its host. */
const VALIDATION_LOOKUP_MS = 3000

/** HTTP/1.1 to addresses that users enter. It checks every address, follows no redirects, and limits time and size. */
export function createSafeFetch(options: SafeFetchOptions): SafeFetch {
  const { clock, allowedNetworks, deniedPorts = DENIED_PORTS } = options
  const limits = {
    timeoutMs: options.timeoutMs ?? 30_000,
    lookupMs: options.lookupMs ?? 10_000,
    bodyMs: options.bodyMs ?? 5000,
  }
  const common = {
    connect: vettedConnector(options),
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: 0, // the exchange has its own deadlines
    bodyTimeout: 0,
  }
  const deadlines = createDeadlines(clock)
  const aborts = new Aborts()
  const lives = { clock, lifeMs: MAX_CONNECTION_AGE_MS }
  const keepAlive = { keepAliveTimeout: MAX_IDLE_MS, keepAliveMaxTimeout: MAX_CONNECTION_AGE_MS }
  const keptAlive = new Connections({ ...common, ...keepAlive }, lives)
  const oneRequestEach = new Connections({ ...common, pipelining: 0 }, { clock, lifeMs: -1 })

  const checkedUrls = new Map<string, CheckedUrl>()
  const checkUrl = (url: string): CheckedUrl => {
    const cached = checkedUrls.get(url)
    if (cached) return cached
    const refusal = urlError(url, allowedNetworks, deniedPorts)
    const { origin, pathname, search } = refusal === null ? new URL(url) : NOWHERE
    const checked = { refusal, origin, path: pathname + search }
    if (checkedUrls.size >= MAX_CHECKED_URLS) checkedUrls.clear()
    checkedUrls.set(url, checked)
    return checked
  }

  type Sent = { body?: Buffer; signal?: AbortSignal | undefined; mayWrite?: (() => Promise<boolean>) | undefined }
  const send =
    (method: 'GET' | 'POST' | 'PUT' | 'PATCH', maxBodyBytes?: number) =>
    async (url: string, headers: Record<string, string>, { body, signal, mayWrite }: Sent): Promise<PostResult> => {
      const to = checkUrl(url)
      if (to.refusal !== null) return { kind: 'refused', reason: to.refusal.text, timings: { totalMs: 0 } } as const
      const sendOn = async (connections: Connections) => {
        const exchange = new Exchange(clock, deadlines, { ...limits, ...(maxBodyBytes && { maxBodyBytes }) }, mayWrite)
        const { client, release } = await connections.acquire(to.origin, exchange)
        exchange.onEnd(release)
        if (signal) aborts.watch(signal, exchange)
        exchange.dispatch(client, { method, path: to.path, headers, ...(body && { body }) })
        return await exchange.result
      }
      const result = await sendOn(keptAlive)
      if (result.kind !== 'stale') return result
      // The receiver closed an idle connection during the request. If it read the request, it recognizes the retry by its id.
      const retried = await sendOn(oneRequestEach)
      return retried.kind === 'stale' ? retried.result : retried
    }

  async function refusalOfName(url: URL) {
    const exchange = { signal: AbortSignal.timeout(VALIDATION_LOOKUP_MS), enterPhase: () => {} }
    try {
      await vettedAddresses(hostOf(url), options, exchange)
      return null
    } catch (error) {
      return error instanceof RefusedAddress ? error.refusal : null
    }
  }

  return {
    post: (url, headers, body, signal, mayWrite) => send('POST')(url, headers, { body, signal, mayWrite }),
    put: (url, headers, body, signal, mayWrite) => send('PUT')(url, headers, { body, signal, mayWrite }),
    patch: (url, headers, body, signal, mayWrite) => send('PATCH')(url, headers, { body, signal, mayWrite }),
    get: (url, headers, maxBytes, signal) => send('GET', maxBytes)(url, headers, { signal }),
    refusalOf: async (url) => urlError(url, allowedNetworks, deniedPorts) ?? (await refusalOfName(new URL(url))),
    close: async () => {
      await Promise.all([keptAlive.destroy(), oneRequestEach.destroy()])
      deadlines.close()
    },
  }
}

/** Aborts exchanges with their signal. Each signal has one listener for all exchanges. */
class Aborts {
  readonly #inProgress = new WeakMap<AbortSignal, Set<Exchange>>()

  watch(signal: AbortSignal, exchange: Exchange): void {
    if (signal.aborted) {
      exchange.abort()
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
      for (const exchange of [...exchanges]) exchange.abort()
    })
    return exchanges
  }
}
