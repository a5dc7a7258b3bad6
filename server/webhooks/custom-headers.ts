import { type FieldError, fieldError } from '#contract/field-errors.ts'
import { MAX_HEADER_VALUE_LENGTH } from '#contract/webhooks.ts'
import type { FieldErrors } from '../problem.ts'

/** Headers that Zonewatch sets, or that belong to the connection (RFC 9110 section 7.6.1), in lower case. */
const RESERVED_NAMES: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
  'x-service-signature',
  'x-webhook-timestamp',
])

const MAX_NAME_LENGTH = 100

/** Why the header is invalid, or null. */
export function headerError(name: string, value: string): FieldError | null {
  // A token, RFC 9110 section 5.6.2.
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || name.length > MAX_NAME_LENGTH) {
    return fieldError('invalid_header_name', { max: MAX_NAME_LENGTH })
  }
  const lower = name.toLowerCase()
  if (RESERVED_NAMES.has(lower) || lower.startsWith('proxy-')) return fieldError('reserved_header', { header: name })
  if (!/^[\t\x20-\x7e]*$/.test(value) || value.length > MAX_HEADER_VALUE_LENGTH) {
    return fieldError('invalid_header_value', { header: name, max: MAX_HEADER_VALUE_LENGTH })
  }
  return null
}

type Headers = Readonly<Record<string, string>>

const MASK = '*'.repeat(8)
/** The last 4 characters of a shorter value would reveal too much of it. */
const MIN_LENGTH_SHOWN = 12

/** Hides a secret except for its last 4 characters. */
export const masked = (secret: string): string => MASK + (secret.length < MIN_LENGTH_SHOWN ? '' : secret.slice(-4))

export const maskedHeaders = (headers: Headers): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, masked(value)]))

/**
 * The headers to store when `requested` replaces `stored`. A value that is the mask of the stored value keeps it, so that a
 * client can send back what it read. Any other mask is an error. `isNewUrl`: no stored value is kept, because it would be sent to another
 * address than the one that it was saved for.
 */
export function unmaskedHeaders(
  requested: Headers | undefined,
  stored: Headers,
  isNewUrl = false,
): { headers: Record<string, string>; errors: FieldErrors } {
  const storedValues = new Map(Object.entries(stored).map(([name, value]) => [name.toLowerCase(), value]))
  const headers: Record<string, string> = {}
  const errors: FieldErrors = {}
  if (requested === undefined && isNewUrl && storedValues.size > 0)
    errors.headers = fieldError('secret_needed_again', { field: 'url' })
  for (const [name, value] of Object.entries(requested ?? {})) {
    const before = storedValues.get(name.toLowerCase())
    const isKept = before !== undefined && value === masked(before)
    headers[name] = isKept ? before : value
    if (isKept && isNewUrl) errors[`headers.${name}`] = fieldError('secret_needed_again', { field: 'url' })
    else if (headers[name] === value && isMask(value)) {
      errors[`headers.${name}`] = fieldError('masked_value', { header: name, value })
    }
  }
  return { headers, errors }
}

const isMask = (value: unknown) => typeof value === 'string' && /^\*{8}[^*]{0,4}$/.test(value)
