import { betterAuth } from 'better-auth/minimal'
import { twoFactor } from 'better-auth/plugins/two-factor'
import type { Deps } from '../deps.ts'
import { authAdapter } from './auth-adapter.ts'
import type { Passwords } from './passwords.ts'
import { endOldestSessions } from './session-store.ts'
import { passwordSignIn } from './sign-in.ts'

export const AUTH_PATH = '/dashboard/auth'
/** Whose address a session was begun from: set by us alone, from what the server itself saw. */
export const ADDRESS_HEADER = 'x-zonewatch-address'
export const SESSION_SECONDS = 30 * 24 * 60 * 60
const RESET_SECONDS = 60 * 60

/** A browser takes a `__Host-` cookie from this host over https alone, for all its paths: RFC 6265bis section 4.1.3.2. */
export const cookiePrefixFor = (baseUrl: string) => (baseUrl.startsWith('https:') ? '__Host-' : '')

export type Auth = ReturnType<typeof createAuth>

/**
 * Who signs in, and how. Everything of better-auth is behind this; its endpoints are reached through the routes in
 * `dashboard/` alone, which know where a request comes from and how often it came.
 */
export function createAuth(
  { config, db, seal, log }: Pick<Deps, 'config' | 'db' | 'seal' | 'log'>,
  passwords: Passwords,
) {
  const baseURL = new URL(config.baseUrl).origin
  const isSecure = baseURL.startsWith('https:')
  return betterAuth({
    appName: 'Zonewatch',
    baseURL,
    basePath: AUTH_PATH,
    secret: seal.keyFor('sessions'),
    database: authAdapter(db),
    telemetry: { enabled: false },
    logger: { log: (_level, message, ...details) => log.debug({ details }, `Sign-in: ${message}`) },
    onAPIError: { throw: false },
    // Ours hold in every process and answer in our form: attempts.ts and same-origin.ts.
    rateLimit: { enabled: false },
    advanced: {
      disableCSRFCheck: true,
      disableOriginCheck: true,
      // The library's own prefix for https, __Secure-, lets other hosts of the domain set the cookie.
      useSecureCookies: false,
      cookiePrefix: `${cookiePrefixFor(baseURL)}zonewatch`,
      defaultCookieAttributes: { secure: isSecure },
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
    },
    emailAndPassword: {
      enabled: true,
      disableSignUp: true,
      minPasswordLength: 8,
      maxPasswordLength: 128,
      password: passwords,
      resetPasswordTokenExpiresIn: RESET_SECONDS,
      revokeSessionsOnPasswordReset: true,
    },
    user: {
      modelName: 'people',
      fields: { emailVerified: 'email_verified', createdAt: 'created_at', updatedAt: 'updated_at' },
    },
    account: {
      modelName: 'credentials',
      fields: {
        ...{ userId: 'person_id', accountId: 'account_id', providerId: 'provider_id' },
        ...{ createdAt: 'created_at', updatedAt: 'updated_at' },
      },
    },
    session: {
      modelName: 'sessions',
      fields: {
        ...{ userId: 'person_id', expiresAt: 'expires_at', ipAddress: 'ip_address', userAgent: 'user_agent' },
        ...{ createdAt: 'created_at', updatedAt: 'updated_at' },
      },
      expiresIn: SESSION_SECONDS,
    },
    verification: {
      modelName: 'verifications',
      fields: { expiresAt: 'expires_at', createdAt: 'created_at', updatedAt: 'updated_at' },
      storeIdentifier: 'hashed',
    },
    databaseHooks: {
      session: { create: { after: ({ userId }) => endOldestSessions(db, userId) } },
    },
    plugins: [
      passwordSignIn,
      twoFactor({
        issuer: 'Zonewatch',
        schema: {
          user: { fields: { twoFactorEnabled: 'two_factor_enabled' } },
          twoFactor: { modelName: 'second_factors', fields: { userId: 'person_id', backupCodes: 'backup_codes' } },
        },
      }),
    ],
  })
}
