import { describe, expect, test } from 'vitest'
import type { Invitation } from '#contract/agents.ts'
import type { Engine } from '../database/engine.ts'
import { invitationToken } from '../mail/links.ts'
import { givenAgent } from '../testing/accounts.ts'
import { givenApp } from '../testing/test-app.ts'
import { acceptInvitation, getOfferedInvitation } from './invitations.ts'
import { ensureUser } from './users.ts'

const DAY_MS = 24 * 60 * 60_000

describe.each(['sqlite', 'postgres'] as const)('invitations (%s)', (engine) => {
  test('an invitation is valid for seven days, and a mail is queued', async () => {
    const { world, invite } = await givenTeam(engine)

    const { status, body, headers } = await invite({ email: 'Ada@Example.com', role: 'admin' })

    expect(status).toBe(201)
    expect(headers.location).toBe(`/agents/invitations/${body.id}`)
    expect(body).toEqual({
      id: expect.stringMatching(/^inv_[0-9a-z]{26}$/),
      email: 'ada@example.com',
      role: 'admin',
      state: 'pending',
      created: expect.any(String),
      expires: expect.any(String),
      invited_by: expect.stringMatching(/^key_/),
    })
    expect(Date.parse(body.expires) - Date.parse(body.created)).toBe(7 * DAY_MS)
    expect((await world.call(`/agents/invitations/${body.id}`)).body).toEqual(body)
    expect((await world.call('/agents/invitations')).body.data).toEqual([body])
    const mails = await world.deps.db.selectFrom('mails').selectAll().execute()
    expect(mails).toMatchObject([{ recipient: 'ada@example.com', about: body.id, status: 'waiting' }])
  })

  test('an admin key that expires neither invites nor promotes: the members would stay', async () => {
    const { world } = await givenTeam(engine)
    const expiring = await world.key('admin', { expiresAt: Date.now() + DAY_MS })
    const lasting = await world.key('admin')
    const invite = async ({ key }: { key: string }, role: string) => {
      const body = { email: `${role}@example.com`, role }
      return await world.call('/agents/invitations', { method: 'POST', key, body })
    }
    const roles = ['owner', 'admin', 'member', 'viewer']
    for (const role of roles) expect((await invite(expiring, role)).status).toBe(403)
    expect((await invite(expiring, 'viewer')).body.error).toContain('This API key expires')
    const invited = await invite(lasting, 'viewer')
    expect(invited.status).toBe(201)
    const invitation = `/agents/invitations/${invited.body.id}`
    expect((await world.call(`${invitation}/resend`, { method: 'POST', key: expiring.key })).status).toBe(403)
    expect((await world.call(invitation, { method: 'DELETE', key: expiring.key })).status).toBe(204)
    const mia = await givenAgent(world, { name: 'Mia' })
    const change = async (role: string, key: string) =>
      (await world.call(`/agents/${mia}`, { method: 'PATCH', body: { role }, key })).status
    expect(await change('admin', expiring.key)).toBe(403)
    expect(await change('viewer', expiring.key)).toBe(200)
    expect(await change('member', expiring.key)).toBe(403)
    expect(await change('owner', lasting.key)).toBe(200)
  })

  test('open invitations of a key end when it is revoked', async () => {
    const { world } = await givenTeam(engine)
    const leaked = await world.key('admin')
    const other = await world.key('admin')
    const invite = async (email: string, key: string) => {
      const body = { email, role: 'owner' }
      return (await world.call('/agents/invitations', { method: 'POST', key, body })).body.id as string
    }
    const ids = [await invite('eve@example.com', leaked.key), await invite('ada@example.com', other.key)]
    expect((await world.call(`/api-keys/${leaked.id}`, { method: 'DELETE', key: other.key })).status).toBe(204)
    const states = ids.map(async (id) => (await world.call(`/agents/invitations/${id}`, { key: other.key })).body.state)
    expect(await Promise.all(states)).toEqual(['revoked', 'pending'])
    const mails = await world.deps.db.selectFrom('mails').select('about').where('status', '=', 'waiting').execute()
    expect(mails.map(({ about }) => about)).not.toContain(ids[0])
  })

  test('neither the database nor the response contains the token', async () => {
    const { world, invite, tokenOf } = await givenTeam(engine)
    const { body, text } = await invite({ email: 'ada@example.com' })
    const token = tokenOf(body)

    const rows = [
      ...(await world.deps.db.selectFrom('invitations').selectAll().execute()),
      ...(await world.deps.db.selectFrom('mails').selectAll().execute()),
    ]

    expect(JSON.stringify(rows) + text).not.toContain(token)
  })

  test('members and invited addresses cannot be invited again', async () => {
    const { world, invite } = await givenTeam(engine)
    await givenAgent(world, { name: 'Bob' })
    await invite({ email: 'ada@example.com' })

    expect((await invite({ email: 'bob@example.com' })).status).toBe(409)
    expect((await invite({ email: 'ADA@example.com' })).status).toBe(409)
    expect((await invite({ email: 'not an address' })).body.errors.email).toBe(
      'must be an email address, not "not an address".',
    )
  })

  test('concurrent requests create one invitation for an address', async () => {
    const { world, invite } = await givenTeam(engine)

    const responses = await Promise.all(Array.from({ length: 5 }, () => invite({ email: 'ada@example.com' })))

    expect(responses.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409])
    expect(await world.deps.db.selectFrom('mails').selectAll().execute()).toHaveLength(1)
  })

  test('accepting makes the user an agent with the role of the invitation', async () => {
    const { world, invite, tokenOf, accept } = await givenTeam(engine)
    const { body } = await invite({ email: 'ada@example.com', role: 'viewer' })

    expect(await getOfferedInvitation(world.deps.db, tokenOf(body), world.deps.clock.now())).toEqual({
      organization: 'First',
      email: 'ada@example.com',
      role: 'viewer',
      state: 'pending',
    })
    const { agentId } = await accept(tokenOf(body))

    expect((await world.call(`/agents/${agentId}`)).body).toMatchObject({ email: 'ada@example.com', role: 'viewer' })
    expect((await world.call('/agents/invitations')).body.data).toMatchObject([{ state: 'accepted' }])
    await expect(accept(tokenOf(body))).rejects.toMatchObject({ status: 409 })
  })

  test('of concurrent requests that accept an invitation, one succeeds', async () => {
    const { world, invite, tokenOf, accept } = await givenTeam(engine)
    const { body } = await invite({ email: 'ada@example.com' })

    const results = await Promise.allSettled(Array.from({ length: 6 }, () => accept(tokenOf(body))))

    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect((await world.call('/agents')).body.data).toHaveLength(2)
  })

  test('another address, an unknown token and an expired token are refused', async () => {
    const { world, invite, tokenOf, accept } = await givenTeam(engine)
    const { body } = await invite({ email: 'ada@example.com' })

    await expect(accept(tokenOf(body), 'eve@example.com')).rejects.toMatchObject({ status: 403 })
    await expect(accept('A'.repeat(22))).rejects.toMatchObject({ status: 404 })
    world.pass(7 * DAY_MS)
    await expect(accept(tokenOf(body))).rejects.toMatchObject({ status: 409 })

    expect((await world.call(`/agents/invitations/${body.id}`)).body.state).toBe('expired')
    expect((await invite({ email: 'ada@example.com' })).status).toBe(201)
  })

  test('a revoked invitation cannot be accepted, and its mail is not sent', async () => {
    const { world, invite, tokenOf, accept } = await givenTeam(engine)
    const { body } = await invite({ email: 'ada@example.com' })
    const path = `/agents/invitations/${body.id}`

    expect((await world.call(path, { method: 'DELETE' })).status).toBe(204)

    await expect(accept(tokenOf(body))).rejects.toMatchObject({ status: 409 })
    expect((await world.call(path)).body.state).toBe('revoked')
    expect(await world.deps.db.selectFrom('mails').selectAll().execute()).toEqual([])
    expect((await world.call(`${path}/resend`, { method: 'POST' })).status).toBe(409)
    expect((await world.call(path, { method: 'DELETE' })).status).toBe(204)
  })

  test('a resent invitation has a new link and seven more days, even after it expired', async () => {
    const { world, invite, tokenOf, accept } = await givenTeam(engine)
    const { body } = await invite({ email: 'ada@example.com' })
    world.pass(8 * DAY_MS)

    const again = await world.call(`/agents/invitations/${body.id}/resend`, { method: 'POST' })

    expect(again.status).toBe(202)
    expect(again.body).toMatchObject({ id: body.id, state: 'pending' })
    expect(Date.parse(again.body.expires) - Date.parse(body.expires)).toBeGreaterThanOrEqual(8 * DAY_MS)
    expect(await world.deps.db.selectFrom('mails').selectAll().execute()).toHaveLength(1)
    await expect(accept(tokenOf(body, 1))).rejects.toMatchObject({ status: 404 })
    await accept(tokenOf(body, 2))
    expect((await world.call(`/agents/invitations/${body.id}`, { method: 'DELETE' })).status).toBe(409)
  })

  test('invitations of other organizations are a 404', async () => {
    const { world, invite } = await givenTeam(engine)
    const { body } = await invite({ email: 'ada@example.com' })
    const { key } = await world.organization('Second')
    const path = `/agents/invitations/${body.id}`

    const responses = [
      await world.call(path, { key }),
      await world.call(path, { key, method: 'DELETE' }),
      await world.call(`${path}/resend`, { key, method: 'POST' }),
    ]

    expect(responses.map(({ status }) => status)).toEqual([404, 404, 404])
    expect((await world.call('/agents/invitations', { key })).body.data).toEqual([])
    expect((await world.call(path)).body.state).toBe('pending')
  })

  test('a user can belong to several organizations', async () => {
    const { world, invite, tokenOf, accept } = await givenTeam(engine)
    await givenAgent(world, { name: 'Ada', organizationName: 'Second' })

    await accept(tokenOf((await invite({ email: 'ada@example.com' })).body))

    const people = await world.deps.db
      .selectFrom('people')
      .select('id')
      .where('email', '=', 'ada@example.com')
      .execute()
    expect(people).toHaveLength(1)
  })
})

async function givenTeam(engine: Engine) {
  const world = await givenApp(engine)
  const { db, keyring, clock } = world.deps
  return {
    world,
    invite: (body: object) => world.call('/agents/invitations', { method: 'POST', body }),
    tokenOf: ({ id }: Invitation, issue = 1) => invitationToken(keyring, id, issue),
    async accept(token: string, email = 'ada@example.com') {
      const person = await ensureUser(db, { email, name: 'Ada' }, clock.now())
      return await acceptInvitation(db, { token, user: person }, { now: clock.now(), address: null, requestId: null })
    },
  }
}
