import type { ErrorBody } from '#contract/common.ts'
import { recordFailure, recordResponse } from './connection.ts'

/** An unsuccessful response, with the error message of the server. */
export class ApiProblem extends Error {
  readonly status: number
  /** By field path, as in the API. */
  readonly errors: Record<string, string>
  /** Seconds, from the header Retry-After. */
  readonly retryAfter: number | undefined

  constructor(status: number, body: Partial<ErrorBody>, retryAfter?: number) {
    super(
      body.error ??
        (status === 0 ? 'Cannot reach the server. Check that it is running.' : `The server returned HTTP ${status}.`),
    )
    this.status = status
    this.errors = body.errors ?? {}
    this.retryAfter = retryAfter
  }
}

export type Query = Record<string, string | number | boolean | null | undefined>
export type Page<T> = { limit: number; after: string | null; before: string | null; has_more: boolean; data: T[] }

let organization: string | undefined
/** Sets the organization of all further requests. */
export function setRequestOrganization(id: string | undefined): void {
  organization = id
}

let sessionExpiredListener = async (): Promise<boolean> => false
/** The listener runs when the session has expired, and resolves with true once the same user has signed in again. */
export function onSessionExpired(listener: () => Promise<boolean>): void {
  sessionExpiredListener = listener
}

/** `path` with its query, without empty values. */
export function buildUrl(path: string, query: Query = {}): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') params.set(name, String(value))
  }
  const text = params.toString()
  return text ? `${path}?${text}` : path
}

/** For streams and downloads, which the browser requests without our headers. */
export const organizationUrl = (path: string, query: Query = {}): string => buildUrl(path, { ...query, organization })

/** Limits only what a page reads. Changes may take longer. */
const GET_TIMEOUT_MS = 12_000

type RequestOptions = { body?: unknown; ifMatch?: string; signal?: AbortSignal | undefined }

/** After an expired session, waits until the same user has signed in again, and sends the request once more. */
async function send<T>(method: string, path: string, options: RequestOptions = {}): Promise<Versioned<T>> {
  try {
    return await sendOnce<T>(method, path, options)
  } catch (error) {
    const isExpired = error instanceof ApiProblem && error.status === 401 && !path.startsWith('/dashboard/auth/')
    if (!isExpired || !(await sessionExpiredListener())) throw error
    return await sendOnce<T>(method, path, options)
  }
}

async function sendOnce<T>(method: string, path: string, options: RequestOptions): Promise<Versioned<T>> {
  const { ifMatch, signal } = options
  const timeout = method === 'GET' ? AbortSignal.timeout(GET_TIMEOUT_MS) : undefined
  const signals = [signal, timeout].filter((each) => each !== undefined)
  const headers: Record<string, string> = { accept: 'application/json' }
  if (ifMatch) headers['if-match'] = ifMatch
  if (organization) headers['x-organization'] = organization
  if (options.body !== undefined) headers['content-type'] = 'application/json'
  let response: Response
  let text: string
  try {
    response = await fetch(path, {
      method,
      headers,
      credentials: 'same-origin',
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(signals.length > 0 ? { signal: AbortSignal.any(signals) } : {}),
    })
    text = await response.text()
  } catch (error) {
    if (signal?.aborted) throw error
    recordFailure()
    throw timeout?.aborted ? new ApiProblem(408, { error: TIMED_OUT }) : new ApiProblem(0, {})
  }
  const isFile = response.ok && response.headers.has('content-disposition')
  const body = isFile ? text : text === '' ? null : parseJson(text)
  recordResponse(response.status, errorBody(body).error)
  if (response.ok) return { value: body as T, etag: response.headers.get('etag') ?? '' }
  const retryAfter = Number(response.headers.get('retry-after'))
  throw new ApiProblem(response.status, errorBody(body), retryAfter > 0 ? retryAfter : undefined)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const TIMED_OUT = `The server did not answer within ${GET_TIMEOUT_MS / 1_000} seconds.`

/** The sign-in endpoints have `message` instead of `error`. */
function errorBody(body: unknown): Partial<ErrorBody> {
  const { error, errors, message } = (body ?? {}) as {
    error?: string
    errors?: Record<string, string>
    message?: string
  }
  const text = error ?? message
  return { ...(text ? { error: text } : {}), ...(errors ? { errors } : {}) }
}

/** A resource with its ETag, for a later `If-Match`. */
export type Versioned<T> = { value: T; etag: string }

/** The caller names the response type, from contract/. Throws ApiProblem. */
export const api = {
  get: async <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> =>
    (await send<T>('GET', buildUrl(path, query), { signal })).value,
  post: async <T = null>(path: string, body?: unknown): Promise<T> => (await send<T>('POST', path, { body })).value,
  put: async <T = null>(path: string, body?: unknown): Promise<T> => (await send<T>('PUT', path, { body })).value,
  patch: async <T = null>(path: string, body?: unknown): Promise<T> => (await send<T>('PATCH', path, { body })).value,
  delete: async <T = null>(path: string): Promise<T> => (await send<T>('DELETE', path)).value,
  /** Fails with 412 if the resource has changed since it was read. */
  deleteIfMatch: (path: string, ifMatch: string) => send<null>('DELETE', path, { ifMatch }),
  getVersioned: <T>(path: string, signal?: AbortSignal) => send<T>('GET', path, { signal }),
  /** Fails with 412 if the resource has changed since it was read, unless it is as `body` says: the response to that save was lost. */
  patchIfMatch: async <T>(path: string, body: unknown, ifMatch: string): Promise<Versioned<T>> => {
    try {
      return await send<T>('PATCH', path, { body, ifMatch })
    } catch (error) {
      if (!(error instanceof ApiProblem && error.status === 412)) throw error
      const stored = await send<T>('GET', path)
      if (isAs(stored.value, body)) return stored
      throw error
    }
  },
}

/** Whether every field of `body` has this value. */
function isAs(stored: unknown, body: unknown): boolean {
  const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject(stored) || !isObject(body)) return JSON.stringify(stored ?? null) === JSON.stringify(body ?? null)
  return Object.entries(body as object).every(([name, value]) => isAs((stored as Record<string, unknown>)[name], value))
}
