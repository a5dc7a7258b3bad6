import { expect, onTestFinished, test } from 'vitest'
import { createApp } from '../app.ts'
import { givenApp } from '../testing/test-app.ts'

test('while the server starts everything but /healthz is to be asked again, and nothing is looked up', async () => {
  const { deps, organization } = await givenApp('sqlite')
  const { key } = await organization()
  let isStarting = true
  const app = await createApp({ ...deps, isStarting: () => isStarting })
  onTestFinished(() => app.close())
  const ask = async (url: string) => await app.inject({ url, headers: { 'x-api-key': key } })

  for (const path of ['/monitors', '/readyz', '/openapi.json', '/nowhere']) {
    const answer = await ask(path)
    expect(answer.statusCode).toBe(503)
    expect(answer.headers['retry-after']).toBe('2')
    expect(answer.json()).toEqual({ code: 503, error: 'The server is starting. Try again in 2 seconds.' })
  }
  expect((await ask('/healthz')).statusCode).toBe(200)

  isStarting = false
  expect((await ask('/monitors')).statusCode).toBe(200)
})
