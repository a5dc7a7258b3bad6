import { expect, test } from 'vitest'
import { shareDashboard } from './dashboard.ts'

const givenOwner = shareDashboard()

test('all matching monitors get new expected values after a preview, and the job is undone', async () => {
  const { page, server } = await givenOwner()
  const headers = { origin: server.url }
  const monitors = Array.from({ length: 330 }, (_, at) => ({
    full_domain: `host-${at}.shop.example`,
    record_type: at < 10 ? 'MX' : 'A',
    expected_value: at < 10 ? ['10 mail.shop.example'] : ['203.0.113.10'],
    is_active: false,
  }))
  await page.request.post('/monitors/bulk', { data: { monitors }, headers })
  const changed = async () => {
    const answer = await page.request.get('/monitors?record_type=A&limit=100&order_by=domain')
    const { data } = (await answer.json()) as { data: { expected_value: string[] }[] }
    return data.filter(({ expected_value }) => expected_value[0] === '203.0.113.77').length
  }

  await page.goto('/dashboard/monitors')
  await page.getByRole('checkbox', { name: 'Select all loaded monitors' }).click()
  await page.getByRole('button', { name: 'Select all 330' }).click()
  await page.getByText('330 selected', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Set expected values…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Set expected values' })
  await dialog.getByRole('button', { name: 'Preview' }).click()
  await dialog.getByText('Enter at least one value.').waitFor()
  await dialog.getByLabel('Expected values').fill('203.0.113.77')
  await page.route('**/jobs', (route) => route.abort(), { times: 1 })
  await dialog.getByRole('button', { name: 'Preview' }).click()
  await dialog.getByRole('button', { name: 'Try again' }).click()
  await dialog.getByText('320 monitors would change, 10 cannot change.').waitFor()
  await dialog.getByText('203.0.113.10 → 203.0.113.77').first().waitFor()
  expect(await changed()).toBe(0)

  await dialog.getByRole('button', { name: 'Change 320 monitors' }).click()
  await dialog.getByText('320 monitors changed, 10 failed').waitFor()
  expect(await changed()).toBe(100)
  await dialog.getByRole('button', { name: '10 failed' }).click()
  await dialog.getByText('host-0.shop.example MX').waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    dialog.getByRole('link', { name: 'Export CSV' }).click(),
  ])
  const csv = Buffer.concat(await (await download.createReadStream()).toArray()).toString()
  expect(csv.trimEnd().split('\r\n')).toHaveLength(11)
  await dialog.getByRole('button', { name: 'Close' }).last().click()

  await page.goto('/dashboard/jobs')
  await page.getByRole('link', { name: 'Set expected values to 203.0.113.77' }).first().click()
  await page.getByRole('dialog').getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('dialog', { name: 'Undo' }).getByText('320 monitors changed').waitFor()
  expect(await changed()).toBe(0)
})

test('the 300 records of a customer are found by one token, moved to a new address, and moved back', async () => {
  const { page, server } = await givenOwner()
  const monitors = Array.from({ length: 330 }, (_, at) => ({
    full_domain: `host-${at}.shop.example`,
    record_type: 'A',
    expected_value: at % 2 === 0 ? ['203.0.113.10'] : ['203.0.113.10', '203.0.113.11'],
    metadata: { customer: at < 300 ? '300' : '301' },
    is_active: false,
  }))
  await page.request.post('/monitors/bulk', { data: { monitors }, headers: { origin: server.url } })
  const countOf = async (filter: string) => {
    const answer = await page.request.get(`/monitors/counts?${filter}`)
    return ((await answer.json()) as { disabled: number }).disabled
  }

  await page.goto('/dashboard/monitors')
  await page.getByRole('combobox', { name: 'Search monitors' }).fill('customer:300 ')
  await page.getByRole('button', { name: 'Remove filter: customer: 300' }).waitFor()
  await page.getByRole('checkbox', { name: 'Select all loaded monitors' }).click()
  await page.getByRole('button', { name: 'Select all 300' }).click()
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Replace an expected value…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Expected value').fill('203.0.113.10')
  await dialog.getByLabel('New value').fill('198.51.100.80')
  await dialog.getByRole('button', { name: 'Preview' }).click()
  await dialog.getByRole('button', { name: 'Change 300 monitors' }).click()
  await dialog.getByText('300 monitors changed').waitFor()
  expect(await countOf('value=198.51.100.80')).toBe(300)
  expect(await countOf('value=203.0.113.10')).toBe(30)

  await dialog.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('dialog', { name: 'Undo' }).getByText('300 monitors changed').waitFor()
  expect(await countOf('value=203.0.113.10')).toBe(330)
})

test('300 records are moved, and moved back, by keyboard only', async () => {
  const { page, server } = await givenOwner()
  const monitors = Array.from({ length: 300 }, (_, at) => ({
    ...{ full_domain: `host-${at}.shop.example`, record_type: 'A', expected_value: ['203.0.113.10'] },
    ...{ metadata: { customer: '300' }, is_active: false },
  }))
  await page.request.post('/monitors/bulk', { data: { monitors }, headers: { origin: server.url } })
  const moved = async () => (await (await page.request.get('/monitors/counts?value=198.51.100.80')).json()).disabled
  await page.goto('/dashboard/monitors')
  await page.getByText('host-0', { exact: true }).waitFor()
  const { keyboard } = page
  /** The name of what has the focus. */
  const focused = () =>
    page.evaluate(() => {
      const { ariaLabel, textContent = '' } = document.activeElement ?? {}
      return ariaLabel ?? textContent ?? ''
    })
  const reach = async (name: string | RegExp, key = 'Tab') => {
    for (let press = 0; press < 60; press++) {
      const here = (await focused()).trim()
      if (typeof name === 'string' ? here === name : name.test(here)) return
      await keyboard.press(key)
    }
    throw new Error(`${name} is not reached by ${key}.`)
  }
  await reach('Search monitors')
  await keyboard.type('customer:300 ')
  await page.getByRole('button', { name: 'Remove filter: customer: 300' }).waitFor()
  await reach('Select all loaded monitors')
  await keyboard.press('Space')
  await page.getByRole('button', { name: 'Select all 300' }).waitFor()
  await reach('Select all 300', 'Shift+Tab')
  await keyboard.press('Enter')
  await page.getByText('300 selected', { exact: true }).waitFor()
  await reach('More')
  await keyboard.press('Enter')
  await reach('Replace an expected value…', 'ArrowDown')
  await keyboard.press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  await keyboard.type('203.0.113.10')
  await keyboard.press('Tab')
  await keyboard.type('198.51.100.80')
  await keyboard.press('Enter')
  await dialog.getByRole('button', { name: 'Change 300 monitors' }).waitFor()
  await reach('Change 300 monitors')
  await keyboard.press('Enter')
  await dialog.getByText('300 monitors changed').waitFor()
  expect(await moved()).toBe(300)
  await reach('Undo')
  await keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Undo' }).getByText('300 monitors changed').waitFor()
  expect(await moved()).toBe(0)
  await keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
})

test('a change is planned for the selected monitors, after a preview', async () => {
  const { page, server } = await givenOwner()
  const monitors = ['one.plan.example', 'two.plan.example'].map((full_domain, at) => ({
    ...{ full_domain, record_type: 'A', is_active: false, expected_value: [`192.0.2.${at + 1}`] },
  }))
  await page.request.post('/monitors/bulk', { data: { monitors }, headers: { origin: server.url } })
  await page.goto('/dashboard/monitors')
  await page.getByRole('checkbox', { name: 'Select all loaded monitors' }).click()
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Plan a change…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Expected value').fill('192.0.2.1')
  await dialog.getByLabel('New value').fill('192.0.2.99')
  await dialog.getByRole('button', { name: 'Preview' }).click()
  await dialog.getByText('1 monitor would get a planned change, 1 unchanged.').waitFor()
  await dialog.getByRole('button', { name: 'Plan 1 monitor' }).click()
  await dialog.getByText('1 monitor with a planned change').waitFor()
  const { data } = await (await page.request.get('/planned-changes')).json()
  expect(data).toMatchObject([{ old_value: ['192.0.2.1'], new_value: ['192.0.2.99'] }])
  expect(Date.parse(data[0].to) - Date.parse(data[0].from)).toBe(86_400_000)
})

test('an expected value is replaced and tags are added for the selected monitors, after a preview', async () => {
  const { page, server } = await givenOwner()
  const monitors = ['one.example', 'two.example', 'three.example'].map((full_domain, at) => ({
    ...{ full_domain, record_type: 'A', is_active: false },
    expected_value: at === 0 ? ['192.0.2.7'] : ['192.0.2.1', `192.0.2.${at + 1}`],
  }))
  await page.request.post('/monitors/bulk', { data: { monitors }, headers: { origin: server.url } })
  await page.goto('/dashboard/monitors')
  const choose = async (item: string) => {
    await page.getByRole('checkbox', { name: 'Select all loaded monitors' }).click()
    await page.getByRole('button', { name: 'More', exact: true }).click()
    await page.getByRole('menuitem', { name: item }).click()
    return page.getByRole('dialog')
  }
  const replace = await choose('Replace an expected value…')
  await replace.getByLabel('Expected value').fill('192.0.2.1')
  await replace.getByLabel('New value').fill('192.0.2.99')
  await replace.getByRole('button', { name: 'Preview' }).click()
  await replace.getByText('2 monitors would change, 1 unchanged.').waitFor()
  await replace.getByText('192.0.2.1 → 192.0.2.99').first().waitFor()
  await replace.getByRole('button', { name: 'Change 2 monitors' }).click()
  await replace.getByText('2 monitors changed').waitFor()
  await replace.getByRole('button', { name: 'Close' }).last().click()
  const values = async () => {
    const { data } = await (await page.request.get('/monitors')).json()
    return data.map((each: { expected_value: string[] }) => each.expected_value.join(' '))
  }
  expect(await values()).toEqual(['192.0.2.7', '192.0.2.99 192.0.2.2', '192.0.2.99 192.0.2.3'])

  const tag = await choose('Add tags…')
  await tag.getByRole('button', { name: 'Preview' }).click()
  await tag.getByText('Enter at least one tag.').waitFor()
  await tag.getByLabel('Tags').fill('prod eu')
  await tag.getByRole('button', { name: 'Preview' }).click()
  await tag.getByRole('button', { name: 'Tag 3 monitors' }).click()
  await tag.getByText('3 monitors changed').waitFor()
  await tag.getByRole('button', { name: 'Close' }).last().click()
  const untag = await choose('Remove tags…')
  await untag.getByLabel('Tags').fill('eu')
  await untag.getByRole('button', { name: 'Preview' }).click()
  await untag.getByRole('button', { name: 'Untag 3 monitors' }).click()
  await untag.getByText('3 monitors changed').waitFor()
  const tagged = await (await page.request.get('/monitors?tag=prod&include=tags')).json()
  expect(tagged.data.map((each: { tags: string[] }) => each.tags)).toEqual([['prod'], ['prod'], ['prod']])
})

test('two of three monitors are deleted after a preview with the group that they leave empty, and restored', async () => {
  const { page, server, browse } = await givenOwner()
  const headers = { origin: server.url }
  await page.request.post('/groups', { data: { name: 'Leaving' }, headers })
  const monitors = ['one', 'two', 'three'].map((name) => ({
    ...{ full_domain: `${name}.gone.example`, record_type: 'A', is_active: false, expected_value: ['192.0.2.1'] },
    ...(name === 'three' ? {} : { group: 'leaving' }),
  }))
  await page.request.post('/monitors/bulk', { data: { monitors }, headers })
  const slugs = async () =>
    (await (await page.request.get('/groups')).json()).data.map(({ slug }: { slug: string }) => slug)
  expect(await slugs()).toContain('leaving')
  const { page: colleague } = await browse({ storageState: await page.context().storageState() })
  for (const each of [page, colleague]) {
    await each.goto('/dashboard/monitors')
    await each.getByText('one.gone.example').waitFor()
  }
  for (const name of ['one', 'two']) await page.getByRole('checkbox', { name: `Select ${name}.gone.example A` }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete' })
  const choose = async () => {
    await page.getByRole('button', { name: 'More', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Delete…' }).click()
  }
  await choose()
  await dialog.getByText('2 monitors would be deleted.').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.getByText('2 selected', { exact: true }).waitFor()
  await choose()
  await dialog.getByRole('checkbox', { name: 'Delete their groups too' }).click()
  await dialog.getByRole('button', { name: 'Delete 2 monitors' }).click()
  await dialog.getByText('2 monitors deleted').waitFor()
  expect(await slugs()).not.toContain('leaving')
  for (const each of [page, colleague]) await each.getByText('one.gone.example').first().waitFor({ state: 'hidden' })
  await dialog.getByRole('button', { name: 'Undo' }).click()
  const undo = page.getByRole('dialog', { name: 'Undo' })
  await undo.getByText('2 monitors changed').waitFor()
  await colleague.getByText('one.gone.example').waitFor()
  await undo.getByRole('button', { name: 'Close' }).last().click()
  await page.getByText('one.gone.example').waitFor()
  expect(await page.getByText('selected', { exact: false }).count()).toBe(0)
})

test('current values of many monitors are accepted by a job', async () => {
  const { page, server, dns } = await givenOwner()
  const headers = { origin: server.url }
  const names = Array.from({ length: 24 }, (_, at) => `host-${at}.moved.example`)
  for (const name of names) dns.set(name, 'A', ['198.51.100.80'])
  const monitors = names.map((full_domain) => ({ full_domain, record_type: 'A', expected_value: ['203.0.113.10'] }))
  await page.request.post('/monitors/bulk', { data: { monitors }, headers })
  const countOf = async (filter: string) => {
    const { states, disabled } = await (await page.request.get(`/monitors/counts?${filter}`)).json()
    return [states.VALID ?? 0, states.MISMATCH ?? 0, disabled]
  }
  await expect.poll(() => countOf(''), { timeout: 60_000 }).toEqual([0, 24, 0])

  await page.goto('/dashboard/monitors')
  const field = page.getByRole('combobox', { name: 'Search monitors' })
  await field.fill('state:mismatch value:203.0.113 ')
  await page.getByRole('button', { name: 'Remove filter: value: 203.0.113' }).waitFor()
  const dialog = page.getByRole('dialog')
  const all = page.getByRole('checkbox', { name: 'Select all loaded monitors' })
  await all.click()
  await page.getByText('24 selected', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Accept current values…' }).click()
  await dialog.getByText('203.0.113.10 → 198.51.100.80').first().waitFor()
  await dialog.getByRole('button', { name: 'Change 24 monitors' }).click()
  await dialog.getByText('24 monitors changed').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).last().click()
  await expect.poll(() => countOf('value=198.51.100.80'), { timeout: 60_000 }).toEqual([24, 0, 0])

  await page.goto('/dashboard/monitors')
  await all.click()
  await page.getByRole('button', { name: 'Disable' }).click()
  await dialog.getByRole('button', { name: 'Change 24 monitors' }).click()
  await dialog.getByText('24 monitors changed').waitFor()
  expect(await countOf('')).toEqual([0, 0, 24])
  await dialog.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('dialog', { name: 'Undo' }).getByText('24 monitors changed').waitFor()
  expect((await countOf('')).at(-1)).toBe(0)
})
