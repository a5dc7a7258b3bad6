import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  Acceptance,
  Accepted,
  Me,
  type SignUp as NewAccount,
  NewOrganization,
  OfferedInvitation,
  Setup,
  SignedUp,
  SignUp,
  Welcome,
} from '#contract/account.ts'
import { Nullable } from '#contract/common.ts'
import { originOf } from '../context.ts'
import { inTransaction } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { Answers, Params, type Routes } from '../http/routes.ts'
import { forbidden, invalid } from '../problem.ts'
import { acceptInvitation, getOfferedInvitation, getOpenInvitation } from './accept-invitation.ts'
import { count, fromAddress, subjectOf } from './account-attempts.ts'
import { guardAccounts, signedIn } from './account-gate.ts'
import { getMe, insertAccount, refuseKnown, refuseManyOrganizations } from './account-store.ts'
import type { Auth } from './auth.ts'
import { asCaller, asked } from './auth-calls.ts'
import { authRoutes } from './auth-routes.ts'
import { Background } from './background.ts'
import { sendSignUpLink } from './links.ts'
import { hasOrganizations, insertOrganizationOf, whileEmpty } from './organizations.ts'
import { findPerson } from './people.ts'
import { accountSecurityRoutes } from './security-routes.ts'
import { sessionReader } from './sessions.ts'
import { isSetupToken } from './setup-link.ts'

/** What a person does without an organization: set the server up, sign up, sign in, join, look at oneself. */
export function accountRoutes(deps: Deps, auth: Auth): Routes {
  const { db, clock, config, seal } = deps
  const isOpen = config.signUp === 'open'
  const sessionOf = sessionReader(auth, deps)
  return async (app) => {
    const { password: passwords } = await auth.$context
    guardAccounts(app, deps, sessionOf)
    const background = new Background(deps.log)
    app.addHook('onClose', () => background.close())
    await app.register(authRoutes(deps, auth, background))
    await app.register(accountSecurityRoutes(deps, auth))

    const signIn = async (request: FastifyRequest, reply: FastifyReply, { email, password }: NewPassword) => {
      await asked(reply, auth.api.signInEmail({ body: { email, password }, ...asCaller(request) }))
    }

    app.get('/dashboard/api/me', { schema: { response: Answers(200, Me) } }, async (request, reply) => {
      const { personId } = signedIn(request)
      await sessionOf(request, reply)
      return await getMe(deps, personId)
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
        const passwordHash = await passwords.hash(given.password)
        const made = await whileEmpty(db, async (transaction) => {
          const origin = originOf(request, clock.now())
          const person = await insertAccount(transaction, { ...given, passwordHash }, origin.now)
          await insertOrganizationOf(transaction, person, given.organization, origin)
          return person
        })
        if (!made) throw badLink()
        await signIn(request, reply, given)
        return await getMe(deps, made.id)
      },
    )

    app.post(
      '/dashboard/api/sign-up',
      { schema: { body: SignUp, response: Answers(200, SignedUp) } },
      async (request, reply) => {
        if (!isOpen)
          throw forbidden('Sign-up is disabled on this server. Ask an admin of your organization for an invitation.')
        const { password, ...given } = request.body
        const address = { subject: subjectOf('sign-up', given.email), free: 3 }
        await count(deps, reply, [...fromAddress('sign-up', request.ip, 5), address])
        const signingUp = { ...given, passwordHash: await passwords.hash(password) }
        if (config.smtp !== null) {
          // Nobody waits for it, so that an address that has an account is answered as fast as one that has none.
          background.start(sendSignUpLink(deps, auth, signingUp), 'An email confirmation link could not be created.')
          return { confirm: true }
        }
        await inTransaction(db, async (transaction) => {
          const origin = originOf(request, clock.now())
          const person = await insertAccount(transaction, signingUp, origin.now)
          await insertOrganizationOf(transaction, person, given.organization, origin)
        })
        await signIn(request, reply, { email: given.email, password })
        return { confirm: false }
      },
    )

    app.post(
      '/dashboard/api/organizations',
      { schema: { body: NewOrganization, response: Answers(201, Accepted) } },
      async (request, reply) => {
        const { personId: id, name, email } = signedIn(request)
        if (!isOpen)
          throw forbidden('Only the operator can create organizations on this server, with: zonewatch setup.')
        const made = await inTransaction(db, async (transaction) => {
          await refuseManyOrganizations(transaction, id)
          const origin = originOf(request, clock.now())
          return await insertOrganizationOf(transaction, { id, name, email }, request.body.name, origin)
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
        const origin = originOf(request, clock.now())
        if (session) {
          const person = { id: session.personId, name: session.name, email: session.email }
          const { organizationId } = await acceptInvitation(db, { token, person }, origin)
          return { organization_id: organizationId }
        }
        const { email } = await getOpenInvitation(db, token, clock.now())
        await refuseKnown(db, email)
        const { name, password } = nameAndPassword(request.body ?? {})
        const passwordHash = await passwords.hash(password)
        const organizationId = await inTransaction(db, async (transaction) => {
          const person = await insertAccount(transaction, { name, email, passwordHash }, origin.now)
          return (await acceptInvitation(transaction, { token, person }, origin)).organizationId
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
  forbidden('This set-up link was used or belongs to another server. Use the link in the server log.')
