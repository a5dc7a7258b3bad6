import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { systemClock } from '#server/clock.ts'
import { type MailServer, startMailServer } from '#server/testing/smtp.ts'
import { eventually } from '#server/testing/test-server.ts'
import { givenDashboard, OWNER, setUp } from './dashboard.ts'

const NAME = 'www.shop.example'
const [OLD, NEW, WRONG] = ['203.0.113.10', '203.0.113.20', '198.51.100.66']
const CUSTOMER = 'shop.customer.example'

test('a new user connects channels, breaks a record, acknowledges by email, plans a change and sends a customer a link', async () => {
  const mail = await startMailServer()
  const { dns, receiver, ...world } = await givenDashboard({ SMTP_URL: mail.url, MAIL_FROM: 'zonewatch@example.com' })
  dns.set(NAME, 'A', [OLD])
  const { page } = await world.browse()
  await setUp(world, page)

  await connectSlack(page, `${receiver.url}/services/T000/B000/XXXX`)
  expect(JSON.parse(receiver.received[0]!.body.toString()).text).toContain('This is a test.')
  await alertAtOnce(page)
  await create(page, NAME, 'A')
  const verdict = page.getByRole('region', { name: 'Verdict' })
  await verdict.getByText('Valid', { exact: true }).waitFor()
  const rules = page.locator('section', { has: page.getByRole('heading', { name: 'Alert rules' }) })
  await rules.getByText('Every failure: at once, to Email to owners.').waitFor()

  dns.set(NAME, 'A', [WRONG])
  await checkNow(page)
  await verdict.getByText('Mismatch', { exact: true }).waitFor()
  const text = await alertTo(mail)
  expect(text).toContain(`${NAME} answers ${WRONG} instead of ${OLD}.`)
  expect(text).toContain('What to do: Replace')
  await acknowledge(await world.browse(), text)
  const monitorPage = page.url()
  await page.goto('/dashboard/alerts')
  await page.getByText('Acknowledged', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'shop.example' }).click()
  await page.getByRole('heading', { name: 'Timeline' }).waitFor()
  await page.getByText(`Acknowledged by ${OWNER.email}`).first().waitFor()

  dns.set(NAME, 'A', [OLD])
  await page.goto(monitorPage)
  await checkNow(page)
  await verdict.getByText('Valid', { exact: true }).waitFor()
  await planChange(page)
  const plan = page.locator('section', { has: page.getByRole('heading', { name: 'Planned change', exact: true }) })
  await plan.getByText('In progress', { exact: true }).waitFor()
  await checkNow(page)
  await plan.getByText('Old values', { exact: true }).first().waitFor()
  dns.set(NAME, 'A', [NEW], { ttl: 1 })
  await checkNow(page)
  await plan.getByText('Done', { exact: true }).waitFor()
  await page.getByRole('row', { name: new RegExp(`${NEW}.*As expected`) }).waitFor()
  expect(alertsOf(mail).filter((subject) => subject.startsWith('[Failing]'))).toHaveLength(1)

  await create(page, CUSTOMER, 'CNAME', 'stores.shop.example')
  const link = await page.getByRole('link', { name: 'Open page' }).getAttribute('href')
  const customer = (await world.browse()).page
  await customer.goto(new URL(link!).pathname)
  await customer.getByText('Waiting for your record').waitFor()
  await customer.getByText('stores.shop.example', { exact: true }).waitFor()
  dns.set(CUSTOMER, 'CNAME', ['stores.shop.example'])
  // Without reloading the page.
  await customer.getByText('Everything is connected').waitFor()
  await page.getByText('Only the regular checks continue.').waitFor()
}, 240_000)

/** With a test whose result is shown. */
async function connectSlack(page: Page, url: string): Promise<void> {
  await page.goto('/dashboard/alerts?tab=channels')
  await page.getByRole('button', { name: 'New channel' }).click()
  const dialog = page.getByRole('dialog', { name: 'New channel' })
  await dialog.getByLabel('Type').click()
  await page.getByRole('option', { name: 'Slack', exact: true }).click()
  await dialog.getByLabel('Webhook URL').fill(url)
  await dialog.getByRole('button', { name: 'Create channel' }).click()
  const test = page.getByRole('dialog', { name: 'Send test' })
  await test.getByRole('button', { name: 'Send test' }).click()
  await test.getByText('status 200').waitFor()
  await test.getByText('Sent', { exact: true }).waitFor()
  await test.getByRole('button', { name: 'Close' }).last().click()
}

/** The rule that every organization has waits ten minutes. */
async function alertAtOnce(page: Page): Promise<void> {
  await page.goto('/dashboard/alerts?tab=rules')
  await page.getByRole('button', { name: 'More actions for All monitors', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Edit' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Delay in minutes').fill('0')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
}

/** Ends on the page of the monitor. With a value, the record does not exist yet: a customer creates it. */
async function create(page: Page, name: string, type: string, value?: string): Promise<void> {
  await page.goto('/dashboard/monitors/new')
  await page.getByLabel('Name or address').fill(name)
  if (value === undefined) await page.getByRole('checkbox', { name: `Monitor ${type}`, exact: true }).click()
  else {
    await page.getByText('Other record types').click()
    await page.getByRole('button', { name: new RegExp(`^Monitor ${type}`) }).click()
    await page.getByLabel(`Expected value 1 of ${type}`).fill(value)
    await page.getByRole('switch', { name: 'Wait for a customer' }).click()
  }
  await page.getByRole('button', { name: 'Create monitor' }).click()
  await page.waitForURL(/monitors\/mon_/)
}

async function checkNow(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Check now' }).click()
  await page.getByRole('status').filter({ hasText: 'Checked just now' }).waitFor()
}

const alertsOf = (mail: MailServer): string[] =>
  mail.received.flatMap(({ source }) => /^Subject: (\[(?:Failing|Recovered)\].*)$/m.exec(source)?.[1] ?? [])

/** The text of the one mail about the failure. */
async function alertTo(mail: MailServer): Promise<string> {
  await eventually(
    async () => alertsOf(mail),
    ({ length }) => length > 0,
  )
  const { to, source } = mail.received.find((one) => /^Subject: \[Failing\]/m.test(one.source))!
  expect(to).toEqual([OWNER.email])
  const encoded = source.split('Content-Type: text/plain')[1]!.split('Content-Type: text/html')[0]!
  return encoded.replace(/=\r\n/g, '').replace(/=3D/g, '=')
}

/** In a browser where nobody is signed in. */
async function acknowledge({ page }: { page: Page }, text: string): Promise<void> {
  await page.goto(/\/dashboard\/alert-acknowledgement\/\S+/.exec(text)![0])
  await page.getByRole('button', { name: 'Acknowledge' }).click()
  await page.getByText(`Acknowledged by ${OWNER.email}`).waitFor()
}

async function planChange(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Plan a change' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('New values').fill(NEW)
  const now = new Date(systemClock.now())
  const local = new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
  await dialog.getByLabel('From').fill(local)
  await dialog.getByRole('button', { name: 'Plan change' }).click()
  await dialog.waitFor({ state: 'detached' })
}
