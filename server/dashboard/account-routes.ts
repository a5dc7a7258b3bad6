import { hashPassword } from 'better-auth/crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  Acceptance,
  Accepted,
  Me,
  type SignUp as NewAccount,
  NewOrganization,
  OfferedInvitation,
  Setup,
  SignUp,
  Welcome,
} from '#contract/account.ts'
import { Nullable } from '#contract/common.ts'
import type { Auth } from '../access/auth.ts'
import { sessionReader } from '../access/sessions.ts'
import { acceptInvitation, getOfferedInvitation } from '../agents/accept.ts'
import { inTransaction } from '../database/database.ts'
import { networkOf } from '../http/gate.ts'
import { Answers, Params, type Routes } from '../http/routes.ts'
import { findPerson } from '../organization/people.ts'
import { isSetupToken } from '../organization/setup-link.ts'
import { hasOrganizations, insertOrganizationOf, whileEmpty } from '../organization/store.ts'
import type { Doors } from '../outside.ts'
import { forbidden, invalid } from '../problem.ts'
import { count } from './account-attempts.ts'
import { guardAccounts, signedIn } from './account-gate.ts'
import { accountSecurityRoutes } from './account-security-routes.ts'
import { getMe, insertAccount, refuseManyOrganizations } from './account-store.ts'
import { asCaller, asked } from './auth-calls.ts'
import { authRoutes } from './auth-routes.ts'

/** What a person does without an organization: set the server up, sign up, sign in, join, look at oneself. */
export function accountRoutes(doors: Doors, auth: Auth): Routes {
  const { db, clock, config, seal } = doors
  const isOpen = config.signUp === 'open'
  const sessionOf = sessionReader(auth, doors)
  return async (app) => {
    guardAccounts(app, doors, sessionOf)
    await app.register(authRoutes(doors, auth))
    await app.register(accountSecurityRoutes(doors, auth))

    const signIn = async (request: FastifyRequest, reply: FastifyReply, { email, password }: NewPassword) => {
      await asked(reply, auth.api.signInEmail({ body: { email, password }, ...asCaller(request) }))
    }

    app.get('/dashboard/api/me', { schema: { response: Answers(200, Me) } }, async (request, reply) => {
      const { personId } = signedIn(request)
      await sessionOf(request, reply)
      return await getMe(doors, personId)
    })

    app.get('/dashboard/api/welcome', { schema: { response: Answers(200, Welcome) } }, async () => ({
      needs_setup: !(await hasOrganizations(db)),
      sign_up: isOpen,
      sends_mail: config.smtp !== null,
    }))

    app.post(
      '/dashboard/api/setup',
      { schema: { body: Setup, response: Answers(200, Me) } },
      async (request, reply) => {
        const { token, ...given } = request.body
        if (!(await isSetupToken(db, seal, token)) || (await hasOrganizations(db))) throw badLink()
        const passwordHash = await hashPassword(given.password)
        const made = await whileEmpty(db, async (transaction) => {
          const person = await insertAccount(transaction, { ...given, passwordHash }, clock.now())
          await insertOrganizationOf(transaction, person, given.organization, clock.now())
          return person
        })
        if (!made) throw badLink()
        await signIn(request, reply, given)
        return await getMe(doors, made.id)
      },
    )

    app.post(
      '/dashboard/api/sign-up',
      { schema: { body: SignUp, response: Answers(200, Me) } },
      async (request, reply) => {
        if (!isOpen)
          throw forbidden('Nobody signs up on this server; ask someone of your organization for an invitation.')
        await count(doors, reply, [{ subject: `sign-up from ${networkOf(request.ip)}`, free: 5 }])
        const given = request.body
        const passwordHash = await hashPassword(given.password)
        const made = await inTransaction(db, async (transaction) => {
          const person = await insertAccount(transaction, { ...given, passwordHash }, clock.now())
          await insertOrganizationOf(transaction, person, given.organization, clock.now())
          return person
        })
        await signIn(request, reply, given)
        return await getMe(doors, made.id)
      },
    )

    app.post(
      '/dashboard/api/organizations',
      { schema: { body: NewOrganization, response: Answers(201, Accepted) } },
      async (request, reply) => {
        const { personId: id, name, email } = signedIn(request)
        if (!isOpen) throw forbidden('On this server only its operator makes organizations: zonewatch setup.')
        const made = await inTransaction(db, async (transaction) => {
          await refuseManyOrganizations(transaction, id)
          return await insertOrganizationOf(transaction, { id, name, email }, request.body.name, clock.now())
        })
        return reply.code(201).send({ organization_id: made.id })
      },
    )

    app.get(
      '/dashboard/api/invitations/:token',
      { schema: { params: Params('token'), response: Answers(200, OfferedInvitation) } },
      async ({ params }) => {
        const offered = await getOfferedInvitation(db, params.token, clock.now())
        return { ...offered, has_account: (await findPerson(db, offered.email)) !== undefined }
      },
    )

    app.post(
      '/dashboard/api/invitations/:token/accept',
      {
        schema: {
          params: Params('token'),
          body: Nullable(Acceptance),
          response: Answers(200, Accepted),
        },
      },
      async (request, reply) => {
        const { token } = request.params
        const { session } = request
        if (session) {
          const person = { id: session.personId, name: session.name, email: session.email }
          const { organizationId } = await acceptInvitation(db, { token, person }, clock.now())
          return { organization_id: organizationId }
        }
        const { email } = await getOfferedInvitation(db, token, clock.now())
        const { name, password } = nameAndPassword(request.body ?? {})
        const passwordHash = await hashPassword(password)
        const organizationId = await inTransaction(db, async (transaction) => {
          const person = await insertAccount(transaction, { name, email, passwordHash }, clock.now())
          return (await acceptInvitation(transaction, { token, person }, clock.now())).organizationId
        })
        await signIn(request, reply, { email, password })
        return { organization_id: organizationId }
      },
    )
  }
}

type NewPassword = Pick<NewAccount, 'email' | 'password'>

/** Without a session they make the account. Throws 400. */
function nameAndPassword({ name, password }: Acceptance): { name: string; password: string } {
  if (name !== undefined && password !== undefined) return { name, password }
  const missing = 'is required: sign in first, or choose a name and a password for a new account.'
  throw invalid({
    ...(name === undefined ? { name: missing } : {}),
    ...(password === undefined ? { password: missing } : {}),
  })
}

const badLink = () =>
  forbidden('This set-up link was used or belongs to another server; the log of the server shows the one that works.')
