import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../deps.ts'
import { PERSISTENT_MS, type StartedSession } from './sessions.ts'

export const setSessionCookie = (config: CookieConfig, reply: FastifyReply, { token, isPersistent }: StartedSession) =>
  setCookie(reply, config, 'session_token', token, isPersistent ? PERSISTENT_MS : undefined)

/** The browser drops a cookie at its old expiry, so it is sent again when its session is extended. */
export function renewSessionCookie(config: CookieConfig, request: FastifyRequest, reply: FastifyReply): void {
  const token = readCookie(request, config, 'session_token')
  if (token) setSessionCookie(config, reply, { token, isPersistent: true })
}

/**
 * `two_factor`: of a sign-in that waits for a code. `trust_device`: of a browser that needs no code. `device`: of a browser in which
 * an account has signed in before. `oidc`: of a sign-in that continues at a provider.
 */
type CookieName = 'session_token' | 'two_factor' | 'trust_device' | 'device' | 'oidc'
type CookieConfig = Pick<Deps['config'], 'baseUrl'>

/** Browsers accept a `__Host-` cookie only over https, from this host and for all paths: RFC 6265bis section 4.1.3.2. */
const cookieName = ({ baseUrl }: CookieConfig, name: CookieName) =>
  `${baseUrl.startsWith('https:') ? '__Host-' : ''}zonewatch.${name}`

export function readCookie({ headers }: FastifyRequest, config: CookieConfig, name: CookieName): string | undefined {
  const start = `${cookieName(config, name)}=`
  const parts = headers.cookie?.split(';').map((part) => part.trim())
  return parts?.find((part) => part.startsWith(start))?.slice(start.length)
}

/** `lifetimeMs`: undefined until the browser is closed; 0 deletes the cookie. */
export function setCookie(
  reply: FastifyReply,
  config: CookieConfig,
  name: CookieName,
  value: string,
  lifetimeMs?: number,
): void {
  const age = lifetimeMs === undefined ? '' : `; Max-Age=${lifetimeMs / 1_000}`
  const secure = config.baseUrl.startsWith('https:') ? '; Secure' : ''
  reply.header('set-cookie', `${cookieName(config, name)}=${value}; Path=/${age}; HttpOnly; SameSite=Lax${secure}`)
}
