import type * as Client from 'openid-client'
import type { Logger } from 'pino'
import type { OidcProvider } from '../config/oidc.ts'

/** What a provider says of the user who signed in. */
export type Identity = {
  issuer: string
  /** The provider's own id of the user, which does not change: OpenID Connect Core, section 2. */
  subject: string
  email: string | undefined
  isEmailVerified: boolean
  name: string | undefined
  groups: readonly string[]
}

/** What the browser keeps between the two redirects, encrypted. */
export type PendingOidc = {
  provider: string
  state: string
  nonce: string
  verifier: string
  to: string
  until: number
}

/** How long a user may take at the provider. */
export const OIDC_MS = 10 * 60_000
/** In seconds, for each request to the provider. */
const TIMEOUT_SECONDS = 10
/** Keys are fetched again when an unknown one signs; the endpoints after this time. */
const KEEP_MS = 60 * 60_000
/** So long, a provider that did not respond is not asked again, whoever wants to sign in. */
const PAUSE_MS = 5_000

/** Speaks with the providers. Loads its library at the first use. */
export class OidcClient {
  readonly #baseUrl: string
  readonly #now: () => number
  readonly #log: Pick<Logger, 'warn'>
  readonly #found = new Map<string, { at: number; config: Promise<Client.Configuration> }>()

  constructor(baseUrl: string, now: () => number, log: Pick<Logger, 'warn'>) {
    this.#baseUrl = baseUrl
    this.#now = now
    this.#log = log
  }

  /** Where to send the browser, and what it must keep. Throws if the provider does not respond. */
  async begin(provider: OidcProvider, to: string): Promise<{ url: string; pending: PendingOidc }> {
    const [client, config] = await this.#configure(provider)
    const verifier = client.randomPKCECodeVerifier()
    const pending: PendingOidc = {
      ...{ provider: provider.id, state: client.randomState(), nonce: client.randomNonce(), verifier, to },
      until: this.#now() + OIDC_MS,
    }
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: this.redirectUri(provider),
      scope: provider.scope,
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    return { url: url.href, pending }
  }

  /** @param query the query of the redirect, with `code` and `state`. Throws for anything but a valid response to this sign-in. */
  async complete(provider: OidcProvider, query: string, { state, nonce, verifier }: PendingOidc): Promise<Identity> {
    const [client, config] = await this.#configure(provider)
    const tokens = await client.authorizationCodeGrant(config, new URL(`${this.redirectUri(provider)}?${query}`), {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    })
    const token = tokens.claims()!
    const hasAll = token.email !== undefined && token[provider.groupsClaim] !== undefined
    // Many providers say address and groups only here.
    const more =
      hasAll || !config.serverMetadata().userinfo_endpoint
        ? {}
        : await client.fetchUserInfo(config, tokens.access_token, token.sub)
    const claims: Record<string, unknown> = { ...more, ...token }
    const groups = claims[provider.groupsClaim]
    return {
      issuer: token.iss,
      subject: token.sub,
      email: typeof claims.email === 'string' ? claims.email : undefined,
      isEmailVerified: claims.email_verified === true,
      name: typeof claims.name === 'string' ? claims.name : undefined,
      groups: [groups].flat().filter((group) => typeof group === 'string'),
    }
  }

  /** Where the browser signs out at the provider too; undefined if the provider has no such page or does not respond. */
  async signOutUrl(provider: OidcProvider): Promise<string | undefined> {
    try {
      const [client, config] = await this.#configure(provider)
      if (!config.serverMetadata().end_session_endpoint) return undefined
      const back = `${this.#baseUrl}/dashboard/sign-in`
      return client.buildEndSessionUrl(config, { post_logout_redirect_uri: back }).href
    } catch {
      return undefined
    }
  }

  /** To register at the provider. */
  redirectUri({ id }: OidcProvider): string {
    return `${this.#baseUrl}/dashboard/auth/oidc/${id}/callback`
  }

  async #configure(provider: OidcProvider): Promise<[typeof Client, Client.Configuration]> {
    const client = await import('openid-client')
    const found = this.#found.get(provider.id)
    if (found && this.#now() - found.at < KEEP_MS && this.#now() >= found.at) return [client, await found.config]
    const config = discover(client, provider)
    this.#found.set(provider.id, { at: this.#now(), config })
    try {
      return [client, await config]
    } catch (error) {
      this.#found.set(provider.id, { at: this.#now() - KEEP_MS + PAUSE_MS, config })
      // Here and not for each sign-in, of which anybody can begin many.
      const { message } = error as Error
      this.#log.warn({ provider: provider.id, reason: message }, 'The provider of single sign-on did not respond.')
      throw error
    }
  }
}

async function discover(client: typeof Client, provider: OidcProvider): Promise<Client.Configuration> {
  const { issuer, clientId, clientSecret } = provider
  const execute = [client.enableNonRepudiationChecks]
  if (issuer.startsWith('http:')) execute.push(client.allowInsecureRequests)
  const authentication: Client.ClientAuth = (server, ...rest) => {
    if (clientSecret === null) return client.None()(server, ...rest)
    // The default of OpenID Connect Discovery, section 3, and what else most providers know.
    const isBasic = server.token_endpoint_auth_methods_supported?.includes('client_secret_basic') ?? true
    return (isBasic ? client.ClientSecretBasic : client.ClientSecretPost)(clientSecret)(server, ...rest)
  }
  return await client.discovery(new URL(issuer), clientId, clientSecret ?? undefined, authentication, {
    execute,
    timeout: TIMEOUT_SECONDS,
  })
}
