import { expect, test } from 'vitest'
import { insertToken, newToken } from '#server/accounts/account-tokens.ts'
import { confirmCode, currentCode, givenSecondFactor, givenUser, nextCode, PASSWORD } from '#server/testing/accounts.ts'
import { type Browser, openBrowser } from '#server/testing/browser.ts'
import { onBothEngines } from '#server/testing/database.ts'
import { givenApp, type TestApp } from '#server/testing/test-app.ts'

const COOKIE = 'zonewatch.two_factor'

onBothEngines('someone who knows only the password', (_fresh, engine) => {
  test('cannot sign in with a used code', async () => {
    const { world, uri } = await givenSecondFactor(await givenApp(engine))
    const code = nextCode(uri)
    await confirmCode(await givenHalfSignedIn(world), code)
    const thief = await givenHalfSignedIn(world)
    const answer = await thief.call('/dashboard/auth/two-factor/verify-totp', { body: { code } })
    expect([answer.status, answer.body.errors]).toEqual([400, { code: expect.stringContaining('already used') }])
  })

  test.each(['verify-totp', 'verify-backup-code'])(
    'signs in at most once with three simultaneous requests (%s)',
    async (kind) => {
      const { world, uri, recoveryCodes } = await givenSecondFactor(await givenApp(engine))
      const code = kind === 'verify-totp' ? nextCode(uri) : recoveryCodes[0]
      const browsers = [await givenHalfSignedIn(world), await givenHalfSignedIn(world), await givenHalfSignedIn(world)]
      await Promise.all(
        browsers.map((browser) => browser.call(`/dashboard/auth/two-factor/${kind}`, { body: { code } })),
      )
      const reached = await Promise.all(browsers.map((browser) => browser.call('/dashboard/api/me')))
      expect(reached.map(({ status }) => status).sort()).toEqual([200, 401, 401])
    },
  )

  test('needs a code in a browser that was trusted before the second factor was set up again', async () => {
    const { world, uri, recoveryCodes, browser } = await givenSecondFactor(await givenApp(engine))
    const thief = await givenHalfSignedIn(world)
    await confirmCode(thief, nextCode(uri), { trustDevice: true })
    await browser.call('/dashboard/auth/two-factor/disable', { body: { password: PASSWORD, code: recoveryCodes[0] } })
    const enabled = await browser.call('/dashboard/auth/two-factor/enable', { body: { password: PASSWORD } })
    await confirmCode(browser, currentCode(enabled.body.totpURI))
    await thief.call('/dashboard/auth/sign-out', { method: 'POST' })
    const body = { email: 'ada@example.com', password: PASSWORD }
    expect((await thief.call('/dashboard/auth/sign-in/email', { body })).body).toEqual({ twoFactorRedirect: true })
  })

  test('cannot bypass the rate limit of codes with the cookie of another account', async () => {
    const { world } = await givenSecondFactor(await givenApp(engine))
    const { db, clock } = world.deps
    const statuses: number[] = []
    for (let number = 0; number < 7; number++) {
      const thief = await givenHalfSignedIn(world, `198.51.100.${number}`)
      // An account of the attacker, whose attempts would be counted instead.
      const { id: userId } = await givenUser(world, { name: `Eve${number}`, organizations: [] })
      const token = newToken()
      const expiresAt = clock.now() + 60_000
      await insertToken(db, { token, purpose: 'pending-sign-in', userId, expiresAt })
      const cookie = `${COOKIE}=${thief.cookies.get(COOKIE)}; ${COOKIE}=${token}`
      const body = { code: String(number).padStart(6, '0') }
      const headers = { cookie }
      statuses.push((await thief.call('/dashboard/auth/two-factor/verify-totp', { body, headers })).status)
    }
    expect(statuses).toEqual([400, 400, 400, 400, 400, 429, 429])
  })
})

/** A browser in which the password of Ada was entered, but not the code. */
async function givenHalfSignedIn(world: TestApp, from?: string): Promise<Browser> {
  const browser = openBrowser(world, from)
  const body = { email: 'ada@example.com', password: PASSWORD }
  expect((await browser.call('/dashboard/auth/sign-in/email', { body })).body).toEqual({ twoFactorRedirect: true })
  return browser
}
