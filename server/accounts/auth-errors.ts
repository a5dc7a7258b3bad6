import { APIError } from 'better-auth/api'
import { conflict, type FieldErrors, invalid, Problem, unauthorized } from '../problem.ts'

/** What better-auth refuses, in our words. Anything else that throws is passed on. */
export function refusedByAuth(error: unknown, passwordField = 'password'): never {
  if (!(error instanceof APIError)) throw error
  if (error.body?.code === 'INVALID_PASSWORD') throw invalid({ [passwordField]: 'is wrong.' })
  const make = PROBLEMS[error.body?.code ?? '']
  if (make) throw make()
  if (error.statusCode === 401) throw unauthorized()
  if (error.statusCode >= 500) throw error
  throw new Problem(error.statusCode, error.message)
}

const wrong = (errors: FieldErrors) => () => invalid(errors)

export const wrongCode = wrong({ code: 'is wrong or expired. Enter the current code of your authenticator app.' })

const PROBLEMS: Record<string, () => Problem> = {
  INVALID_EMAIL_OR_PASSWORD: () => new Problem(401, 'Wrong email address or password.'),
  INVALID_EMAIL: () => new Problem(401, 'Wrong email address or password.'),
  INVALID_TOKEN: wrong({ token: 'is invalid: the link was used or has expired. Request a new link.' }),
  INVALID_CODE: () => wrongCode(),
  INVALID_BACKUP_CODE: wrong({ code: 'is wrong or already used.' }),
  INVALID_TWO_FACTOR_COOKIE: () => new Problem(401, 'The sign-in has expired. Sign in again.'),
  TOTP_NOT_ENABLED: () => conflict('Two-factor authentication is not set up. Turn it on first.'),
  BACKUP_CODES_NOT_ENABLED: () => conflict('Two-factor authentication is not set up. Turn it on first.'),
}
