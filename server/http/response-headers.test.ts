import { describe, expect, test } from 'vitest'
import { givenApp } from '../testing/test-app.ts'

describe('everything below /dashboard', () => {
  const PATHS = ['', '/', '/monitors?state=VALID', '/favicon.svg', '/api/me', '/api/nothing', '/auth/nothing']

  test('has security headers, including errors', async () => {
    const { call } = await givenApp('sqlite')
    for (const path of PATHS) {
      const { headers } = await call(`/dashboard${path}`, { key: null })
      const policy = headers['content-security-policy'] ?? `none for ${path}`
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).toContain("script-src 'self';")
      expect(policy.match(/'unsafe-[a-z]+'/g)).toEqual(["'unsafe-inline'"])
      expect(policy).toContain("style-src-attr 'unsafe-inline'")
      expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'same-origin' })
      expect(headers['strict-transport-security']).toBeUndefined()
    }
  })

  test('has Strict-Transport-Security if BASE_URL is https', async () => {
    const { call } = await givenApp('sqlite', { BASE_URL: 'https://dns.example.com' })
    const { headers } = await call('/dashboard/api/welcome', { key: null })
    expect(headers).toMatchObject({
      'strict-transport-security': 'max-age=31536000',
      'cache-control': 'private, no-store',
    })
  })
})

describe('behind a reverse proxy', () => {
  const headers = { 'x-forwarded-for': '203.0.113.9, 198.51.100.4' }
  const limitedAs = async (settings: Record<string, string>, from: string) => {
    const { call } = await givenApp('sqlite', { READ_LIMIT: '1', ...settings })
    await call('/monitors', { key: null, from: '198.51.100.4' })
    return (await call('/monitors', { key: null, from, headers })).status
  }

  test('a request is counted for the client that a trusted proxy names', async () => {
    expect(await limitedAs({ TRUSTED_PROXIES: '10.0.0.0/8' }, '10.1.2.3')).toBe(429)
  })

  test('X-Forwarded-For from others is ignored', async () => {
    expect(await limitedAs({ TRUSTED_PROXIES: '10.0.0.0/8' }, '192.0.2.1')).toBe(401)
    expect(await limitedAs({}, '10.1.2.3')).toBe(401)
  })
})
