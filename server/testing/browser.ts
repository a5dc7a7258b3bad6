import type { AppResponse, Call, TestApp } from './test-app.ts'

/** A browser in front of the dashboard: keeps cookies, and says of each request that a page of the server itself sent it. */
export function openBrowser({ app }: Pick<TestApp, 'app'>, from = '192.0.2.1') {
  const cookies = new Map<string, string>()
  return {
    cookies,
    async call(path: string, { method, body, headers = {} }: Call = {}): Promise<AppResponse> {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const answer = await app.inject({
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
      for (const { name, value, maxAge } of answer.cookies) {
        if (maxAge === 0) cookies.delete(name)
        else cookies.set(name, encodeURIComponent(value))
      }
      return {
        status: answer.statusCode,
        headers: answer.headers as AppResponse['headers'],
        body: answer.body.startsWith('{') ? JSON.parse(answer.body) : undefined,
        text: answer.body,
      }
    },
  }
}

export type Browser = ReturnType<typeof openBrowser>
