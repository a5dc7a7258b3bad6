import type { ErrorBody } from '#contract/common.ts'

/** An answer that is not a success, in the words of the server. */
export class ApiProblem extends Error {
  readonly status: number
  /** By field path, as in the API. */
  readonly errors: Record<string, string>
  /** Seconds to wait, where the server says so. */
  readonly retryAfter: number | undefined

  constructor(status: number, body: Partial<ErrorBody>, retryAfter?: number) {
    super(
      body.error ?? (status === 0 ? 'The server cannot be reached. Is it running?' : `The server answered ${status}.`),
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

let onSignedOut = (): void => {}
/** Called when the server says that nobody is signed in any more. */
export function whenSignedOut(listener: () => void): void {
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

async function send<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { accept: 'application/json' }
  if (organization) headers['x-organization'] = organization
  if (body !== undefined) headers['content-type'] = 'application/json'
  let response: Response
  try {
    response = await fetch(path, {
      method,
      headers,
      credentials: 'same-origin',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiProblem(0, {})
  }
  const text = await response.text()
  const answer = text === '' ? null : parsed(text)
  if (response.ok) return answer as T
  if (response.status === 401 && !path.startsWith('/dashboard/auth/')) onSignedOut()
  const wait = Number(response.headers.get('retry-after'))
  throw new ApiProblem(response.status, bodyOf(answer), wait > 0 ? wait : undefined)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

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

/** Typed by the caller with the contract's type of what the route answers. Throws ApiProblem. */
export const api = {
  get: <T>(path: string, query?: Query, signal?: AbortSignal) =>
    send<T>('GET', address(path, query), undefined, signal),
  post: <T = null>(path: string, body?: unknown) => send<T>('POST', path, body),
  put: <T = null>(path: string, body?: unknown) => send<T>('PUT', path, body),
  patch: <T = null>(path: string, body?: unknown) => send<T>('PATCH', path, body),
  delete: <T = null>(path: string) => send<T>('DELETE', path),
}
