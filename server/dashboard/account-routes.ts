import { hashPassword } from 'better-auth/crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Me, Setup, Welcome } from '#contract/account.ts'
import type { Auth } from '../access/auth.ts'
import { authHeaders, sessionReader } from '../access/sessions.ts'
import { Answers, type Routes } from '../http/routes.ts'
import { insertPerson } from '../organization/people.ts'
import { setupToken } from '../organization/setup-link.ts'
import { hasOrganizations, insertOrganizationOf, whileEmpty } from '../organization/store.ts'
import type { Doors } from '../outside.ts'
import { conflict, forbidden } from '../problem.ts'
import { guardAccounts, signedIn } from './account-gate.ts'
import { getMe } from './account-store.ts'
import { authRoutes } from './auth-routes.ts'

/** What a person does without a key and without an organization: sign in, join, look at oneself. */
export function accountRoutes(doors: Doors, auth: Auth): Routes {
  const { db, clock, config, seal } = doors
  const prolonged = sessionReader(auth, config)
  return async (app) => {
    guardAccounts(app, doors, sessionReader(auth, config))
    await app.register(authRoutes(doors, auth))

    app.get('/dashboard/api/me', { schema: { response: Answers(200, Me) } }, async (request, reply) => {
      const { personId } = signedIn(request)
      await prolonged(request, reply)
      return await getMe(doors, personId)
    })

    app.get('/dashboard/api/welcome', { schema: { response: Answers(200, Welcome) } }, async () => ({
      needs_setup: !(await hasOrganizations(db)),
      sign_up: config.signUp === 'open',
      sends_mail: config.smtp !== null,
    }))

    app.post(
      '/dashboard/api/setup',
      { schema: { body: Setup, response: Answers(200, Me) } },
      async (request, reply) => {
        const { token, organization, name, email, password } = request.body
        if (token !== (await setupToken(db, seal))) throw badLink()
        const passwordHash = await hashPassword(password)
        const made = await whileEmpty(db, async (transaction) => {
          const now = clock.now()
          const person = await insertPerson(transaction, { name, email, passwordHash }, now)
          if (!person) throw conflict('There is an account with this address already; use another one.')
          await insertOrganizationOf(transaction, person, organization, now)
          return person
        })
        if (!made) throw badLink()
        await signIn(auth, request, reply, { email: made.email, password })
        return await getMe(doors, made.id)
      },
    )
  }
}

const badLink = () =>
  forbidden('This set-up link was used or belongs to another server; the log of the server shows the one that works.')

async function signIn(
  auth: Auth,
  request: FastifyRequest,
  reply: FastifyReply,
  body: { email: string; password: string },
): Promise<void> {
  const { headers } = await auth.api.signInEmail({ body, headers: authHeaders(request), returnHeaders: true })
  reply.header('set-cookie', headers.getSetCookie())
}
