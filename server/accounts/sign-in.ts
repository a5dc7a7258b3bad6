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
      const find = () => internalAdapter.findUserByEmail(email.trim(), { includeAccounts: true })
      const found = await find()
      const hash = hashOf(found)
      const isRight = hash ? await passwords.verify({ hash, password }) : void (await passwords.hash(password))
      if (!found || !isRight) throw wrong()
      const isShort = rememberMe === false
      const session = await internalAdapter.createSession(found.user.id, isShort)
      // A new password ends all sessions; one that is made at that moment would be missed.
      if (hashOf(await find()) !== hash) {
        await internalAdapter.deleteSession(session.token)
        throw wrong()
      }
      await setSessionCookie(ctx, { session, user: found.user }, isShort)
      return ctx.json({ status: true })
    }),
    /** Whose password was right and whose code is still to come; read from the cookies as the library itself reads them. */
    halfSignedIn: createAuthEndpoint('/half-signed-in', { method: 'GET' }, async (ctx) => {
      const { createAuthCookie, secret, internalAdapter } = ctx.context
      const identifier = await ctx.getSignedCookie(createAuthCookie('two_factor').name, secret)
      const found = identifier ? await internalAdapter.findVerificationValue(identifier) : null
      return { personId: found?.value ?? null }
    }),
  },
} as const

type Found = { accounts: { providerId: string; password?: string | null | undefined }[] } | null

const hashOf = (found: Found) => found?.accounts.find(({ providerId }) => providerId === 'credential')?.password

const wrong = () => new APIError('UNAUTHORIZED', { code: 'INVALID_EMAIL_OR_PASSWORD' })
