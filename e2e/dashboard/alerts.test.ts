import { expect, test } from 'vitest'
import { systemClock } from '#server/clock.ts'
import { shareDashboard } from './world.ts'

const DAY_MS = 24 * 60 * 60_000
const givenOwner = shareDashboard()

test('the list of rules names those that may send a failure to the same channel, and a rule is about tags', async () => {
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

test('a maintenance window is created in its form, which says what to correct', async () => {
  const { page } = await givenOwner()
  const day = new Date(systemClock.now() + 30 * DAY_MS).toISOString().slice(0, 10)
  await page.goto('/dashboard/alerts?tab=maintenance')
  await page.getByRole('button', { name: 'New window' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name', { exact: true }).fill('Move')
  await dialog.getByLabel('From').fill(`${day}T10:00`)
  await dialog.getByLabel('To').fill(`${day}T09:00`)
  await dialog.getByRole('button', { name: 'Create window' }).click()
  await dialog.getByText('Must be later than from.').waitFor()
  await dialog.getByLabel('To').fill(`${day}T12:00`)
  await dialog.getByLabel('Name pattern').fill('*.example.com')
  await dialog.getByRole('button', { name: 'Create window' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByText('Move', { exact: true }).waitFor()
  const answer = await page.request.get('/maintenance-windows')
  const { data } = (await answer.json()) as { data: object[] }
  expect(data).toMatchObject([{ name: 'Move', name_pattern: '*.example.com', groups: null, rrule: null }])
})
