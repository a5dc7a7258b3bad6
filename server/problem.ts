import type { ErrorCode, FieldCode } from '#contract/error-codes.ts'

/** What is wrong with a field, what is allowed and what to do, in a sentence. A sentence without a code is an `invalid_value`. */
export type FieldError = string | { code: FieldCode; text: string }
/** The path of each field at fault (`expected_value.2`). */
export type FieldErrors = Record<string, FieldError>

/** A failure that the caller can act on. Everything else that throws is a bug, and answers 500. */
export class Problem extends Error {
  readonly status: number
  readonly errors: FieldErrors | undefined
  readonly code: ErrorCode

  constructor(status: number, message: string, errors?: FieldErrors, code?: ErrorCode) {
    super(message)
    this.status = status
    this.errors = errors
    this.code = code ?? errorCodeOf(status)
  }
}

/** Where nothing more is known than the status. */
export function errorCodeOf(status: number): ErrorCode {
  return CODES[status] ?? (status < 500 ? 'invalid_request' : 'internal_error')
}

const CODES: Record<number, ErrorCode> = {
  401: 'unauthorized',
  402: 'plan_limit_reached',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  408: 'request_timeout',
  409: 'conflict',
  412: 'version_mismatch',
  413: 'body_too_large',
  414: 'uri_too_long',
  415: 'unsupported_media_type',
  417: 'unsupported_expectation',
  422: 'idempotency_key_reused',
  429: 'rate_limited',
  431: 'headers_too_large',
  503: 'unavailable',
}

export const fieldText = (error: FieldError): string => (typeof error === 'string' ? error : error.text)
const fieldCode = (error: FieldError): FieldCode => (typeof error === 'string' ? 'invalid_value' : error.code)

export function fieldTexts(errors: FieldErrors): Record<string, string> {
  // Without a prototype, so that a field called `constructor` is a field like any other.
  const texts: Record<string, string> = Object.create(null)
  for (const [field, error] of Object.entries(errors)) texts[field] = fieldText(error)
  return texts
}

/** Fields that one header names. */
const MOST_FIELDS = 50
/** The keys of a dictionary, RFC 9651 section 3.2. */
const KEY = /^[a-z*][a-z0-9_.*-]*$/

/** `X-Error-Fields`, a dictionary of RFC 9651. Fields whose names cannot be keys, and those beyond 50, are only in the body. */
export function fieldCodesHeader(errors: FieldErrors): string {
  const named = Object.entries(errors).filter(([field]) => KEY.test(field) && field.length <= 100)
  return named
    .slice(0, MOST_FIELDS)
    .map(([field, error]) => `${field}=${fieldCode(error)}`)
    .join(', ')
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
export const conflict = (message: string, errors?: FieldErrors, code?: ErrorCode): Problem =>
  new Problem(409, message, errors, code)
