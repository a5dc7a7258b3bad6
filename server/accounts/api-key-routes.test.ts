import { expect, test } from 'vitest'
import { givenSignedIn } from '../testing/accounts.ts'
import { givenApp } from '../testing/app-world.ts'
import { onBothEngines } from '../testing/database.ts'

const KEYS = '/dashboard/api/keys'

onBothEngines('an API key made in the dashboard', (_fresh, engine) => {
  test('is shown once, works, is listed with its creator, and ends when it is revoked', async () => {
    const world = await givenApp(engine)
    const browser = await givenSignedIn(world, { name: 'Ada', role: 'admin' })
    const made = await browser.call(KEYS, { body: { name: 'Deploy', role: 'write' } })
    expect(made).toMatchObject({ status: 201, body: { name: 'Deploy', role: 'write', created_by: 'Ada' } })
    const { key, ...shown } = made.body
    expect((await world.call('/monitors', { key })).status).toBe(200)

    const listed = (await browser.call(KEYS)).body.data
    expect(listed[0]).toMatchObject({ id: shown.id, last_used: expect.any(String), revoked: null })
    expect(JSON.stringify(listed)).not.toContain(key)

    expect((await browser.call(`${KEYS}/${shown.id}`, { method: 'DELETE' })).status).toBe(204)
    expect((await world.call('/monitors', { key })).status).toBe(401)
    expect((await browser.call(`${KEYS}/${shown.id}`, { method: 'DELETE' })).status).toBe(404)
    expect((await browser.call(KEYS)).body.data[0].revoked).not.toBeNull()
  })

  test('runs out when it was asked to', async () => {
    const world = await givenApp(engine)
    const browser = await givenSignedIn(world, { name: 'Ada', role: 'admin' })
    const make = (expires: string) => browser.call(KEYS, { body: { name: 'Short', role: 'read', expires } })
    expect((await make('2020-01-01T00:00:00Z')).body.errors).toHaveProperty('expires')
    expect((await make('tomorrow')).body.errors).toHaveProperty('expires')
    const { key } = (await make(new Date(world.deps.clock.now() + 60_000).toISOString())).body
    expect((await world.call('/monitors', { key })).status).toBe(200)
    world.pass(60_000)
    expect((await world.call('/monitors', { key })).status).toBe(401)
  })

  test('is made by admins, one that may do all by owners, and none by another key', async () => {
    const world = await givenApp(engine)
    const make = { body: { name: 'Deploy', role: 'admin' } }
    for (const [name, role, status] of [
      ['Mia', 'member', 403],
      ['Ada', 'admin', 403],
      ['Olga', 'owner', 201],
    ] as const) {
      const browser = await givenSignedIn(world, { name, role })
      expect((await browser.call(KEYS, make)).status).toBe(status)
    }
    expect((await world.call(KEYS, { method: 'POST', ...make })).status).toBe(403)
  })

  test("is nobody's business in another organization", async () => {
    const world = await givenApp(engine)
    const { id } = await world.key('read', { of: 'Second' })
    const browser = await givenSignedIn(world, { name: 'Ada', role: 'owner' })
    expect((await browser.call(`${KEYS}/${id}`, { method: 'DELETE' })).status).toBe(404)
    expect(JSON.stringify((await browser.call(KEYS)).body)).not.toContain(id)
  })

  test('needs a key left in the plan', async () => {
    const limits = { monitors: 10, min_frequency: 5, event_retention_days: 30, webhooks: 10, agents: 10, api_keys: 2 }
    const plans = [{ id: 'small', name: 'Small', limits, prices: [] }]
    const world = await givenApp(engine, { PLANS: JSON.stringify(plans) })
    const browser = await givenSignedIn(world, { name: 'Ada', role: 'owner' })
    const make = { body: { name: 'Deploy', role: 'read' } }
    expect((await browser.call(KEYS, make)).status).toBe(201)
    expect((await browser.call(KEYS, make)).status).toBe(402)
  })
})

onBothEngines('the mails of an organization', (_fresh, engine) => {
  const INVITE = { method: 'POST', body: { email: 'grace@example.com' } }

  test('are shown to admins, with the link where the server sends none', async () => {
    const world = await givenApp(engine)
    await world.call('/agents/invitations', INVITE)
    const admin = await givenSignedIn(world, { name: 'Ada', role: 'admin' })
    const member = await givenSignedIn(world, { name: 'Mia' })
    const { data } = (await admin.call('/dashboard/api/mails')).body
    expect(data).toMatchObject([{ recipient: 'grace@example.com', status: 'waiting', error: null }])
    expect(data[0].text).toMatch(/\/dashboard\/invitations\/[\w-]{22}\n/)
    expect((await member.call('/dashboard/api/mails')).status).toBe(403)
  })

  test('keep the link to their recipients where the server sends them', async () => {
    const world = await givenApp(engine, { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'zonewatch@example.com' })
    await world.call('/agents/invitations', INVITE)
    const admin = await givenSignedIn(world, { name: 'Ada', role: 'admin' })
    const { data } = (await admin.call('/dashboard/api/mails')).body
    expect(data[0].text).not.toMatch(/\/dashboard\/invitations\/[\w-]{22}/)
  })
})
