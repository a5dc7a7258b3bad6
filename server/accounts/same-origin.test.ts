import { describe, expect, test } from 'vitest'
import { givenSignedInBrowser } from '../testing/accounts.ts'
import { givenApp } from '../testing/test-app.ts'

describe('a page of another site', () => {
  const engine = 'sqlite'
  const MONITOR = { domain: 'example.com', record_type: 'A', expected_value: ['192.0.2.1'] }
  const elsewhere = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': '', origin: 'https://evil.example' },
    { 'sec-fetch-site': '', origin: 'null' },
    { 'sec-fetch-site': '' },
  ].map((headers) => Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== '')))

  test('cannot change anything with the cookie of a signed-in user', async () => {
    const world = await givenApp(engine)
    const browser = await givenSignedInBrowser(world, { name: 'Ada', role: 'owner' })
    for (const headers of elsewhere) {
      const response = await send(world, browser, '/monitors', headers, MONITOR)
      expect([response.statusCode, JSON.stringify(headers)]).toEqual([403, JSON.stringify(headers)])
      expect(response.json().error).toContain('Cross-site request refused')
      expect((await send(world, browser, '/dashboard/auth/sign-out', headers)).statusCode).toBe(403)
    }
    expect((await browser.call('/monitors')).body.data).toEqual([])
    expect((await browser.call('/dashboard/api/me')).status).toBe(200)
  })

  test('cannot sign in a user', async () => {
    const world = await givenApp(engine)
    const payload = { email: 'eve@example.com', password: 'wrong horse' }
    const headers = { 'sec-fetch-site': 'cross-site' }
    const response = await world.app.inject({ method: 'POST', url: '/dashboard/auth/sign-in/email', headers, payload })
    expect(response.statusCode).toBe(403)
  })

  test('cannot read anything', async () => {
    const world = await givenApp(engine, { CORS_ORIGINS: 'https://status.example.com' })
    const browser = await givenSignedInBrowser(world, { name: 'Ada', role: 'owner' })
    for (const headers of elsewhere.slice(0, 3)) {
      for (const url of ['/monitors', '/dashboard/api/me', '/dashboard/api/key-limits']) {
        const cookie = cookiesOf(browser)
        expect((await world.app.inject({ url, headers: { cookie, ...headers } })).statusCode).toBe(401)
      }
    }
  })

  test('gets no credentials by CORS', async () => {
    const world = await givenApp(engine, { CORS_ORIGINS: '*' })
    const browser = await givenSignedInBrowser(world, { name: 'Ada' })
    const headers = { cookie: cookiesOf(browser), origin: 'https://status.example.com' }
    const response = await world.app.inject({ url: '/monitors', headers })
    expect(response.statusCode).toBe(401)
    expect(response.headers['access-control-allow-credentials']).toBeUndefined()
  })

  test('is recognized by Origin and Host if the browser sends no Sec-Fetch-Site', async () => {
    const world = await givenApp(engine, { BASE_URL: 'https://dns.example.com' })
    const browser = await givenSignedInBrowser(world, { name: 'Ada', role: 'owner' })
    const here = [
      { host: '127.0.0.1:8080', origin: 'http://127.0.0.1:8080' },
      { host: 'inner:8080', origin: 'https://dns.example.com' },
    ]
    for (const headers of here) {
      expect((await send(world, browser, '/monitors', headers, MONITOR)).statusCode).toBe(201)
    }
  })
})

type World = Awaited<ReturnType<typeof givenApp>>
type Cookies = { cookies: Map<string, string> }

const cookiesOf = ({ cookies }: Cookies) => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')

function send({ app }: World, browser: Cookies, url: string, headers: Record<string, string>, payload?: object) {
  const cookie = cookiesOf(browser)
  return app.inject({ method: 'POST', url, headers: { cookie, ...headers }, ...(payload ? { payload } : {}) })
}
