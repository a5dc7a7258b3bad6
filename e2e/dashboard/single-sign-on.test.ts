import { expect, onTestFinished, test } from 'vitest'
import { givenOidcProvider, OIDC_CLIENT } from '#server/testing/oidc-provider.ts'
import { freePort } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, givenEnvironment, givenServer } from '#server/testing/test-server.ts'
import { openBrowser } from './browser.ts'

test('a person signs in through the provider, and out of both', async () => {
  const { settings } = await givenEnvironment('sqlite')
  const first = await givenServer({ ...settings, ...ADMIN })
  const response = await fetch(`${first.url}/organization`, { headers: { 'X-Api-Key': ADMIN_KEY } })
  const { id: organization } = (await response.json()) as { id: string }
  await first.kill()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const provider = await givenOidcProvider([`${url}/dashboard/auth/oidc/company/callback`])
  provider.users.set('grace', { email: 'grace@example.com', email_verified: true, name: 'Grace' })
  const company = {
    ...{ id: 'company', name: 'Example Ltd', issuer: provider.issuer, domains: ['example.com'] },
    ...{ client_id: OIDC_CLIENT.id, client_secret: OIDC_CLIENT.secret, grants: [{ organization, role: 'member' }] },
  }
  await givenServer({ ...settings, PORT: String(port), BASE_URL: url, OIDC_PROVIDERS: JSON.stringify([company]) })

  const browser = await openBrowser()
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  await page.goto(`${url}/dashboard/zones`)
  await page.getByRole('link', { name: 'Sign in with Example Ltd' }).click()
  await page.locator('input[name=login]').fill('grace')
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
  await page.locator('button[type=submit]').click()
  await page.waitForURL(`${url}/dashboard/zones`)
  await page.getByRole('heading', { level: 1, name: 'Zones' }).waitFor()

  const signedOut = await page.evaluate(
    "fetch('/dashboard/auth/sign-out', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' }).then((response) => response.json())",
  )
  await page.goto((signedOut as { url: string }).url)
  await page.getByRole('button', { name: /sign me out/i }).click()
  await page.waitForURL(`${url}/dashboard/sign-in`)
  await page.goto(`${url}/dashboard/sign-in?problem=no_access`)
  expect(await page.getByRole('alert').textContent()).toContain('Ask your administrator to add you to a group')
  if (process.env.SHOT) await page.screenshot({ path: process.env.SHOT })
})
