import packageJson from '../../package.json' with { type: 'json' }
import type { Clock } from '../clock.ts'
import type { DeliveryResult } from '../metrics/metrics.ts'
import type { PostResult, SafeFetch, Timings } from '../safe-http/safe-fetch.ts'
import { parseRetryAfter } from './retry-schedule.ts'
import { signatureHeaders } from './signature.ts'

/** What is sent: the same octets under the same id on every attempt. */
export type AttemptRequest = {
  id: string
  url: string
  /** The webhook's own headers, as `refusalOfHeader` let them pass. */
  headers: Readonly<Record<string, string>>
  body: Buffer
  secret: string
  /** The secret before a rotation, while its grace lasts. */
  previousSecret?: string | undefined
}

/** What one attempt came to. `at` is the instant at which it began. */
export type AttemptResult = {
  at: number
  /** Null when no answer came. */
  statusCode: number | null
  /** Plain words; null when delivered. */
  error: string | null
  /** The first 4,000 characters of the answer; null when none came. */
  excerpt: string | null
  timings: Timings
  /** The receiver answered 2xx. */
  delivered: boolean
  /** The receiver answered 410: it wants no more. */
  gone: boolean
  /** How long a 429 or 503 asked to wait. */
  retryAfterMs?: number
}

const USER_AGENT = `Zonewatch/${packageJson.version}`

/**
 * Signs and sends a request once. Never rejects; `signal` gives up early, which looks like a failure. `mayWrite` is asked when
 * a new connection was opened, which can take long: where it says no, nothing is written, and the attempt is withdrawn.
 */
export async function attempt(
  request: AttemptRequest,
  { safeFetch, clock }: { safeFetch: SafeFetch; clock: Clock },
  { signal, mayWrite }: { signal?: AbortSignal | undefined; mayWrite?: (() => Promise<boolean>) | undefined } = {},
): Promise<AttemptResult | 'withdrawn'> {
  const at = clock.now()
  const { id: requestId, body, secret, previousSecret } = request
  const headers = {
    ...request.headers,
    'content-type': 'application/json',
    'accept-encoding': 'identity', // nothing here decompresses, so that a small answer cannot become a large one
    'user-agent': USER_AGENT,
    ...signatureHeaders({ requestId, body, secret, previousSecret, sentAt: at }),
  }
  const result = await safeFetch.post(request.url, headers, body, signal, mayWrite)
  if (result.kind === 'withdrawn') return 'withdrawn'
  const resultOf = { at, timings: result.timings, statusCode: null, excerpt: null, delivered: false, gone: false }
  if (result.kind !== 'response') return { ...resultOf, error: result.reason }
  const retryAfterMs = askedToWait(result, clock.now())
  return {
    ...resultOf,
    statusCode: result.status,
    error: errorOf(result.status),
    excerpt: result.excerpt,
    delivered: result.status < 300,
    gone: result.status === 410,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

/** For the metrics. Null: it was not sent. */
export function kindOf(result: AttemptResult | null): DeliveryResult {
  if (result === null) return 'withdrawn'
  if (result.delivered) return 'delivered'
  if (result.gone) return 'gone'
  return result.statusCode === null ? 'no_response' : 'rejected'
}

/** RFC 9110 section 10.2.3 gives `Retry-After` a meaning with 503, RFC 6585 section 4 with 429. */
function askedToWait({ status, retryAfter }: PostResult & { kind: 'response' }, now: number): number | undefined {
  if (retryAfter === undefined || (status !== 429 && status !== 503)) return undefined
  return parseRetryAfter(retryAfter, now)
}

function errorOf(status: number): string | null {
  if (status < 300) return null
  if (status < 400) return `the endpoint responded with ${status}; Zonewatch does not follow redirects`
  if (status === 410) return 'the endpoint responded with 410 Gone'
  return `the endpoint responded with ${status}`
}
