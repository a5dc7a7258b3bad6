import type { ErrorCode } from '#contract/error-codes.ts'
import type { FieldError } from '#contract/field-errors.ts'

/** By the path of the field: `expected_value.2`. */
export type FieldErrors = Record<string, FieldError>

/** An error that the caller can act on. Any other error is a bug, and a 500. */
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

export function fieldTexts(errors: FieldErrors): Record<string, string> {
  // Without a prototype, because a field can have the name `constructor`.
  const texts: Record<string, string> = Object.create(null)
  for (const [field, error] of Object.entries(errors)) texts[field] = error.text
  return texts
}

export function fieldCodes(errors: FieldErrors): Record<string, FieldError['code']> {
  const codes: Record<string, FieldError['code']> = Object.create(null)
  for (const [field, { code }] of Object.entries(errors)) codes[field] = code
  return codes
}

/** Of one `X-Error-Fields` header. */
const MAX_FIELDS = 50
const MAX_CHARACTERS = 4_096
const MAX_PARAM_CHARACTERS = 60
/** A key of a dictionary: RFC 9651 section 3.2. */
const KEY = /^[a-z*][a-z0-9_.*-]*$/

/**
 * `X-Error-Fields`, a dictionary of RFC 9651: `frequency=out_of_range;min=5;max=120`. Leaves out fields whose names are not valid
 * keys, and fields above the limits.
 */
export function fieldCodesHeader(errors: FieldErrors): string {
  const valid = Object.entries(errors).filter(([field]) => KEY.test(field) && field.length <= 100)
  let header = ''
  for (const [field, { code, params }] of valid.slice(0, MAX_FIELDS)) {
    const parameters = Object.entries(params).map(([name, value]) => `;${name}=${bareItem(value)}`)
    const next = `${header === '' ? '' : ', '}${field}=${code}${parameters.join('')}`
    if (header.length + next.length > MAX_CHARACTERS) break
    header += next
  }
  return header
}

/** An integer, a string or, with characters beyond ASCII, a display string: RFC 9651 sections 3.3.1, 3.3.3 and 3.3.8. */
function bareItem(value: string | number): string {
  if (Math.abs(Number(value)) < 1e15 && Number.isInteger(value)) return String(value)
  const text = Array.from(
    String(value)
      .slice(0, 2 * MAX_PARAM_CHARACTERS)
      .toWellFormed(),
  )
    .slice(0, MAX_PARAM_CHARACTERS)
    .join('')
  if (/^[\x20-\x7e]*$/.test(text)) return `"${text.replace(/["\\]/g, '\\$&')}"`
  const encoded = Array.from(Buffer.from(text), (byte) => {
    const character = String.fromCharCode(byte)
    const isPlain = byte >= 0x20 && byte <= 0x7e && character !== '%' && character !== '"'
    return isPlain ? character : `%${byte.toString(16).padStart(2, '0')}`
  })
  return `%"${encoded.join('')}"`
}

export function invalid(errors: FieldErrors): Problem {
  return new Problem(400, 'The request is invalid. See errors.', errors)
}

/** Throws a 400 if there are errors. */
export function throwIfInvalid(errors: FieldErrors): void {
  if (Object.keys(errors).length > 0) throw invalid(errors)
}

export const notFound = (): Problem => new Problem(404, 'Not found')
export const unauthorized = (): Problem => new Problem(401, 'Unauthorized')
export const forbidden = (message: string): Problem => new Problem(403, message)
export const conflict = (message: string, errors?: FieldErrors, code?: ErrorCode): Problem =>
  new Problem(409, message, errors, code)
