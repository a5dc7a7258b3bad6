import type { FastifyRequest } from 'fastify'
import {
  Acceptance,
  Accepted,
  Me,
  NewOrganization,
  OfferedInvitation,
  Setup,
  SignedUp,
  SignUp,
  Welcome,
} from '#contract/account.ts'
import { Nullable } from '#contract/common.ts'
import { fieldError } from '#contract/field-errors.ts'
import { originOf } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { Answers, Params, type Routes } from '../http/routes.ts'
import { forbidden, invalid } from '../problem.ts'
import { acceptInvitation, getOfferedInvitation, getOpenInvitation } from './accept-invitation.ts'
import { count, fromAddress, subjectOf } from './guess-limit.ts'
import { sendSignUpLink } from './mailed-links.ts'
import { getMe } from './memberships.ts'
import { hasOrganizations, insertOrganizationOf, refuseManyOrganizations, whileEmpty } from './organizations.ts'
import type { Passwords } from './passwords.ts'
import { findPerson, insertAccount, refuseKnown } from './people.ts'
import { accountSecurityRoutes } from './security-routes.ts'
import { guardAccounts, insertSession, prolongSession, setSessionCookie, signedIn } from './sessions.ts'
import { isSetupToken } from './setup-link.ts'
import { Background, signInRoutes } from './sign-in-routes.ts'

/** What a person does without an organization: set the server up, sign up, sign in, join, look at oneself. */
export function accountRoutes(deps: Deps, passwords: Passwords): Routes {
  const { db, clock, config, seal } = deps
  const isOpen = config.signUp === 'open'
  return async (app) => {
    guardAccounts(app, deps)
    const background = new Background(deps.log)
    app.addHook('onClose', () => background.close())
    await app.register(signInRoutes(deps, passwords, background))
    await app.register(accountSecurityRoutes(deps, passwords))

    const startSession = (transaction: Database, request: FastifyRequest, personId: string, now: number) =>
      insertSession(transaction, request, { personId, isPersistent: true }, now)

    app.get('/dashboard/api/me', { schema: { response: Answers(200, Me) } }, async (request, reply) => {
      const session = signedIn(request)
      await prolongSession(deps, request, reply, session)
      return await getMe(deps, session.personId)
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
          return { person, session: await startSession(transaction, request, person.id, origin.now) }
        })
        if (!made) throw badLink()
        setSessionCookie(config, reply, made.session)
        return await getMe(deps, made.person.id)
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
          background.start(sendSignUpLink(deps, signingUp), 'The confirmation email could not be created.')
          return { confirm: true }
        }
        const session = await inTransaction(db, async (transaction) => {
          const origin = originOf(request, clock.now())
          const person = await insertAccount(transaction, signingUp, origin.now)
          await insertOrganizationOf(transaction, person, given.organization, origin)
          return await startSession(transaction, request, person.id, origin.now)
        })
        setSessionCookie(config, reply, session)
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
        const accepted = await inTransaction(db, async (transaction) => {
          const person = await insertAccount(transaction, { name, email, passwordHash }, origin.now)
          const { organizationId } = await acceptInvitation(transaction, { token, person }, origin)
          return { organizationId, session: await startSession(transaction, request, person.id, origin.now) }
        })
        setSessionCookie(config, reply, accepted.session)
        return { organization_id: accepted.organizationId }
      },
    )
  }
}

/** Without a session they make the account. Throws 400. */
function nameAndPassword({ name, password }: Acceptance): { name: string; password: string } {
  if (name !== undefined && password !== undefined) return { name, password }
  const missing = fieldError('required_for_new_account')
  throw invalid({
    ...(name === undefined ? { name: missing } : {}),
    ...(password === undefined ? { password: missing } : {}),
  })
}

const badLink = () =>
  forbidden('This setup link was already used or belongs to another server. Use the link in the server log.')
