import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '#server/database/open.ts'
import { formatServers, startDnsTree } from '#server/testing/dns-server-tree.ts'
import { givenDashboard, setUp } from './dashboard.ts'

const NAME = 'shop.harbor.test'
const TARGET = 'stores.pages.test'
const NAME_SERVER = 'kate.ns.cloudflare.com'

test('a customer creates the record of a setup page, and the page updates itself', async () => {
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const [zone] = await tree.zone('harbor.test', [NAME_SERVER])
  tree.root.set(NAME_SERVER, 'A', [zone!.address.ip])
  const { receiver, databaseUrl, ...world } = await givenDashboard({ DNS_ROOTS: formatServers([tree.root]) })
  world.dns.set('harbor.test', 'NS', [NAME_SERVER])
  const { page } = await world.browse()
  await setUp(world, page)
  const hook = { url: receiver.url, groups: ['default'] }
  expect((await page.request.post('/webhooks', { data: hook, headers: { origin: world.server.url } })).status()).toBe(
    201,
  )

  await page.goto(`/dashboard/monitors/new?name=${NAME}`)
  await page.getByRole('button', { name: /^Monitor CNAME/ }).click()
  await page.getByLabel('Expected value 1 of CNAME').fill(TARGET)
  await page.getByRole('switch', { name: /Wait for a customer/ }).click()
  await page.getByRole('button', { name: 'Create monitor' }).click()
  const wait = page.locator('section', { hasText: 'Waiting for this record' })
  await wait.getByText('Waiting', { exact: true }).waitFor()
  const url = await wait.locator('pre').innerText()

  // Nobody who is signed in.
  const { page: customer, context } = await world.browse()
  const elsewhere: string[] = []
  context.on('request', (request) => {
    if (!request.url().startsWith(world.server.url) && !request.url().startsWith('data:')) elsewhere.push(request.url())
  })
  const opened = await customer.goto(new URL(url).pathname)
  expect(opened!.headers()['x-robots-tag']).toContain('noindex')
  await customer.getByRole('heading', { name: 'harbor.test uses Cloudflare' }).waitFor()
  await customer.getByRole('heading', { name: `Connect ${NAME}` }).waitFor()
  await customer.getByText('The name servers of harbor.test have no such record yet.').waitFor()
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  for (const [label, text] of [
    ['Copy name shop', 'shop'],
    [`Copy full name ${NAME}`, NAME],
    [`Copy value ${TARGET}`, TARGET],
  ] as const) {
    await customer.getByRole('button', { name: label }).click()
    expect(await customer.evaluate('navigator.clipboard.readText()')).toBe(text)
  }

  const { page: judged } = await world.browse({ bypassCSP: true })
  await judged.goto(new URL(url).pathname)
  await judged.getByText('have no such record yet.').waitFor()
  await judged.evaluate(await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
  for (const colorScheme of ['light', 'dark'] as const) {
    await judged.emulateMedia({ colorScheme })
    const { violations } = (await judged.evaluate('axe.run()')) as { violations: { id: string }[] }
    expect([colorScheme, violations.map(({ id }) => id)]).toEqual([colorScheme, []])
  }

  // The next quick check is due now, and not in 15 seconds.
  const db = openDatabase(databaseUrl)
  onTestFinished(() => db.destroy())
  const lookNow = () => db.updateTable('due_waits').set({ due_at: 0 }).execute()
  zone!.set(NAME, 'CNAME', ['wrong.pages.test'])
  await lookNow()
  await customer.getByText('Not correct yet').waitFor()
  await customer.getByText('wrong.pages.test').waitFor()

  zone!.set(NAME, 'CNAME', [TARGET])
  await lookNow()
  await customer.getByRole('status').getByText('Everything is connected').waitFor()
  expect(elsewhere).toEqual([])
  const requests = await receiver.waitFor(2)
  expect(JSON.parse(requests.at(-1)!.body.toString()).event).toMatchObject({
    new_state: 'VALID',
    current_value: [TARGET],
  })
  await wait.getByText('Found', { exact: true }).waitFor()

  await wait.getByRole('button', { name: 'Change the wait' }).click()
  await page.getByRole('menuitem', { name: 'Revoke link' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke link' }).click()
  await wait.getByText('The link was revoked.').waitFor()
  expect((await customer.reload())!.status()).toBe(404)
  await customer.getByRole('heading', { name: 'This link is not valid' }).waitFor()
}, 180_000)
