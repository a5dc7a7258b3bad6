import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { ADMIN } from '#server/testing/test-server.ts'
import { givenDashboard } from './dashboard.ts'

/** The owner, on the overview, with a monitor that is valid and a webhook that delivered. */
async function givenOverview() {
  const world = await givenDashboard(ADMIN)
  world.dns.set('www.shop.example', 'A', ['203.0.113.10'])
  const { page, context } = await world.browse()
  const headers = { origin: world.server.url }
  const post = async (path: string, data: unknown) => (await page.request.post(path, { data, headers })).json()
  await post('/dashboard/auth/sign-in/email', { email: ADMIN.ADMIN_EMAIL, password: ADMIN.ADMIN_PASSWORD })
  const webhook = await post('/webhooks', { url: `${world.receiver.url}/hook`, groups: ['default'] })
  await post('/monitors', { full_domain: 'www.shop.example', record_type: 'A', expected_value: ['203.0.113.10'] })
  await page.clock.install()
  await page.goto('/dashboard')
  const verdict = (name: string) => page.getByRole('heading', { name, exact: true })
  await verdict('1 monitor valid').waitFor()
  return { ...world, page, context, post, webhook, verdict }
}

test('a failing webhook is at the top of the overview until it delivers again', async () => {
  const { page, post, receiver, webhook, verdict } = await givenOverview()
  receiver.answers(500)
  await post(`/webhooks/${webhook.id}/test`, {})
  await verdict('1 issue needs attention').waitFor()
  await page.getByRole('link', { name: /^The webhook .* is failing\. The last attempt was not accepted\.$/ }).waitFor()
  await page.getByText('1 failing').waitFor()
  receiver.answers(200)
  await post(`/webhooks/${webhook.id}/test`, {})
  await verdict('1 monitor valid').waitFor()
  await page.getByText('no failures').waitFor()
})

test('undelivered requests of all webhooks are listed with their attempts, and resent', async () => {
  const { page, post, receiver, webhook } = await givenOverview()
  await page.goto('/dashboard/webhooks')
  await page.getByRole('link', { name: 'Undelivered requests' }).click()
  await page.getByText('Everything is delivered').waitFor()
  receiver.answers(500)
  await post(`/webhooks/${webhook.id}/test`, {})
  await page.goto('/dashboard/webhooks/undelivered')
  await page.getByText('Everything is delivered').waitFor() // tests do not count

  await post('/monitors', { full_domain: 'shop.example', record_type: 'MX', expected_value: ['10 mail.shop.example'] })
  await page.goto('/dashboard/webhooks/undelivered?status=RETRYING')
  await expect
    .poll(async () => {
      await page.reload()
      return await page.getByRole('cell', { name: 'HTTP 500' }).count()
    })
    .toBe(1)
  await page.getByRole('button', { name: 'Failed' }).click()
  await page.getByText('No requests match this filter.').waitFor()
  await page.getByRole('button', { name: 'Retrying' }).click()
  await page.getByRole('cell', { name: 'HTTP 500' }).waitFor()
  receiver.answers(200)
  await page.getByRole('button', { name: 'Send all again' }).click()
  const dialog = page.getByRole('dialog', { name: 'Send requests again' })
  const start = dialog.getByRole('button', { name: 'Send again 1 request' })
  await runUntil(page, start)
  await dialog.getByText('1 request would be sent again.').waitFor()
  await start.click()
  await runUntil(page, dialog.getByText('1 request queued again'))
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await expect
    .poll(async () => {
      await page.reload()
      return await page.getByText('No requests match this filter.').isVisible()
    })
    .toBe(true)
})

/** The clock of the page stands still otherwise. */
async function runUntil(page: Page, shown: Locator) {
  await expect
    .poll(async () => {
      await page.clock.runFor(1_000)
      return await shown.isVisible()
    })
    .toBe(true)
}

test('a banner shows an unresponsive server and a lost network, and pages recover afterwards', async () => {
  const { page, context, server, verdict } = await givenOverview()
  const alert = page.getByRole('alert')
  process.kill(-server.pid, 'SIGSTOP') // the group: the supervisor and its processes
  await page.clock.runFor(15_000)
  await alert.getByText('Connection to the server lost.').waitFor()
  await verdict('The current state is unknown').waitFor()
  expect(await page.getByText('unknown', { exact: true }).count()).toBe(2)
  await page.getByRole('link', { name: 'Groups' }).first().click()
  await page.clock.runFor(15_000)
  await page.getByRole('heading', { name: 'Loading failed' }).waitFor()
  process.kill(-server.pid, 'SIGCONT')
  await alert.getByText('Connection to the server lost.').waitFor({ state: 'detached' })
  await page.getByRole('heading', { name: 'Groups', level: 1 }).waitFor()

  await context.setOffline(true)
  await alert.getByText('You are offline.').waitFor()
  await context.setOffline(false)
  await alert.getByText('You are offline.').waitFor({ state: 'detached' })
  expect(await page.getByRole('alert').innerText()).toBe('')
})
