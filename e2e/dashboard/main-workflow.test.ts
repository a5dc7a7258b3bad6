import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { givenDashboard, setUp, shareDashboard } from './dashboard.ts'

const givenOwner = shareDashboard()

/** A webhook for the receiver, made on its page; ends on the webhook's own page. */
async function connectWebhook(page: Page, url: string): Promise<void> {
  await page.getByRole('link', { name: 'Webhooks' }).click()
  await page.getByRole('button', { name: 'New webhook' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('URL').fill(url)
  await dialog.getByRole('button', { name: 'Create webhook' }).click()
  await dialog
    .getByText(/^whsec_/)
    .first()
    .waitFor()
  await dialog.getByRole('button', { name: 'Go to webhook' }).click()
}

/** Ends on the new monitor's page. */
async function watch(page: Page, name: string, type: string): Promise<void> {
  await page.goto('/dashboard/monitors/new')
  await page.getByLabel('Name or address').fill(name)
  await page.getByRole('checkbox', { name: `Monitor ${type}`, exact: true }).click()
  await page.getByRole('button', { name: 'Create monitor' }).click()
  await page.waitForURL(/monitors\/mon_/)
}

test('a user completes the main workflow in the browser only', async () => {
  const { dns, receiver, ...world } = await givenDashboard()
  dns.set('www.shop.example', 'A', ['203.0.113.10'])
  const { page } = await world.browse()
  await setUp(world, page)
  await connectWebhook(page, `${receiver.url}/dns-changes`)
  const webhookPage = page.url()
  await watch(page, 'www.shop.example', 'A')
  const verdict = page.getByRole('main')
  await verdict.getByText('Valid', { exact: true }).first().waitFor()

  dns.set('www.shop.example', 'A', ['198.51.100.66'])
  await page.getByRole('button', { name: 'Check now' }).click()
  // Without reloading the page.
  await verdict.getByText('www.shop.example answers 198.51.100.66 instead of 203.0.113.10.').first().waitFor()
  await verdict.getByText('Mismatch', { exact: true }).first().waitFor()
  await receiver.waitFor(2)

  await page.goto(webhookPage)
  await page.getByRole('row', { name: /Delivered.*Valid.*Mismatch/ }).waitFor()
  await page.getByRole('button', { name: /Valid.*Mismatch/ }).click()
  const request = page.getByRole('dialog')
  await request.getByText('198.51.100.66').first().waitFor()
})

/** What a person without a mouse does: Tab until the element with this name has the focus. */
async function tabTo(page: Page, name: RegExp, most = 60): Promise<void> {
  for (let presses = 0; presses < most; presses++) {
    await page.keyboard.press('Tab')
    const focused = page.locator(':focus')
    const label =
      (await focused.getAttribute('aria-label').catch(() => null)) ?? (await focused.innerText().catch(() => ''))
    if (name.test(label)) return
  }
  throw new Error(`nothing called ${name} within ${most} presses of Tab`)
}

test('a monitor is created by keyboard only', async () => {
  const { dns, page } = await givenOwner()
  dns.set('www.shop.example', 'A', ['203.0.113.10'])
  await page.goto('/dashboard')
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.type('new monitor')
  await page.getByRole('option', { name: /New monitor/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/monitors\/new/)
  await page.getByRole('heading', { name: 'New monitor' }).waitFor()
  await page.getByLabel('Name or address').focus()
  await page.keyboard.type('www.shop.example')
  const choice = page.getByRole('checkbox', { name: 'Monitor A', exact: true })
  await choice.waitFor()
  for (
    let presses = 0;
    presses < 20 &&
    !(await choice.evaluate('document.activeElement?.getAttribute("role") === "checkbox"').catch(() => false));
    presses++
  ) {
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Space')
  await tabTo(page, /Create monitor/)
  await page.keyboard.press('Enter')
  await page.waitForURL(/monitors\/mon_/)
})

test('an uncommon record type is selected under other types', async () => {
  const { dns, page } = await givenOwner()
  dns.set('host.shop.example', 'NAPTR', ['\\# 16 0064000a0155074532552b7369700000'])
  await page.goto('/dashboard/monitors/new')
  await page.getByLabel('Name or address').fill('host.shop.example')
  await page.getByText('Other record types').click()
  await page.getByRole('button', { name: /^Monitor NAPTR/ }).click()
  await page.getByLabel('Expected value 1 of NAPTR').fill('100 10 u E2U+sip "" .')
  await page.getByRole('button', { name: 'Create monitor' }).click()
  await page.waitForURL(/monitors\/mon_/)
  await page.getByRole('main').getByText('Valid', { exact: true }).first().waitFor()
})

test('a change is shown without reloading, and the overview shows its cause', async () => {
  const { dns, page, ...world } = await givenOwner()
  dns.set('www.shop.example', 'A', ['203.0.113.10'])
  await watch(page, 'www.shop.example', 'A')
  await page.getByRole('main').getByText('Valid', { exact: true }).first().waitFor()
  const monitorPath = new URL(page.url()).pathname
  await page.getByRole('link', { name: 'Overview' }).click()

  dns.remove('www.shop.example', 'A')
  const other = await world.browse()
  await other.context.addCookies(await page.context().cookies())
  await other.page.goto(monitorPath)
  await other.page.getByRole('button', { name: 'Check now' }).click()
  await page.getByRole('main').getByText('www.shop.example').first().waitFor()
  await page.getByRole('main').getByText('Not found').first().waitFor()
})

test('a successful test resumes a paused webhook', async () => {
  const { receiver, page } = await givenOwner()
  receiver.answers(410)
  await page.goto('/dashboard')
  await connectWebhook(page, `${receiver.url}/gone`)
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.getByText('Paused', { exact: true }).first().waitFor()
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('link', { name: /^The webhook .*\/gone is paused/ }).click()

  receiver.answers(200)
  await page.getByRole('button', { name: 'Send a test' }).first().click()
  await page.getByText('Active', { exact: true }).first().waitFor()
})

test('a replay counts the requests of each status, and excludes delivered ones', async () => {
  const { page, receiver, dns, server } = await givenOwner()
  dns.set('www.shop.example', 'A', ['203.0.113.10'])
  const headers = { origin: server.url }
  const post = async (path: string, data: unknown) => (await page.request.post(path, { data, headers })).json()
  const { id } = await post('/webhooks', { url: `${receiver.url}/hook`, groups: ['default'] })
  await post('/monitors', { full_domain: 'www.shop.example', record_type: 'A', expected_value: ['203.0.113.10'] })
  await page.goto(`/dashboard/webhooks/${id}`)
  await page.getByRole('main').getByText('Delivered').nth(1).waitFor()
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Replay requests' }).click()

  const dialog = page.getByRole('dialog', { name: 'Replay requests' })
  const delivered = dialog.getByRole('checkbox', { name: /^Delivered\s*1/ })
  await delivered.waitFor()
  expect(await delivered.isChecked()).toBe(false)
  for (const status of ['Failed', 'Retrying', 'Pending'])
    expect(await dialog.getByRole('checkbox', { name: new RegExp(`^${status}\\s*0`) }).isChecked()).toBe(true)
  expect(await dialog.getByRole('button', { name: 'Send again' }).isDisabled()).toBe(true)
  await delivered.click()
  await dialog.getByRole('button', { name: 'Send 1 request again' }).click()
  await dialog.getByText('1 request is being sent again').waitFor()
})

test('a zone file of 1,000 records is imported, and imported again after a change', async () => {
  const { dns, page } = await givenOwner()
  const lines = Array.from({ length: 1_000 }, (_, at) => `host-${at}\t300\tIN\tA\t192.0.2.${(at % 250) + 1}`)
  for (let at = 0; at < 1_000; at++) dns.set(`host-${at}.zone.example`, 'A', [`192.0.2.${(at % 250) + 1}`])
  await page.goto('/dashboard/monitors/import')
  const read = async () => {
    const text = `$ORIGIN zone.example.\n${lines.join('\n')}\n`
    await page.getByRole('textbox').first().fill(text)
    await page.getByRole('button', { name: 'Preview' }).click()
  }
  await read()
  await page.getByRole('button', { name: 'Create 1,000 monitors' }).click()
  await page.getByRole('heading', { name: '1,000 monitors were created' }).waitFor()
  lines[7] = 'host-7\t300\tIN\tA\t198.51.100.7'
  await page.getByRole('button', { name: 'Import more' }).click()
  await read()
  await page.getByRole('button', { name: 'Changed 1' }).click()
  await page.getByText('A monitor in group default expects exactly 192.0.2.8.').waitFor()
  await page.getByRole('checkbox', { name: 'Update host-7.zone.example A' }).check()
  await page.getByRole('button', { name: 'Update 1 monitor' }).click()
  await page.getByRole('heading', { name: '1 monitor was updated' }).waitFor()
  await page.goto('/dashboard/monitors?search=host-7.zone.example')
  await page.getByText('198.51.100.7').first().waitFor()
  await page.goto('/dashboard')
  await page.getByText(/^[\d,]+ first results in the last 24 hours/).waitFor()
  await page.getByText('No changes yet.').waitFor()
})
