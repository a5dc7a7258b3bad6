export type ApiResponse<T> = { status: number; headers: Headers; body: T }

/** Calls the API as curl does: a path, a key, JSON in and out. The caller names the type of the body. */
export type Api = {
  get<T>(path: string): Promise<ApiResponse<T>>
  post<T>(path: string, body?: unknown): Promise<ApiResponse<T>>
}

/** `url` without a trailing slash. */
export function createApi(url: string, key: string): Api {
  const call = async <T>(method: string, path: string, body?: unknown): Promise<ApiResponse<T>> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    })
    const text = await response.text()
    // The one place where the tests believe the shape of an response.
    return { status: response.status, headers: response.headers, body: (text === '' ? null : JSON.parse(text)) as T }
  }
  return { get: (path) => call('GET', path), post: (path, body) => call('POST', path, body) }
}
