export type ApiAnswer<T> = { status: number; headers: Headers; body: T }

/** Calls the API the way curl does: a path, a key, JSON in and out. What the body is, the caller says. */
export type Api = {
  get<T>(path: string): Promise<ApiAnswer<T>>
  post<T>(path: string, body?: unknown): Promise<ApiAnswer<T>>
}

/** `url` without a slash at its end. */
export function createApi(url: string, key: string): Api {
  const call = async <T>(method: string, path: string, body?: unknown): Promise<ApiAnswer<T>> => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    })
    const text = await answer.text()
    // The one place where the tests believe the shape of an answer.
    return { status: answer.status, headers: answer.headers, body: (text === '' ? null : JSON.parse(text)) as T }
  }
  return { get: (path) => call('GET', path), post: (path, body) => call('POST', path, body) }
}
