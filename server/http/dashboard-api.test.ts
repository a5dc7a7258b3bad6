import { expect, test } from 'vitest'
import { givenSignedInBrowser, givenUser, signIn } from '../testing/accounts.ts'
import { openBrowser } from '../testing/browser.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

async function givenMonitor(world: TestApp, of?: string): Promise<string> {
  const { key } = await world.organization(of)
  const body = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
  return (await world.call('/monitors', { method: 'POST', body, key })).body.id
}

const readingPaths = (monitor: string) => [
  '/dashboard/api/overview',
  '/dashboard/api/events.csv',
  '/dashboard/api/labels?of=tag',
  `/dashboard/api/monitors/${monitor}/timeline`,
  `/dashboard/api/monitors/${monitor}/difference`,
]
const CHANGING = [
  ['/dashboard/api/lookup', { name: 'example.com' }],
  ['/dashboard/api/import', { csv: 'name,type,value\na.example,A,192.0.2.1' }],
  ['/dashboard/api/monitors/export', { monitors: ['mon_0'] }],
] as const

test('anyone who is signed in asks for one of the own organizations, by header or, where a browser sends none, in the address', async () => {
  const world = await givenApp('sqlite')
  const [first, other] = [await givenMonitor(world), await givenMonitor(world, 'Other')]
  const { email } = await givenUser(world, { name: 'Ann', organizations: ['First', 'Other'] })
  const browser = openBrowser(world)
  await signIn(browser, email)
  const { id } = await world.organization('Other')
  const stranger = await world.organization('Strangers')
  for (const path of readingPaths(first)) expect([path, (await browser.call(path)).status]).toEqual([path, 200])
  for (const path of readingPaths(other)) {
    expect((await browser.call(`${path}${path.includes('?') ? '&' : '?'}organization=${id}`)).status).toBe(200)
    expect((await browser.call(path, { headers: { 'x-organization': id } })).status).toBe(200)
    expect((await browser.call(`${path}${path.includes('?') ? '&' : '?'}organization=${stranger.id}`)).status).toBe(403)
    expect((await openBrowser(world).call(path)).status).toBe(401)
  }
  for (const path of readingPaths(other).slice(3)) expect((await browser.call(path)).status).toBe(404)
})

test('a viewer reads, and a member also tries out and changes', async () => {
  const world = await givenApp('sqlite')
  const monitor = await givenMonitor(world)
  const viewer = await givenSignedInBrowser(world, { name: 'Vera', role: 'viewer' })
  const member = await givenSignedInBrowser(world, { name: 'Max', role: 'member' })
  for (const path of readingPaths(monitor)) expect((await viewer.call(path)).status).toBe(200)
  for (const [path, body] of CHANGING) {
    expect((await viewer.call(path, { body })).status).toBe(403)
    expect((await member.call(path, { body })).status).toBe(200)
  }
  const accept = `/dashboard/api/accept/${monitor}`
  expect((await viewer.call(accept, { body: {} })).status).toBe(403)
  expect((await member.call(accept, { body: {} })).status).toBe(409)
})

test('a request of another site changes nothing', async () => {
  const world = await givenApp('sqlite')
  const member = await givenSignedInBrowser(world, { name: 'Max' })
  const headers = { 'sec-fetch-site': 'cross-site' }
  for (const [path, body] of CHANGING) expect((await member.call(path, { body, headers })).status).toBe(403)
  expect((await member.call('/dashboard/api/overview', { headers })).status).toBe(401)
})

test('none of it is in the public document', async () => {
  const world = await givenApp('sqlite')
  const { paths } = (await world.call('/openapi.json')).body
  expect(Object.keys(paths).filter((path) => path.startsWith('/dashboard'))).toEqual([])
})
