import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Deps } from '../deps.ts'
import { Problem } from '../problem.ts'
import { fromAddress, guarded } from './account-attempts.ts'
import type { Auth } from './auth.ts'
import { refusedByAuth } from './auth-errors.ts'
import { authHeaders } from './sessions.ts'

export const DONE = { status: true }

export const asCaller = (request: FastifyRequest) => ({ headers: authHeaders(request), returnHeaders: true as const })

/** What the library answered; its cookies go on to the browser, its refusals become ours. */
export async function asked<T>(
  reply: FastifyReply,
  given: Promise<{ headers: Headers; response: T }>,
  passwordField?: string,
): Promise<T> {
  const { headers, response } = await given.catch((error: unknown) => refusedByAuth(error, passwordField))
  for (const cookie of headers.getSetCookie()) reply.header('set-cookie', cookie)
  return response
}

/** Runs what tries at a code or at the password of somebody known: counted by person and by address. */
export async function tryAt<T>(
  deps: Pick<Deps, 'db' | 'clock'>,
  auth: Auth,
  request: FastifyRequest,
  reply: FastifyReply,
  what: 'code' | 'password',
  work: (personId: string) => Promise<T>,
): Promise<T> {
  const { headers } = asCaller(request)
  const personId = request.session?.personId ?? (await auth.api.halfSignedIn({ headers })).personId
  if (personId === null) throw new Problem(401, 'The sign-in has expired. Sign in again.')
  const own = { subject: `${what} of ${personId}`, free: 5 }
  const others = fromAddress('sign-in', request.ip, 20)
  return await guarded(deps, reply, { own, others }, () => work(personId))
}
