import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { OidcProvider } from '../config/oidc.ts'
import type { Deps } from '../deps.ts'
import { Params, type Routes } from '../http/routes.ts'
import { notFound, Problem } from '../problem.ts'
import { addressCounters, limitAttempts } from './attempt-limits.ts'
import { readCookie, setCookie } from './cookies.ts'
import { OIDC_MS, type OidcClient, type PendingOidc } from './oidc-provider.ts'
import { type OidcRefusal, signInWithIdentity } from './oidc-sign-in.ts'
import { AUTH_PATH, browserOrigin } from './request-session.ts'
import type { SignInTokens } from './sign-in.ts'

/** Why a sign-in through a provider failed. The sign-in page has a sentence for each. */
export type OidcProblem = OidcRefusal | 'expired' | 'refused' | 'unreachable' | 'failed' | 'plan_full' | 'too_many'

/** What the encrypted cookie is for. */
const CONTEXT = 'single sign-on'

type SetCookies = (request: FastifyRequest, reply: FastifyReply, tokens: SignInTokens) => void

/**
 * Sign-in through a provider of OpenID Connect: authorization code with PKCE (RFC 7636), `state`, `nonce`, and the issuer in the response
 * (RFC 9207). The browser navigates to both paths, so both end in a redirect.
 */
export function oidcRoutes(deps: Deps, client: OidcClient, setCookies: SetCookies): Routes {
  const { config, keyring, clock, log } = deps
  const findProvider = (id: string): OidcProvider => {
    const provider = config.oidc.providers.find((each) => each.id === id)
    if (!provider) throw notFound()
    return provider
  }
  const toSignIn = (reply: FastifyReply, search: Record<string, string>) =>
    reply.redirect(`/dashboard/sign-in?${new URLSearchParams(search)}`, 303)
  const failed = (reply: FastifyReply, problem: OidcProblem, to: string) =>
    toSignIn(reply, { problem, ...(to !== '/' && { to }) })

  const seal = (pending: PendingOidc) => keyring.encrypt(JSON.stringify(pending), CONTEXT).toString('base64url')
  const unseal = (request: FastifyRequest): PendingOidc | undefined => {
    try {
      const cookie = Buffer.from(readCookie(request, config, 'oidc') ?? '', 'base64url')
      const pending = JSON.parse(keyring.decrypt(cookie, CONTEXT)) as PendingOidc
      return pending.until > clock.now() ? pending : undefined
    } catch {
      return undefined
    }
  }

  return async (app) => {
    app.get(
      `${AUTH_PATH}/oidc/:provider/start`,
      {
        schema: {
          params: Params('provider'),
          querystring: Type.Object({ to: Type.Optional(Type.String({ maxLength: 2_000 })) }),
        },
      },
      async (request, reply) => {
        const provider = findProvider(request.params.provider)
        const to = pathBelowDashboard(request.query.to)
        try {
          const { url, pending } = await client.begin(provider, to)
          setCookie(reply, config, 'oidc', seal(pending), OIDC_MS)
          return reply.redirect(url, 303)
        } catch {
          return failed(reply, 'unreachable', to)
        }
      },
    )

    app.get(
      `${AUTH_PATH}/oidc/:provider/callback`,
      { schema: { params: Params('provider'), querystring: Type.Record(Type.String(), Type.Unknown()) } },
      async (request, reply) => {
        const provider = findProvider(request.params.provider)
        const pending = unseal(request)
        setCookie(reply, config, 'oidc', '', 0)
        if (pending?.provider !== provider.id) return failed(reply, 'expired', '/')
        const query = request.url.split('?')[1] ?? ''
        const trustedToken = readCookie(request, config, 'trust_device') ?? ''
        const [primary, ...others] = addressCounters('single sign-on', request.ip, 20)
        try {
          const result = await limitAttempts(deps, reply, { primary: primary!, others }, async () => {
            const identity = await client.complete(provider, query, pending)
            const origin = browserOrigin(request, clock.now())
            return await signInWithIdentity(deps, provider, identity, trustedToken, origin)
          })
          if ('refusal' in result) {
            log.warn({ provider: provider.id, reason: result.refusal }, 'A sign-in through a provider was refused.')
            return failed(reply, result.refusal, pending.to)
          }
          setCookies(request, reply, result.tokens)
          if (result.tokens.pending !== undefined) return toSignIn(reply, { code: 'needed', to: pending.to })
          return reply.redirect(`/dashboard${pending.to}`, 303)
        } catch (err) {
          const problem = problemOf(err)
          log.warn({ ...detailsOf(err), provider: provider.id }, 'A sign-in through a provider failed.')
          return failed(reply, problem, pending.to)
        }
      },
    )
  }
}

/** A path of the dashboard with its query, because it comes from a link. */
const pathBelowDashboard = (to = '/'): string => (/^\/(?![/\\])[^\s\\]*$/.test(to) ? to : '/')

/** Not the whole error: its causes contain what the provider sent. */
function detailsOf(error: unknown): { reason: string; code?: string } {
  const { message, code } = error as { message: string; code?: string }
  return { reason: message, ...(code !== undefined && { code }) }
}

/** Errors of the library have a code. */
function problemOf(error: unknown): OidcProblem {
  if (error instanceof Problem && error.status === 402) return 'plan_full'
  if (error instanceof Problem && error.status === 429) return 'too_many'
  const { name, code } = error as { name?: string; code?: string }
  if (name === 'AuthorizationResponseError') return 'refused'
  if (code === 'OAUTH_TIMEOUT' || error instanceof TypeError) return 'unreachable'
  return 'failed'
}
