import { retryAfterOf, ZonewatchError } from './error.ts'

export type ClientOptions = {
  /** The address of the server, such as `https://zonewatch.example.com`. */
  url: string
  /** An API key. */
  key: string
  /** How often a request is sent again after a failure that another attempt can mend. Default: 5. */
  retries?: number
  /** The longest wait in seconds before an attempt. A response that asks for more is thrown as an error. Default: 120. */
  maxWaitSeconds?: number
  /** How many seconds one attempt may take. Default: 60. */
  timeoutSeconds?: number
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch
}

export type RequestOptions = {
  /** Aborts the request, and the waits between its attempts. */
  signal?: AbortSignal
  /** The resource must still have this tag (`etagOf(resource)`); otherwise the error has code 412. */
  ifMatch?: string
  /** For POST: the key that makes repeated requests one. Default: a new random one. */
  idempotencyKey?: string
}

export type Call = { method: string; path: string; query: Record<string, unknown>; body?: unknown }

const tags = new WeakMap<object, string>()

/** The `ETag` that came with a resource, for `ifMatch`. It is undefined for an object that is not a whole response. */
export const etagOf = (resource: object): string | undefined => tags.get(resource)

/** Sends a request until it succeeds, fails for good, or has been repeated too often. Resolves with the content of the response. */
export async function send(options: ClientOptions, call: Call, request: RequestOptions): Promise<unknown> {
  const { retries = 5, maxWaitSeconds = 120 } = options
  const idempotencyKey = request.idempotencyKey ?? crypto.randomUUID()
  let wasMaybeExecuted = false
  for (let attempt = 0; ; attempt++) {
    const response = await attemptOf(options, call, { ...request, idempotencyKey }).catch((error: unknown) => {
      // Whether the server executed the request is unknown.
      if (request.signal?.aborted || attempt >= retries || !isRepeatable(call.method, request)) throw error
      return undefined
    })
    if (response?.ok) return await contentOf(response)
    if (response?.status === 404 && call.method === 'DELETE' && wasMaybeExecuted) return undefined
    wasMaybeExecuted ||= response === undefined || isFromProxy(response.status)
    const asked = response ? retryAfterOf(response) : null
    const wait = asked ?? Math.min(30, 2 ** attempt / 2)
    if (response && !(attempt < retries && wait <= maxWaitSeconds && isTemporary(response, call.method, request)))
      throw await ZonewatchError.of(response)
    await response?.body?.cancel()
    // The half that is random keeps clients apart that failed at the same moment.
    await sleep(1_000 * wait * (asked === null ? 0.5 + Math.random() / 2 : 1), request.signal)
  }
}

function attemptOf(options: ClientOptions, call: Call, request: RequestOptions): Promise<Response> {
  const { url, key, timeoutSeconds = 60, fetch = globalThis.fetch } = options
  const headers = new Headers({ 'X-Api-Key': key })
  if (call.body !== undefined) headers.set('Content-Type', 'application/json')
  if (request.ifMatch !== undefined) headers.set('If-Match', request.ifMatch)
  if (call.method === 'POST') headers.set('Idempotency-Key', request.idempotencyKey!)
  const timeout = AbortSignal.timeout(1_000 * timeoutSeconds)
  return fetch(new URL(url.replace(/\/+$/, '') + call.path + textOf(call.query)), {
    method: call.method,
    headers,
    // The key goes to this server only.
    redirect: 'manual',
    signal: request.signal ? AbortSignal.any([request.signal, timeout]) : timeout,
    ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
  })
}

/** Lists are separated by commas, `{ metadata: { plan: 'big' } }` is `metadata[plan]=big`; what is undefined or null is left out. */
function textOf(query: Record<string, unknown>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => pairsOf(name, value))
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}

function pairsOf(name: string, value: unknown): [string, string][] {
  if (value === undefined || value === null) return []
  if (typeof value !== 'object' || Array.isArray(value)) return [[name, String(value)]]
  return Object.entries(value).flatMap(([key, each]) => pairsOf(`${name}[${key}]`, each))
}

async function contentOf(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined
  if (!response.headers.get('content-type')?.startsWith('application/json')) return await response.text()
  const content = await response.json()
  const tag = response.headers.get('etag')
  if (tag !== null && typeof content === 'object' && content !== null) tags.set(content, tag)
  return content
}

/** PATCH and DELETE with `ifMatch` would fail with 412 if the first attempt had succeeded. A POST has an idempotency key. */
const isRepeatable = (method: string, { ifMatch }: RequestOptions): boolean =>
  ifMatch === undefined || method === 'GET' || method === 'POST'

const isFromProxy = (status: number): boolean => status === 502 || status === 504

/** Whether the same request can succeed later. */
const isTemporary = ({ status, headers }: Response, method: string, request: RequestOptions): boolean =>
  status === 429 ||
  status === 503 ||
  (status === 409 && headers.has('retry-after')) ||
  (isFromProxy(status) && isRepeatable(method, request))

/** Rejects with the signal's reason when it aborts. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const abort = () => {
      clearTimeout(timer)
      reject(signal!.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', abort, { once: true })
  })
}
