import { expect, test } from 'vitest'
import { renderMail } from '#server/mail/mail-templates.ts'
import { notifyAboutWebhook } from '#server/mail/notifications.ts'
import { queueMail } from '#server/mail/outbox.ts'
import { givenSignedInBrowser, givenUser, PASSWORD, signIn } from '#server/testing/accounts.ts'
import { type Browser, openBrowser } from '#server/testing/browser.ts'
import { onBothEngines } from '#server/testing/database.ts'
import { mailedToken, mailsTo } from '#server/testing/mails.ts'
import { givenApp } from '#server/testing/test-app.ts'

const SMTP = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'zonewatch@example.com' }
const PHISHING = 'Acme\n\nYour account is locked. Open https://evil.example now.\n\n'

test('every field for a name refuses line breaks', async () => {
  const world = await givenApp('sqlite')
  const browser = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner' })
  const { agent_id } = (await browser.call('/dashboard/api/me')).body.organizations[0]
  const requests: [string, string, object][] = [
    ['/organization', 'PATCH', { name: PHISHING }],
    ['/organization', 'PATCH', { name: 'Acme \u202egnihsihp' }],
    [`/agents/${agent_id}`, 'PATCH', { name: PHISHING }],
    ['/groups', 'POST', { name: PHISHING }],
    ['/api-keys', 'POST', { name: PHISHING, role: 'read' }],
    ['/dashboard/auth/update-user', 'POST', { name: PHISHING }],
    ['/organization/billing', 'PATCH', { name: PHISHING }],
    ['/organization/billing', 'PATCH', { line1: PHISHING }],
  ]
  for (const [path, method, body] of requests) {
    const answer = await browser.call(path, { method, body })
    expect([path, answer.status, Object.keys(answer.body.errors ?? {})]).toEqual([
      path,
      400,
      Object.keys(body).filter((field) => field !== 'role'),
    ])
  }
  const email = 'eve\u0001@example.com'
  expect((await browser.call('/agents/invitations', { body: { email } })).status).toBe(400)
})

test('a name with line breaks from an earlier version is one quoted line in mails', async () => {
  const { keyring } = (await givenApp('sqlite')).deps
  const content = { kind: 'invitation', organization: PHISHING, role: 'member', issue: 1, expiresAt: 0 } as const
  const { subject, text } = renderMail(content, { baseUrl: 'https://dns.example.com', keyring, about: 'inv_1' })
  // Mail programs make no link of it.
  const quoted = '“Acme Your account is locked. Open https:\u200b//evil.\u200bexample now.”'
  expect(subject).toBe(`You are invited to ${quoted} on Zonewatch`)
  expect(text.split('\n\n')[0]).toBe(`The organization ${quoted} invites you to Zonewatch with the role member.`)
})

onBothEngines('invitations', (_fresh, engine) => {
  test('are limited to the daily number of new addresses, even if some are revoked or resent', async () => {
    const world = await givenApp(engine, { INVITATION_LIMIT: '3' })
    const invite = (name: string) =>
      world.call('/agents/invitations', { method: 'POST', body: { email: `${name}@example.com` } })
    const { id } = (await invite('a')).body
    expect((await world.call(`/agents/invitations/${id}`, { method: 'DELETE' })).status).toBe(204)
    const second = (await invite('b')).body.id
    const resend = () => world.call(`/agents/invitations/${second}/resend`, { method: 'POST' })
    expect((await resend()).status).toBe(202)
    expect([(await invite('c')).status, (await resend()).status]).toEqual([429, 429])
    const mails = await world.deps.db.selectFrom('mails').select('recipient').execute()
    expect(mails).toEqual([{ recipient: 'b@example.com' }])

    world.pass(24 * 60 * 60_000)
    expect((await invite('c')).status).toBe(201)
  })

  test('have one limit for all organizations of an owner', async () => {
    const world = await givenApp(engine, { INVITATION_LIMIT: '1' })
    const browser = await givenSignedInBrowser(world, {
      name: 'Eve',
      role: 'owner',
      organizations: ['First', 'Second'],
    })
    const invite = async (name: string) => {
      const headers = { 'x-organization': (await world.organization(name)).id }
      const body = { email: `${name}@example.com` }
      return (await browser.call('/agents/invitations', { body, headers })).status
    }
    expect([await invite('First'), await invite('Second')]).toEqual([201, 429])
  })
})

onBothEngines('mails about webhooks', (_fresh, engine) => {
  test('have one limit for all organizations of an owner', async () => {
    const world = await givenApp(engine, SMTP)
    await givenUser(world, { name: 'Eve', role: 'owner', organizations: ['First', 'Second'] })
    const { db, clock } = world.deps
    const [first, second] = [await world.organization('First'), await world.organization('Second')]
    const content = { kind: 'webhook_active', organization: 'First', url: 'https://hooks.example.com/' } as const
    const recipients = Array.from({ length: 500 }, (_, number) => `victim${number}@example.com`)
    await queueMail(db, first.id, { about: 'whk_1', recipients, content }, clock.now())
    const webhook = { organizationId: second.id, webhookId: 'whk_2' }
    await notifyAboutWebhook(db, webhook, { kind: 'webhook_active', url: content.url }, clock.now())
    const ofSecond = await db.selectFrom('mails').select('id').where('organization_id', '=', second.id).execute()
    expect(ofSecond).toEqual([])
  })
})

onBothEngines('a change of the address', (_fresh, engine) => {
  const given = () => givenApp(engine, SMTP)
  const change = async (browser: Browser, newEmail: string) =>
    (await browser.call('/dashboard/auth/change-email', { body: { newEmail, password: PASSWORD } })).status

  test('is limited to a few new addresses, even with the correct password', async () => {
    const world = await given()
    const browser = await givenSignedInBrowser(world, { name: 'Eve' })
    const statuses = []
    for (let number = 0; number < 7; number++) statuses.push(await change(browser, `victim${number}@example.com`))
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429])
    expect(await world.deps.db.selectFrom('mails').select('id').execute()).toHaveLength(5)
  })

  test('is limited for a target address across accounts', async () => {
    const world = await given()
    const statuses = []
    for (const name of ['Eve', 'Mallory']) {
      const browser = await givenSignedInBrowser(world, { name })
      for (let number = 0; number < 2; number++) statuses.push(await change(browser, 'victim@example.com'))
    }
    expect(statuses).toEqual([200, 200, 200, 429])
  })
})

onBothEngines('signing up', (_fresh, engine) => {
  const body = { organization: 'Acme', name: 'Ada', email: 'Ada@example.com', password: PASSWORD }
  const SIGN_UP = '/dashboard/api/sign-up'

  test('creates the account only after the address is confirmed', async () => {
    const world = await givenApp(engine, { ...SMTP, SIGN_UP: 'open' })
    const browser = openBrowser(world)
    expect((await browser.call(SIGN_UP, { body })).body).toEqual({ confirm: true })
    const token = await mailedToken(world, 'ada@example.com', 'confirm-sign-up')
    const [text] = await mailsTo(world, 'ada@example.com')
    expect(text).not.toContain('Acme')
    const sign = { email: 'ada@example.com', password: PASSWORD }
    expect((await browser.call('/dashboard/auth/sign-in/email', { body: sign })).status).toBe(401)

    const confirm = (password?: string) =>
      browser.call('/dashboard/auth/verify-email', { body: { token, ...(password && { password }) } })
    // The holder of the address, who did not sign up, does not know the password.
    expect((await confirm()).status).toBe(400)
    expect((await confirm('a password of the holder')).body.errors).toEqual({ password: 'is wrong.' })
    expect((await browser.call('/dashboard/auth/sign-in/email', { body: sign })).status).toBe(401)
    expect((await confirm(PASSWORD)).status).toBe(200)
    await signIn(browser, 'ada@example.com')
    expect((await browser.call('/dashboard/api/me')).body.organizations).toMatchObject([
      { name: 'Acme', role: 'owner' },
    ])
    expect((await confirm(PASSWORD)).status).toBe(400)
  })

  test('does not disclose whether an address has an account', async () => {
    const world = await givenApp(engine, { ...SMTP, SIGN_UP: 'open' })
    await givenUser(world, { name: 'Ada' })
    const known = await openBrowser(world).call(SIGN_UP, { body })
    const unknown = await openBrowser(world).call(SIGN_UP, { body: { ...body, email: 'eve@example.com' } })
    expect([known.status, known.text]).toEqual([unknown.status, unknown.text])
    expect((await mailsTo(world, 'ada@example.com'))[0]).toContain('already has an account')
  })
})
