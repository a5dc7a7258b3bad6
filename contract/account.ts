import { type Static, Type } from 'typebox'
import { AGENT_ROLES, Email } from './agents.ts'
import { Instant, Name, Nullable, StrictObject } from './common.ts'

/** What the dashboard asks beside the API: who signed in, and what a person may do without a key. Not part of the public API. */

export const Password = Type.String({ minLength: 8, maxLength: 128, description: 'at least 8 characters' })

/** `GET /dashboard/api/me`: 401 unless signed in. */
export const Me = StrictObject({
  person: StrictObject({
    id: Type.String(),
    name: Type.String(),
    email: Type.String(),
    /** Whether signing in asks for a code too. */
    two_factor: Type.Boolean(),
  }),
  /** Those the person is an agent of, in the order of joining. Requests name one in the header `X-Organization`. */
  organizations: Type.Array(
    StrictObject({
      id: Type.String(),
      name: Type.String(),
      slug: Type.String(),
      role: Type.Enum(AGENT_ROLES),
      agent_id: Type.String(),
    }),
  ),
  server: StrictObject({
    base_url: Type.String(),
    version: Type.String(),
    /** Without SMTP, mails stand in the dashboard instead. */
    sends_mail: Type.Boolean(),
    takes_payments: Type.Boolean(),
    /** Whether anyone may sign up, and a signed-in person may make a further organization. */
    sign_up: Type.Boolean(),
  }),
  /** Whether the person may see the Server page. */
  operator: Type.Boolean(),
})
export type Me = Static<typeof Me>

/** `GET /dashboard/api/welcome`: what the sign-in page must know; open to everyone. */
export const Welcome = StrictObject({
  /** No organization exists yet: the log shows the one-time set-up link. */
  needs_setup: Type.Boolean(),
  sign_up: Type.Boolean(),
  sends_mail: Type.Boolean(),
})
export type Welcome = Static<typeof Welcome>

/** `POST /dashboard/api/setup`, once, with the token of the set-up link, which signs in; and `POST /dashboard/api/sign-up` without one. */
export const Setup = StrictObject({
  token: Type.String({ maxLength: 200 }),
  organization: Name,
  name: Name,
  email: Email,
  password: Password,
})
export type Setup = Static<typeof Setup>
export const SignUp = StrictObject({ organization: Name, name: Name, email: Email, password: Password })
export type SignUp = Static<typeof SignUp>
/**
 * `confirm`: a mail went to the address, and the account is made once its link is opened (`verify-email`); the same for an
 * address that has an account. Else the server sends no mail, and the person is signed in.
 */
export const SignedUp = StrictObject({ confirm: Type.Boolean() })
export type SignedUp = Static<typeof SignedUp>

/** `POST /dashboard/api/organizations`: a further one for the person who is signed in, who becomes its owner. */
export const NewOrganization = StrictObject({ name: Name })
export type NewOrganization = Static<typeof NewOrganization>

/** `GET /dashboard/api/invitations/{token}`. */
export const OfferedInvitation = StrictObject({
  organization: Type.String(),
  email: Type.String(),
  role: Type.Enum(AGENT_ROLES),
  state: Type.Enum(['pending', 'accepted', 'expired', 'revoked']),
  /** Whether to sign in with the address, or to sign up with it. */
  has_account: Type.Boolean(),
})
export type OfferedInvitation = Static<typeof OfferedInvitation>

/** `POST /dashboard/api/invitations/{token}/accept`: without a body when signed in; with one it makes the account and signs in. */
export const Acceptance = StrictObject({ name: Type.Optional(Name), password: Type.Optional(Password) })
export type Acceptance = Static<typeof Acceptance>
export const Accepted = StrictObject({ organization_id: Type.String() })
export type Accepted = Static<typeof Accepted>

/** `GET /dashboard/api/mails`: what was written to people of this organization, newest first, at most 50; for admins. */
export const Mails = StrictObject({
  data: Type.Array(
    StrictObject({
      id: Type.String(),
      created: Instant('When it was written.'),
      recipient: Type.String(),
      subject: Type.String(),
      /** With the link, where the server sends no mail itself and someone must pass it on. */
      text: Type.String(),
      status: Type.Enum(['waiting', 'sent', 'kept', 'failed']),
      error: Nullable(Type.String()),
    }),
  ),
})
export type Mails = Static<typeof Mails>

/**
 * Signing in: `POST /dashboard/auth/…` with these bodies. What answers nothing else answers `{status: true}`; cookies carry the
 * session. Errors have the API's form. All but the first five need a session.
 */

/** `sign-in/email`. */
export const SignIn = StrictObject({
  email: Type.String({ maxLength: 254 }),
  password: Type.String({ maxLength: 128 }),
  /** False: the session ends with the browser, or after a day. */
  rememberMe: Type.Optional(Type.Boolean()),
})
/** With `twoFactorRedirect` the session begins only with a code: `two-factor/verify-totp` or `two-factor/verify-backup-code`. */
export const SignedIn = StrictObject({ twoFactorRedirect: Type.Boolean() })
export type SignedIn = Static<typeof SignedIn>

const code = Type.String({ minLength: 1, maxLength: 20, pattern: '^[0-9A-Za-z -]+$', description: 'a code' })
/** `two-factor/verify-totp` (also ends `two-factor/enable`) and `two-factor/verify-backup-code`; `trustDevice`: no code here for 30 days. */
export const Code = StrictObject({ code, trustDevice: Type.Optional(Type.Boolean()) })

/** `request-password-reset`: the same answer whether there is such an account or not. */
export const ResetRequest = StrictObject({ email: Type.String({ minLength: 1, maxLength: 254 }) })
/** `reset-password`: the token of `/dashboard/reset-password/<token>`. Ends all sessions. */
export const Reset = StrictObject({ token: Type.String({ maxLength: 200 }), newPassword: Password })
/** `verify-email`: the token of `/dashboard/verify-email/<token>`; the new address, or the new account, holds from now on. */
export const EmailConfirmation = StrictObject({ token: Type.String({ maxLength: 200 }) })

/** `change-password`; ends all other sessions. `sign-out`, `revoke-other-sessions`: without a body. `update-user`: NewName. */
export const PasswordChange = StrictObject({ currentPassword: Type.String({ maxLength: 128 }), newPassword: Password })
export const NewName = StrictObject({ name: Name })
/** `change-email`. */
export const EmailChange = StrictObject({ newEmail: Email, password: Type.String({ maxLength: 128 }) })
/** `confirm`: a mail went to the new address and has to be confirmed; else it holds already (the server sends no mail). */
export const EmailChanged = StrictObject({ confirm: Type.Boolean() })
export type EmailChanged = Static<typeof EmailChanged>

/** `two-factor/enable`, `two-factor/disable`, `two-factor/generate-backup-codes`. */
export const PasswordOnly = StrictObject({ password: Type.String({ maxLength: 128 }) })
/** `two-factor/enable`: shown once. Holds from the first right `two-factor/verify-totp` on. */
export const SecondFactor = StrictObject({ totpURI: Type.String(), backupCodes: Type.Array(Type.String()) })
export type SecondFactor = Static<typeof SecondFactor>
/** `two-factor/generate-backup-codes`: the ones before are void. */
export const BackupCodes = StrictObject({ backupCodes: Type.Array(Type.String()) })
export type BackupCodes = Static<typeof BackupCodes>

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
