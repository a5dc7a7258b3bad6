import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { shareDashboard } from './world.ts'

const givenOwner = shareDashboard()

async function givenMonitors(page: Page, origin: string, monitors: object[]): Promise<void> {
  const full = monitors.map((each) => ({ record_type: 'A', expected_value: ['192.0.2.1'], is_active: false, ...each }))
  const answer = await page.request.post('/monitors/bulk', { data: { monitors: full }, headers: { origin } })
  expect(answer.status()).toBe(201)
}

test('filters are written as tokens, completed with what the organization has, and stay in the address', async () => {
  const { page, server } = await givenOwner()
  await givenMonitors(page, server.url, [
    { full_domain: 'one.example', tags: ['prod', 'eu'], metadata: { plan: 'business' }, group: 'shop' },
    { full_domain: 'two.example', tags: ['prod'], metadata: { plan: 'free' }, expected_value: ['198.51.100.7'] },
    { full_domain: '198.51.100.7.example', external_id: 'crm-1' },
  ])
  await page.goto('/dashboard/monitors')
  const field = page.getByRole('combobox', { name: 'Search monitors' })
  const rows = page.getByRole('table', { name: 'Monitors' }).getByRole('row')
  const option = (name: string) => page.getByRole('option', { name })
  const count = async (number: number) => {
    await expect.poll(() => rows.count(), { timeout: 20_000 }).toBe(number + 1)
  }
  await field.click()
  await option('metadata.').waitFor()
  await field.pressSequentially('ta')
  await option('tag:').waitFor()
  await page.keyboard.press('ArrowDown')
  expect(await field.getAttribute('aria-activedescendant')).toBe(await option('tag:').getAttribute('id'))
  await page.keyboard.press('Enter')
  await option('eu').waitFor()
  await field.pressSequentially('pr')
  await option('eu').waitFor({ state: 'detached' })
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Remove filter: tag: prod' }).waitFor()
  await count(2)
  await field.fill('metadata.')
  await option('metadata.plan:').click()
  await option('free').click()
  await page.getByRole('button', { name: 'Remove filter: plan: free' }).waitFor()
  await count(1)
  expect(new URL(page.url()).search).toBe('?tag=prod&metadata.plan=free')
  await page.reload()
  await count(1)
  await page.getByRole('button', { name: 'Clear all' }).click()
  await field.fill('group:sh')
  await option('shop').click()
  await count(1)
  await page.getByRole('button', { name: 'Remove filter: group: shop' }).click()

  await field.fill('value:198.51.100 ')
  await page.getByRole('button', { name: 'Remove filter: value: 198.51.100' }).waitFor()
  await count(1)
  await rows.getByText('two').waitFor()
  await page.getByRole('button', { name: 'Remove filter: value: 198.51.100' }).click()
  await field.fill('external_id:crm-1')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Remove filter: external_id: crm-1' }).waitFor()
  await count(1)
  await field.fill('value:19 ')
  await page.getByText('Write at least 3 characters after “value:”.').waitFor()
})
