import { expect, test } from 'vitest'
import type { Monitor } from '#contract/monitors.ts'
import { ADMIN } from '#server/testing/server-world.ts'
import { givenDashboard, signIn } from './world.ts'

const OWNER = { email: ADMIN.ADMIN_EMAIL!, password: ADMIN.ADMIN_PASSWORD! }

test('a form sends what was changed, and asks where somebody else changed the same', async () => {
  const world = await givenDashboard(ADMIN)
  const { page } = await world.browse()
  await signIn(page, OWNER)
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  const headers = { origin: world.server.url }
  const data = { full_domain: 'www.shop.example', record_type: 'A', expected_value: ['203.0.113.10'] }
  const monitor: Monitor = await (await page.request.post('/monitors', { data, headers })).json()
  const path = `/monitors/${monitor.id}?include=frequency`
  const stored = async () => await (await page.request.get(path)).json()
  const colleagueSaves = (change: object) => page.request.patch(path, { data: change, headers })

  await page.goto(`/dashboard/monitors/${monitor.id}`)
  await page.getByRole('button', { name: 'Edit' }).click()
  const form = page.getByRole('dialog', { name: 'Edit monitor' })
  await form.getByLabel('Check interval in minutes').fill('30')
  await colleagueSaves({ expected_value: ['203.0.113.77'] })
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByText('someone else changed this while you were editing').waitFor()
  expect(await form.getByRole('textbox', { name: 'Value 1' }).inputValue()).toBe('203.0.113.77')
  expect(await stored()).toMatchObject({ frequency: 5 })

  await colleagueSaves({ frequency: 15 })
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByRole('radio', { name: /Keep my value\s*30/ }).waitFor()
  await form.getByRole('button', { name: 'Save' }).click()
  expect(await stored()).toMatchObject({ frequency: 15 })
  await form.getByRole('radio', { name: /Keep my value\s*30/ }).click()
  await form.getByRole('button', { name: 'Save' }).click()
  await form.waitFor({ state: 'detached' })
  expect(await stored()).toMatchObject({ frequency: 30, expected_value: ['203.0.113.77'] })
})

test('a session that ended is begun again over the form, and the form is saved', async () => {
  const world = await givenDashboard(ADMIN)
  const { page, context } = await world.browse()
  await signIn(page, OWNER)
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
  const headers = { origin: world.server.url }
  const monitors = Array.from({ length: 330 }, (_, at) => ({
    full_domain: `host-${at}.shop.example`,
    record_type: at < 30 ? 'AAAA' : 'A',
    expected_value: [at < 30 ? '2001:db8::1' : '203.0.113.10'],
  }))
  const made: Monitor[] = await (await page.request.post('/monitors/bulk', { data: { monitors }, headers })).json()

  await page.goto('/dashboard/monitors?type=A')
  await page.getByRole('button', { name: /^All\s*300$/ }).waitFor()
  await page.goto('/dashboard/monitors')
  await page.getByRole('checkbox', { name: 'Select all loaded monitors' }).click()
  await page.getByText(/^Only the first [12]00 monitors are selected/).waitFor()
  await page.getByRole('button', { name: 'Select all 330' }).click()
  await page.getByText('330 selected', { exact: true }).waitFor()

  await page.goto(`/dashboard/monitors/${made[0]!.id}`)
  await page.getByRole('button', { name: 'Edit' }).click()
  const form = page.getByRole('dialog', { name: 'Edit monitor' })
  await form.getByLabel('Check interval in minutes').fill('30')
  const cookies = await context.cookies()
  await context.clearCookies()
  await form.getByRole('button', { name: 'Save' }).click()
  const again = page.getByRole('dialog', { name: 'Sign in again' })
  await page.keyboard.press('Escape')
  await again.getByLabel('Password').fill(OWNER.password)
  await again.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Saved.').first().waitFor()
  await form.waitFor({ state: 'detached' })
  expect(await context.cookies()).not.toEqual(cookies)
  expect(await (await page.request.get(`/monitors/${made[0]!.id}?include=frequency`)).json()).toMatchObject({
    frequency: 30,
  })
})
