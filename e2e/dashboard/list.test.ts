import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { shareDashboard } from './dashboard.ts'

const givenOwner = shareDashboard()

async function givenMonitors(page: Page, origin: string, monitors: object[]): Promise<void> {
  const full = monitors.map((each) => ({ record_type: 'A', expected_value: ['192.0.2.1'], is_active: false, ...each }))
  const answer = await page.request.post('/monitors/bulk', { data: { monitors: full }, headers: { origin } })
  expect(answer.status()).toBe(201)
}

test('filters are typed as tokens with suggestions, and kept in the URL', async () => {
  const { page, server } = await givenOwner()
  await givenMonitors(page, server.url, [
    { full_domain: 'one.example', tags: ['prod', 'eu'], metadata: { plan: 'business' }, group: 'shop' },
    { full_domain: 'two.example', tags: ['prod'], metadata: { plan: 'free' }, expected_value: ['198.51.100.7'] },
    { full_domain: '198.51.100.7.example', external_id: 'crm-1' },
  ])
  const acme = { name: 'Acme Inc', external_id: 'acme' }
  await page.request.post('/groups', { data: acme, headers: { origin: server.url } })
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

  await field.fill('value:198.5')
  await option('198.51.100.7').waitFor()
  await field.fill('customer:')
  await option('acme').waitFor()
  await field.fill('external_id:crm')
  await option('crm-1').click()
  await page.getByRole('button', { name: 'Remove filter: external_id: crm-1' }).click()

  await field.fill('value:198.51.100 ')
  await page.getByRole('button', { name: 'Remove filter: value: 198.51.100' }).waitFor()
  await count(1)
  await rows.getByText('two').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Remove filter: value: 198.51.100' }).click()
  await count(3)
  await field.fill('external_id:crm-1')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Remove filter: external_id: crm-1' }).waitFor()
  await count(1)
  await field.fill('value:19 ')
  await page.getByText('Enter at least 3 characters after “value:”.').waitFor()
})

test('groups are searched, show counts by state, and link to their monitors', async () => {
  const { page, server, dns } = await givenOwner()
  const group = 'customer-300'
  dns.set('good.example', 'A', ['192.0.2.1'])
  dns.set('bad.example', 'A', ['192.0.2.2'])
  await givenMonitors(page, server.url, [
    { full_domain: 'good.example', group, is_active: true },
    { full_domain: 'bad.example', group, is_active: true },
    { full_domain: 'off.example', group: 'customer-4' },
  ])
  await page.goto('/dashboard/groups')
  await page.getByRole('link', { name: 'customer-4', exact: true }).waitFor()
  await page.getByRole('searchbox', { name: 'Search groups' }).fill('300')
  await page.getByRole('link', { name: 'customer-4', exact: true }).waitFor({ state: 'detached' })
  expect(new URL(page.url()).search).toBe('?search=300')
  const mismatch = page.getByRole('cell').getByRole('link', { name: '1 Mismatch in customer-300' })
  await expect
    .poll(async () => {
      const { data } = await (await page.request.get('/groups?search=300&include=counts')).json()
      return data[0].counts.states
    })
    .toEqual({ VALID: 1, MISMATCH: 1 })
  await page.reload()
  await page.getByRole('link', { name: '1 Valid in customer-300' }).last().waitFor()
  await mismatch.last().click()
  await page.getByRole('button', { name: 'Remove filter: state: Mismatch' }).waitFor()
  await expect.poll(() => page.getByRole('table', { name: 'Monitors' }).getByRole('row').count()).toBe(2)
  await page.goto('/dashboard/groups?search=nothing-like-it')
  await page.getByText('No matching groups').waitFor()
})

test('a group is deleted with its monitors, or its monitors move to the default group', async () => {
  const { page, server } = await givenOwner()
  await givenMonitors(page, server.url, [
    { full_domain: 'one.example', group: 'customer-300' },
    { full_domain: 'two.example', group: 'customer-300' },
    { full_domain: 'three.example', group: 'customer-301' },
  ])
  await page.goto('/dashboard/groups')
  const dialog = page.getByRole('alertdialog')
  const remove = async (group: string, fate: string, act: string) => {
    await page.getByRole('button', { name: `Actions for ${group}` }).click()
    await page.getByRole('menuitem', { name: 'Delete…' }).click()
    await dialog.getByRole('radio', { name: fate }).click()
    await dialog.getByRole('button', { name: act, exact: true }).click()
    await page.getByRole('link', { name: group, exact: true }).waitFor({ state: 'detached' })
  }
  await remove('customer-300', 'Delete', 'Delete group and 2 monitors')
  await remove('customer-301', 'Move to the default group', 'Delete group')
  const { data } = await (await page.request.get('/monitors?include=group')).json()
  expect(data).toMatchObject([{ domain: 'three.example', group: 'default' }])
})

test('rows are sorted by the headers, and selected one by one, in ranges and all, by keyboard too', async () => {
  const { page, server } = await givenOwner()
  await givenMonitors(
    page,
    server.url,
    ['a', 'b', 'c', 'd', 'e'].map((name) => ({ full_domain: `${name}.example` })),
  )
  await page.goto('/dashboard/monitors')
  const table = page.getByRole('table', { name: 'Monitors' })
  const tick = (name: string) => table.getByRole('checkbox', { name: `Select ${name}.example A` })
  const ticked = async () =>
    (await table.getByRole('checkbox', { name: /^Select .*example/, checked: true }).all()).length
  const head = (name: string) => table.getByRole('columnheader', { name })
  await tick('b').click()
  await tick('d').click({ modifiers: ['Shift'] })
  expect(await ticked()).toBe(3)
  await tick('c').click()
  await tick('d').click({ modifiers: ['Shift'] })
  expect(await ticked()).toBe(1)
  const all = table.getByRole('checkbox', { name: 'Select all loaded monitors' })
  expect(await all.evaluate((box: HTMLInputElement) => box.indeterminate)).toBe(true)
  await tick('a').focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Space')
  expect(await tick('c').isChecked()).toBe(true)
  await all.click()
  await page.getByText('5 selected', { exact: true }).waitFor()
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Replace an expected value…' }).waitFor()
  await page.keyboard.press('Escape')
  await all.click()
  expect(await ticked()).toBe(0)

  expect(await head('Name').getAttribute('aria-sort')).toBe('ascending')
  await head('Name').getByRole('button').click()
  await expect.poll(() => table.getByRole('row').nth(1).innerText()).toContain('e.example')
  expect(await head('Name').getAttribute('aria-sort')).toBe('descending')
  expect(new URL(page.url()).search).toBe('?order=name&way=desc')
  await head('State').getByRole('button').press('Enter')
  await expect.poll(() => head('State').getAttribute('aria-sort')).toBe('ascending')
  expect(await head('Name').getAttribute('aria-sort')).toBeNull()
  expect(new URL(page.url()).search).toBe('?order=state')
  expect(await head('Last checked').getByRole('button').count()).toBe(0)

  await page.setViewportSize({ width: 390, height: 800 })
  const list = page.getByRole('list', { name: 'Monitors' })
  const order = page.getByRole('combobox', { name: 'Order' })
  await order.click()
  await page.getByRole('option', { name: 'Name', exact: true }).click()
  await expect.poll(() => list.getByRole('listitem').first().innerText()).toContain('a.example')
  expect(await order.innerText()).toBe('Name')
  await list.getByRole('checkbox', { name: 'Select b.example A' }).click()
  await page.getByText('1 selected', { exact: true }).waitFor()
  await page.getByRole('checkbox', { name: 'Select all loaded monitors' }).click()
  await page.getByText('5 selected', { exact: true }).waitFor()
})

test('counts that are lower bounds are marked', async () => {
  const { page, server } = await givenOwner()
  await givenMonitors(page, server.url, [{ full_domain: 'one.example' }])
  const counts = { states: { VALID: 136 }, active: 136, disabled: 0, is_partial: true }
  await page.route('**/monitors/counts?*', (route) => route.fulfill({ json: counts }))
  await page.goto('/dashboard/monitors?type=A')
  await page.getByRole('button', { name: 'Valid 136+' }).waitFor()
  await page.getByText('+ means “at least”. Counting stops after 5,000 monitors.').waitFor()
})

test('columns and density are selected, and stored in the browser', async () => {
  const { page, server } = await givenOwner()
  await givenMonitors(page, server.url, [
    { full_domain: 'one.example', tags: ['prod'], metadata: { plan: 'business' }, external_id: 'crm-1' },
  ])
  await page.goto('/dashboard/monitors')
  const table = page.getByRole('table', { name: 'Monitors' })
  const heads = () => table.getByRole('columnheader').allInnerTexts()
  const height = async () => (await table.getByRole('row').nth(1).boundingBox())!.height
  await table.getByText('one').waitFor()
  const before = await height()
  await page.getByRole('button', { name: 'Columns and density' }).click()
  for (const name of ['Tags', 'plan', '30 days'])
    await page.getByRole('menuitemcheckbox', { name, exact: true }).click()
  await page.getByRole('menuitemcheckbox', { name: 'Compact rows' }).click()
  await page.keyboard.press('Escape')
  const chosen = ['State', 'Name', 'Type', 'Value', 'Tags', 'plan', 'Last checked']
  expect((await heads()).slice(1, -1)).toEqual(chosen)
  await table.getByText('business').waitFor()
  expect(await height()).toBeLessThan(before)
  await page.reload()
  await table.getByText('business').waitFor()
  expect((await heads()).slice(1, -1)).toEqual(chosen)
  await page.getByRole('button', { name: 'Columns and density' }).click()
  await page.getByRole('menuitem', { name: 'Default columns' }).click()
  await table.getByText('business').waitFor({ state: 'detached' })
})

test('columns are moved by keyboard only, and keep their position', async () => {
  const { page, server } = await givenOwner()
  await givenMonitors(page, server.url, [{ full_domain: 'one.example' }])
  await page.goto('/dashboard/monitors')
  const table = page.getByRole('table', { name: 'Monitors' })
  await table.getByText('one').waitFor()
  const heads = async () => (await table.getByRole('columnheader').allInnerTexts()).slice(1, -1)
  const usual = ['State', 'Name', 'Type', 'Value', '30 days', 'Last checked']
  expect(await heads()).toEqual(usual)
  await page.getByRole('button', { name: 'Columns and density' }).press('Enter')
  await page.getByRole('menuitem', { name: 'Column order' }).press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Column order' })
  const down = dialog.getByRole('button', { name: 'Move State down' })
  await down.focus()
  for (let press = 0; press < 7; press++) await page.keyboard.press('Enter')
  await dialog.getByText('State is column 6 of 6.').waitFor()
  expect(await down.evaluate((button) => button === document.activeElement)).toBe(true)
  await dialog.getByRole('button', { name: 'Move Type up' }).press('Space')
  await page.keyboard.press('Escape')
  const moved = ['Type', 'Name', 'Value', '30 days', 'Last checked', 'State']
  expect(await heads()).toEqual(moved)
  await page.reload()
  await table.getByText('one').waitFor()
  expect(await heads()).toEqual(moved)
})

test('an import updates by external id, and a job deletes monitors that are not in the file', async () => {
  const { page, server } = await givenOwner()
  await givenMonitors(page, server.url, [
    { full_domain: 'www.shop.example', external_id: 'crm-1' },
    { full_domain: 'old.shop.example' },
    { full_domain: 'same.shop.example' },
  ])
  await page.goto('/dashboard/monitors/import?from=csv')
  const csv = `name,type,value,external_id
new-name.shop.example,A,198.51.100.7,crm-1
same.shop.example,A,192.0.2.1,
wrong.shop.example,A,nonsense,`
  await page.getByRole('textbox', { name: 'CSV' }).fill(csv)
  await page.getByRole('button', { name: 'Preview' }).click()
  for (const name of ['Changed 1', 'Same 1', 'Rejected 1']) await page.getByRole('button', { name }).waitFor()
  await page.getByText('The monitor www.shop.example A expects exactly 192.0.2.1.').waitFor()
  await page.getByText('invalid_ipv4').waitFor()
  await page.getByRole('combobox', { name: 'Compare' }).click()
  await page.getByRole('option', { name: 'Compare with the same domains' }).click()
  await page.getByText('1 monitor is not in the file.').waitFor()
  await page.getByRole('list', { name: 'Not in the file' }).getByText('old.shop.example').waitFor()
  await page.getByRole('checkbox', { name: 'Update new-name.shop.example A' }).check()
  await page.getByRole('button', { name: 'Delete 1 monitor…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Delete 1 monitor' }).click()
  await dialog.getByText('1 monitor deleted').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await page.getByText('0 monitors are not in the file.').waitFor()
  await page.getByRole('button', { name: 'Update 1 monitor' }).click()
  await page.getByRole('heading', { name: '1 monitor was updated' }).waitFor()
  const { data } = await (await page.request.get('/monitors?include=external_id&order_by=subdomain')).json()
  expect(data.map((each: Record<string, unknown>) => [each.subdomain, each.external_id, each.expected_value])).toEqual([
    ['new-name', 'crm-1', ['198.51.100.7']],
    ['same', null, ['192.0.2.1']],
  ])
})

test('the list is exported with its filters', async () => {
  const { page, server } = await givenOwner()
  await givenMonitors(page, server.url, [
    { full_domain: 'www.shop.example', tags: ['prod'] },
    { full_domain: 'www.other.example' },
    { full_domain: 'api.shop.example', tags: ['prod'], expected_value: ['192.0.2.2', '192.0.2.3'] },
  ])
  await page.goto('/dashboard/monitors?tag=prod&order=subdomain&way=desc')
  const dialog = page.getByRole('dialog', { name: 'Export monitors' })
  const downloaded = async () => {
    const button = dialog.getByRole('link', { name: 'Download' }).or(dialog.getByRole('button', { name: 'Download' }))
    const [download] = await Promise.all([page.waitForEvent('download'), button.click()])
    const chunks = await (await download.createReadStream()).toArray()
    await dialog.waitFor({ state: 'detached' })
    return [download.suggestedFilename(), Buffer.concat(chunks).toString()] as const
  }
  const exported = async (format: string) => {
    await page.getByRole('button', { name: 'Export' }).click()
    await dialog.getByRole('radio', { name: format }).click()
    return await downloaded()
  }
  const [csvName, csv] = await exported('CSV')
  expect([csvName, csv.split('\r\n')[0]!.startsWith('name,type,value')]).toEqual(['monitors.csv', true])
  expect([...csv.matchAll(/^[\w.]+(?=,A,)/gm)].map(String)).toEqual(['www.shop.example', 'api.shop.example'])
  const [, json] = await exported('JSON')
  expect(JSON.parse(json).map(({ subdomain }: { subdomain: string }) => subdomain)).toEqual(['www', 'api'])
  const [zoneName, zone] = await exported('Zone file')
  expect(zoneName).toBe('monitors.zone')
  expect(zone).toContain('192.0.2.3')
  expect(zone).not.toContain('other.example')

  await page.getByRole('button', { name: 'Export' }).click()
  await dialog.getByRole('radio', { name: 'Columns of the list' }).click()
  const lines = (text: string) => text.trimEnd().split('\r\n')
  const shown = lines((await downloaded())[1])
  expect(shown[0]).toMatch(/^state,name,record_type,expected_value,/)
  expect(shown[1]).toMatch(/^UNSET,www.shop.example,A,192.0.2.1,/)

  await page.getByRole('checkbox', { name: 'Select api.shop.example A' }).press('Space')
  await page.getByRole('button', { name: 'More' }).press('Enter')
  await page.getByRole('menuitem', { name: 'Export…' }).press('Enter')
  await dialog.getByText('The selected monitor').waitFor()
  await dialog.getByRole('radio', { name: 'Columns of the list' }).press('Space')
  const [name, selected] = await downloaded()
  expect([name, lines(selected).length]).toEqual(['monitors.csv', 2])
  expect(selected).toContain('api.shop.example')
  await page.getByRole('button', { name: 'Export' }).click()
  await dialog.getByRole('radio', { name: 'All 2 in this list' }).click()
  expect(lines((await downloaded())[1])).toContainEqual(expect.stringMatching(/^www.shop.example,/))
})

test('a view is saved for the team, opened with its columns and density, changed, renamed and deleted', async () => {
  const { page, server } = await givenOwner()
  await givenMonitors(page, server.url, [
    { full_domain: 'www.shop.example', tags: ['prod'], group: 'shop' },
    { full_domain: 'www.other.example' },
  ])
  await page.goto('/dashboard/monitors?group=shop&order=state')
  const table = page.getByRole('table', { name: 'Monitors' })
  const views = page.getByRole('button', { name: /^Views/ })
  const choose = async (item: string) => {
    await views.click()
    await page.getByRole('menuitem', { name: item }).click()
  }
  const height = async () => (await table.getByRole('row').nth(1).boundingBox())!.height
  const comfortable = await height()
  await page.getByRole('button', { name: 'Columns and density' }).click()
  await page.getByRole('menuitemcheckbox', { name: 'Tags' }).click()
  await page.getByRole('menuitemcheckbox', { name: 'Compact rows' }).click()
  await page.keyboard.press('Escape')
  await choose('Save as new view…')
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('The shop')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Views: The shop' }).waitFor()

  await page.goto('/dashboard/monitors')
  await table.getByText('other').first().waitFor()
  await page.getByRole('button', { name: 'Columns and density' }).click()
  await page.getByRole('menuitemcheckbox', { name: 'Compact rows' }).click()
  await page.getByRole('menuitem', { name: 'Default columns' }).click()
  await expect.poll(height).toBe(comfortable)
  await choose('The shop')
  await page.getByRole('button', { name: 'Remove filter: group: shop' }).waitFor()
  await table.getByRole('columnheader', { name: 'Tags' }).waitFor()
  await expect.poll(height).toBeLessThan(comfortable)
  expect(await table.getByRole('columnheader', { name: 'State' }).getAttribute('aria-sort')).toBe('ascending')
  expect(await views.innerText()).toBe('The shop')

  await page.getByRole('combobox', { name: 'Search monitors' }).fill('tag:prod ')
  await page.getByText('The shop (changed)').waitFor()
  await choose('Save changes')
  await page.getByRole('button', { name: 'Views: The shop', exact: true }).waitFor()
  await choose('Rename view…')
  await dialog.getByLabel('Name').fill('Shop in production')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Views: Shop in production' }).waitFor()
  const { data } = await (await page.request.get('/views')).json()
  expect(data).toMatchObject([{ name: 'Shop in production', filter: { tag: 'prod' }, order_by: 'state' }])
  await choose('Delete view…')
  await page.getByRole('button', { name: 'Delete view' }).click()
  await page.getByText('View deleted.').waitFor()
  expect((await (await page.request.get('/views')).json()).data).toEqual([])
})
