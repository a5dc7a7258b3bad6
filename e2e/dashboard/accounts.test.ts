import { TOTP } from 'otpauth'
import { expect, test } from 'vitest'
import { givenDashboard, OWNER, setUp, shareDashboard, signIn } from './dashboard.ts'
import { findSetupLink } from './setup-link.ts'

const givenOwner = shareDashboard({ SIGN_UP: 'open' })

test('a new server is set up by the link in its log, once', async () => {
  const world = await givenDashboard()
  const { page } = await world.browse()
  await page.goto('/')
  await page.getByText('one-time set-up link').waitFor()
  const link = await findSetupLink(world.server)
  await setUp(world, page)
  expect(await page.getByText(OWNER.name).isVisible()).toBe(true)

  const stranger = await world.browse()
  await stranger.page.goto(link)
  await stranger.page.getByLabel('Organization').fill('Theirs')
  await stranger.page.getByLabel('Your name').fill('Mallory')
  await stranger.page.getByLabel('Email').fill('mallory@example.com')
  await stranger.page.getByLabel('Password').fill('another password')
  await stranger.page.getByRole('button', { name: 'Set up' }).click()
  await stranger.page.getByRole('alert').getByText('This setup link was already used').waitFor()
})

test('sign-in opens the requested page, and sign-out ends the session', async () => {
  const { page, context, owner, ...world } = await givenOwner()
  const stolen = await context.cookies()
  await page.goto('/dashboard')
  await page.getByRole('button', { name: 'account and appearance' }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()

  const thief = await world.browse()
  await thief.context.addCookies(stolen)
  await thief.page.goto('/dashboard/monitors')
  await thief.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  const cookie = stolen.map(({ name, value }) => `${name}=${value}`).join('; ')
  expect((await fetch(`${world.server.url}/monitors`, { headers: { cookie } })).status).toBe(401)

  await page.goto('/dashboard/settings')
  await page.getByLabel('Email').fill(owner.email)
  await page.getByLabel('Password').fill('not the password')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').waitFor()
  await page.getByLabel('Password').fill(owner.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Settings' }).waitFor()
})

test('two-factor authentication is set up with an app, and a recovery code replaces the app once', async () => {
  const { page, owner, ...world } = await givenOwner()
  await page.goto('/dashboard/profile')
  await page.getByRole('button', { name: 'Set up' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Current password').fill(owner.password)
  await dialog.getByRole('button', { name: 'Continue' }).click()
  const key = await dialog.getByText('Or enter this key').locator('span').innerText()
  await dialog.getByLabel('Six-digit code').fill(new TOTP({ secret: key }).generate())
  await dialog.getByRole('button', { name: 'Turn on' }).click()
  await dialog.getByRole('button', { name: 'I saved the codes' }).waitFor()
  const codes = await dialog.getByRole('listitem').allInnerTexts()
  expect(new Set(codes).size).toBeGreaterThanOrEqual(8)
  await dialog.getByRole('button', { name: 'I saved the codes' }).click()

  const elsewhere = await world.browse()
  await signIn(elsewhere.page, owner)
  await elsewhere.page.getByLabel('Six-digit code').fill('000000')
  await elsewhere.page.getByRole('button', { name: 'Sign in' }).click()
  await elsewhere.page.getByRole('alert').waitFor()
  // Each code is accepted once, and the next one already.
  const next = new TOTP({ secret: key }).generate({ timestamp: Date.now() + 30_000 })
  await elsewhere.page.getByLabel('Six-digit code').fill(next)
  await elsewhere.page.getByRole('button', { name: 'Sign in' }).click()
  await elsewhere.page.getByRole('navigation', { name: 'Main' }).waitFor()

  const without = await world.browse()
  await signIn(without.page, owner)
  await without.page.getByRole('button', { name: 'Use a recovery code' }).click()
  await without.page.getByLabel('Recovery code').fill(codes[0]!)
  await without.page.getByRole('button', { name: 'Sign in' }).click()
  await without.page.getByRole('navigation', { name: 'Main' }).waitFor()

  await page.getByRole('button', { name: 'Turn off' }).click()
  await dialog.getByLabel('Current password').fill(owner.password)
  await dialog.getByLabel('Code').fill(codes[0]!)
  await dialog.getByRole('button', { name: 'Continue' }).click()
  await dialog.getByText('already used').waitFor()
  await dialog.getByLabel('Code').fill(codes[1]!)
  await dialog.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('You sign in with your password only.').waitFor()
})

test('another session is signed out from the list, and its pages ask for sign-in', async () => {
  const { page, owner, ...world } = await givenOwner()
  const other = await world.browse()
  await signIn(other.page, owner)
  await other.page.getByRole('navigation', { name: 'Main' }).waitFor()
  await page.goto('/dashboard/profile')
  await page.getByRole('button', { name: 'Sign out', exact: true }).click()
  await page.getByText('Session signed out.').waitFor()
  // The page may have noticed by itself, and then its dialog covers the link.
  await other.page.getByRole('link', { name: 'Groups' }).dispatchEvent('click')
  await other.page.getByRole('heading', { name: 'Sign in' }).waitFor()
})

test('another website can neither write nor read with the session', async () => {
  const { page, context, owner, ...world } = await givenOwner()
  const cookie = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
  const foreign = {
    cookie,
    origin: 'https://evil.example',
    'sec-fetch-site': 'cross-site',
    'content-type': 'application/json',
  }
  const group = { method: 'POST', body: JSON.stringify({ name: 'Theirs' }) }
  expect((await fetch(`${world.server.url}/groups`, { ...group, headers: foreign })).status).toBe(403)
  expect(
    (await fetch(`${world.server.url}/groups`, { ...group, headers: { cookie, 'content-type': 'application/json' } }))
      .status,
  ).toBe(403)
  expect((await fetch(`${world.server.url}/groups`, { headers: foreign })).status).toBe(401)
  expect((await context.cookies()).every(({ httpOnly, sameSite }) => httpOnly && sameSite === 'Lax')).toBe(true)
})

test('a second organization has its own pages', async () => {
  const { page, owner } = await givenOwner()
  await page.goto('/dashboard')
  await page.getByRole('link', { name: 'Groups' }).click()
  await page.getByRole('button', { name: 'New group' }).first().click()
  await page.getByRole('dialog').getByLabel('Name').fill('Only of the first')
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /Make|Create/ })
    .click()
  await page.getByText('Only of the first').first().waitFor()

  await page.getByRole('button', { name: owner.organization }).click()
  await page.getByRole('menuitem', { name: 'New organization' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('Second')
  await page.getByRole('button', { name: 'Create organization' }).click()
  await page.getByRole('button', { name: 'Second' }).waitFor()
  await page.getByRole('link', { name: 'Groups' }).click()
  await page.getByRole('main').getByText('Default').first().waitFor()
  expect(await page.getByRole('main').getByText('Only of the first').count()).toBe(0)

  await page.getByRole('button', { name: 'Second' }).click()
  await page.getByRole('menuitem', { name: owner.organization }).click()
  await page.getByRole('link', { name: 'Groups' }).click()
  await page.getByText('Only of the first').first().waitFor()
})

test('an owner deletes the organization in seven days, everybody sees it, and it can be canceled', async () => {
  const { page } = await givenOwner()
  await page.goto('/dashboard/settings')
  const name = await page.getByLabel('Name', { exact: true }).inputValue()
  await page.getByRole('button', { name: 'Delete organization' }).click()
  const dialog = page.getByRole('dialog')
  const submit = dialog.getByRole('button', { name: 'Delete in 7 days' })
  await dialog.getByLabel('Type the name').fill(`${name} not`)
  expect(await submit.isEnabled()).toBe(false)
  await dialog.getByLabel('Type the name').fill(name)
  await submit.click()
  await page.getByRole('status').getByText('This organization is deleted at').waitFor()
  await page.goto('/dashboard/monitors')
  await page.getByRole('link', { name: 'Cancel the deletion' }).click()
  await page.getByRole('button', { name: 'Cancel the deletion' }).click()
  await page.getByRole('button', { name: 'Delete organization' }).waitFor()
  expect(await page.getByText('This organization is deleted at').count()).toBe(0)
})

test('a person downloads the own data, and sees why the last owner cannot delete the account', async () => {
  const { page, owner } = await givenOwner()
  await page.goto('/dashboard/profile')
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download your data' }).click()
  expect((await downloading).suggestedFilename()).toBe('zonewatch-my-data.json')
  await page.getByRole('button', { name: 'Delete account' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Current password').fill(owner.password)
  await dialog.getByRole('button', { name: 'Delete account' }).click()
  await dialog.getByText(`${owner.email} is the last owner of`).waitFor()
})
