import { expect, test } from 'vitest'
import { shareDashboard } from './dashboard.ts'

const givenOwner = shareDashboard()

/** Whether it can be seen without scrolling. */
const isInView = (element: Element) => {
  const { left, top, width, height } = element.getBoundingClientRect()
  const shown = document.elementFromPoint(left + width / 2, top + height / 2)
  return shown !== null && element.contains(shown)
}

test('a filled form asks before it is discarded, survives an outage, and shows what a colleague changed', async () => {
  const { server, page } = await givenOwner()
  const headers = { origin: server.url }
  const [rule] = (await (await page.request.get('/alert-rules')).json()).data
  const stored = async () => await (await page.request.get(`/alert-rules/${rule.id}`)).json()
  const colleagueSaves = (data: object) => page.request.patch(`/alert-rules/${rule.id}`, { data, headers })
  const form = page.getByRole('dialog', { name: 'Edit alert rule' })
  const open = async () => {
    await page.getByRole('button', { name: 'More actions for' }).click()
    await page.getByRole('menuitem', { name: 'Edit' }).click()
    await form.getByRole('textbox', { name: 'Name', exact: true }).waitFor()
  }
  await page.goto('/dashboard/alerts?tab=rules')
  await open()
  await page.keyboard.press('Escape')
  await form.waitFor({ state: 'detached' })

  await open()
  await form.getByLabel('Delay in minutes').fill('3')
  await page.keyboard.press('Escape')
  const question = page.getByRole('alertdialog', { name: 'Discard your changes?' })
  await question.getByRole('button', { name: 'Keep editing' }).click()
  expect(await form.getByLabel('Delay in minutes').inputValue()).toBe('3')
  await page.keyboard.press('Escape')
  await question.getByRole('button', { name: 'Discard' }).click()
  await form.waitFor({ state: 'detached' })

  await open()
  await form.getByLabel('Delay in minutes').fill('4')
  const outage = (url: URL) => !url.pathname.startsWith('/dashboard/assets')
  await page.route(outage, (route) => route.fulfill({ status: 503, json: { error: 'The database is not available.' } }))
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByText('The database is not available.').waitFor()
  expect(await form.getByLabel('Delay in minutes').inputValue()).toBe('4')
  await page.unroute(outage)

  // A colleague's change of another field is shown, and both are saved.
  await colleagueSaves({ name: 'Renamed' })
  await form.getByRole('button', { name: 'Save' }).click()
  const note = form
    .getByRole('alert')
    .filter({ hasText: 'Not saved: someone else changed this while you were editing.' })
  await expect.poll(() => note.getByText('Renamed').evaluate(isInView)).toBe(true)
  expect(await stored()).toMatchObject({ name: 'Renamed', delay: 10 })
  expect(await form.getByRole('textbox', { name: 'Name', exact: true }).inputValue()).toBe('Renamed')
  await form.getByRole('button', { name: 'Save' }).click()
  await form.waitFor({ state: 'detached' })
  expect(await stored()).toMatchObject({ name: 'Renamed', delay: 4 })

  // For a field that both changed, the user chooses.
  await open()
  await form.getByLabel('Delay in minutes').fill('7')
  await colleagueSaves({ delay: 9 })
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByRole('radio', { name: /Use saved value\s*9/ }).waitFor()
  await form.getByRole('radio', { name: /Keep my value\s*7/ }).click()
  await form.getByRole('button', { name: 'Save' }).click()
  await form.waitFor({ state: 'detached' })
  expect(await stored()).toMatchObject({ name: 'Renamed', delay: 7 })

  // The response of a save is lost. Saved again, it is the same change and no colleague's.
  await open()
  await form.getByLabel('Delay in minutes').fill('8')
  const own = (url: URL) => url.pathname === `/alert-rules/${rule.id}`
  await page.route(own, async (route) => {
    await route.fetch()
    await route.abort()
  })
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByText('Cannot reach the server.').first().waitFor()
  expect(await stored()).toMatchObject({ delay: 8 })
  await page.unroute(own)
  await form.getByRole('button', { name: 'Save' }).click()
  await form.waitFor({ state: 'detached' })
})

test('windows, channels and planned changes do not overwrite the edit of a colleague', async () => {
  const { server, page } = await givenOwner()
  const headers = { origin: server.url }
  const [channel] = (await (await page.request.get('/channels')).json()).data
  const from = new Date(Date.now() + 86_400_000).toISOString()
  const to = new Date(Date.now() + 90_000_000).toISOString()
  const data = { name: 'Updates', from, to }
  const window = await (await page.request.post('/maintenance-windows', { data, headers })).json()
  const cases = [
    { tab: 'channels', title: 'Edit channel', path: `/channels/${channel.id}` },
    { tab: 'maintenance', title: 'Edit maintenance window', path: `/maintenance-windows/${window.id}` },
  ]
  for (const { tab, title, path } of cases) {
    await page.goto(`/dashboard/alerts?tab=${tab}`)
    await page.getByRole('button', { name: 'More actions for' }).click()
    await page.getByRole('menuitem', { name: 'Edit' }).click()
    const form = page.getByRole('dialog', { name: title })
    await form.getByRole('textbox', { name: 'Name', exact: true }).fill('Mine')
    await page.request.patch(path, { data: { name: 'Theirs' }, headers })
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByText('Not saved: someone else changed this').waitFor()
    expect(await (await page.request.get(path)).json()).toMatchObject({ name: 'Theirs' })
  }

  const monitor = { full_domain: 'www.plan.example', record_type: 'A', expected_value: ['203.0.113.10'] }
  const { id } = await (await page.request.post('/monitors', { data: monitor, headers })).json()
  const plan = { monitor_id: id, new_value: ['203.0.113.20'], from, to }
  const change = await (await page.request.post('/planned-changes', { data: plan, headers })).json()
  await page.goto(`/dashboard/monitors/${id}`)
  const section = page.locator('section', { has: page.getByRole('heading', { name: 'Planned change', exact: true }) })
  await section.getByRole('button', { name: 'Edit' }).click()
  const form = page.getByRole('dialog', { name: 'Edit planned change' })
  await form.getByLabel('New values').fill('203.0.113.30')
  const path = `/planned-changes/${change.id}`
  await page.request.patch(path, { data: { new_value: ['203.0.113.40'] }, headers })
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByText('Not saved: someone else changed this').waitFor()
  expect(await (await page.request.get(path)).json()).toMatchObject({ new_value: ['203.0.113.40'] })
})

test('Disable and Delete of a menu send the version that the user sees, and do nothing to another one', async () => {
  const { server, page } = await givenOwner()
  const headers = { origin: server.url }
  const sent: string[] = []
  page.on('request', (request) => {
    if (['PATCH', 'DELETE'].includes(request.method())) sent.push(request.headers()['if-match'] ?? 'none')
  })
  const [rule] = (await (await page.request.get('/alert-rules')).json()).data
  const path = `/alert-rules/${rule.id}`
  const stored = async () => (await page.request.get(path)).json()
  const choose = async (item: string) => {
    await page.getByRole('button', { name: 'More actions for' }).click()
    await page.getByRole('menuitem', { name: item }).click()
  }
  await page.goto('/dashboard/alerts?tab=rules')
  await choose('Disable')
  await expect.poll(async () => (await stored()).is_active).toBe(false)
  expect(sent).toEqual([expect.stringMatching(/^"/)])

  await choose('Delete')
  const question = page.getByRole('alertdialog')
  await page.request.patch(path, { data: { delay: 42 }, headers })
  await question.getByRole('button', { name: 'Delete rule' }).click()
  await question.getByText('Someone else has changed this meanwhile.').waitFor()
  expect(await stored()).toMatchObject({ delay: 42 })
  await question.getByRole('button', { name: 'Cancel' }).click()

  const monitor = { full_domain: 'www.menu.example', record_type: 'A', expected_value: ['203.0.113.10'] }
  const { id } = await (await page.request.post('/monitors', { data: monitor, headers })).json()
  await page.goto('/dashboard/monitors')
  await page.getByRole('button', { name: 'Actions for www.menu.example A' }).click()
  await page.request.patch(`/monitors/${id}`, { data: { expected_value: ['203.0.113.99'] }, headers })
  await page.getByRole('menuitem', { name: 'Disable' }).click()
  await page.getByText('Someone else has changed this meanwhile.').first().waitFor()
  expect(await page.getByText('This page failed').count()).toBe(0)
})
