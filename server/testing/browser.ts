import type { AppResponse, Call, TestApp } from './test-app.ts'

/** A browser on the dashboard: it stores cookies and sends requests with Sec-Fetch-Site: same-origin. */
export function openBrowser({ app }: Pick<TestApp, 'app'>, from = '192.0.2.1') {
  const cookies = new Map<string, string>()
  return {
    cookies,
    async call(path: string, { method, body, headers = {} }: Call = {}): Promise<AppResponse> {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const response = await app.inject({
        method: (method ?? (body === undefined ? 'GET' : 'POST')) as 'GET',
        url: path,
        remoteAddress: from,
        headers: {
          'sec-fetch-site': 'same-origin',
          ...(cookie === '' ? {} : { cookie }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
      })
      for (const { name, value, maxAge } of response.cookies) {
        if (maxAge === 0) cookies.delete(name)
        else cookies.set(name, encodeURIComponent(value))
      }
      return {
        status: response.statusCode,
        headers: response.headers as AppResponse['headers'],
        body: response.body.startsWith('{') ? JSON.parse(response.body) : undefined,
        text: response.body,
      }
    },
  }
}

export type Browser = ReturnType<typeof openBrowser>
