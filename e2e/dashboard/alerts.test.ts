import { expect, test } from 'vitest'
import { systemClock } from '#server/clock.ts'
import { shareDashboard } from './dashboard.ts'

const DAY_MS = 24 * 60 * 60_000
const givenOwner = shareDashboard()

test('the list of rules marks rules with the same channel, and a rule filters by tags', async () => {
  const { page, server } = await givenOwner()
  const headers = { origin: server.url }
  const post = async (path: string, data: object) => {
    const answer = await page.request.post(path, { data, headers })
    return (await answer.json()) as { id: string }
  }
  const channel = (name: string) =>
    post('/channels', { name, type: 'http', settings: { endpoint: 'https://receiver.example/' } })
  const [shared, other] = [await channel('Shared'), await channel('Other')]
  await post('/alert-rules', { name: 'Web', channels: [shared.id], record_types: ['A'] })
  await post('/alert-rules', { name: 'Mail', channels: [shared.id], record_types: ['MX'] })
  await post('/alert-rules', { name: 'Elsewhere', channels: [other.id] })
  await post('/alert-rules', { name: 'Off', channels: [shared.id], is_active: false })

  await page.goto('/dashboard/alerts?tab=rules&open=new')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name', { exact: true }).fill('Production')
  await dialog.getByLabel('Tags').fill('prod, eu')
  await dialog.getByRole('checkbox', { name: 'Shared' }).click()
  await dialog.getByRole('button', { name: 'Create rule' }).click()
  await dialog.waitFor({ state: 'detached' })

  const row = (name: string) => page.getByRole('row').filter({ has: page.getByText(name, { exact: true }) })
  await row('Production').getByText('tag:prod tag:eu').waitFor()
  await row('Production').getByText('May send a failure to the same channel as Web, Mail.').waitFor()
  await row('Web').getByText('May send a failure to the same channel as Production.').waitFor()
  for (const name of ['Elsewhere', 'Off']) expect(await row(name).getByText('May send').count()).toBe(0)
})

test('a maintenance window is created in its form, which shows errors', async () => {
  const { page } = await givenOwner()
  const day = new Date(systemClock.now() + 30 * DAY_MS).toISOString().slice(0, 10)
  await page.goto('/dashboard/alerts?tab=maintenance')
  await page.getByRole('button', { name: 'New window' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name', { exact: true }).fill('Move')
  await dialog.getByLabel('From', { exact: true }).fill(`${day}T10:00`)
  await dialog.getByLabel('To', { exact: true }).fill(`${day}T09:00`)
  await dialog.getByRole('button', { name: 'Create window' }).click()
  await dialog.getByText('Must be later than from.').waitFor()
  await dialog.getByLabel('To', { exact: true }).fill(`${day}T12:00`)
  await dialog.getByLabel('Name pattern').fill('*.example.com')
  await dialog.getByRole('button', { name: 'Create window' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByText('Move', { exact: true }).waitFor()
  const answer = await page.request.get('/maintenance-windows')
  const { data } = (await answer.json()) as { data: object[] }
  expect(data).toMatchObject([{ name: 'Move', name_pattern: '*.example.com', groups: null, rrule: null }])
})

test('single monitors are added to a maintenance window by search', async () => {
  const { page, server } = await givenOwner()
  const headers = { origin: server.url }
  const post = async (path: string, data: object) =>
    (await (await page.request.post(path, { data, headers })).json()) as { id: string }
  const monitor = (full_domain: string) =>
    post('/monitors', { full_domain, record_type: 'A', expected_value: ['192.0.2.1'] })
  const [www, mail] = [await monitor('www.shop.example'), await monitor('mail.shop.example')]
  const day = new Date(systemClock.now() + DAY_MS).toISOString().slice(0, 10)
  const [from, to] = [`${day}T10:00:00.000Z`, `${day}T12:00:00.000Z`]
  const { id } = await post('/maintenance-windows', { name: 'Move', from, to, monitors: [www.id] })
  await page.goto('/dashboard/alerts?tab=maintenance')
  await page.getByRole('button', { name: 'More actions for Move' }).click()
  await page.getByRole('menuitem', { name: 'Edit' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('www.shop.example A').waitFor()
  await dialog.getByLabel('Monitors').fill('mail')
  await page.getByRole('option', { name: 'mail.shop.example A' }).click()
  await dialog.getByRole('button', { name: 'Remove www.shop.example A' }).click()
  await dialog.getByLabel('Name', { exact: true }).fill('Move the mail')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByText('Move the mail', { exact: true }).waitFor()
  const saved = (await (await page.request.get(`/maintenance-windows/${id}`)).json()) as object
  expect(saved).toMatchObject({ name: 'Move the mail', monitors: [mail.id], from, to })
})

test('alerts of a channel are resent, by period or one by one', async () => {
  const { page, server, receiver, dns } = await givenOwner()
  const headers = { origin: server.url }
  const post = async (path: string, data: object) =>
    (await (await page.request.post(path, { data, headers })).json()) as { id: string }
  dns.set('www.shop.example', 'A', ['192.0.2.1'])
  const settings = { endpoint: `${receiver.url}/alerts` }
  const channel = await post('/channels', { name: 'Receiver', type: 'http', settings })
  await post('/alert-rules', { name: 'All', channels: [channel.id], delay: 0, first_results: true })
  receiver.answers(410)
  await post('/monitors', { full_domain: 'www.shop.example', record_type: 'A', expected_value: ['192.0.2.9'] })
  await receiver.waitFor(1)
  receiver.answers(200)
  await page.goto('/dashboard/alerts?tab=channels')
  const row = page.getByRole('row').filter({ hasText: 'Receiver' })
  await row.getByText('HTTP request responded with 410').waitFor()
  await page.getByRole('button', { name: 'More actions for Receiver' }).click()
  await page.getByRole('menuitem', { name: 'Replay alerts' }).click()
  const dialog = page.getByRole('dialog', { name: 'Replay alerts' })
  expect(await dialog.getByRole('checkbox', { name: 'Sent' }).isChecked()).toBe(false)
  await dialog.getByRole('button', { name: 'Send again' }).click()
  await dialog.getByText('1 alert is being sent again.').waitFor()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await receiver.waitFor(2)

  await page.goto('/dashboard/alerts?tab=log')
  await page.getByRole('button', { name: 'www.shop.example A: Mismatch' }).click()
  const log = page.getByRole('dialog')
  await log.getByText('status 200').waitFor()
  await log.getByText('status 410').waitFor()
  await log.getByRole('button', { name: 'Send again' }).click()
  await receiver.waitFor(3)
})

/** Of 2 by 1 pixels. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAAD0lEQVR4nGP4z8DA8J8BAAf/Af8Bf4mnAAAAAElFTkSuQmCC'

test('the logo of the settings is on the public setup page', async () => {
  const { page, server, browse } = await givenOwner()
  await page.goto('/dashboard/settings')
  const file = { name: 'logo.png', mimeType: 'image/png', buffer: Buffer.from(PNG, 'base64') }
  await page.getByLabel('Logo file').setInputFiles(file)
  await page.getByRole('img', { name: 'Current logo' }).waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Settings saved.').waitFor()

  const data = { full_domain: 'shop.customer.example', record_type: 'A', expected_value: ['192.0.2.1'], until: 'valid' }
  const answer = await page.request.post('/monitors', { data, headers: { origin: server.url } })
  const { wait } = (await answer.json()) as { wait: { setup_page: { url: string } } }
  const customer = (await browse()).page
  await customer.goto(new URL(wait.setup_page.url).pathname)
  const logo = customer.locator('header img')
  await logo.waitFor()
  expect(await logo.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(2)

  await page.getByRole('button', { name: 'Remove logo' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('img', { name: 'Current logo' }).waitFor({ state: 'detached' })
  await customer.reload()
  await customer.getByRole('heading', { name: 'Connect shop.customer.example' }).waitFor()
  expect(await logo.count()).toBe(0)
})
