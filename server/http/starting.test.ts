import { expect, onTestFinished, test } from 'vitest'
import { createApp } from '../app.ts'
import { givenApp } from '../testing/test-app.ts'

test('while the server starts, every route except /healthz is a 503 and no query runs', async () => {
  const { deps, organization } = await givenApp('sqlite')
  const { key } = await organization()
  let isStarting = true
  const app = await createApp({ ...deps, isStarting: () => isStarting })
  onTestFinished(() => app.close())
  const request = async (url: string) => await app.inject({ url, headers: { 'x-api-key': key } })

  for (const path of ['/monitors', '/readyz', '/openapi.json', '/nowhere']) {
    const response = await request(path)
    expect(response.statusCode).toBe(503)
    expect(response.headers['retry-after']).toBe('2')
    expect(response.json()).toEqual({ code: 503, error: 'The server is starting. Try again in 2 seconds.' })
  }
  expect((await request('/healthz')).statusCode).toBe(200)

  isStarting = false
  expect((await request('/monitors')).statusCode).toBe(200)
})
