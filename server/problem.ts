/** Which field is at fault (`expected_value.2`) and one sentence that says what is wrong and what is allowed. */
export type FieldErrors = Record<string, string>

/** A failure that the caller can act on. Everything else that throws is a bug, and answers 500. */
export class Problem extends Error {
  readonly status: number
  readonly errors: FieldErrors | undefined

  constructor(status: number, message: string, errors?: FieldErrors) {
    super(message)
    this.status = status
    this.errors = errors
  }
}

export function invalid(errors: FieldErrors): Problem {
  return new Problem(400, 'The request is invalid. See errors.', errors)
}

/** Throws a 400 where there is anything at fault. */
export function refuse(errors: FieldErrors): void {
  if (Object.keys(errors).length > 0) throw invalid(errors)
}

export const notFound = (): Problem => new Problem(404, 'Not found')
export const unauthorized = (): Problem => new Problem(401, 'Unauthorized')
export const forbidden = (message: string): Problem => new Problem(403, message)
export const conflict = (message: string, errors?: FieldErrors): Problem => new Problem(409, message, errors)
