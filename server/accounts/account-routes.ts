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
import { requestOrigin } from '../context.ts'
import type { Deps } from '../deps.ts'
import { Params, Responses, type Routes } from '../http/routes.ts'
import { forbidden } from '../problem.ts'
import { addressCounters, countAttempts, hashedSubject } from './attempt-limits.ts'
import { renewSessionCookie, setSessionCookie } from './cookies.ts'
import { hasOrganizations } from './first-owner.ts'
import { acceptInvitation, getOfferedInvitation } from './invitations.ts'
import { sendSignUpLink } from './mailed-links.ts'
import { getMe } from './memberships.ts'
import { signUp, signUpWithInvitation, signUpWithSetupLink } from './new-accounts.ts'
import { OidcClient } from './oidc-provider.ts'
import { oidcRoutes } from './oidc-routes.ts'
import { insertOwnedOrganization } from './organizations.ts'
import { type Passwords, refuseCommonPassword, refusePasswordsIfOff } from './passwords.ts'
import { profileRoutes } from './profile-routes.ts'
import { browserOrigin, getSession, protectAccountRoutes } from './request-session.ts'
import { extendSession } from './sessions.ts'
import { Background, signInCookies, signInRoutes } from './sign-in-routes.ts'
import { findUser } from './users.ts'

/** What a user does outside of an organization: set up the server, sign up, sign in, accept an invitation, read the own account. */
export function accountRoutes(deps: Deps, passwords: Passwords): Routes {
  const { db, clock, config, keyring } = deps
  const isOpen = config.signUp === 'open'
  return async (app) => {
    protectAccountRoutes(app, deps)
    const background = new Background(deps.log)
    app.addHook('onClose', () => background.close())
    const oidc = new OidcClient(config.baseUrl, clock.now, deps.log)
    await app.register(signInRoutes(deps, passwords, background, oidc))
    await app.register(oidcRoutes(deps, oidc, signInCookies(config)))
    await app.register(profileRoutes(deps, passwords))

    app.get('/dashboard/api/me', { schema: { response: Responses(200, Me) } }, async (request, reply) => {
      const { id, userId } = getSession(request)
      if (await extendSession(db, id, clock.now())) renewSessionCookie(config, request, reply)
      return await getMe(deps, userId)
    })

    app.get('/dashboard/api/welcome', { schema: { response: Responses(200, Welcome) } }, async () => ({
      needs_setup: !(await hasOrganizations(db)),
      sign_up: isOpen,
      sends_mail: config.smtp !== null,
      passwords: !config.oidc.isOnly,
      providers: config.oidc.providers.map(({ id, name }) => ({ id, name })),
    }))

    app.post(
      '/dashboard/api/setup',
      { schema: { body: Setup, response: Responses(200, Me) } },
      async (request, reply) => {
        const getOrigin = () => browserOrigin(request, clock.now())
        const { userId, session } = await signUpWithSetupLink(db, { keyring, passwords }, request.body, getOrigin)
        setSessionCookie(config, reply, session)
        return await getMe(deps, userId)
      },
    )

    app.post(
      '/dashboard/api/sign-up',
      { schema: { body: SignUp, response: Responses(200, SignedUp) } },
      async (request, reply) => {
        if (!isOpen)
          throw forbidden('Sign-up is disabled on this server. Ask an admin of your organization for an invitation.')
        refusePasswordsIfOff(config)
        const { password, ...account } = request.body
        refuseCommonPassword(password)
        const emailCounter = { subject: hashedSubject('sign-up', account.email), free: 3 }
        await countAttempts(deps, reply, [...addressCounters('sign-up', request.ip, 5), emailCounter])
        const newOwner = { ...account, passwordHash: await passwords.hash(password) }
        if (config.smtp !== null) {
          // In the background, so that the response time does not reveal whether the address has an account.
          background.start(sendSignUpLink(deps, newOwner), 'The confirmation email could not be created.')
          return { confirm: true }
        }
        const { session } = await signUp(db, newOwner, browserOrigin(request, clock.now()))
        setSessionCookie(config, reply, session)
        return { confirm: false }
      },
    )

    app.post(
      '/dashboard/api/organizations',
      { schema: { body: NewOrganization, response: Responses(201, Accepted) } },
      async (request, reply) => {
        const { userId: id, name, email } = getSession(request)
        if (!isOpen)
          throw forbidden('Only the operator can create organizations on this server, with: zonewatch setup.')
        const origin = requestOrigin(request, clock.now())
        const created = await insertOwnedOrganization(db, { id, name, email }, request.body.name, origin)
        return reply.code(201).send({ organization_id: created.id })
      },
    )

    app.get(
      '/dashboard/api/invitations/:token',
      { schema: { params: Params('token'), response: Responses(200, OfferedInvitation) } },
      async ({ params }) => {
        const invitation = await getOfferedInvitation(db, params.token, clock.now())
        return { ...invitation, has_account: (await findUser(db, invitation.email)) !== undefined }
      },
    )

    app.post(
      '/dashboard/api/invitations/:token/accept',
      { schema: { params: Params('token'), body: Nullable(Acceptance), response: Responses(200, Accepted) } },
      async (request, reply) => {
        const { token } = request.params
        const { session } = request
        const origin = browserOrigin(request, clock.now())
        if (session) {
          const user = { id: session.userId, name: session.name, email: session.email }
          const { organizationId } = await acceptInvitation(db, { token, user }, origin)
          return { organization_id: organizationId }
        }
        refusePasswordsIfOff(config)
        const acceptance = request.body ?? {}
        const accepted = await signUpWithInvitation(db, passwords, { token, acceptance }, origin)
        setSessionCookie(config, reply, accepted.session)
        return { organization_id: accepted.organizationId }
      },
    )
  }
}
