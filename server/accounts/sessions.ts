import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../deps.ts'
import { forbidden } from '../problem.ts'
import { ADDRESS_HEADER, type Auth } from './auth.ts'
import { startOf } from './same-origin.ts'

/** The person who is signed in where a request comes from. */
export type Session = {
  id: string
  personId: string
  name: string
  email: string
  hasSecondFactor: boolean
}

const SESSION_COOKIE = /(?:^|;\s*)(?:__Host-)?zonewatch\.session_token=/
const READING = new Set(['GET', 'HEAD'])

/**
 * The session that a request's cookie names; undefined without one. A page of another site reads nothing by it, and changes
 * nothing: that throws 403. With a reply the session is also prolonged, once a day.
 */
export function sessionReader(auth: Auth, { config, clock }: Pick<Deps, 'config' | 'clock'>) {
  return async (request: FastifyRequest, reply?: FastifyReply): Promise<Session | undefined> => {
    if (!SESSION_COOKIE.test(request.headers.cookie ?? '')) return undefined
    const start = startOf(request, config.baseUrl)
    if (start === 'elsewhere' && READING.has(request.method)) return undefined
    if (start !== 'here' && !READING.has(request.method)) throw fromElsewhere()
    const { response, headers } = await auth.api.getSession({
      headers: authHeaders(request),
      query: { disableRefresh: reply === undefined },
      returnHeaders: true,
    })
    for (const cookie of headers.getSetCookie()) reply?.header('set-cookie', cookie)
    if (!response || response.session.expiresAt.getTime() <= clock.now()) return undefined
    const { session, user } = response
    return {
      id: session.id,
      personId: user.id,
      name: user.name,
      email: user.email,
      hasSecondFactor: user.twoFactorEnabled === true,
    }
  }
}

/** What the library may know of a request: its cookies, and who sent it from where. */
export function authHeaders({ headers, ip }: FastifyRequest): Headers {
  const known = new Headers({ [ADDRESS_HEADER]: ip })
  if (headers.cookie !== undefined) known.set('cookie', headers.cookie)
  if (headers['user-agent'] !== undefined) known.set('user-agent', headers['user-agent'].slice(0, 500))
  return known
}

export const fromElsewhere = () =>
  forbidden('Cross-site request refused (Sec-Fetch-Site or Origin). Use the dashboard of this server.')
