import { expect, test } from 'vitest'
import { givenSignedInBrowser } from '../testing/accounts.ts'
import { openBrowser } from '../testing/browser.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp } from '../testing/test-app.ts'

onBothEngines('a user in several organizations', (_fresh, engine) => {
  test('acts for the named organization, by default for the first, and for no other', async () => {
    const world = await givenApp(engine)
    const browser = await givenSignedInBrowser(world, { name: 'Ada', organizations: ['First', 'Second'] })
    const [first, second] = [await world.organization('First'), await world.organization('Second')]
    const third = await world.organization('Third')
    const nameIn = async (headers: Record<string, string>) =>
      (await browser.call('/organization', { headers })).body.name

    expect(await nameIn({})).toBe('First')
    const hook = { url: 'http://127.0.0.1:9999/' }
    await world.call('/webhooks', { method: 'POST', body: hook, key: second.key })
    const overviewOf = (id: string) => browser.call(`/dashboard/api/overview?organization=${id}`)
    expect((await overviewOf(second.id)).body.webhooks.count).toBe(1)
    expect((await overviewOf(third.id)).status).toBe(403)
    expect(await nameIn({ 'x-organization': second.id })).toBe('Second')
    expect(await nameIn({ 'x-organization': first.id })).toBe('First')
    for (const named of [third.id, 'nothing', '']) {
      expect((await browser.call('/organization', { headers: { 'x-organization': named } })).status).toBe(403)
    }
  })

  test('loses access as soon as the membership ends', async () => {
    const world = await givenApp(engine)
    const browser = await givenSignedInBrowser(world, { name: 'Ada' })
    const { data } = (await browser.call('/agents')).body
    const { id } = data.find(({ name }: { name: string }) => name === 'Ada')
    expect((await world.call(`/agents/${id}`, { method: 'DELETE' })).status).toBe(204)
    expect((await browser.call('/monitors')).status).toBe(403)
    expect((await browser.call('/dashboard/api/me')).body.organizations).toEqual([])
  })

  test('has a last_seen that is written at most once a minute', async () => {
    const world = await givenApp(engine)
    const browser = await givenSignedInBrowser(world, { name: 'Ada' })
    const seen = async () => {
      const { data } = (await browser.call('/agents')).body
      return data.find(({ name }: { name: string }) => name === 'Ada').last_seen
    }
    await browser.call('/monitors')
    const before = await seen()
    world.pass(30_000)
    expect(await seen()).toBe(before)
    world.pass(30_000)
    await browser.call('/monitors')
    expect(Date.parse(await seen()) - Date.parse(before)).toBeGreaterThanOrEqual(60_000)
  })

  test('has one rate limit for all sessions', async () => {
    const world = await givenApp(engine, { DASHBOARD_LIMIT: '5' })
    const browser = await givenSignedInBrowser(world, { name: 'Ada' })
    const other = openBrowser(world, '198.51.100.1')
    for (const [name, value] of browser.cookies) other.cookies.set(name, value)
    const statuses = []
    for (const each of [browser, other, browser, other, browser, other]) {
      statuses.push((await each.call('/monitors')).status)
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
    expect((await browser.call('/monitors')).headers).toMatchObject({ 'x-ratelimit-limit': '5' })
  })
})
