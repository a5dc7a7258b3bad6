import { type Static, Type } from 'typebox'
import { AGENT_ROLES, Email } from './agents.ts'
import { Instant, Name, Nullable, StrictObject } from './common.ts'

/** What the dashboard requests for accounts and sign-in. Not part of the public API. */

export const Password = Type.String({ minLength: 8, maxLength: 128, description: 'at least 8 characters' })

/** `GET /dashboard/api/me`: 401 unless signed in. */
export const Me = StrictObject({
  person: StrictObject({
    id: Type.String(),
    name: Type.String(),
    email: Type.String(),
    /** Whether signing in also needs a code. */
    two_factor: Type.Boolean(),
  }),
  /** In the order in which the user joined them. Requests select one with the header `X-Organization`. */
  organizations: Type.Array(
    StrictObject({
      id: Type.String(),
      name: Type.String(),
      slug: Type.String(),
      role: Type.Enum(AGENT_ROLES),
      agent_id: Type.String(),
      /** When the organization is deleted; null if nobody requested that. */
      deletes: Nullable(Type.String()),
    }),
  ),
  server: StrictObject({
    base_url: Type.String(),
    version: Type.String(),
    /** If there is no mail server, the dashboard shows the mails. */
    sends_mail: Type.Boolean(),
    takes_payments: Type.Boolean(),
    /** Whether anyone may sign up, and users may create more organizations. */
    sign_up: Type.Boolean(),
  }),
  /** Whether the user may see the Server page. */
  operator: Type.Boolean(),
})
export type Me = Static<typeof Me>

/** `GET /dashboard/api/welcome`: what the sign-in page needs. Requires no session. */
export const Welcome = StrictObject({
  /** True while no organization exists. The log then shows the one-time set-up link. */
  needs_setup: Type.Boolean(),
  sign_up: Type.Boolean(),
  sends_mail: Type.Boolean(),
  /** Whether people sign in with a password. */
  passwords: Type.Boolean(),
  /** The providers of single sign-on. A sign-in begins at `/dashboard/auth/oidc/{id}/start`, and ends at `/dashboard/sign-in?problem=…` if it fails. */
  providers: Type.Array(StrictObject({ id: Type.String(), name: Type.String() })),
})
export type Welcome = Static<typeof Welcome>

/** `POST /dashboard/api/setup`, once, with the token of the set-up link. Signs in. */
export const Setup = StrictObject({
  token: Type.String({ maxLength: 200 }),
  organization: Name,
  name: Name,
  email: Email,
  password: Password,
})
export type Setup = Static<typeof Setup>
/** `POST /dashboard/api/sign-up`. */
export const SignUp = StrictObject({ organization: Name, name: Name, email: Email, password: Password })
export type SignUp = Static<typeof SignUp>
/**
 * `confirm`: the server mailed a link (`verify-email`) that creates the account. Also true for an address that has an account. False
 * if there is no mail server; the user is then signed in.
 */
export const SignedUp = StrictObject({ confirm: Type.Boolean() })
export type SignedUp = Static<typeof SignedUp>

/** `POST /dashboard/api/organizations`: creates another organization. The user becomes its owner. */
export const NewOrganization = StrictObject({ name: Name })
export type NewOrganization = Static<typeof NewOrganization>

/** `GET /dashboard/api/invitations/{token}`. */
export const OfferedInvitation = StrictObject({
  organization: Type.String(),
  email: Type.String(),
  role: Type.Enum(AGENT_ROLES),
  state: Type.Enum(['pending', 'accepted', 'expired', 'revoked']),
  /** Whether an account with this address exists, so that the user signs in instead of up. */
  has_account: Type.Boolean(),
})
export type OfferedInvitation = Static<typeof OfferedInvitation>

/** `POST /dashboard/api/invitations/{token}/accept`: without a body if signed in. With one, creates the account and signs in. */
export const Acceptance = StrictObject({ name: Type.Optional(Name), password: Type.Optional(Password) })
export type Acceptance = Static<typeof Acceptance>
export const Accepted = StrictObject({ organization_id: Type.String() })
export type Accepted = Static<typeof Accepted>

/** `GET /dashboard/api/mails`: the mails of this organization, newest first, at most 50. For admins. */
export const Mails = StrictObject({
  data: Type.Array(
    StrictObject({
      id: Type.String(),
      created: Instant('When the mail was created.'),
      recipient: Type.String(),
      subject: Type.String(),
      /** Contains the link only if there is no mail server, so that an admin can forward it. */
      text: Type.String(),
      status: Type.Enum(['waiting', 'sent', 'kept', 'failed']),
      error: Nullable(Type.String()),
    }),
  ),
})
export type Mails = Static<typeof Mails>

/**
 * Sign-in: `POST /dashboard/auth/…` with these bodies. The default response is `{status: true}`. The session is in a cookie. Errors
 * have the format of the API. All but the first five requests need a session.
 */

/** `sign-in/email`. */
export const SignIn = StrictObject({
  email: Type.String({ maxLength: 254 }),
  password: Type.String({ maxLength: 128 }),
  /** False: the session ends when the browser is closed, at the latest after a day. */
  rememberMe: Type.Optional(Type.Boolean()),
})
/** `twoFactorRedirect`: the session also needs a code, by `two-factor/verify-totp` or `two-factor/verify-backup-code`. */
export const SignedIn = StrictObject({ twoFactorRedirect: Type.Boolean() })
export type SignedIn = Static<typeof SignedIn>

const code = Type.String({ minLength: 1, maxLength: 20, pattern: '^[0-9A-Za-z -]+$', description: 'a code' })
/** `two-factor/verify-totp` (also completes `two-factor/enable`) and `two-factor/verify-backup-code`. `trustDevice`: this browser needs no code for 30 days. */
export const Code = StrictObject({ code, trustDevice: Type.Optional(Type.Boolean()) })

/** `request-password-reset`: the response is the same whether the account exists or not. */
export const ResetRequest = StrictObject({ email: Type.String({ minLength: 1, maxLength: 254 }) })
/** `reset-password`: the token of `/dashboard/reset-password/<token>`. Ends all sessions. */
export const Reset = StrictObject({ token: Type.String({ maxLength: 200 }), newPassword: Password })
/** `verify-email`: the token of `/dashboard/verify-email/<token>`. Activates the new address or account. */
/** `password`: of the sign-up that is confirmed. Not for a new address of an account. */
export const EmailConfirmation = StrictObject({
  token: Type.String({ maxLength: 200 }),
  password: Type.Optional(Type.String({ maxLength: 128 })),
})

/** `change-password`; ends all other sessions. `sign-out`, `revoke-other-sessions`: without a body. `update-user`: NewName. */
export const PasswordChange = StrictObject({ currentPassword: Type.String({ maxLength: 128 }), newPassword: Password })
export const NewName = StrictObject({ name: Name })
/** `change-email`. */
export const EmailChange = StrictObject({ newEmail: Email, password: Type.String({ maxLength: 128 }) })
/** `confirm`: the server mailed a confirmation link to the new address. False if there is no mail server; the address is then changed. */
export const EmailChanged = StrictObject({ confirm: Type.Boolean() })
export type EmailChanged = Static<typeof EmailChanged>

/** `two-factor/disable`, `two-factor/generate-backup-codes`. `code`: of the authenticator app, or a recovery code. */
export const PasswordAndCode = StrictObject({ password: Type.String({ maxLength: 128 }), code })
/** `delete-account`. `code`: with two-factor authentication. */
export const AccountDeletion = StrictObject({ password: Type.String({ maxLength: 128 }), code: Type.Optional(code) })
const text = Type.String()
/** `GET /dashboard/api/me/data`: what is stored about the user, at most the newest 1,000 of each list. */
export const PersonalData = StrictObject({
  person: StrictObject({
    ...{ id: text, name: text, email: text, email_verified: Type.Boolean(), two_factor: Type.Boolean() },
    ...{ created: text, updated: text },
  }),
  sessions: Type.Array(StrictObject({ created: text, expires: text, address: text, user_agent: Nullable(text) })),
  identities: Type.Array(StrictObject({ issuer: text, subject: text, created: text, last_used: text })),
  mails: Type.Array(StrictObject({ created: text, organization_id: Nullable(text), status: text, kind: text })),
  organizations: Type.Array(
    StrictObject({
      ...{ id: text, name: text, agent_id: text, role: text, notification_email: Nullable(text) },
      ...{ joined: text, last_seen: Nullable(text) },
      api_keys: Type.Array(StrictObject({ id: text, name: text, role: text, created: text })),
      invitations: Type.Array(StrictObject({ id: text, role: text, created: text, accepted: Nullable(text) })),
      audit_log: Type.Array(
        StrictObject({ occurred: text, action: text, object_id: Nullable(text), address: Nullable(text) }),
      ),
    }),
  ),
})
export type PersonalData = Static<typeof PersonalData>

/** `sign-out`. `url`: where the browser signs out at the provider of single sign-on too. */
export const SignedOut = StrictObject({ status: Type.Boolean(), url: Nullable(Type.String()) })
export type SignedOut = Static<typeof SignedOut>

/** `two-factor/enable`. */
export const PasswordOnly = StrictObject({ password: Type.String({ maxLength: 128 }) })
/** `two-factor/enable`: returned once. Takes effect with the first valid `two-factor/verify-totp`. */
export const SecondFactor = StrictObject({ totpURI: Type.String(), backupCodes: Type.Array(Type.String()) })
export type SecondFactor = Static<typeof SecondFactor>
/** `two-factor/generate-backup-codes`: replaces the previous codes. */
export const RecoveryCodes = StrictObject({ backupCodes: Type.Array(Type.String()) })
export type RecoveryCodes = Static<typeof RecoveryCodes>

/** `GET /dashboard/auth/list-sessions`; `revoke-session` takes `{id}`. */
export const Sessions = StrictObject({
  data: Type.Array(
    StrictObject({
      id: Type.String(),
      created: Instant('When the person signed in.'),
      expires: Instant('When the session expires.'),
      address: Nullable(Type.String({ description: 'The IP address from which the person signed in.' })),
      user_agent: Nullable(Type.String()),
      current: Type.Boolean({ description: 'Whether this is the current session.' }),
    }),
  ),
})
export type Sessions = Static<typeof Sessions>
export const SessionChoice = StrictObject({ id: Type.String({ maxLength: 100 }) })

export const Done = StrictObject({ status: Type.Boolean() })
