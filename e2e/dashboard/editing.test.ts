import { expect, test } from 'vitest'
import type { Monitor } from '#contract/monitors.ts'
import { shareDashboard } from './dashboard.ts'

const givenOwner = shareDashboard()

test('a form sends only changed fields, and shows conflicts with changes of others', async () => {
  const { server, page } = await givenOwner()
  const headers = { origin: server.url }
  const data = { full_domain: 'www.shop.example', record_type: 'A', expected_value: ['203.0.113.10'] }
  const monitor: Monitor = await (await page.request.post('/monitors', { data, headers })).json()
  const path = `/monitors/${monitor.id}?include=frequency`
  const stored = async () => await (await page.request.get(path)).json()
  const colleagueSaves = (change: object) => page.request.patch(path, { data: change, headers })

  await page.goto(`/dashboard/monitors/${monitor.id}`)
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
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

test('labels of a monitor and of a group are edited, and changes of others are kept', async () => {
  const { server, page } = await givenOwner()
  const headers = { origin: server.url }
  const data = { full_domain: 'labels.shop.example', record_type: 'A', expected_value: ['203.0.113.10'], tags: ['old'] }
  const monitor: Monitor = await (await page.request.post('/monitors', { data, headers })).json()
  const path = `/monitors/${monitor.id}?include=external_id,tags,metadata`
  const stored = async () => await (await page.request.get(path)).json()

  await page.goto(`/dashboard/monitors/${monitor.id}`)
  await page.getByRole('button', { name: 'Edit labels' }).click()
  const form = page.getByRole('dialog', { name: 'Edit labels' })
  await form.getByLabel('Tags').fill('prod eu')
  await form.getByLabel('Metadata').fill('customer acme')
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByText('Line 1: write it as key=value.').waitFor()
  await form.getByLabel('Metadata').fill('customer acme=1')
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByText('Not saved. Correct the marked fields.').waitFor()
  await form.getByLabel('Metadata').fill('customer=acme')
  await page.request.patch(path, { data: { external_id: 'c-300' }, headers })
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByText('someone else changed this while you were editing').waitFor()
  await form.getByRole('button', { name: 'Save' }).click()
  await form.waitFor({ state: 'detached' })
  expect(await stored()).toMatchObject({ external_id: 'c-300', tags: ['prod', 'eu'], metadata: { customer: 'acme' } })
  await page.getByText('c-300').waitFor()
  await page.getByRole('link', { name: 'prod', exact: true }).click()
  await page.waitForURL(/monitors\?tag=prod$/)

  await page.goto('/dashboard/groups/default')
  await page.getByRole('button', { name: 'Edit labels' }).click()
  await form.getByLabel('External id').fill('acme')
  await form.getByRole('button', { name: 'Save' }).click()
  await form.waitFor({ state: 'detached' })
  await page.getByText('acme', { exact: true }).waitFor()
})

test('the search field takes filters by keyboard, keeps them in the URL and explains errors', async () => {
  const { server, page } = await givenOwner()
  const headers = { origin: server.url }
  const monitors = ['a', 'b', 'c'].map((name) => ({
    full_domain: `${name}.tokens.example`,
    record_type: 'MX',
    expected_value: ['10 mail.tokens.example'],
    tags: name === 'c' ? ['prod'] : ['prod', 'eu'],
    metadata: { customer: name === 'a' ? 'Acme Inc' : 'other' },
  }))
  await page.request.post('/monitors/bulk', { data: { monitors }, headers })
  await page.goto('/dashboard/monitors')
  const shown = (count: RegExp) => page.getByText(count).waitFor()
  const params = () => Object.fromEntries(new URL(page.url()).searchParams)

  const field = page.getByRole('combobox', { name: 'Search monitors' })
  await field.fill('ty')
  await page.getByRole('option', { name: /^type:/ }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  expect(await field.inputValue()).toBe('type:')
  await page.keyboard.type('mx tag:prod,eu ')
  await shown(/^2 monitors\.$/)
  expect(params()).toEqual({ type: 'MX', tag: 'prod,eu' })
  await page.keyboard.type('a.tok customer:"Acme Inc"')
  await page.keyboard.press('Enter')
  await shown(/^1 monitor\.$/)
  expect(params()).toEqual({ type: 'MX', tag: 'prod,eu', search: 'a.tok', customer: 'Acme Inc' })
  expect(await field.inputValue()).toBe('a.tok')

  await page.reload()
  await shown(/^1 monitor\.$/)
  await page.getByRole('button', { name: 'Remove filter: customer: Acme Inc' }).click()
  await page.getByRole('button', { name: 'Remove filter: search: a.tok' }).click()
  await page.getByRole('button', { name: 'Remove filter: tag: eu' }).click()
  await shown(/^3 monitors\.$/)
  expect(params()).toEqual({ type: 'MX', tag: 'prod' })

  await field.fill('owner:me ')
  await page.getByText('“owner:” is not a filter. Use one of: state: type: value: tag: customer: group:').waitFor()
  expect(await field.getAttribute('aria-invalid')).toBe('true')
  await field.fill('state:')
  await page.getByRole('option', { name: /^valid/ }).click()
  await page.getByRole('button', { name: 'Remove filter: state: Valid' }).waitFor()
  await page.keyboard.type('state:timeout ')
  await page.getByText('No monitor matches all filters.').waitFor()
  expect(params()).toMatchObject({ state: 'VALID,TIMEOUT', active: 'true' })
  await page.getByRole('button', { name: /^Timeout\s*0$/ }).click()
  await page.getByRole('button', { name: 'Remove filter: state: Timeout' }).waitFor({ state: 'detached' })
  expect(params()).toMatchObject({ state: 'VALID', active: 'true' })
})

test('after an expired session the user signs in over the form, and the form is saved', async () => {
  const { server, page, context, owner } = await givenOwner()
  const headers = { origin: server.url }
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
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  const form = page.getByRole('dialog', { name: 'Edit monitor' })
  await form.getByLabel('Check interval in minutes').fill('30')
  const cookies = await context.cookies()
  await context.clearCookies()
  await form.getByRole('button', { name: 'Save' }).click()
  const again = page.getByRole('dialog', { name: 'Sign in again' })
  await page.keyboard.press('Escape')
  await again.getByLabel('Password').fill(owner.password)
  await again.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Saved.').first().waitFor()
  await form.waitFor({ state: 'detached' })
  expect(await context.cookies()).not.toEqual(cookies)
  expect(await (await page.request.get(`/monitors/${made[0]!.id}?include=frequency`)).json()).toMatchObject({
    frequency: 30,
  })
})

test('a webhook receives all groups and has additional payload fields', async () => {
  const { server, page } = await givenOwner()
  const headers = { origin: server.url }
  const data = { url: 'https://hooks.shop.example/all', all_groups: true }
  const { id } = await (await page.request.post('/webhooks', { data, headers })).json()
  await page.goto(`/dashboard/webhooks/${id}`)
  await page.getByText('No requests yet. Send a test').waitFor()
  expect(await page.getByText('nothing is sent').count()).toBe(0)
  await page.getByRole('tab', { name: 'Configuration' }).click()
  await page.getByRole('button', { name: 'Edit' }).click()
  const dialog = page.getByRole('dialog', { name: 'Edit webhook' })
  for (const name of ['External id', 'Records to change']) await dialog.getByRole('checkbox', { name }).click()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('External id, Records to change').waitFor()
  expect(await page.getByText('nothing is sent').count()).toBe(0)
  const { payload_includes } = await (await page.request.get(`/webhooks/${id}`)).json()
  expect(payload_includes).toEqual(['external_id', 'difference'])
})

test('a webhook that receives all groups is shown at each group', async () => {
  const { server, page } = await givenOwner()
  const headers = { origin: server.url }
  const data = { url: 'https://hooks.shop.example/all', all_groups: true }
  expect((await page.request.post('/webhooks', { data, headers })).status()).toBe(201)

  await page.goto('/dashboard/groups')
  const row = page.getByRole('row', { name: /Default/ })
  await row.getByRole('cell', { name: '1', exact: true }).waitFor()
  expect(await row.getByText('None').count()).toBe(0)
  await row.getByRole('link').first().click()
  await page.getByText('All groups').waitFor()
  expect(await page.getByText('No webhooks yet').count()).toBe(0)
  expect(await page.getByRole('button', { name: 'Detach' }).count()).toBe(0)
})
