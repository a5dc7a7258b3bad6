import { expect, test } from 'vitest'
import { openBrowser } from '../testing/browser.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp } from '../testing/test-app.ts'
import { setupToken } from './first-owner.ts'

const ADA = { organization: 'Acme', name: 'Ada', email: 'ada@example.com', password: 'correct horse' }

onBothEngines('the setup of a server', (_fresh, engine) => {
  test('creates the organization and its owner, and signs in', async () => {
    const world = await givenApp(engine)
    const browser = openBrowser(world)
    const token = await setupToken(world.deps.db, world.deps.keyring)
    expect((await browser.call('/dashboard/api/welcome')).body.needs_setup).toBe(true)

    const created = await browser.call('/dashboard/api/setup', { body: { token, ...ADA } })

    expect(created.status, created.text).toBe(200)
    expect((await browser.call('/dashboard/api/welcome')).body.needs_setup).toBe(false)
    const me = await browser.call('/dashboard/api/me')
    expect(me.body).toMatchObject({
      person: { name: 'Ada', email: 'ada@example.com', two_factor: false },
      organizations: [{ name: 'Acme', slug: 'acme', role: 'owner' }],
    })
    expect((await browser.call('/monitors')).status).toBe(200)
  })

  test('is possible once, and only with the correct link', async () => {
    const world = await givenApp(engine)
    const browser = openBrowser(world)
    const token = await setupToken(world.deps.db, world.deps.keyring)
    expect((await browser.call('/dashboard/api/setup', { body: { token: 'x'.repeat(22), ...ADA } })).status).toBe(403)

    const statuses = await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        const body = { ...ADA, token, email: `${name}@example.com` }
        return (await openBrowser(world).call('/dashboard/api/setup', { body })).status
      }),
    )

    expect(statuses.sort()).toEqual([200, 403, 403])
  })
})
