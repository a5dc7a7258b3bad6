import { expect, test } from 'vitest'
import { invitationToken } from '../mail/links.ts'
import { givenSignedInBrowser, givenUser, PASSWORD, signIn } from '../testing/accounts.ts'
import { openBrowser } from '../testing/browser.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

onBothEngines('an invitation', (_fresh, engine) => {
  test('creates the account of a new user, and signs in', async () => {
    const world = await givenApp(engine)
    const path = await givenInvitation(world, { email: 'Grace@example.com', role: 'member' })
    const browser = openBrowser(world)
    expect((await browser.call(path)).body).toEqual({
      ...{ organization: 'First', email: 'grace@example.com', role: 'member', state: 'pending', has_account: false },
    })
    const missing = await browser.call(`${path}/accept`, { method: 'POST' })
    expect(Object.keys(missing.body.errors)).toEqual(['name', 'password'])

    const accepted = await browser.call(`${path}/accept`, { body: { name: 'Grace', password: PASSWORD } })

    const { id } = await world.organization()
    expect(accepted.body).toEqual({ organization_id: id })
    expect((await browser.call('/dashboard/api/me')).body.organizations).toMatchObject([{ id, role: 'member' }])
    expect((await browser.call(path)).body).toMatchObject({ state: 'accepted', has_account: true })
    expect(
      (await openBrowser(world).call(`${path}/accept`, { body: { name: 'Eve', password: PASSWORD } })).status,
    ).toBe(409)
  })

  test('can be accepted by an existing user with that address, after signing in', async () => {
    const world = await givenApp(engine)
    await givenUser(world, { name: 'Grace', organizations: ['Second'] })
    const eve = await givenSignedInBrowser(world, { name: 'Eve', organizations: ['Second'] })
    const path = await givenInvitation(world, { email: 'grace@example.com', role: 'viewer' })
    expect((await eve.call(`${path}/accept`, { method: 'POST' })).status).toBe(403)
    const stranger = await openBrowser(world).call(`${path}/accept`, { body: { name: 'Eve', password: PASSWORD } })
    expect(stranger.status).toBe(409)

    const grace = openBrowser(world)
    await signIn(grace, 'grace@example.com')
    expect((await grace.call(`${path}/accept`, { method: 'POST' })).status).toBe(200)

    const { organizations } = (await grace.call('/dashboard/api/me')).body
    expect(organizations).toMatchObject([
      { slug: 'second', role: 'member' },
      { slug: 'first', role: 'viewer' },
    ])
  })

  test('for an owner is created only by owners, who alone can promote to owner', async () => {
    const world = await givenApp(engine)
    const admin = await givenSignedInBrowser(world, { name: 'Ada', role: 'admin' })
    const owner = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner' })
    const invite = { body: { email: 'eve@example.com', role: 'owner' } }
    expect((await admin.call('/agents/invitations', invite)).status).toBe(403)
    const agents = (await admin.call('/agents?limit=100')).body.data
    const idOf = (name: string) => agents.find((agent: { name: string }) => agent.name === name).id
    const change = (browser: typeof admin, name: string, body: object) =>
      browser.call(`/agents/${idOf(name)}`, { method: 'PATCH', body })

    expect((await change(admin, 'Ada', { role: 'owner' })).status).toBe(403)
    expect((await change(admin, 'Olga', { role: 'viewer' })).status).toBe(403)
    expect((await admin.call(`/agents/${idOf('Olga')}`, { method: 'DELETE' })).status).toBe(403)
    expect((await change(admin, 'Ada', { role: 'member' })).status).toBe(200)
    expect((await change(owner, 'Ada', { role: 'owner' })).status).toBe(200)
    expect((await owner.call('/agents/invitations', invite)).body).toMatchObject({
      role: 'owner',
      invited_by: idOf('Olga'),
    })
  })
})

onBothEngines('signing up', (_fresh, engine) => {
  const ADA = { organization: 'Acme', name: 'Ada', email: 'ada@example.com', password: PASSWORD }

  test('is disabled by default', async () => {
    const world = await givenApp(engine)
    expect((await openBrowser(world).call('/dashboard/api/sign-up', { body: ADA })).status).toBe(403)
    const browser = await givenSignedInBrowser(world, { name: 'Grace', role: 'owner' })
    expect((await browser.call('/dashboard/api/organizations', { body: { name: 'Mine' } })).status).toBe(403)
  })

  test('creates a user and an organization on an open server, and further organizations later', async () => {
    const world = await givenApp(engine, { SIGN_UP: 'open' })
    const browser = openBrowser(world)
    expect((await browser.call('/dashboard/api/sign-up', { body: ADA })).body).toEqual({ confirm: false })
    expect((await browser.call('/dashboard/api/me')).body.organizations).toMatchObject([
      { name: 'Acme', role: 'owner' },
    ])
    const again = await openBrowser(world).call('/dashboard/api/sign-up', { body: { ...ADA, organization: 'Bcme' } })
    expect(again.status).toBe(409)

    const second = await browser.call('/dashboard/api/organizations', { body: { name: 'Second' } })
    expect(second.status).toBe(201)
    const headers = { 'x-organization': second.body.organization_id }
    expect((await browser.call('/organization', { headers })).body.name).toBe('Second')
  })

  test('is limited by address', async () => {
    const world = await givenApp(engine, { SIGN_UP: 'open' })
    const statuses = []
    for (let number = 0; number < 7; number++) {
      const body = { ...ADA, email: `ada${number}@example.com` }
      statuses.push((await openBrowser(world).call('/dashboard/api/sign-up', { body })).status)
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429])
  })
})

async function givenInvitation(world: TestApp, body: { email: string; role: string }): Promise<string> {
  const created = await world.call('/agents/invitations', { method: 'POST', body })
  return `/dashboard/api/invitations/${invitationToken(world.deps.keyring, created.body.id, 1)}`
}
