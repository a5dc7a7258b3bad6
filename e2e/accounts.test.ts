import { expect, test } from 'vitest'
import { runCommand } from '#server/testing/server-process.ts'
import { eventually, givenEnvironment, givenServer } from '#server/testing/test-server.ts'

const ADA = { organization: 'Acme', name: 'Ada', email: 'ada@example.com', password: 'correct horse' }

test.each(['sqlite', 'postgres'] as const)(
  'a user sets up an empty server, is signed in at all of its processes, and resets a forgotten password (%s)',
  async (engine) => {
    const { settings } = await givenEnvironment(engine, { isMigrated: false })
    const [first, second] = await Promise.all([givenServer(settings), givenServer(settings)])
    const links = await Promise.all([first, second].map((server) => linkToken(server, 'setup')))
    expect(links[0]).toBe(links[1])
    const token = links[0]!

    const ada = openClient(first.url)
    expect((await ada.post('/dashboard/api/setup', { token, ...ADA })).status).toBe(200)
    const eve = await openClient(second.url).post('/dashboard/api/setup', { token, ...ADA, email: 'eve@example.com' })
    expect(eve.status).toBe(403)
    const otherProcess = openClient(second.url, new Map(ada.cookies))
    expect((await otherProcess.get('/monitors')).status).toBe(200)
    expect((await ada.post('/dashboard/auth/sign-out')).status).toBe(200)
    expect((await otherProcess.get('/monitors')).status).toBe(401)

    await ada.post('/dashboard/auth/request-password-reset', { email: ADA.email })
    const reset = { token: await linkToken([first, second], 'reset-password'), newPassword: 'another horse' }
    expect((await ada.post('/dashboard/auth/reset-password', reset)).status).toBe(200)
    const signIn = { email: ADA.email, password: 'another horse' }
    expect((await ada.post('/dashboard/auth/sign-in/email', signIn)).status).toBe(200)
    expect((await ada.get('/dashboard/api/me')).body).toMatchObject({ organizations: [{ name: 'Acme' }] })

    const setup = ['setup', '--organization', 'Second', '--email', ADA.email]
    expect(await runCommand([...setup, '--password', ADA.password], settings)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('already has an account with another password'),
    })
    expect(await runCommand(setup, settings)).toMatchObject({
      code: 1,
      stderr: 'The password must have at least 8 characters.\n',
    })
    expect(await runCommand(setup, settings, 'another horse\n')).toMatchObject({ code: 0 })
    expect((await ada.get('/dashboard/api/me')).body).toMatchObject({
      organizations: [{ name: 'Acme' }, { name: 'Second', role: 'owner' }],
    })
  },
)

type WithOutput = { stdout(): string }

/** The token of the last link to a page in the logs. */
async function linkToken(servers: WithOutput | WithOutput[], page: string): Promise<string> {
  const links = () =>
    [servers].flat().flatMap((server) => [...server.stdout().matchAll(new RegExp(`/dashboard/${page}/([\\w-]+)`, 'g'))])
  const found = await eventually(
    async () => links(),
    (all) => all.length > 0,
  )
  return found.at(-1)![1]!
}

/** A client that stores cookies and sends Origin, as a browser does. */
function openClient(url: string, cookies = new Map<string, string>()) {
  const call = async (method: string, path: string, body?: unknown) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { cookie, origin: url, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      cookies.set(name, value)
    }
    return { status: response.status, body: (await response.json()) as unknown }
  }
  return {
    cookies,
    get: (path: string) => call('GET', path),
    post: (path: string, body?: unknown) => call('POST', path, body),
  }
}
