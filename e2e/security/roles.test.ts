import { expect, test } from 'vitest'
import { givenSignedInBrowser, PASSWORD } from '#server/testing/accounts.ts'
import { type Browser, openBrowser } from '#server/testing/browser.ts'
import { onBothEngines } from '#server/testing/database.ts'
import { givenApp, type TestApp } from '#server/testing/test-app.ts'

const KEYS = '/api-keys'

onBothEngines('an admin', (_fresh, engine) => {
  test('can neither read, resend nor revoke an invitation of an owner', async () => {
    const world = await givenApp(engine)
    const owner = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner' })
    const admin = await givenSignedInBrowser(world, { name: 'Ada', role: 'admin' })
    const invite = (email: string, role: string) => owner.call('/agents/invitations', { body: { email, role } })
    const { id } = (await invite('eve@example.com', 'owner')).body
    await invite('max@example.com', 'admin')

    const linksOf = async (browser: Browser) => {
      const { data } = (await browser.call('/dashboard/api/mails')).body
      return data.map(({ text }: { text: string }) => /\/dashboard\/invitations\/[\w-]{22}\n/.test(text))
    }
    expect(await linksOf(admin)).toEqual([true, false])
    expect(await linksOf(owner)).toEqual([true, true])

    expect((await admin.call(`/agents/invitations/${id}/resend`, { method: 'POST' })).status).toBe(403)
    expect((await admin.call(`/agents/invitations/${id}`, { method: 'DELETE' })).status).toBe(403)
    expect((await owner.call(`/agents/invitations/${id}/resend`, { method: 'POST' })).status).toBe(202)
    expect((await owner.call(`/agents/invitations/${id}`, { method: 'DELETE' })).status).toBe(204)
  })

  test('can neither create nor delete what is reserved for owners', async () => {
    const world = await givenApp(engine)
    const owner = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner' })
    const admin = await givenSignedInBrowser(world, { name: 'Ada', role: 'admin' })
    const [ada, olga] = [await agentOf(world, 'Ada'), await agentOf(world, 'Olga')]
    const { id: key } = (await owner.call(KEYS, { body: { name: 'Deploy', role: 'admin' } })).body
    const requests: [string, string, object?][] = [
      ['/agents/invitations', 'POST', { email: 'eve@example.com', role: 'owner' }],
      [`/agents/${ada}`, 'PATCH', { role: 'owner' }],
      [`/agents/${olga}`, 'PATCH', { role: 'viewer' }],
      [`/agents/${olga}`, 'PATCH', { notification_email: 'eve@example.com' }],
      [`/agents/${olga}`, 'DELETE'],
      [KEYS, 'POST', { name: 'Mine', role: 'admin' }],
      [`${KEYS}/${key}`, 'DELETE'],
      ['/organization/billing', 'PATCH', { name: 'Eve' }],
      ['/organization/subscription', 'PUT', { plan: 'self-hosted' }],
      ['/organization/subscription', 'DELETE'],
    ]
    const answered = await Promise.all(
      requests.map(async ([path, method, body]) => (await admin.call(path, { method, body })).status),
    )
    expect(answered).toEqual(requests.map(() => 403))
  })
})

onBothEngines('the API keys of a user', (_fresh, engine) => {
  test('have at most the permissions of the user, and are revoked when the user is removed', async () => {
    const world = await givenApp(engine)
    const owner = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner' })
    const eve = await givenSignedInBrowser(world, { name: 'Eve', role: 'owner' })
    const agent = await agentOf(world, 'Eve')
    const admin = (await eve.call(KEYS, { body: { name: 'All', role: 'admin' } })).body.key
    const write = (await eve.call(KEYS, { body: { name: 'Some', role: 'write' } })).body.key
    const own = (await owner.call(KEYS, { body: { name: 'Other', role: 'admin' } })).body.key
    const mayDo = async (key: string) => [
      (await world.call('/groups', { key })).status,
      (await world.call('/groups', { key, method: 'POST', body: {} })).status,
      (await world.call('/organization', { key, method: 'PATCH', body: {} })).status,
    ]
    const setRole = async (role: string) =>
      expect((await owner.call(`/agents/${agent}`, { method: 'PATCH', body: { role } })).status).toBe(200)
    expect(await mayDo(admin)).toEqual([200, 400, 200])

    await setRole('admin')
    expect(await mayDo(admin)).toEqual([200, 400, 403])
    await setRole('viewer')
    expect(await mayDo(admin)).toEqual([200, 403, 403])
    expect(await mayDo(write)).toEqual([200, 403, 403])
    await setRole('owner')
    expect(await mayDo(admin)).toEqual([200, 403, 403])
    expect((await owner.call(`/agents/${agent}`, { method: 'DELETE' })).status).toBe(204)
    expect(await mayDo(admin)).toEqual([401, 401, 401])
    expect(await mayDo(write)).toEqual([401, 401, 401])
    expect(await mayDo(own)).toEqual([200, 400, 200])
  })

  test('and their open invitations give a removed user no access', async () => {
    const world = await givenApp(engine)
    const owner = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner' })
    const eve = await givenSignedInBrowser(world, { name: 'Eve', role: 'owner' })
    const { key } = (await eve.call(KEYS, { body: { name: 'All', role: 'admin' } })).body
    const stateOf = async (id: string) => (await owner.call(`/agents/invitations/${id}`)).body.state
    const asOwner = { email: 'eve@evil.example', role: 'owner' }
    const asMember = { email: 'mia@example.com', role: 'member' }
    const { id: first } = (await eve.call('/agents/invitations', { body: asOwner })).body
    const { id: second } = (await world.call('/agents/invitations', { method: 'POST', key, body: asMember })).body

    const agent = await agentOf(world, 'Eve')
    await owner.call(`/agents/${agent}`, { method: 'PATCH', body: { role: 'admin' } })
    expect([await stateOf(first), await stateOf(second)]).toEqual(['revoked', 'pending'])
    await owner.call(`/agents/${agent}`, { method: 'DELETE' })
    expect(await stateOf(second)).toBe('revoked')
    expect((await eve.call('/dashboard/api/me')).body.organizations).toEqual([])
  })
})

onBothEngines('a user who is being removed', (_fresh, engine) => {
  test('cannot create an API key or invitation that outlives the removal', async () => {
    const world = await givenApp(engine)
    const owner = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner' })
    const eve = await givenSignedInBrowser(world, { name: 'Eve', role: 'owner' })
    const agent = await agentOf(world, 'Eve')
    const give = (number: number) => [
      eve.call(KEYS, { body: { name: `${number}`, role: 'admin' } }),
      eve.call('/agents/invitations', { body: { email: `eve${number}@evil.example`, role: 'owner' } }),
    ]
    const [removed, ...given] = await Promise.all([
      owner.call(`/agents/${agent}`, { method: 'DELETE' }),
      ...Array.from({ length: 6 }, (_, number) => give(number)).flat(),
    ])
    expect(removed.status).toBe(204)
    expect(given.filter(({ status }) => ![201, 403].includes(status))).toEqual([])
    const { db } = world.deps
    const keys = db.selectFrom('api_keys').select('id').where('created_by', '=', agent)
    const invitations = db.selectFrom('invitations').select('id').where('invited_by', '=', agent)
    expect(await keys.where('revoked_at', 'is', null).execute()).toEqual([])
    expect(await invitations.where('revoked_at', 'is', null).execute()).toEqual([])
  })
})

onBothEngines('a revoked invitation', (_fresh, engine) => {
  test('is refused before a password is hashed', async () => {
    const world = await givenApp(engine)
    const owner = await givenSignedInBrowser(world, { name: 'Olga', role: 'owner' })
    const { id } = (await owner.call('/agents/invitations', { body: { email: 'eve@example.com' } })).body
    const { text } = (await owner.call('/dashboard/api/mails')).body.data[0]
    const [, token] = /\/dashboard\/invitations\/([\w-]{22})\n/.exec(text)!
    await owner.call(`/agents/invitations/${id}`, { method: 'DELETE' })

    // The refusal comes before the password is required, so that nothing is hashed.
    for (const body of [{}, { name: 'Eve', password: PASSWORD }]) {
      const answer = await openBrowser(world).call(`/dashboard/api/invitations/${token}/accept`, { body })
      expect(answer).toMatchObject({ status: 409, body: { error: expect.stringContaining('revoked') } })
    }
  })
})

async function agentOf({ deps }: TestApp, name: string): Promise<string> {
  const row = await deps.db.selectFrom('agents').select('id').where('name', '=', name).executeTakeFirstOrThrow()
  return row.id
}
