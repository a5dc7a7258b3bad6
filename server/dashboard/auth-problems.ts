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

export const wrongCode = wrong({ code: 'is wrong, or no longer right: enter the one that the app shows now.' })

const PROBLEMS: Record<string, () => Problem> = {
  INVALID_EMAIL_OR_PASSWORD: () => new Problem(401, 'The address or the password is wrong.'),
  INVALID_EMAIL: () => new Problem(401, 'The address or the password is wrong.'),
  INVALID_TOKEN: wrong({ token: 'belongs to a link that was used or has run out; ask for a new one.' }),
  INVALID_CODE: () => wrongCode(),
  INVALID_BACKUP_CODE: wrong({ code: 'is wrong, or was used.' }),
  INVALID_TWO_FACTOR_COOKIE: () => new Problem(401, 'The password was entered too long ago; sign in again.'),
  TOTP_NOT_ENABLED: () => conflict('No second factor is set up; turn it on first.'),
  BACKUP_CODES_NOT_ENABLED: () => conflict('No second factor is set up; turn it on first.'),
}
