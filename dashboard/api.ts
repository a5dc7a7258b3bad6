import type { ErrorBody } from '#contract/common.ts'
import { noteAnswer, noteFailure } from './connection.ts'

/** An answer that is not a success, in the words of the server. */
export class ApiProblem extends Error {
  readonly status: number
  /** By field path, as in the API. */
  readonly errors: Record<string, string>
  /** Seconds to wait, where the server says so. */
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
/** Which organization requests are about from now on. */
export function actFor(id: string | undefined): void {
  organization = id
}

let onSignedOut = async (): Promise<boolean> => false
/** Called when the server says that nobody is signed in any more. Resolves with true once the same person is again. */
export function whenSignedOut(listener: () => Promise<boolean>): void {
  onSignedOut = listener
}

/** `path` with its query; empty values are left out. */
export function address(path: string, query: Query = {}): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') params.set(name, String(value))
  }
  const text = params.toString()
  return text ? `${path}?${text}` : path
}

/** For links that the browser opens itself: streams and downloads. */
export const addressHere = (path: string, query: Query = {}): string => address(path, { ...query, organization })

/** What a page shows is there within this, or it says why not. What a person asks for may take longer. */
const GET_TIMEOUT_MS = 12_000

type Sent = { body?: unknown; ifMatch?: string; signal?: AbortSignal | undefined }

/** A request that meets the end of the session waits until the same person has signed in again, and is then sent once more. */
async function send<T>(method: string, path: string, sent: Sent = {}): Promise<Versioned<T>> {
  try {
    return await sendOnce<T>(method, path, sent)
  } catch (error) {
    const isOver = error instanceof ApiProblem && error.status === 401 && !path.startsWith('/dashboard/auth/')
    if (!isOver || !(await onSignedOut())) throw error
    return await sendOnce<T>(method, path, sent)
  }
}

async function sendOnce<T>(method: string, path: string, sent: Sent): Promise<Versioned<T>> {
  const { body, ifMatch, signal } = sent
  const timeout = method === 'GET' ? AbortSignal.timeout(GET_TIMEOUT_MS) : undefined
  const signals = [signal, timeout].filter((each) => each !== undefined)
  const headers: Record<string, string> = { accept: 'application/json' }
  if (ifMatch) headers['if-match'] = ifMatch
  if (organization) headers['x-organization'] = organization
  if (body !== undefined) headers['content-type'] = 'application/json'
  let response: Response
  let text: string
  try {
    response = await fetch(path, {
      method,
      headers,
      credentials: 'same-origin',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signals.length > 0 ? { signal: AbortSignal.any(signals) } : {}),
    })
    text = await response.text()
  } catch (error) {
    if (signal?.aborted) throw error
    noteFailure()
    throw timeout?.aborted ? new ApiProblem(408, { error: TIMED_OUT }) : new ApiProblem(0, {})
  }
  noteLimit(response.headers)
  const isFile = response.ok && response.headers.has('content-disposition')
  const answer = isFile ? text : text === '' ? null : parsed(text)
  noteAnswer(response.status, bodyOf(answer).error)
  if (response.ok) return { value: answer as T, etag: response.headers.get('etag') ?? '' }
  const wait = Number(response.headers.get('retry-after'))
  throw new ApiProblem(response.status, bodyOf(answer), wait > 0 ? wait : undefined)
}

/** How the window of the person's rate limit stood at the last answer; `freeAt`: when its oldest request leaves it. */
export type Window = { limit: number; remaining: number; freeAt: number }
let limitWindow: Window | undefined
export const lastWindow = (): Window | undefined => limitWindow

function noteLimit(headers: Headers): void {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
    Number(headers.get(`x-ratelimit-${name}`) ?? Number.NaN),
  )
  if (Number.isNaN(limit! + remaining! + reset!)) return
  // The end of that second, because it is rounded down.
  limitWindow = { limit: limit!, remaining: remaining!, freeAt: (reset! + 1) * 1_000 }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const TIMED_OUT = `The server did not answer within ${GET_TIMEOUT_MS / 1_000} seconds.`

/** The sign-in endpoints say `message` where the API says `error`. */
function bodyOf(answer: unknown): Partial<ErrorBody> {
  const { error, errors, message } = (answer ?? {}) as {
    error?: string
    errors?: Record<string, string>
    message?: string
  }
  const sentence = error ?? message
  return { ...(sentence ? { error: sentence } : {}), ...(errors ? { errors } : {}) }
}

/** A resource with its ETag, for a later `If-Match`. */
export type Versioned<T> = { value: T; etag: string }

/** Typed by the caller with the contract's type of what the route answers. Throws ApiProblem. */
export const api = {
  get: async <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> =>
    (await send<T>('GET', address(path, query), { signal })).value,
  post: async <T = null>(path: string, body?: unknown): Promise<T> => (await send<T>('POST', path, { body })).value,
  put: async <T = null>(path: string, body?: unknown): Promise<T> => (await send<T>('PUT', path, { body })).value,
  patch: async <T = null>(path: string, body?: unknown): Promise<T> => (await send<T>('PATCH', path, { body })).value,
  delete: async <T = null>(path: string): Promise<T> => (await send<T>('DELETE', path)).value,
  read: <T>(path: string, signal?: AbortSignal) => send<T>('GET', path, { signal }),
  /** Fails with 412 where somebody changed it since it was read. */
  change: <T>(path: string, body: unknown, ifMatch: string) => send<T>('PATCH', path, { body, ifMatch }),
}
