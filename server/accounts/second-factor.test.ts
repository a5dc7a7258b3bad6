import { URI } from 'otpauth'
import { expect, test } from 'vitest'
import {
  confirmCode,
  currentCode,
  givenSecondFactor,
  givenSignedInBrowser,
  nextCode,
  PASSWORD,
} from '../testing/accounts.ts'
import { openBrowser } from '../testing/browser.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp } from '../testing/test-app.ts'

const SIGN_IN = { email: 'ada@example.com', password: PASSWORD }

onBothEngines('a second factor', (_fresh, engine) => {
  test('is required after its first code was correct', async () => {
    const world = await givenApp(engine)
    const browser = await givenSignedInBrowser(world, { name: 'Ada' })
    const enabled = await browser.call('/dashboard/auth/two-factor/enable', { body: { password: PASSWORD } })
    expect(enabled.status, enabled.text).toBe(200)
    expect(enabled.body.totpURI).toMatch(/^otpauth:\/\/totp\/Zonewatch:ada%40example.com\?/)
    expect((await openBrowser(world).call('/dashboard/auth/sign-in/email', { body: SIGN_IN })).body).toEqual({
      twoFactorRedirect: false,
    })

    await confirmCode(browser, currentCode(enabled.body.totpURI))

    expect((await browser.call('/dashboard/api/me')).body.person.two_factor).toBe(true)
    const other = openBrowser(world)
    const signedIn = await other.call('/dashboard/auth/sign-in/email', { body: SIGN_IN })
    expect(signedIn.body).toEqual({ twoFactorRedirect: true })
    expect((await other.call('/dashboard/api/me')).status).toBe(401)
    const wrong = await other.call('/dashboard/auth/two-factor/verify-totp', { body: { code: '000000' } })
    expect(wrong).toMatchObject({ status: 400, body: { errors: { code: expect.stringContaining('wrong') } } })
    await confirmCode(other, nextCode(enabled.body.totpURI))
    expect((await other.call('/dashboard/api/me')).status).toBe(200)
  })

  test('has recovery codes that work once', async () => {
    const { world, recoveryCodes } = await givenSecondFactor(await givenApp(engine))
    const [code] = recoveryCodes
    expect(recoveryCodes).toHaveLength(10)
    const other = openBrowser(world)
    for (const expected of [200, 400]) {
      await other.call('/dashboard/auth/sign-in/email', { body: SIGN_IN })
      const { status } = await other.call('/dashboard/auth/two-factor/verify-backup-code', { body: { code } })
      expect(status).toBe(expected)
      await other.call('/dashboard/auth/sign-out', { method: 'POST' })
    }
  })

  test('is limited by user, even if the password is entered again', async () => {
    const { world, uri } = await givenSecondFactor(await givenApp(engine))
    const statuses: number[] = []
    for (let number = 0; number < 7; number++) {
      const thief = openBrowser(world, `198.51.100.${number}`)
      await thief.call('/dashboard/auth/sign-in/email', { body: SIGN_IN })
      const code = String(number).padStart(6, '0')
      statuses.push((await thief.call('/dashboard/auth/two-factor/verify-totp', { body: { code } })).status)
    }
    expect(statuses).toEqual([400, 400, 400, 400, 400, 429, 429])

    world.pass(15_000)
    const owner = openBrowser(world)
    await owner.call('/dashboard/auth/sign-in/email', { body: SIGN_IN })
    await confirmCode(owner, nextCode(uri))
  })

  test.each(['app', 'recovery'])('can be turned off only with the password and a code (%s)', async (kind) => {
    const { world, browser, uri, recoveryCodes } = await givenSecondFactor(await givenApp(engine))
    const off = (password: string, code?: string) =>
      browser.call('/dashboard/auth/two-factor/disable', { body: { password, code } })
    const code = kind === 'app' ? nextCode(uri) : recoveryCodes[0]!
    expect((await off(PASSWORD)).body.errors).toEqual({ code: 'is required.' })
    expect((await off('wrong', code)).body.errors).toEqual({ password: 'is wrong.' })
    expect((await off(PASSWORD, '000000')).body.errors.code).toContain('wrong')
    expect((await off(PASSWORD, 'aaaaa-aaaaa')).body.errors.code).toContain('already used')
    expect((await browser.call('/dashboard/api/me')).body.person.two_factor).toBe(true)

    expect((await off(PASSWORD, code)).status).toBe(200)
    expect((await openBrowser(world).call('/dashboard/auth/sign-in/email', { body: SIGN_IN })).body).toEqual({
      twoFactorRedirect: false,
    })
    expect((await off(PASSWORD, code)).status).toBe(409)
  })

  test('gives new recovery codes only with the password and a code, which works once', async () => {
    const { browser, recoveryCodes } = await givenSecondFactor(await givenApp(engine))
    const renew = (code?: string) =>
      browser.call('/dashboard/auth/two-factor/generate-backup-codes', { body: { password: PASSWORD, code } })
    expect((await renew()).status).toBe(400)
    expect((await renew('000000')).status).toBe(400)
    const renewed = await renew(recoveryCodes[0])
    expect(renewed.status, renewed.text).toBe(200)
    expect(renewed.body.backupCodes).toHaveLength(10)
    expect((await renew(recoveryCodes[1])).status).toBe(400)
    expect((await renew(renewed.body.backupCodes[0])).status).toBe(200)
  })

  test('counts wrong codes of a signed-in thief together with those at sign-in', async () => {
    const { world, browser, uri } = await givenSecondFactor(await givenApp(engine))
    const statuses: number[] = []
    for (let number = 0; number < 3; number++) {
      const code = String(number).padStart(6, '0')
      const body = { password: PASSWORD, code }
      statuses.push((await browser.call('/dashboard/auth/two-factor/disable', { body })).status)
      const thief = openBrowser(world, `198.51.100.${number}`)
      await thief.call('/dashboard/auth/sign-in/email', { body: SIGN_IN })
      statuses.push((await thief.call('/dashboard/auth/two-factor/verify-totp', { body: { code } })).status)
    }
    expect(statuses).toEqual([400, 400, 400, 400, 400, 429])

    world.pass(15_000)
    const body = { password: PASSWORD, code: nextCode(uri) }
    expect((await browser.call('/dashboard/auth/two-factor/disable', { body })).status).toBe(200)
  })

  test('is stored encrypted', async () => {
    const { world, uri, recoveryCodes } = await givenSecondFactor(await givenApp(engine))
    const stored = JSON.stringify(await world.deps.db.selectFrom('second_factors').selectAll().execute())
    expect(stored).not.toContain(String(URI.parse(uri).secret.base32))
    expect(stored).not.toContain(recoveryCodes[0])
  })

  test('needs no code in a trusted browser', async () => {
    const { world, uri } = await givenSecondFactor(await givenApp(engine))
    const browser = openBrowser(world)
    await browser.call('/dashboard/auth/sign-in/email', { body: SIGN_IN })
    await confirmCode(browser, nextCode(uri), { trustDevice: true })
    await browser.call('/dashboard/auth/sign-out', { method: 'POST' })
    expect((await browser.call('/dashboard/auth/sign-in/email', { body: SIGN_IN })).body).toEqual({
      twoFactorRedirect: false,
    })

    const body = { currentPassword: PASSWORD, newPassword: 'another horse' }
    expect((await browser.call('/dashboard/auth/change-password', { body })).status).toBe(200)
    await browser.call('/dashboard/auth/sign-out', { method: 'POST' })
    const again = await browser.call('/dashboard/auth/sign-in/email', {
      body: { ...SIGN_IN, password: 'another horse' },
    })
    expect(again.body).toEqual({ twoFactorRedirect: true })
  })
})
