import { APIError, createAuthEndpoint } from 'better-auth/api'
import { setSessionCookie } from 'better-auth/cookies'

type Given = { email: string; password: string; rememberMe?: boolean | undefined }

/** The route's schema has judged the body; here it has its type only. */
const GIVEN = { method: 'POST', metadata: { $Infer: { body: {} as Given } } } as const

/**
 * Stands in for the library's own `/sign-in/email`, which refuses addresses that our organizations may have: `admin@localhost`.
 * An unknown address takes as long as a wrong password.
 */
export const passwordSignIn = {
  id: 'password-sign-in',
  endpoints: {
    signInEmail: createAuthEndpoint('/sign-in/email', GIVEN, async (ctx) => {
      const { email, password, rememberMe }: Given = ctx.body
      const { internalAdapter, password: passwords } = ctx.context
      const found = await internalAdapter.findUserByEmail(email.trim(), { includeAccounts: true })
      const hash = found?.accounts.find(({ providerId }) => providerId === 'credential')?.password
      const isRight = hash ? await passwords.verify({ hash, password }) : void (await passwords.hash(password))
      if (!found || !isRight) throw new APIError('UNAUTHORIZED', { code: 'INVALID_EMAIL_OR_PASSWORD' })
      const isShort = rememberMe === false
      const session = await internalAdapter.createSession(found.user.id, isShort)
      await setSessionCookie(ctx, { session, user: found.user }, isShort)
      return ctx.json({ status: true })
    }),
  },
} as const
