import { readFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openDatabase } from '#server/database/open.ts'
import { eventually } from '#server/testing/test-server.ts'
import { shareDashboard } from './dashboard.ts'

const givenOwner = shareDashboard({ DASHBOARD_LIMIT: '5000' })

test('an incident leads to all of its monitors, and those of a page are acknowledged at once', async () => {
  const { page, server, databaseUrl } = await givenOwner()
  const monitors = ['a.example.com', 'b.example.org', 'c.example.net'].map((full_domain) => ({
    full_domain,
    ...{ record_type: 'A', expected_value: '192.0.2.1' },
  }))
  const headers = { origin: server.url }
  expect((await page.request.post('/monitors/bulk', { data: { monitors }, headers })).status()).toBe(201)
  for (const name of ['Customers', 'Others'])
    expect((await page.request.post('/groups', { data: { name }, headers })).status()).toBe(201)
  const db = openDatabase(databaseUrl)
  const rows = await db.selectFrom('monitors').select(['id', 'organization_id', 'domain']).orderBy('domain').execute()
  for (const [index, cause_kind] of (['provider', 'zone'] as const).entries()) {
    const { organization_id, domain } = rows[index]!
    const shared = { organization_id, id: `inc_${index}`, cause: domain, zone: domain, state: 'NOT_FOUND' }
    const cause_value = cause_kind === 'zone' ? null : 'Cloudflare'
    await db
      .insertInto('incidents')
      .values({ ...shared, opened_at: Date.now(), monitors: 2, failing: 2, cause_kind, cause_value })
      .execute()
  }
  for (const { organization_id, id } of rows.slice(0, 2))
    await db
      .insertInto('incident_monitors')
      .values({ organization_id, incident_id: 'inc_0', monitor_id: id, event_id: 'evt_1', failing_since: 0 })
      .execute()
  const { id: group_id } = await db
    .selectFrom('groups')
    .select('id')
    .where('slug', '=', 'customers')
    .executeTakeFirstOrThrow()
  const { organization_id } = rows[0]!
  await db.insertInto('incident_groups').values({ organization_id, group_id, incident_id: 'inc_0' }).execute()
  await db.destroy()

  await page.goto('/dashboard/alerts')
  await page.getByText('2 incidents on this page are not acknowledged.').waitFor()
  await page.getByRole('button', { name: 'Acknowledge all 2' }).click()
  await page.getByText('2 incidents on this page are not acknowledged.').waitFor({ state: 'detached' })
  expect(await page.getByText('Acknowledged', { exact: true }).count()).toBe(2)

  await page.getByRole('combobox', { name: 'Group' }).click()
  await page.getByRole('option', { name: 'Customers' }).click()
  await page.getByText('example.org').waitFor({ state: 'detached' })
  await page.getByRole('link', { name: '2 monitors on the name servers of Cloudflare' }).click()
  await page.getByText('DNS provider: Cloudflare').waitFor()
  await page.getByText('2 monitors on the name servers of Cloudflare: Not found').first().waitFor()
  await page.getByRole('link', { name: 'Open as a list' }).click()
  await page.getByRole('button', { name: 'Remove filter: incident: inc_0' }).waitFor()
  await page.getByText('c.example.net').first().waitFor()
  expect(await page.getByText('b.example.org').count()).toBe(0)
  await page.goto('/dashboard/alerts?incident=inc_0')
  await page.waitForURL('**/dashboard/incidents/inc_0')
})

test('one cause is one line of the overview, acknowledged and snoozed there, and accepted for all monitors on its page', async () => {
  const { page, dns, server } = await givenOwner()
  const { send, states } = clientOf(page, server.url)
  const names = Array.from({ length: 5 }, (_, index) => `host${index}.shop.example`)
  for (const name of names) dns.set(name, 'A', ['192.0.2.1'])
  const monitors = names.map((full_domain) => ({ full_domain, record_type: 'A', expected_value: ['192.0.2.1'] }))
  const created = (await send('POST', '/monitors/bulk', { monitors })) as { id: string }[]
  await eventually(states, (found) => isDeepStrictEqual(found, { VALID: 5 }))
  for (const name of names) dns.set(name, 'A', ['192.0.2.7'])
  await Promise.all(created.map(({ id }) => send('POST', `/monitors/${id}/check`)))
  await eventually(states, (found) => isDeepStrictEqual(found, { MISMATCH: 5 }))

  await page.goto('/dashboard')
  const headline = '5 records of shop.example answer 192.0.2.7 instead of 192.0.2.1.'
  const line = page.getByRole('listitem').filter({ hasText: headline })
  await line.waitFor()
  await page.getByRole('heading', { name: '5 monitors are failing', exact: true }).waitFor()
  await page.getByText('in 1 open incident.').waitFor()
  expect(await page.title()).toBe('(5) Overview · Zonewatch')
  // By keyboard: the buttons follow the link of the line.
  await line.getByRole('button', { name: 'Acknowledge' }).press('Enter')
  await line.getByText('acknowledged by ada').waitFor()
  await line.getByRole('button', { name: 'Snooze' }).press('Enter')
  await page.getByRole('menuitem', { name: 'For 4 hours' }).press('Enter')
  await line.getByText('snoozed until').waitFor()

  await line.getByRole('link', { name: headline }).press('Enter')
  await page.getByRole('heading', { name: headline, level: 1 }).waitFor()
  await page.getByText(/^For host\d\.shop\.example: Replace 192\.0\.2\.7 with 192\.0\.2\.1/).waitFor()
  const timeline = page.getByRole('list', { name: 'Timeline' })
  await timeline.getByText(/^Snoozed by ada/).waitFor()
  await page.getByRole('list', { name: 'Servers' }).waitFor()
  const table = page.getByRole('table', { name: 'Monitors' })
  expect(await table.getByRole('link').count()).toBe(5)

  await page.getByRole('button', { name: 'More', exact: true }).click()
  const downloaded = page.waitForEvent('download')
  await page.getByRole('menuitem', { name: 'Download report' }).press('Enter')
  const report = await readFile(await (await downloaded).path(), 'utf8')
  expect(report).toContain('| `host0.shop.example` | A | MISMATCH | `192.0.2.1` | `192.0.2.7` |')
  expect(report).toContain('Acknowledged by ada')

  await table.getByRole('link', { name: 'host0.shop.example' }).click()
  const part = page.getByRole('region', { name: 'Incident' })
  await part.getByText('snoozed until').waitFor()
  await page.getByRole('tab', { name: 'Route 53' }).click()
  await page.getByText('"Name": "host0.shop.example."').waitFor()
  await part.getByRole('button', { name: 'Undo acknowledgement' }).click()
  await part.getByRole('button', { name: 'Acknowledge' }).waitFor()
  await part.getByRole('link', { name: 'Incident with 4 others' }).click()
  await page.getByRole('button', { name: 'Accept the new values of all 5' }).click()
  const dialog = page.getByRole('dialog', { name: 'Accept the new values' })
  await dialog.getByText('5 monitors would change').waitFor()
  await dialog.getByRole('button', { name: /5 monitors$/ }).click()
  await page.getByText('Resolved', { exact: true }).first().waitFor()
  await page.getByRole('heading', { name: '5 monitors of shop.example: Mismatch', level: 1 }).waitFor()
})

function clientOf(page: Page, origin: string) {
  const send = async (method: string, path: string, data?: object): Promise<unknown> => {
    const answer = await page.request.fetch(path, { method, headers: { origin }, ...(data && { data }) })
    if (!answer.ok()) throw new Error(`${method} ${path}: ${answer.status()} ${await answer.text()}`)
    return answer.json()
  }
  const states = async () => ((await send('GET', '/monitors/counts')) as { states: object }).states
  return { send, states }
}
