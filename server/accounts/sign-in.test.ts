import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { givenSignedInBrowser, givenUser, PASSWORD, signIn } from '../testing/accounts.ts'
import { openBrowser } from '../testing/browser.ts'
import { migratedDatabaseUrl, onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { countAttempt } from './attempt-limits.ts'

const SIGN_IN = '/dashboard/auth/sign-in/email'

onBothEngines('signing in', (_fresh, engine) => {
  test('responds to a wrong password and to an unknown address in the same way', async () => {
    const world = await givenApp(engine)
    const { email } = await givenUser(world, { name: 'Ada' })
    const browser = openBrowser(world)

    const wrong = await browser.call(SIGN_IN, { body: { email, password: 'wrong horse' } })
    const unknown = await browser.call(SIGN_IN, { body: { email: 'nobody@example.com', password: 'wrong horse' } })

    expect([wrong.status, wrong.headers['www-authenticate']]).toEqual([401, 'Session realm="zonewatch"'])
    expect([unknown.status, unknown.text]).toEqual([wrong.status, wrong.text])
    expect(unknown.headers['set-cookie']).toBe(wrong.headers['set-cookie'])
  })

  test('hashes one password for an unknown address too, so that the response time reveals nothing', async () => {
    const world = await givenApp(engine)
    const { email } = await givenUser(world, { name: 'Ada' })
    for (const address of [email, 'nobody@example.com']) {
      const before = world.passwords.hashed
      await tryWrong(world, '198.51.100.1', address)
      expect([address, world.passwords.hashed - before]).toEqual([address, 1])
    }
  })

  test('limits attempts at one account from many addresses, but not from a known browser', async () => {
    const world = await givenApp(engine)
    const own = await givenSignedInBrowser(world, { name: 'Ada' })
    const attempts = await Promise.all(
      Array.from({ length: 20 }, (_, number) => tryWrong(world, `198.51.100.${number}`, 'ada@example.com')),
    )

    expect(attempts.filter(({ status }) => status === 401)).toHaveLength(5)
    const [refused] = attempts.filter(({ status }) => status === 429)
    const seconds = Number(refused!.headers['retry-after'])
    expect(refused!.body).toEqual({
      code: 429,
      error: `Too many attempts. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
    })
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(16) // concurrent attempts can add a second
    await own.call('/dashboard/auth/sign-out', { method: 'POST' })
    await signIn(own, 'ada@example.com')

    world.pass(15_000)
    expect((await tryWrong(world, '198.51.100.99', 'ada@example.com')).status).toBe(401)
    expect((await tryWrong(world, '198.51.100.99', 'ada@example.com')).status).toBe(429)
  })

  test('limits attempts at many accounts from one address, in any process', async () => {
    const world = await givenApp(engine)
    const other = await givenApp(engine, {}, world.url)
    const { db, clock } = world.deps
    const before = { subject: 'sign-in from 198.51.100.7', free: 20 }
    for (let number = 0; number < 17; number++) await countAttempt(db, before, clock.now())
    const statuses = []
    for (let number = 0; number < 5; number++) {
      const { status } = await tryWrong(number % 2 ? world : other, '198.51.100.7', `person${number}@example.com`)
      statuses.push(status)
    }

    expect(statuses).toEqual([401, 401, 401, 429, 429])
    expect((await tryWrong(world, '198.51.100.8', 'person1@example.com')).status).toBe(401)
  })

  test('counts networks and accounts separately, so that a refused one does not lock the other', async () => {
    const world = await givenApp(engine)
    const { email } = await givenUser(world, { name: 'Ada' })
    const { db, clock } = world.deps
    const slowed = { subject: 'sign-in from 198.51.100.7', free: 20 }
    for (let number = 0; number < 20; number++) await countAttempt(db, slowed, clock.now())
    for (let number = 0; number < 6; number++) expect((await tryWrong(world, '198.51.100.7', email)).status).toBe(429)
    for (let number = 0; number < 5; number++) expect((await tryWrong(world, '198.51.100.8', email)).status).toBe(401)
    for (let number = 0; number < 25; number++) expect((await tryWrong(world, '198.51.100.9', email)).status).toBe(429)
    expect((await tryWrong(world, '198.51.100.9', 'bob@example.com')).status).toBe(401)
  })

  test('resets the counter after the correct password', async () => {
    const world = await givenApp(engine)
    const { email } = await givenUser(world, { name: 'Ada' })
    for (let round = 0; round < 2; round++) {
      for (let number = 0; number < 4; number++) await tryWrong(world, `198.51.100.${round}`, email)
      await signIn(openBrowser(world), email)
    }
  })

  test('accepts the address in any letter case', async () => {
    const world = await givenApp(engine)
    const { id } = await givenUser(world, { name: 'Ada' })
    await world.deps.db.updateTable('people').set({ email: 'admin@localhost' }).where('id', '=', id).execute()
    await signIn(openBrowser(world), 'Admin@localhost')
  })
})

onBothEngines('the name of a user', (_fresh, engine) => {
  test('can be changed by the user, and changes in every organization', async () => {
    const world = await givenApp(engine)
    const browser = await givenSignedInBrowser(world, { name: 'Ada' })
    expect((await browser.call('/dashboard/auth/update-user', { body: { name: 'Ada L.' } })).status).toBe(200)
    expect((await browser.call('/dashboard/api/me')).body.person.name).toBe('Ada L.')
    expect((await browser.call('/agents')).text).toContain('"Ada L."')
    expect((await browser.call('/dashboard/auth/update-user', { body: { role: 'owner' } })).status).toBe(400)
  })
})

onBothEngines('other paths below /dashboard/auth', (_fresh, engine) => {
  test('do not exist', async () => {
    const browser = await givenSignedInBrowser(await givenApp(engine), { name: 'Ada' })
    const body = { email: 'eve@example.com', password: PASSWORD, name: 'Eve', newPassword: PASSWORD }
    for (const path of [
      'sign-up/email',
      'delete-user',
      'set-password',
      'link-social',
      'sign-in/social',
      'revoke-sessions',
    ]) {
      expect((await browser.call(`/dashboard/auth/${path}`, { body })).status).toBeGreaterThanOrEqual(404)
    }
    for (const path of ['get-session', 'verify-email?token=x', 'reset-password/x?callbackURL=/', 'ok', 'error']) {
      expect((await browser.call(`/dashboard/auth/${path}`)).status).toBeGreaterThanOrEqual(404)
    }
  })
})

const tryWrong = (world: TestApp, from: string, email: string) =>
  openBrowser(world, from).call(SIGN_IN, { body: { email, password: 'wrong horse' } })

test.each(['sqlite', 'postgres'] as const)(
  'a change whose audit entry cannot be written is rolled back (%s)',
  async (engine) => {
    const { url, drop } = await migratedDatabaseUrl(engine)
    onTestFinished(drop)
    const world = await givenApp(engine, {}, url)
    const browser = await givenSignedInBrowser(world, { name: 'Ada' })
    const { db } = world.deps
    const stored = () =>
      Promise.all([
        db.selectFrom('people').selectAll().execute(),
        db.selectFrom('sessions').selectAll().execute(),
        db.selectFrom('second_factors').selectAll().execute(),
      ])
    await browser.call('/dashboard/auth/two-factor/enable', { body: { password: PASSWORD } })
    const before = await stored()
    await sql`alter table audit_log rename to unwritable`.execute(db)

    const calls = [
      ['sign-in/email', { email: 'ada@example.com', password: PASSWORD }],
      ['change-password', { currentPassword: PASSWORD, newPassword: 'another horse' }],
      ['update-user', { name: 'Eve' }],
      ['change-email', { newEmail: 'eve@example.com', password: PASSWORD }],
    ] as const
    for (const [path, body] of calls)
      expect([path, (await browser.call(`/dashboard/auth/${path}`, { body })).status]).toEqual([path, 500])

    expect(await stored()).toEqual(before)
  },
)
