import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '#server/database/open.ts'
import type { DnsServer } from '#server/testing/dns-server.ts'
import { formatServers, startDnsTree } from '#server/testing/dns-server-tree.ts'
import { eventually } from '#server/testing/test-server.ts'
import { givenDashboard, setUp } from './dashboard.ts'

const ZONE = 'harbor.test'
const NAMES = ['ns1.harbor.test', 'ns2.harbor.test']

test('a user adds a zone, reads its findings, ignores one, confirms the name servers and deletes it', async () => {
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const [test] = (await tree.zone('test', ['a.nic.test'])) as [DnsServer]
  const servers = await tree.zone(ZONE, NAMES, [test])
  for (const server of servers) {
    server.set(ZONE, 'SOA', ['ns1.harbor.test hostmaster.harbor.test 7 3600 600 604800 300'])
    for (const [index, name] of NAMES.entries()) server.set(name, 'A', [servers[index]!.address.ip])
  }
  servers[1]!.fail(ZONE, 'REFUSED')
  const world = await givenDashboard({ DNS_ROOTS: formatServers([tree.root]), DNS_TRUST_ANCHORS: 'off' })
  const { page } = await world.browse()
  await setUp(world, page)

  await page.getByRole('link', { name: 'Zones' }).click()
  await page.getByText('No zones yet').waitFor()
  await page.getByRole('button', { name: 'Add zone' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Zone').fill('test')
  await dialog.getByRole('button', { name: 'Add zone' }).click()
  await dialog.getByText('below a top-level domain').waitFor()
  await dialog.getByLabel('Zone').fill('Harbor.Test.')
  await dialog.getByRole('button', { name: 'Add zone' }).click()
  await page.getByRole('heading', { name: ZONE, level: 1 }).waitFor()

  await page.getByText('ns2.harbor.test answers REFUSED for harbor.test.').waitFor()
  await page.getByText('Not confirmed yet').first().waitFor()
  await page.getByRole('cell', { name: 'Answers with an error' }).waitFor()
  // The second look comes five minutes later.
  const db = openDatabase(world.databaseUrl)
  onTestFinished(() => db.destroy())
  const before = Date.now() - 10 * 60_000
  await db
    .updateTable('zone_findings')
    .set({ first_seen_at: before } as object)
    .execute()
  await page.getByRole('button', { name: 'Check now' }).click()
  await eventually(
    () => db.selectFrom('zones').select('health').executeTakeFirstOrThrow(),
    ({ health }) => health === 'error',
  )
  const finding = page.getByRole('listitem').filter({ hasText: 'answers REFUSED' }).first()
  await finding.getByText('Error', { exact: true }).waitFor()

  await finding.getByRole('button', { name: 'Ignore…' }).click()
  await page.getByLabel('Reason').fill('Moves next week.')
  await page.getByRole('button', { name: 'Ignore', exact: true }).click()
  await finding.getByText('Ignored: Moves next week.').waitFor()

  await page.getByRole('button', { name: 'Confirm the current ones…' }).click()
  await page.getByRole('button', { name: 'Confirm', exact: true }).click()
  await page.getByText('Name servers confirmed.').waitFor()
  const zone = await db.selectFrom('zones').selectAll().executeTakeFirstOrThrow()
  expect([zone.health, zone.expected_name_servers, zone.confirmed_at]).toEqual([
    ...['ok', JSON.stringify(NAMES)],
    expect.any(Number),
  ])

  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete zone' }).click()
  await page.getByText('No zones yet').waitFor()
})
