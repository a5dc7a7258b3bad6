import { describe, expect, test } from 'vitest'
import { givenSignedInBrowser, givenUser, PASSWORD, signIn } from '../testing/accounts.ts'
import { openBrowser } from '../testing/browser.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp } from '../testing/test-app.ts'
import { setupToken } from './first-owner.ts'

const SIGN_IN = '/dashboard/auth/sign-in/email'

onBothEngines('a session', (_fresh, engine) => {
  test('ends with the sign-out for every holder of the cookie, and a sign-in starts another', async () => {
    const world = await givenApp(engine)
    const browser = openBrowser(world)
    const [email, password] = ['ada@example.com', 'correct horse']
    const token = await setupToken(world.deps.db, world.deps.keyring)
    const owner = { organization: 'Acme', name: 'Ada', email, password }
    await browser.call('/dashboard/api/setup', { body: { token, ...owner } })
    const thief = openBrowser(world)
    for (const [name, value] of browser.cookies) thief.cookies.set(name, value)
    expect((await thief.call('/dashboard/api/me')).status).toBe(200)

    expect((await browser.call('/dashboard/auth/sign-out', { method: 'POST' })).status).toBe(200)

    expect(browser.cookies.size).toBe(0)
    expect((await thief.call('/dashboard/api/me')).status).toBe(401)
    expect((await thief.call('/monitors')).status).toBe(401)
    const wrong = await browser.call(SIGN_IN, { body: { email, password: 'wrong horse' } })
    expect(wrong).toMatchObject({ status: 401, body: { code: 401, error: expect.stringContaining('Wrong') } })
    expect((await browser.call(SIGN_IN, { body: { email, password } })).body).toEqual({
      twoFactorRedirect: false,
    })
    expect((await browser.call('/dashboard/api/me')).status).toBe(200)
  })

  test('is listed, and can be ended from another session', async () => {
    const world = await givenApp(engine)
    const here = await givenSignedInBrowser(world, { name: 'Ada' })
    const there = openBrowser(world, '192.0.2.9')
    await signIn(there, 'ada@example.com')
    const { data } = (await here.call('/dashboard/auth/list-sessions')).body
    const other = data.find(({ current }: { current: boolean }) => !current)
    expect(data).toHaveLength(2)
    expect(other).toMatchObject({ address: '192.0.2.9', current: false })

    await givenUser(world, { name: 'Eve' })
    const eve = openBrowser(world)
    await signIn(eve, 'eve@example.com')
    expect((await eve.call('/dashboard/auth/revoke-session', { body: { id: other.id } })).status).toBe(404)
    expect((await here.call('/dashboard/auth/revoke-session', { body: { id: other.id } })).status).toBe(200)

    expect((await there.call('/dashboard/api/me')).status).toBe(401)
    expect((await here.call('/dashboard/api/me')).status).toBe(200)
  })

  test('ends in all other browsers when the password changes', async () => {
    const world = await givenApp(engine)
    const here = await givenSignedInBrowser(world, { name: 'Ada' })
    const there = openBrowser(world)
    await signIn(there, 'ada@example.com')
    const path = '/dashboard/auth/change-password'
    const wrong = await here.call(path, { body: { currentPassword: 'wrong', newPassword: 'another horse' } })
    expect(wrong.body.errors).toEqual({ currentPassword: 'is wrong.' })

    const changed = await here.call(path, { body: { currentPassword: PASSWORD, newPassword: 'another horse' } })

    expect(changed.status, changed.text).toBe(200)
    expect((await there.call('/dashboard/api/me')).status).toBe(401)
    expect((await here.call('/dashboard/api/me')).status).toBe(200)
    await expect(signIn(openBrowser(world), 'ada@example.com')).rejects.toThrow('could not sign in')
    await signIn(openBrowser(world), 'ada@example.com', 'another horse')
  })

  test('ends if the user starts too many others', async () => {
    const world = await givenApp(engine)
    const oldest = await givenSignedInBrowser(world, { name: 'Ada' })
    const [session] = await world.deps.db.selectFrom('sessions').selectAll().execute()
    const copies = Array.from({ length: 99 }, (_, number) => ({
      ...session!,
      id: `${number}`,
      token_hash: `${number}`,
    }))
    await world.deps.db
      .insertInto('sessions')
      .values(copies.map((each) => ({ ...each, created_at: each.created_at + 1 })))
      .execute()
    expect((await oldest.call('/dashboard/api/me')).status).toBe(200)
    const newest = openBrowser(world)
    await signIn(newest, 'ada@example.com')
    expect((await oldest.call('/dashboard/api/me')).status).toBe(401)
    expect((await newest.call('/dashboard/auth/list-sessions')).body.data).toHaveLength(100)
  })

  test('expires', async () => {
    const world = await givenApp(engine)
    const browser = await givenSignedInBrowser(world, { name: 'Ada' })
    const { data } = (await browser.call('/dashboard/auth/list-sessions')).body
    world.pass(Date.parse(data[0].expires) - world.deps.clock.now())
    expect((await browser.call('/dashboard/api/me')).status).toBe(401)
  })
})

describe('the cookie', () => {
  test('is HttpOnly, and Secure if BASE_URL is https', async () => {
    const plain = await givenApp('sqlite')
    const secure = await givenApp('sqlite', { BASE_URL: 'https://dns.example.com' })
    for (const [world, isSecure] of [[plain, false] as const, [secure, true] as const]) {
      const { email } = await givenUser(world, { name: 'Ada' })
      const { headers } = await openBrowser(world).call(SIGN_IN, { body: { email, password: PASSWORD } })
      const cookies = [headers['set-cookie']].flat() as string[]
      expect(cookies).toHaveLength(2)
      for (const cookie of cookies) {
        expect(cookie).toMatch(/HttpOnly/)
        expect(cookie).toMatch(/SameSite=Lax/)
        expect(cookie.includes('Secure'), cookie).toBe(isSecure)
      }
    }
  })
})
