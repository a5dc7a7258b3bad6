import type { FastifyReply, FastifyRequest } from 'fastify'
import * as contract from '#contract/account.ts'
import { AUTH_PATH, type Auth } from '../access/auth.ts'
import { authHeaders } from '../access/sessions.ts'
import { Answers, type Routes } from '../http/routes.ts'
import type { Doors } from '../outside.ts'
import { refusedByAuth } from './auth-problems.ts'

type Given<T> = { headers: Headers; response: T }

/** Signing in and out, and what a person changes about the own account. Bodies and answers: `contract/account.ts`. */
export function authRoutes(_doors: Doors, auth: Auth): Routes {
  return async (app) => {
    app.post(
      `${AUTH_PATH}/sign-in/email`,
      { schema: { body: contract.SignIn, response: Answers(200, contract.SignedIn) } },
      async (request, reply) => {
        const { body } = request
        const given = await asked(reply, auth.api.signInEmail({ body, ...asCaller(request) }))
        return { twoFactorRedirect: 'twoFactorRedirect' in given }
      },
    )

    app.post(`${AUTH_PATH}/sign-out`, { schema: { response: Answers(200, contract.Done) } }, async (request, reply) => {
      await asked(reply, auth.api.signOut(asCaller(request)))
      return DONE
    })
  }
}

const DONE = { status: true }

const asCaller = (request: FastifyRequest) => ({ headers: authHeaders(request), returnHeaders: true as const })

/** What the library answered; its cookies go on to the browser, its refusals become ours. */
async function asked<T>(reply: FastifyReply, given: Promise<Given<T>>): Promise<T> {
  const { headers, response } = await given.catch(refusedByAuth)
  const cookies = headers.getSetCookie()
  if (cookies.length > 0) reply.header('set-cookie', cookies)
  return response
}
