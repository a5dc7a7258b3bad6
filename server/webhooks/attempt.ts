import packageJson from '../../package.json' with { type: 'json' }
import type { Clock } from '../clock.ts'
import type { DeliveryResult } from '../metrics/metrics.ts'
import { parseRetryAfter } from '../retry-schedule.ts'
import type { PostResult, SafeFetch, Timings } from '../safe-http/safe-fetch.ts'
import { newRedactor } from '../text.ts'
import { signatureHeaders } from './signature.ts'

/** The same bytes under the same id in every attempt. */
export type AttemptRequest = {
  id: string
  url: string
  /** The webhook's custom headers. */
  headers: Readonly<Record<string, string>>
  body: Buffer
  secret: string
  /** The old secret, during the grace period of a rotation. */
  previousSecret?: string | undefined
}

/** `at` is when the attempt began. */
export type AttemptResult = {
  at: number
  /** Null without a response. */
  statusCode: number | null
  /** Null if delivered. */
  error: string | null
  /** The first 4,000 characters of the response; null without one. */
  excerpt: string | null
  timings: Timings
  /** The endpoint responded with 2xx. */
  delivered: boolean
  /** The endpoint responded with 410. */
  gone: boolean
  /** From `Retry-After` of a 429 or 503. */
  retryAfterMs?: number
}

/** A shorter value of a header is more likely a word than a secret. */
const MIN_SECRET_LENGTH = 8

const USER_AGENT = `Zonewatch/${packageJson.version}`

/**
 * Signs and sends a request once. Never rejects; aborting `signal` counts as a failure. `mayWrite` is called after a new
 * connection was opened, which can take long: if it returns false, nothing is written, and the result is `withdrawn`.
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
    'accept-encoding': 'identity', // responses are never decompressed, so a small one cannot become large
    'user-agent': USER_AGENT,
    ...signatureHeaders({ requestId, body, secret, previousSecret, sentAt: at }),
  }
  const result = await safeFetch.post(request.url, headers, body, signal, mayWrite)
  if (result.kind === 'withdrawn') return 'withdrawn'
  const { timings } = result
  if (result.kind !== 'response') {
    return { at, timings, statusCode: null, error: result.reason, excerpt: null, delivered: false, gone: false }
  }
  const { status } = result
  // Everyone who reads the log could use what an endpoint repeats.
  const sent = Object.values(request.headers).flatMap((value) => [value, value.split(' ').at(-1)!])
  const excerpt = newRedactor(
    [...sent, secret, ...(previousSecret ? [previousSecret] : [])],
    MIN_SECRET_LENGTH,
  )(result.excerpt)
  const retryAfterMs = retryAfterOf(result, clock.now())
  return {
    at,
    timings,
    statusCode: status,
    error: errorOf(status),
    excerpt,
    delivered: status < 300,
    gone: status === 410,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

/** The label of the metric. Null: the request was not sent. */
export function metricResultOf(result: AttemptResult | null): DeliveryResult {
  if (result === null) return 'withdrawn'
  if (result.delivered) return 'delivered'
  if (result.gone) return 'gone'
  return result.statusCode === null ? 'no_response' : 'rejected'
}

/** RFC 9110 section 10.2.3 defines `Retry-After` for 503, RFC 6585 section 4 for 429. */
function retryAfterOf({ status, retryAfter }: PostResult & { kind: 'response' }, now: number): number | undefined {
  if (retryAfter === undefined || (status !== 429 && status !== 503)) return undefined
  return parseRetryAfter(retryAfter, now)
}

function errorOf(status: number): string | null {
  if (status < 300) return null
  if (status < 400) return `the endpoint responded with ${status}; Zonewatch does not follow redirects`
  if (status === 410) return 'the endpoint responded with 410 Gone'
  return `the endpoint responded with ${status}`
}
