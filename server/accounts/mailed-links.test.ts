import { expect, test } from 'vitest'
import { givenSignedInBrowser, givenUser, PASSWORD, signIn } from '../testing/accounts.ts'
import { openBrowser } from '../testing/browser.ts'
import { onBothEngines } from '../testing/database.ts'
import { mailedToken, mailsTo } from '../testing/mails.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

const SMTP = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'zonewatch@example.com' }

onBothEngines('a forgotten password', (_fresh, engine) => {
  const requestReset = (world: TestApp, email: string) =>
    openBrowser(world).call('/dashboard/auth/request-password-reset', { body: { email } })

  test('can be reset by a link that works once, which ends all sessions', async () => {
    const world = await givenApp(engine)
    const before = await givenSignedInBrowser(world, { name: 'Ada' })
    expect((await requestReset(world, 'Ada@example.com')).body).toEqual({ status: true })
    const token = await mailedToken(world, 'ada@example.com', 'reset-password')

    const reset = () =>
      openBrowser(world).call('/dashboard/auth/reset-password', { body: { token, newPassword: 'another horse' } })
    const crowd = await Promise.all([reset(), reset(), reset()])
    expect(crowd.map(({ status }) => status).sort()).toEqual([200, 400, 400])

    expect((await before.call('/dashboard/api/me')).status).toBe(401)
    await signIn(openBrowser(world), 'ada@example.com', 'another horse')
    expect((await reset()).body.errors).toEqual({ token: expect.stringContaining('used') })
    await signIn(openBrowser(world), 'ada@example.com', 'another horse')
  })

  test('gets the same response for an address without an account, which gets no mail', async () => {
    const world = await givenApp(engine)
    await givenUser(world, { name: 'Ada' })
    const known = await requestReset(world, 'ada@example.com')
    const unknown = await requestReset(world, 'nobody@example.com')
    expect([unknown.status, unknown.text]).toEqual([known.status, known.text])
    await mailsTo(world, 'ada@example.com')
    expect(await world.deps.db.selectFrom('mails').select('recipient').execute()).toHaveLength(1)
  })

  test('sends a limited number of mails', async () => {
    const world = await givenApp(engine)
    const statuses = []
    for (let number = 0; number < 5; number++) statuses.push((await requestReset(world, 'ada@example.com')).status)
    expect(statuses).toEqual([200, 200, 200, 429, 429])
  })

  test('leaves no link in the database, and shows none to other agents', async () => {
    const world = await givenApp(engine)
    const owner = await givenSignedInBrowser(world, { name: 'Eve', role: 'owner' })
    await givenUser(world, { name: 'Ada' })
    await requestReset(world, 'ada@example.com')
    const token = await mailedToken(world, 'ada@example.com', 'reset-password')

    expect((await owner.call('/dashboard/api/mails')).body).toEqual({ data: [] })
    for (const table of ['mails', 'account_tokens'] as const) {
      expect(JSON.stringify(await world.deps.db.selectFrom(table).selectAll().execute())).not.toContain(token)
    }
  })
})

onBothEngines('a new email address', (_fresh, engine) => {
  const change = (browser: Awaited<ReturnType<typeof givenSignedInBrowser>>, password = PASSWORD) =>
    browser.call('/dashboard/auth/change-email', { body: { newEmail: 'Ada@new.example', password } })

  test('applies after its link is opened, also to memberships, and the old address is notified', async () => {
    const world = await givenApp(engine, SMTP)
    const browser = await givenSignedInBrowser(world, { name: 'Ada' })
    expect((await change(browser, 'wrong')).body.errors).toEqual({ password: 'is wrong.' })
    expect((await change(browser)).body).toEqual({ confirm: true })
    expect((await browser.call('/dashboard/api/me')).body.person.email).toBe('ada@example.com')
    const token = await mailedToken(world, 'ada@new.example', 'verify-email')

    const confirm = () => openBrowser(world).call('/dashboard/auth/verify-email', { body: { token } })
    expect((await confirm()).status).toBe(200)

    expect((await browser.call('/dashboard/api/me')).body.person.email).toBe('ada@new.example')
    const { data } = (await browser.call('/agents?order_by=email')).body
    expect(data.map(({ email }: { email: string }) => email)).toContain('ada@new.example')
    expect((await mailsTo(world, 'ada@example.com'))[0]).toContain('ada@new.example')
    expect((await confirm()).status).toBe(400)
    await signIn(openBrowser(world), 'ada@new.example')
  })

  test('applies at once if the server sends no mail', async () => {
    const world = await givenApp(engine)
    const browser = await givenSignedInBrowser(world, { name: 'Ada' })
    expect((await change(browser)).body).toEqual({ confirm: false })
    expect((await browser.call('/dashboard/api/me')).body.person.email).toBe('ada@new.example')
  })

  test('does not reveal whether another account has it', async () => {
    const world = await givenApp(engine, SMTP)
    const browser = await givenSignedInBrowser(world, { name: 'Ada' })
    await world.deps.db.updateTable('people').set({ email: 'ada@new.example' }).where('name', '!=', 'Ada').execute()
    expect((await change(browser)).body).toEqual({ confirm: true })
    expect(await world.deps.db.selectFrom('mails').select('recipient').execute()).toEqual([])
  })
})
