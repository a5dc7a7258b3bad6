import { expect, test } from 'vitest'
import { shareDashboard } from './dashboard.ts'

const givenOwner = shareDashboard()

test('a new channel gets a rule, a channel without a rule is marked, and Get started ends with the first test', async () => {
  const { server, receiver, page } = await givenOwner()
  const headers = { origin: server.url }
  const data = { full_domain: 'www.shop.example', record_type: 'A', expected_value: ['203.0.113.10'] }
  expect((await page.request.post('/monitors', { data, headers })).status()).toBe(201)
  const rules = async () => (await (await page.request.get('/alert-rules?order_way=desc')).json()).data

  await page.goto('/dashboard')
  const steps = page.locator('section', { has: page.getByRole('heading', { name: 'Get started' }) })
  await expect.poll(() => steps.getByRole('img', { name: 'Done' }).count()).toBe(1)
  await steps.getByRole('link', { name: 'Add a channel' }).click()
  const dialog = page.getByRole('dialog', { name: 'New channel' })
  const create = async (name: string) => {
    await dialog.getByLabel('Name').fill(name)
    await dialog.getByLabel('Webhook URL').fill(`${receiver.url}/services/T000/B000/${name}`)
  }
  await create('Operations')
  const offer = dialog.getByRole('switch', { name: 'Alert this channel about all monitors' })
  expect(await offer.isChecked()).toBe(true)
  await dialog.getByRole('button', { name: 'Create channel' }).click()
  const sent = page.getByRole('dialog', { name: 'Send test' })
  await sent.getByRole('button', { name: 'Close' }).last().click()
  const row = (name: string) => page.getByRole('row', { name: new RegExp(name) })
  await row('Operations').waitFor()
  expect(await row('Operations').getByText('No active rule uses it').count()).toBe(0)
  expect((await rules())[0]).toMatchObject({ name: 'All monitors: Operations', delay: 10, name_pattern: null })

  await page.getByRole('button', { name: 'New channel' }).click()
  await create('Night')
  await offer.click()
  await dialog.getByText('Without a rule, this channel receives no alerts.').waitFor()
  await dialog.getByRole('button', { name: 'Create channel' }).click()
  await sent.getByRole('button', { name: 'Close' }).last().click()
  await row('Night').getByText('No active rule uses it, so it receives no alerts.').waitFor()
  await row('Night').getByRole('button', { name: 'Create a rule' }).click()
  const rule = page.getByRole('dialog', { name: 'New alert rule' })
  expect(await rule.getByRole('checkbox', { name: 'Night' }).isChecked()).toBe(true)
  await rule.getByRole('button', { name: 'Create rule' }).click()
  await row('Night').getByText('No active rule uses it').waitFor({ state: 'detached' })
  expect(await rules()).toHaveLength(3)

  await page.goto('/dashboard')
  await expect.poll(() => steps.getByRole('img', { name: 'Done' }).count()).toBe(2)
  await steps.getByRole('link', { name: 'Send a test' }).click()
  await row('Night').getByRole('button', { name: 'Send test' }).click()
  await sent.getByRole('button', { name: 'Send test' }).click()
  await sent.getByText('Sent', { exact: true }).waitFor()
  await page.goto('/dashboard')
  await page.getByRole('heading', { name: 'Recent changes' }).or(page.getByText('Needs attention')).first().waitFor()
  expect(await steps.count()).toBe(0)
})
