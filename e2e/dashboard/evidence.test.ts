import { expect, onTestFinished, test } from 'vitest'
import type { Monitor } from '#contract/monitors.ts'
import { formatServers, startDnsTree } from '#server/testing/dns-server-tree.ts'
import { givenDashboard, setUp } from './dashboard.ts'

const NAME = 'www.harbor.test'

test('the evidence has a row for each server, and marks the one that differs', async () => {
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const servers = await tree.zone('harbor.test', ['ns1.harbor.test', 'ns2.harbor.test', 'ns3.harbor.test'])
  for (const [index, server] of servers.entries()) {
    server.set('harbor.test', 'SOA', ['ns1.harbor.test. hostmaster.harbor.test. 1 1800 900 604800 300'])
    server.set(NAME, 'A', [index === 2 ? '198.51.100.66' : '203.0.113.10'])
  }
  const { dns, ...world } = await givenDashboard({ DNS_ROOTS: formatServers([tree.root]) })
  dns.set(NAME, 'A', ['203.0.113.10'])
  const { page } = await world.browse()
  await setUp(world, page)
  const data = { full_domain: NAME, record_type: 'A', expected_value: ['203.0.113.10'], is_exact_match: true }
  const answer = await page.request.post('/monitors', { data, headers: { origin: world.server.url } })
  const monitor: Monitor = await answer.json()
  await page.goto(`/dashboard/monitors/${monitor.id}`)
  const evidence = page.locator('section', { has: page.getByRole('heading', { name: 'Latest check' }) })
  await evidence.getByText('3 of 4 servers that answered agree.').waitFor()
  await evidence.getByText(/^What was seen so far\. It is not certain yet\./).waitFor()
  expect(await page.getByText('No server was queried.').count()).toBe(0)
  const rows = evidence.getByRole('list', { name: 'Servers' }).locator(':scope > li')
  const differing = rows.filter({ hasText: 'Differs from the others' })
  expect(await differing.count()).toBe(1)
  expect(await differing.innerText()).toContain('ns3.harbor.test')
  expect(await differing.getByText('198.51.100.66').count()).toBe(1)

  const matrix = page.getByRole('table', { name: 'Servers asked' })
  expect(await matrix.getByRole('button').count()).toBe(4)
  await matrix.getByRole('row').filter({ hasText: 'Differs' }).getByText('198.51.100.66').waitFor()
  await matrix.getByRole('button', { name: 'Name server ns3.harbor.test' }).press('Enter')
  await page.getByRole('dialog', { name: 'ns3.harbor.test' }).getByText('198.51.100.66').waitFor()
})
