import { describe, expect, onTestFinished, test } from 'vitest'
import { parseProviders } from '../config/oidc.ts'
import { givenUser, PASSWORD, signIn } from '../testing/accounts.ts'
import { type Browser, openBrowser } from '../testing/browser.ts'
import { onBothEngines } from '../testing/database.ts'
import { type Claims, givenOidcProvider, OIDC_CLIENT, signInAtProvider } from '../testing/oidc-provider.ts'
import { startReceiver } from '../testing/receiver.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

const CALLBACK = 'http://localhost:8080/dashboard/auth/oidc/company/callback'

type Options = { grants?: object[]; isOnly?: boolean; fields?: object }

/** A server whose organization "First" takes the provider's users with the group `dns` as members, and those with `admins` as admins. */
async function givenCompany(engine: 'sqlite' | 'postgres', { grants, isOnly = false, fields }: Options = {}) {
  const world = await givenApp(engine)
  const provider = await givenOidcProvider([CALLBACK, CALLBACK.replace('company', 'other')])
  const { id: organization } = await world.organization('First')
  const company = {
    ...{ id: 'company', name: 'Example Ltd', issuer: provider.issuer },
    ...{ client_id: OIDC_CLIENT.id, client_secret: OIDC_CLIENT.secret, domains: ['example.com'] },
    grants: grants ?? [
      { organization, role: 'member', group: 'dns' },
      { organization, role: 'admin', group: 'admins' },
    ],
    ...fields,
  }
  const other = { ...company, id: 'other', name: 'Another' }
  world.deps.config.oidc = { providers: parseProviders(JSON.stringify([company, other])), isOnly }
  const claims = (name: string, more: Claims = {}) =>
    provider.users.set(name, {
      ...{ email: `${name}@example.com`, email_verified: true, name: name.toUpperCase(), groups: ['dns'] },
      ...more,
    })
  return { world, provider, organization, claims }
}

const begin = (browser: Browser, to?: string, id = 'company') =>
  browser.call(`/dashboard/auth/oidc/${id}/start${to === undefined ? '' : `?to=${encodeURIComponent(to)}`}`)

/** Resolves with where the server sends the browser in the end. */
async function signInThrough(browser: Browser, name: string, to?: string): Promise<string> {
  const { headers } = await begin(browser, to)
  const back = await signInAtProvider(headers.location!, name)
  const response = await browser.call(back.pathname + back.search, { headers: { 'sec-fetch-site': 'cross-site' } })
  expect(response.status).toBe(303)
  return response.headers.location!
}

const me = async (browser: Browser) => (await browser.call('/dashboard/api/me')).body
/** The roles of the members beside the owner that the organization began with. */
const roles = async (world: TestApp) => {
  const { data } = (await world.call('/agents')).body
  return data.flatMap(({ role, email }: Record<string, string>) => (email === 'owner@first.example' ? [] : [role]))
}

onBothEngines('single sign-on', (_fresh, engine) => {
  test('makes an account and a membership for a person with a granted group, and opens the page that was asked for', async () => {
    const { world, claims } = await givenCompany(engine)
    claims('grace')
    const browser = openBrowser(world)
    expect(await signInThrough(browser, 'grace', '/monitors?state=MISMATCH')).toBe('/dashboard/monitors?state=MISMATCH')
    expect(await me(browser)).toMatchObject({
      person: { email: 'grace@example.com', name: 'GRACE' },
      organizations: [{ name: 'First', role: 'member' }],
    })
    const { data } = (await world.call('/audit-log?order_way=desc')).body
    expect(data.slice(0, 2).map(({ action, actor, after }: Record<string, object>) => [action, actor, after])).toEqual([
      ['agent.signed_in', expect.objectContaining({ label: 'GRACE' }), { provider: 'company' }],
      [
        'agent.added',
        expect.objectContaining({ label: 'Example Ltd' }),
        { email: 'grace@example.com', role: 'member' },
      ],
    ])
    // The second time it is the same account.
    const { person } = await me(browser)
    claims('grace', { email: 'married@example.com' })
    const again = openBrowser(world)
    expect(await signInThrough(again, 'grace')).toBe('/dashboard/')
    expect((await me(again)).person).toEqual(person)
  })

  test('follows the groups: roles rise and fall, and who has none loses the membership and its keys', async () => {
    const { world, claims } = await givenCompany(engine)
    claims('grace', { groups: ['dns', 'admins'] })
    const browser = openBrowser(world)
    await signInThrough(browser, 'grace')
    expect((await me(browser)).organizations).toMatchObject([{ role: 'admin' }])
    const key = (await browser.call('/api-keys', { body: { name: 'Own', role: 'admin' } })).body
    expect(key).toMatchObject({ code: 403 })
    const { body } = await browser.call('/api-keys', { body: { name: 'Own', role: 'write' } })
    claims('grace', { groups: 'dns' })
    await signInThrough(openBrowser(world), 'grace')
    expect(await roles(world)).toEqual(['member'])
    claims('grace', { groups: [] })
    expect(await signInThrough(openBrowser(world), 'grace')).toBe('/dashboard/sign-in?problem=no_access')
    expect(await roles(world)).toEqual([])
    expect((await world.call('/monitors', { key: body.key })).status).toBe(401)
    expect((await browser.call('/monitors')).status).toBe(403)
  })

  test('leaves owners as they are', async () => {
    const { world, claims } = await givenCompany(engine)
    await givenUser(world, { name: 'Ada', role: 'owner' })
    await confirmAddress(world, 'ada@example.com')
    claims('ada', { groups: [] })
    const browser = openBrowser(world)
    await signInThrough(browser, 'ada')
    expect((await me(browser)).organizations).toMatchObject([{ role: 'owner' }])
  })

  test('links an account with a confirmed address, and keeps its password', async () => {
    const { world, claims } = await givenCompany(engine)
    const { id } = await givenUser(world, { name: 'Ada' })
    await confirmAddress(world, 'ada@example.com')
    claims('ada')
    const browser = openBrowser(world)
    await signInThrough(browser, 'ada')
    expect((await me(browser)).person.id).toBe(id)
    await signIn(openBrowser(world), 'ada@example.com')
  })

  test('ends what a stranger could use who made an account with an address that is not theirs', async () => {
    const { world, claims } = await givenCompany(engine)
    await givenUser(world, { name: 'Ada' })
    const stranger = openBrowser(world)
    await signIn(stranger, 'ada@example.com')
    claims('ada')
    await signInThrough(openBrowser(world), 'ada')
    expect((await stranger.call('/dashboard/api/me')).status).toBe(401)
    const body = { email: 'ada@example.com', password: PASSWORD }
    expect((await stranger.call('/dashboard/auth/sign-in/email', { body })).status).toBe(401)
  })

  test('takes an open invitation for access', async () => {
    const { world, claims } = await givenCompany(engine)
    await world.call('/agents/invitations', { method: 'POST', body: { email: 'eve@example.com' } })
    claims('eve', { groups: [] })
    const browser = openBrowser(world)
    expect(await signInThrough(browser, 'eve', '/invitations/x')).toBe('/dashboard/invitations/x')
  })

  test.each([
    ['no_email', { email: undefined }],
    ['unconfirmed_email', { email_verified: false }],
    ['unconfirmed_email', { email_verified: 'true' }],
    ['foreign_email', { email: 'grace@example.net' }],
    ['foreign_email', { email: 'grace@example.com.example.net' }],
    ['foreign_email', { email: 'grace@sub.example.com' }],
    ['no_email', { email: 'grace@example.net @example.com' }],
    ['no_email', { email: `${'g'.repeat(300)}@example.com` }],
    ['no_access', { groups: ['dns2'] }],
    ['no_access', { groups: { dns: true } }],
  ])('refuses with %s a person with %o, and makes no account', async (problem, more) => {
    const { world, claims } = await givenCompany(engine)
    claims('grace', more)
    const browser = openBrowser(world)
    expect(await signInThrough(browser, 'grace')).toBe(`/dashboard/sign-in?problem=${problem}`)
    expect(browser.cookies.size).toBe(0)
    const people = await world.deps.db.selectFrom('people').select('email').execute()
    expect(people).toEqual([{ email: 'owner@first.example' }])
  })

  test('asks for the code of a second factor', async () => {
    const { world, claims } = await givenCompany(engine)
    const { id } = await givenUser(world, { name: 'Ada' })
    await confirmAddress(world, 'ada@example.com')
    await world.deps.db.updateTable('people').set({ two_factor_enabled: 1 }).where('id', '=', id).execute()
    claims('ada')
    const browser = openBrowser(world)
    expect(await signInThrough(browser, 'ada', '/zones')).toBe('/dashboard/sign-in?code=needed&to=%2Fzones')
    expect((await browser.call('/dashboard/api/me')).status).toBe(401)
  })

  test('signs out at the provider too, and its sessions end after a day', async () => {
    const { world, provider, claims } = await givenCompany(engine)
    claims('grace')
    const browser = openBrowser(world)
    await signInThrough(browser, 'grace')
    const { body } = await browser.call('/dashboard/auth/sign-out', { body: {} })
    const url = new URL(body.url)
    expect([url.origin + url.pathname, url.searchParams.get('client_id')]).toEqual([
      `${provider.issuer}/session/end`,
      'zonewatch',
    ])
    await signInThrough(browser, 'grace')
    world.pass(24 * 3_600_000 + 1)
    expect((await browser.call('/dashboard/api/me')).status).toBe(401)
  })
})

describe('the way through the provider', () => {
  test('uses PKCE, state and nonce, and asks for nothing else', async () => {
    const { world } = await givenCompany('sqlite')
    const { status, headers } = await begin(openBrowser(world))
    const query = Object.fromEntries(new URL(headers.location!).searchParams)
    expect([status, query]).toEqual([
      303,
      {
        client_id: 'zonewatch',
        redirect_uri: CALLBACK,
        response_type: 'code',
        scope: 'openid email profile',
        code_challenge_method: 'S256',
        code_challenge: expect.stringMatching(/^[\w-]{43}$/),
        state: expect.stringMatching(/^[\w-]{43}$/),
        nonce: expect.stringMatching(/^[\w-]{43}$/),
      },
    ])
    expect(headers['set-cookie']).toMatch(/HttpOnly; SameSite=Lax/)
  })

  test.each([
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    '/a b',
    '/x\r\nset-cookie: a=b',
  ])('does not lead to %j afterwards', async (to) => {
    const { world, claims } = await givenCompany('sqlite')
    claims('grace')
    expect(await signInThrough(openBrowser(world), 'grace', to)).toBe('/dashboard/')
  })

  test('does not take a response in another browser, for another sign-in, twice, too late or from another provider', async () => {
    const { world, claims } = await givenCompany('sqlite')
    claims('grace')
    const browser = openBrowser(world)
    const back = await signInAtProvider((await begin(browser)).headers.location!, 'grace')
    const callback = back.pathname + back.search
    const answer = async (from: Browser, path = callback) => (await from.call(path)).headers.location
    const expired = '/dashboard/sign-in?problem=expired'
    const failed = '/dashboard/sign-in?problem=failed'
    // A stranger who sends the link to a victim.
    const victim = openBrowser(world)
    expect(await answer(victim)).toBe(expired)
    await begin(victim)
    expect(await answer(victim)).toBe(failed)
    // The provider that the browser was sent to is the one that answers.
    await begin(victim, undefined, 'other')
    expect(await answer(victim)).toBe(expired)
    expect(await answer(browser, callback.replace('iss=', 'iss=http%3A%2F%2Fevil.example'))).toBe(failed)
    const third = openBrowser(world)
    const other = await signInAtProvider((await begin(third)).headers.location!, 'grace')
    expect(await answer(third, other.pathname + other.search.replace(/state=[^&]+/, 'state=of-another'))).toBe(failed)
    const second = openBrowser(world)
    const again = await signInAtProvider((await begin(second)).headers.location!, 'grace')
    const used = new Map(second.cookies)
    expect(await answer(second, again.pathname + again.search)).toBe('/dashboard/')
    for (const [name, value] of used) second.cookies.set(name, value)
    expect(await answer(second, again.pathname + again.search)).toBe(failed)
    world.pass(10 * 60_000 + 1)
    for (const [name, value] of used) second.cookies.set(name, value)
    expect(await answer(second, again.pathname + again.search)).toBe(expired)
    expect((await browser.call('/dashboard/api/me')).status).toBe(401)
  })

  test('says so when the user cancels, and when the provider is away', async () => {
    const { world } = await givenCompany('sqlite')
    const browser = openBrowser(world)
    const { headers } = await begin(browser)
    const state = new URL(headers.location!).searchParams.get('state')!
    const { provider } = { provider: world.deps.config.oidc.providers[0]! }
    const query = new URLSearchParams({ error: 'access_denied', state, iss: provider.issuer })
    const canceled = await browser.call(`/dashboard/auth/oidc/company/callback?${query}`)
    expect(canceled.headers.location).toBe('/dashboard/sign-in?problem=refused')
    world.deps.config.oidc = { providers: [{ ...provider, id: 'away', issuer: 'http://127.0.0.1:9' }], isOnly: false }
    const away = await begin(browser, '/zones', 'away')
    expect(away.headers.location).toBe('/dashboard/sign-in?problem=unreachable&to=%2Fzones')
    expect((await begin(browser, undefined, 'nobody')).status).toBe(404)
  })
})

test('a provider that does not respond is asked once in five seconds, however many sign-ins begin', async () => {
  const { world } = await givenCompany('sqlite')
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  receiver.answers(500)
  const [company] = world.deps.config.oidc.providers
  world.deps.config.oidc = { providers: [{ ...company!, issuer: receiver.url }], isOnly: false }
  const browser = openBrowser(world)
  for (let index = 0; index < 5; index++) await begin(browser)
  expect(receiver.received).toHaveLength(1)
  world.pass(5_001)
  await begin(browser)
  expect(receiver.received).toHaveLength(2)
})

test('with OIDC_ONLY no password works, and the page knows', async () => {
  const { world, claims } = await givenCompany('sqlite', { isOnly: true })
  await givenUser(world, { name: 'Ada' })
  const browser = openBrowser(world)
  expect((await browser.call('/dashboard/api/welcome')).body).toMatchObject({
    passwords: false,
    providers: [
      { id: 'company', name: 'Example Ltd' },
      { id: 'other', name: 'Another' },
    ],
  })
  const refused = { status: 403, body: { error: expect.stringContaining('Sign in with Example Ltd or Another.') } }
  const credentials = { email: 'ada@example.com', password: PASSWORD }
  const token = 'x'.repeat(43)
  for (const [path, body] of Object.entries({
    '/dashboard/auth/sign-in/email': credentials,
    '/dashboard/auth/request-password-reset': { email: 'ada@example.com' },
    '/dashboard/auth/reset-password': { token, newPassword: PASSWORD },
    '/dashboard/auth/verify-email': { token, password: PASSWORD },
    [`/dashboard/api/invitations/${token}/accept`]: { name: 'Ada', password: PASSWORD },
  }))
    expect(await browser.call(path, { body }), path).toMatchObject(refused)
  claims('grace')
  expect(await signInThrough(browser, 'grace')).toBe('/dashboard/')
})

describe('OIDC_PROVIDERS', () => {
  const valid = {
    ...{ id: 'company', name: 'Example Ltd', issuer: 'https://id.example.com', client_id: 'zonewatch' },
    ...{ domains: ['Example.com'], grants: [{ organization: 'org_1', role: 'member' }] },
  }

  test('has defaults', () => {
    expect(parseProviders(JSON.stringify([valid]))).toEqual([
      {
        ...{ id: 'company', name: 'Example Ltd', issuer: 'https://id.example.com', clientId: 'zonewatch' },
        ...{ clientSecret: null, scope: 'openid email profile', groupsClaim: 'groups', domains: ['example.com'] },
        ...{ trustsEmail: false, grants: [{ organization: 'org_1', role: 'member' }] },
      },
    ])
  })

  test.each([
    ['{', 'is not JSON.'],
    ['{}', 'must be a list of 1 to 20 providers.'],
    [[], 'must be a list of 1 to 20 providers.'],
    [[valid, valid], 'has two providers with the same id.'],
    [[{ ...valid, id: 'a/b' }], 'needs in provider 1 a field id: 1 to 40 lower-case letters, digits and hyphens.'],
    [[{ ...valid, clientId: 'x' }], 'has in provider 1 an unknown field: clientId.'],
    [
      [{ ...valid, issuer: 'http://id.example.com' }],
      'has in the provider company an issuer that does not begin with https://.',
    ],
    [[{ ...valid, issuer: 'http://127.example.com' }], 'an issuer that does not begin with https://.'],
    [[{ ...valid, scope: 'email' }], 'has in the provider company a scope without openid.'],
    [[{ ...valid, domains: [] }], 'needs in provider 1 a field domains: a list with at least one item.'],
    [[{ ...valid, domains: ['*'] }], 'has in the provider company a domain that is none: "*".'],
    [[{ ...valid, grants: [{ organization: 'org_1', role: 'owner' }] }], 'a field role: admin, member or viewer.'],
    [
      [{ ...valid, grants: [{ organization: 'shop', role: 'admin' }] }],
      'a field organization: the id of an organization.',
    ],
  ])('%o: %s', (value, message) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    expect(() => parseProviders(text)).toThrow(message)
  })
})

async function confirmAddress({ deps }: TestApp, email: string): Promise<void> {
  await deps.db.updateTable('people').set({ email_verified: 1 }).where('email', '=', email).execute()
}
