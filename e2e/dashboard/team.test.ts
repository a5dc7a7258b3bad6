import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startMailServer } from '#server/testing/smtp.ts'
import { eventually } from '#server/testing/test-server.ts'
import { givenDashboard, setUp } from './dashboard.ts'

/** Quoted-printable as mails are written, RFC 2045 section 6.7; enough of it for a link. */
const textOf = (source: string) =>
  source.replace(/=\r?\n/g, '').replace(/=([0-9A-F]{2})/g, (_all, hex) => String.fromCharCode(Number.parseInt(hex, 16)))

test('a user is invited by email, joins by the link, and has the permissions of the role', async () => {
  const mail = await startMailServer()
  const world = await givenDashboard({ SMTP_URL: mail.url, MAIL_FROM: 'zonewatch@example.com' })
  const { page } = await world.browse()
  await setUp(world, page)
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Server' }).click()
  await page.getByRole('heading', { name: 'Server', level: 1 }).waitFor()
  await page
    .getByText('No problems found')
    .or(page.getByText(/\d problems?$/))
    .first()
    .waitFor()
  await page.getByText(/^Zonewatch \d+\.\d+\.\d+ · Node \d/).waitFor()
  await page.getByRole('region', { name: 'Instances', exact: true }).getByText('Running').first().waitFor()
  await page.getByRole('region', { name: 'Instances', exact: true }).getByText('checker').first().waitFor()
  const figures = ['Oldest due check', 'Oldest due delivery', 'Pending webhook requests', 'Oldest due alert']
  for (const name of [...figures, 'Pending emails']) await page.getByRole('region', { name }).waitFor()
  await page.getByRole('region', { name: 'Resolvers', exact: true }).getByText('127.0.0.').first().waitFor()
  for (const fact of ['Size', 'Growth', 'Last backup']) await page.getByText(fact, { exact: true }).waitFor()
  await page
    .getByRole('listitem')
    .filter({ has: page.getByText('SECRET', { exact: true }) })
    .getByText('(hidden)')
    .waitFor()
  await page.getByRole('link', { name: 'Team' }).click()
  await page.getByRole('button', { name: 'Invite' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Email').fill('grace@example.com')
  await dialog.getByRole('radio', { name: /viewer/i }).click()
  await dialog.getByRole('button', { name: 'Invite', exact: true }).click()
  await page.getByText('grace@example.com').first().waitFor()
  const [invitation] = await eventually(
    async () => mail.received,
    (all) => all.length > 0,
  )
  const path = /\/dashboard\/invitations\/[\w.-]+/.exec(textOf(invitation!.source))?.[0]

  const guest = await world.browse()
  await guest.page.goto(path!)
  await guest.page.getByLabel('Your name').fill('Grace Example')
  await guest.page.getByLabel('Password').fill('the password of Grace')
  await guest.page.getByRole('button', { name: 'Create account and join' }).click()
  await guest.page.getByRole('navigation', { name: 'Main' }).waitFor()
  await guest.page.goto('/dashboard/webhooks')
  await guest.page.getByRole('heading', { name: 'Webhooks', exact: true }).waitFor()
  expect(await guest.page.getByRole('button', { name: 'New webhook' }).count()).toBe(0)
  // Whatever the page offers, the server holds the role.
  const cookie = (await guest.context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
  const headers = { cookie, origin: world.server.url, 'content-type': 'application/json' }
  const made = await fetch(`${world.server.url}/groups`, { method: 'POST', headers, body: '{"name":"Mine"}' })
  expect(made.status).toBe(403)
  // The server belongs to operators, who are the owners of the first organization here.
  expect(await guest.page.getByRole('link', { name: 'Server' }).count()).toBe(0)
  await guest.page.goto('/dashboard/server')
  await guest.page.getByText('Only operators of the server can see this.').waitFor()
  expect((await fetch(`${world.server.url}/dashboard/api/server`, { headers })).status).toBe(403)
})

test('an API key is created in the settings, used with the shown curl command, and revoked', async () => {
  const world = await givenDashboard()
  const { page } = await world.browse()
  await setUp(world, page)
  await page.goto('/dashboard/settings?tab=keys')
  await page.getByRole('button', { name: 'New key' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('deployment')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  const key = await dialog.getByText(/^zw_[0-9A-Za-z]{43}$/).innerText()
  const command = await dialog.getByText(/^curl /).innerText()
  expect(command).toContain(key)
  await dialog.getByRole('button', { name: 'Done' }).click()

  const run = async () =>
    (
      await promisify(execFile)('sh', [
        '-c',
        `${command.replace(/^curl /, 'curl -sS -o /dev/null -w "%{http_code}" ')}`,
      ])
    ).stdout
  expect(await run()).toBe('200')
  const choose = async (action: string) => {
    await page.getByRole('button', { name: 'Actions for API key deployment' }).click()
    await page.getByRole('menuitem', { name: action }).click()
  }
  await choose('Rotate')
  await dialog.getByRole('button', { name: 'Rotate key' }).click()
  const second = await dialog.getByText(/^zw_[0-9A-Za-z]{43}$/).innerText()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.getByText('the old key works until').filter({ visible: true }).waitFor()
  const limitOf = async (key: string) =>
    (await fetch(`${world.server.url}/groups`, { headers: { 'x-api-key': key } })).headers.get('x-ratelimit-limit')
  await choose('Edit')
  await dialog.getByLabel('Reads').fill('700')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('Must be from 1 to 600, not 700.').waitFor()
  await dialog.getByLabel('Reads').fill('77')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('77 reads per minute').filter({ visible: true }).waitFor()
  expect([await run(), await limitOf(key), await limitOf(second)]).toEqual(['200', '77', '77'])

  await choose('Revoke')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke key' }).click()
  await page.getByText('Revoked').first().waitFor()
  expect([await run(), await limitOf(second)]).toEqual(['401', expect.any(String)])
})
