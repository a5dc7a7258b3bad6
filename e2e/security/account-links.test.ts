import { expect, test } from 'vitest'
import { givenSignedInBrowser, PASSWORD, signIn } from '#server/testing/accounts.ts'
import { type Browser, openBrowser } from '#server/testing/browser.ts'
import { onBothEngines } from '#server/testing/database.ts'
import { mailedToken } from '#server/testing/mails.ts'
import { givenApp, type TestApp } from '#server/testing/test-app.ts'

const SMTP = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'zonewatch@example.com' }
const NEW_PASSWORD = 'another horse'

onBothEngines('someone who knew the old password', (_fresh, engine) => {
  test.each([
    ['a reset', resetPassword],
    ['a change', changePassword],
  ])('keeps no link to another address after %s of the password', async (_what, renewPassword) => {
    const world = await givenApp(engine, SMTP)
    const ada = await givenSignedInBrowser(world, { name: 'Ada' })
    const thief = openBrowser(world, '198.51.100.1')
    await signIn(thief, 'ada@example.com')
    await changeEmail(thief, 'thief@evil.example')
    const token = await mailedToken(world, 'thief@evil.example', 'verify-email')

    await renewPassword(world, ada)

    const opened = await thief.call('/dashboard/auth/verify-email', { body: { token } })
    expect([opened.status, opened.body.errors]).toEqual([
      400,
      { token: expect.stringContaining('The link was used, has expired') },
    ])
    await signIn(openBrowser(world), 'ada@example.com', NEW_PASSWORD)
  })

  test('keeps no session that was created during the password change', async () => {
    const world = await givenApp(engine)
    await givenSignedInBrowser(world, { name: 'Ada' })
    const { db } = world.deps
    const { verify } = world.passwords
    world.passwords.verify = async (given) => {
      const isRight = await verify(given)
      await db.updateTable('people').set({ password_hash: 'the hash of another' }).execute()
      await db.deleteFrom('sessions').execute()
      return isRight
    }
    const body = { email: 'ada@example.com', password: PASSWORD }
    expect((await openBrowser(world).call('/dashboard/auth/sign-in/email', { body })).status).toBe(401)
    expect(await db.selectFrom('sessions').select('id').execute()).toEqual([])
  })
})

onBothEngines('someone who reads the mails to an old address', (_fresh, engine) => {
  test('cannot reset the password after the address was changed', async () => {
    const world = await givenApp(engine, SMTP)
    const ada = await givenSignedInBrowser(world, { name: 'Ada' })
    const thief = openBrowser(world, '198.51.100.1')
    await thief.call('/dashboard/auth/request-password-reset', { body: { email: 'ada@example.com' } })
    const stolen = await mailedToken(world, 'ada@example.com', 'reset-password')
    await changeEmail(ada, 'ada@new.example')
    const token = await mailedToken(world, 'ada@new.example', 'verify-email')
    expect((await ada.call('/dashboard/auth/verify-email', { body: { token } })).status).toBe(200)

    const body = { token: stolen, newPassword: NEW_PASSWORD }
    expect((await thief.call('/dashboard/auth/reset-password', { body })).status).toBe(400)
    await signIn(openBrowser(world), 'ada@new.example')
  })

  test('cannot reset the password again with a second link', async () => {
    const world = await givenApp(engine, SMTP)
    const ada = await givenSignedInBrowser(world, { name: 'Ada' })
    const thief = openBrowser(world, '198.51.100.1')
    await thief.call('/dashboard/auth/request-password-reset', { body: { email: 'ada@example.com' } })
    const token = await mailedToken(world, 'ada@example.com', 'reset-password')
    await resetPassword(world, ada, 2)

    const body = { token, newPassword: 'a third horse' }
    expect((await thief.call('/dashboard/auth/reset-password', { body })).status).toBe(400)
    await signIn(openBrowser(world), 'ada@example.com', NEW_PASSWORD)
  })
})

async function changeEmail(browser: Browser, newEmail: string): Promise<void> {
  const answer = await browser.call('/dashboard/auth/change-email', { body: { newEmail, password: PASSWORD } })
  expect([answer.status, answer.body]).toEqual([200, { confirm: true }])
}

async function resetPassword(world: TestApp, browser: Browser, number = 1): Promise<void> {
  const ask = { body: { email: 'ada@example.com' } }
  expect((await browser.call('/dashboard/auth/request-password-reset', ask)).status).toBe(200)
  const token = await mailedToken(world, 'ada@example.com', 'reset-password', number)
  const body = { token, newPassword: NEW_PASSWORD }
  expect((await browser.call('/dashboard/auth/reset-password', { body })).status).toBe(200)
}

async function changePassword(_world: TestApp, browser: Browser): Promise<void> {
  const body = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD }
  expect((await browser.call('/dashboard/auth/change-password', { body })).status).toBe(200)
}
