import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { onTestFinished } from 'vitest'

export const OIDC_CLIENT = { id: 'zonewatch', secret: 'the secret of the client at the provider' }

/** The claims of a user beside `sub`. */
export type Claims = Record<string, unknown>

/** A real OpenID Connect provider on 127.0.0.1. Whoever signs in as NAME has the claims that are set for it. */
export async function givenOidcProvider(redirectUris: readonly string[] = []) {
  const users = new Map<string, Claims>()
  const server: Server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: OIDC_CLIENT.id,
        client_secret: OIDC_CLIENT.secret,
        redirect_uris: [...redirectUris],
        post_logout_redirect_uris: redirectUris.map((uri) => new URL('/dashboard/sign-in', uri).href),
      },
    ],
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    findAccount: (_context, id) => ({ accountId: id, claims: async () => ({ sub: id, ...users.get(id) }) }),
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
    cookies: { keys: ['a key of the test'] },
  })
  server.on('request', provider.callback())
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  })
  return { issuer, users }
}

/**
 * What a browser does at the provider: follows redirects there with its cookies, enters the name, agrees. Resolves with the address that
 * the provider sends the browser back to.
 */
export async function signInAtProvider(start: string, name: string): Promise<URL> {
  const cookies = new Map<string, string>()
  const { origin } = new URL(start)
  let next: { url: string; form?: URLSearchParams } = { url: start }
  for (let step = 0; step < 20; step++) {
    const response = await fetch(next.url, {
      redirect: 'manual',
      method: next.form ? 'POST' : 'GET',
      headers: { cookie: [...cookies].map(([key, value]) => `${key}=${value}`).join('; ') },
      ...(next.form && { body: next.form }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, key = '', value = ''] = line.match(/^([^=]+)=([^;]*)/) ?? []
      cookies.set(key, value)
    }
    const location = response.headers.get('location')
    const page = await response.text()
    if (location !== null) {
      const url = new URL(location, next.url)
      if (url.origin !== origin) return url
      next = { url: url.href }
      continue
    }
    const [, action] = page.match(/<form[^>]*action="([^"]+)"/) ?? []
    const [, prompt] = page.match(/name="prompt" value="(\w+)"/) ?? []
    if (action === undefined || prompt === undefined) throw new Error(`no form at ${next.url}: ${page.slice(0, 500)}`)
    const form = new URLSearchParams({ prompt, ...(prompt === 'login' && { login: name, password: 'any' }) })
    next = { url: new URL(action, next.url).href, form }
  }
  throw new Error('The provider did not send the browser back.')
}
