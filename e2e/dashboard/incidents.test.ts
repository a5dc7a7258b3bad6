import { expect, test } from 'vitest'
import { openDatabase } from '#server/database/open.ts'
import { shareDashboard } from './dashboard.ts'

const givenOwner = shareDashboard()

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
  await page.getByRole('link', { name: 'example.org' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'example.com' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('DNS provider').waitFor()
  await dialog.getByRole('link', { name: '2', exact: true }).click()
  await page.getByRole('button', { name: 'Remove filter: incident: inc_0' }).waitFor()
  await page.getByText('c.example.net').first().waitFor()
  expect(await page.getByText('b.example.org').count()).toBe(0)
})
