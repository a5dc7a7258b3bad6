import { readFile } from 'node:fs/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Monitor } from '#contract/monitors.ts'
import { formatServers, startDnsTree } from '#server/testing/dns-server-tree.ts'
import { givenDashboard, setUp } from './dashboard.ts'

const NAME = 'www.harbor.test'
const NAMES = ['ns1.harbor.test', 'ns2.harbor.test', 'ns3.harbor.test', 'ns4.harbor.test']

test('the picture of the delegation shows who answers what, by pointer, by keyboard, on a phone and as a file', async () => {
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const parents = await tree.zone('test', ['a.nic.test', 'b.nic.test'])
  const servers = await tree.zone('harbor.test', NAMES, parents)
  for (const [index, server] of servers.entries()) {
    server.set('harbor.test', 'SOA', ['ns1.harbor.test. hostmaster.harbor.test. 1 1800 900 604800 300'])
    server.set('harbor.test', 'NS', [...NAMES.slice(0, 3), 'ns9.harbor.test'])
    if (index === 3) server.fail(NAME, 'REFUSED')
    else server.set(NAME, 'A', [index === 2 ? '198.51.100.66' : '203.0.113.10'])
  }
  const { dns, ...world } = await givenDashboard({ DNS_ROOTS: formatServers([tree.root]) })
  dns.set(NAME, 'A', ['203.0.113.10'])
  const { page } = await world.browse()
  await setUp(world, page)
  const data = { full_domain: NAME, record_type: 'A', expected_value: ['203.0.113.10'], is_exact_match: true }
  const answer = await page.request.post('/monitors', { data, headers: { origin: world.server.url } })
  const monitor: Monitor = await answer.json()
  await page.goto(`/dashboard/monitors/${monitor.id}`)
  const section = page.locator('section', { has: page.getByRole('heading', { name: 'Delegation' }) })
  const box = (name: RegExp) => section.getByRole('option', { name })
  await box(/^ns3.* ns3\.harbor\.test answered 198\.51\.100\.66\. Most others say something else\.$/).waitFor()
  await box(/^ns1.* ns1\.harbor\.test answered 203\.0\.113\.10\.$/).waitFor()
  await box(/^ns4.* ns4\.harbor\.test answered: The server refuses the query\. Not in the zone\.$/).waitFor()
  await box(/^ns9.* ns9\.harbor\.test was not asked\. Not at the parent\.$/).waitFor()
  await box(/^harbor.* harbor\.test itself names other name servers than its parent/).waitFor()
  if (process.env.SHOTS) await section.screenshot({ path: `${process.env.SHOTS}/delegation.png` })

  // By keyboard: one stop of the Tab key, the first that is wrong; arrow keys from there.
  await box(/^ns4/).focus()
  await page.keyboard.press('ArrowUp')
  expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toMatch(/^ns3/)
  await page.keyboard.press('ArrowRight')
  expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toMatch(/198\.51\.100\.66/)
  expect(await section.locator('[role=option][tabindex="0"]').count()).toBe(1)

  await section.getByRole('button', { name: 'Save picture' }).click()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'As SVG' }).click(),
  ])
  const svg = await readFile(await file.path(), 'utf8')
  expect(file.suggestedFilename()).toBe(`delegation-${NAME}.svg`)
  expect(svg).toContain('198.51.100.66')
  expect(svg).not.toContain('var(')
  await section.getByRole('button', { name: 'Save picture' }).click()
  const [image] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'As PNG' }).click(),
  ])
  expect((await readFile(await image.path())).subarray(1, 4).toString()).toBe('PNG')

  await page.setViewportSize({ width: 390, height: 844 })
  await section.getByRole('listitem').filter({ hasText: 'Differs: ns3.harbor.test answered' }).waitFor()
  if (process.env.SHOTS) await section.screenshot({ path: `${process.env.SHOTS}/delegation-phone.png` })
})

test('an event shows the delegation and the answers after it, and before', async () => {
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const parents = await tree.zone('test', ['a.nic.test'])
  const servers = await tree.zone('harbor.test', NAMES.slice(0, 2), parents)
  const { dns, ...world } = await givenDashboard({ DNS_ROOTS: formatServers([tree.root]) })
  const publish = (value: string) => {
    for (const server of [...servers, dns]) server.set(NAME, 'A', [value])
  }
  for (const server of servers)
    server.set('harbor.test', 'SOA', ['ns1.harbor.test. hostmaster.harbor.test. 1 1800 900 604800 300'])
  publish('203.0.113.10')
  const { page } = await world.browse()
  await setUp(world, page)
  const data = { full_domain: NAME, record_type: 'A', expected_value: ['203.0.113.10'] }
  const headers = { origin: world.server.url }
  const monitor: Monitor = await (await page.request.post('/monitors', { data, headers })).json()
  await page.goto(`/dashboard/monitors/${monitor.id}`)
  const history = page.locator('section', { has: page.getByRole('heading', { name: 'History' }) })
  await history.getByText('203.0.113.10').first().waitFor()
  publish('198.51.100.66')
  await page.getByRole('button', { name: 'Check now' }).click()
  await history.getByRole('link').filter({ hasText: 'Mismatch' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('option', { name: /198\.51\.100\.66\. Not as expected\.$/ }).waitFor()
  await dialog.getByRole('button', { name: 'Before' }).click()
  await dialog.getByRole('option', { name: /203\.0\.113\.10\. As expected\.$/ }).waitFor()
  if (process.env.SHOTS) await dialog.screenshot({ path: `${process.env.SHOTS}/event.png` })
})
