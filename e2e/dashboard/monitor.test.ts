import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { Monitor, NewMonitor } from '#contract/monitors.ts'
import { type Dashboard, shareDashboard } from './dashboard.ts'

const NAME = 'www.shop.example'
const givenOwner = shareDashboard()

/** The owner, on the page of a monitor of www.shop.example A that is valid. */
async function givenMonitor(given: Partial<NewMonitor> = {}): Promise<Dashboard & { page: Page; monitor: Monitor }> {
  const { page, ...world } = await givenOwner()
  world.dns.set(NAME, 'A', ['203.0.113.10'])
  const headers = { origin: world.server.url }
  const data: NewMonitor = { full_domain: NAME, record_type: 'A', expected_value: ['203.0.113.10'], ...given }
  const answer = await page.request.post('/monitors', { data, headers })
  expect(answer.status()).toBe(201)
  const monitor: Monitor = await answer.json()
  await page.goto(`/dashboard/monitors/${monitor.id}`)
  await verdictOf(page).getByText('Valid', { exact: true }).waitFor()
  return { ...world, page, monitor }
}

const verdictOf = (page: Page) => page.getByRole('region', { name: 'Verdict' })

test('differences are shown record by record, with advice, and can be accepted', async () => {
  const { dns, page } = await givenMonitor()
  const verdict = verdictOf(page)
  dns.set(NAME, 'A', ['198.51.100.66'])
  await page.getByRole('button', { name: 'Check now' }).click()
  await verdict.getByText('Checked just now: Mismatch.').waitFor()
  await verdict.getByRole('heading', { name: 'Replace the records' }).waitFor()
  expect(await page.getByRole('row', { name: /203\.0\.113\.10.*Missing/ }).count()).toBe(1)
  expect(await page.getByRole('row', { name: /198\.51\.100\.66.*Unexpected/ }).count()).toBe(1)

  await verdict.getByRole('button', { name: 'Accept current values' }).click()
  const question = page.getByRole('alertdialog')
  expect(await question.getByRole('listitem').allInnerTexts()).toEqual([
    expect.stringContaining('203.0.113.10'),
    expect.stringContaining('198.51.100.66'),
  ])
  await question.getByRole('button', { name: 'Accept' }).click()
  await verdict.getByText('Valid', { exact: true }).waitFor()
  await page.getByRole('row', { name: /198\.51\.100\.66.*As expected/ }).waitFor()
})

test('hidden characters of records, expected values and labels are shown on the page and in the list', async () => {
  const { dns, page, monitor, ...world } = await givenMonitor({ metadata: { customer: 'ac\u200bme' } })
  const headers = { origin: world.server.url }
  dns.set(NAME, 'TXT', ['v=one\u202e\u0007'])
  const data = { full_domain: NAME, record_type: 'TXT', expected_value: ['v=one\u2066'] }
  const created = await page.request.post('/monitors', { data, headers })
  expect(created.status()).toBe(201)
  await page.getByText('ac<U+200B>me').waitFor()

  await page.goto(`/dashboard/monitors/${(await created.json()).id}`)
  await page.getByRole('row', { name: /v=one<U\+202E><U\+0007>.*Unexpected/ }).waitFor()
  await page.getByRole('row', { name: /v=one<U\+2066>.*Missing/ }).waitFor()
  await verdictOf(page)
    .getByRole('heading', { name: /answers v=one<U\+202E><U\+0007> instead of v=one<U\+2066>/ })
    .waitFor()
  await page.goto('/dashboard/monitors')
  await page.getByText('v=one<U+2066>').first().waitFor()
  expect(await page.locator('body').innerText()).not.toMatch(/[\u200b\u202e\u2066]/)
})

test('an event has its own URL, which shows its evidence', async () => {
  const { dns, page, ...world } = await givenMonitor()
  dns.remove(NAME, 'A')
  await page.getByRole('button', { name: 'Check now' }).click()
  await verdictOf(page).getByText('Not found', { exact: true }).waitFor()
  await page.getByRole('link', { name: /Valid to Not found/ }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(`${NAME} does not exist (NXDOMAIN).`).waitFor()
  await dialog.getByText(/^Collected .*\d{4}/).waitFor()
  const address = page.url()
  expect(address).toContain('?event=evt_')

  const other = await world.browse()
  await other.context.addCookies(await page.context().cookies())
  await other.page.goto(address)
  await other.page.getByRole('dialog').getByText('NXDOMAIN', { exact: true }).first().waitFor()
  await other.page.keyboard.press('Escape')
  await other.page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(other.page.url()).not.toContain('event=')
})

test('a confirmation without a change is shown next to the evidence of the last change', async () => {
  const { dns, page } = await givenMonitor()
  let turn = 0
  dns.rotate(NAME, 'A', ['203.0.113.10', '203.0.113.11'], 1, () => (turn++ % 2 === 0 ? 0.9 : 0.1))
  const latest = page.locator('section', { has: page.getByRole('heading', { name: /^Latest (check|confirmation)$/ }) })
  expect(await latest.count()).toBe(0)
  await page.getByRole('button', { name: 'Check now' }).click()
  await latest.getByText(/^(The latest check|What was seen so far\.) .*Collected .*\d{4}/).waitFor()
  await latest.getByText('One server answered.').waitFor()
  expect(await latest.getByText('203.0.113.11').count()).toBeGreaterThan(0)
  await latest.getByRole('button', { name: /^\d+ queries to 127\.0\.0\.1:/ }).press('Enter')
  expect(await latest.getByRole('list', { name: 'Queries' }).getByText('NOERROR').count()).toBeGreaterThan(1)
  expect(await verdictOf(page).getByText('Valid', { exact: true }).count()).toBe(1)
})

test('the arrow keys move along the timeline, and its range is in the URL', async () => {
  const { page } = await givenMonitor()
  await page.getByRole('button', { name: '30 d' }).click()
  await page.waitForURL(/range=30d/)
  await page.getByText('A percentage appears when a whole day is known.').waitFor()
  const picture = page.getByRole('slider', { name: 'State over time' })
  await picture.focus()
  await page.keyboard.press('End')
  expect(await picture.getAttribute('aria-valuetext')).toMatch(/^Valid \(VALID\): /)
  await page.keyboard.press('Home')
  expect(await picture.getAttribute('aria-valuetext')).toMatch(/^Unknown: /)
})

test('errors of an edit are shown at the fields, and a valid edit is checked at once', async () => {
  const { page } = await givenMonitor()
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  const form = page.getByRole('dialog', { name: 'Edit monitor' })
  await form.getByRole('textbox', { name: 'Value 1' }).fill('not an address')
  await form.getByLabel('Check interval in minutes').fill('3')
  await form.getByText('Zonewatch resets the state').waitFor()
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByText('"not an address" is not an IPv4 address').waitFor()
  await form.getByText('must be from 5 to 120').waitFor()

  await form.getByRole('textbox', { name: 'Value 1' }).fill('198.51.100.66')
  await form.getByLabel('Check interval in minutes').fill('30')
  await form.getByRole('button', { name: 'Save' }).click()
  await form.waitFor({ state: 'detached' })
  await verdictOf(page).getByText('Mismatch', { exact: true }).waitFor()
  await page.getByText('every 30 minutes').waitFor()
  await page.getByText(/^No changes in the last/).waitFor()
  await page
    .getByText('No changes. The first result of a new monitor or of new expected values is not counted.')
    .waitFor()
  expect(await page.getByText('first result', { exact: true }).count()).toBe(2)
})

test('a monitor is disabled, enabled and deleted', async () => {
  const { page, monitor } = await givenMonitor()
  const choose = async (name: string) => {
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name }).click()
  }
  await choose('Disable')
  await page.getByRole('heading', { level: 1 }).getByText('Disabled').waitFor()
  await page.getByRole('button', { name: 'Enable' }).click()
  await page.getByRole('button', { name: 'Check now' }).waitFor()

  await choose('Delete')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete monitor' }).click()
  await page.waitForURL(/\/dashboard\/monitors$/)
  expect((await page.request.get(`/monitors/${monitor.id}`)).status()).toBe(404)
})

test('new events appear at the top of the list, which is filtered by its URL and exported', async () => {
  const { dns, page, monitor } = await givenMonitor()
  await page.goto('/dashboard/events?new=NOT_FOUND')
  await page.getByRole('heading', { name: 'No matching events' }).waitFor()
  dns.remove(NAME, 'A')
  // A request without a page would be refused: this one says whose it is.
  const headers = { origin: new URL(page.url()).origin }
  expect((await page.request.post(`/monitors/${monitor.id}/check`, { headers })).status()).toBe(202)
  const line = page.getByRole('main').getByRole('listitem').filter({ hasText: NAME })
  await line.getByText('Not found').waitFor()

  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Export CSV' }).click(),
  ])
  const chunks = await (await download.createReadStream()).toArray()
  const lines = Buffer.concat(chunks).toString().trim().split('\r\n')
  expect(lines).toHaveLength(2)
  expect(lines[1]).toContain('NOT_FOUND')

  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.getByText('1 first result in the last 24 hours').waitFor()
  expect(await line.count()).toBe(1)
  expect(page.url()).not.toContain('NOT_FOUND')
  await page.getByRole('link', { name: 'Show first results' }).click()
  await line.getByText('Valid').waitFor()
  await line.getByText('first result').waitFor()
})
test('the name of a record below the root is complete in the list and on its page', async () => {
  const { page, server } = await givenOwner()
  const data = {
    domain: '.',
    subdomain: 'com',
    record_type: 'NS',
    expected_value: ['ns1.example.com'],
    is_active: false,
  }
  const { id } = await (await page.request.post('/monitors', { data, headers: { origin: server.url } })).json()
  for (const path of ['/dashboard/monitors', `/dashboard/monitors/${id}`]) {
    await page.goto(path)
    await page.getByText('com', { exact: true }).first().waitFor()
    expect(await page.locator('main').innerText()).not.toContain('com.')
  }
})
