import { type FieldError, fieldError } from '#contract/field-errors.ts'
import { MAX_HEADER_VALUE_LENGTH } from '#contract/webhooks.ts'
import type { FieldErrors } from '../problem.ts'

/** Names that the service sets itself, or that belong to the connection (RFC 9110 section 7.6.1), in lower case. */
const OWN_NAMES: ReadonlySet<string> = new Set([
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

const NAME_LIMIT = 100

/** Why a webhook must not have this header, or null. */
export function headerError(name: string, value: string): FieldError | null {
  // A token, RFC 9110 section 5.6.2.
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || name.length > NAME_LIMIT) {
    return fieldError('invalid_header_name', { max: NAME_LIMIT })
  }
  const lower = name.toLowerCase()
  if (OWN_NAMES.has(lower) || lower.startsWith('proxy-')) return fieldError('reserved_header', { header: name })
  if (!/^[\t\x20-\x7e]*$/.test(value) || value.length > MAX_HEADER_VALUE_LENGTH) {
    return fieldError('invalid_header_value', { header: name, max: MAX_HEADER_VALUE_LENGTH })
  }
  return null
}

type Headers = Readonly<Record<string, string>>

const MASK = '*'.repeat(8)
/** Of a shorter value the last four characters would show most. */
const LEAST_SHOWN_OF = 12

/** What reads show of a secret: its last 4 characters at most. */
export const masked = (secret: string): string => MASK + (secret.length < LEAST_SHOWN_OF ? '' : secret.slice(-4))

export const maskedHeaders = (headers: Headers): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, masked(value)]))

/**
 * The headers to store when `given` replace `stored`: a value that equals the mask of the stored header of that name keeps
 * the stored value, so that what was read can be sent back. Any other mask is refused, because it would be sent as it is.
 */
export function unmaskedHeaders(
  given: Headers,
  stored: Headers,
): { headers: Record<string, string>; errors: FieldErrors } {
  const storedValues = new Map(Object.entries(stored).map(([name, value]) => [name.toLowerCase(), value]))
  const headers: Record<string, string> = {}
  const errors: FieldErrors = {}
  for (const [name, value] of Object.entries(given)) {
    const before = storedValues.get(name.toLowerCase())
    headers[name] = before !== undefined && value === masked(before) ? before : value
    if (headers[name] === value && isMask(value)) {
      errors[`headers.${name}`] = fieldError('masked_value', { header: name, value })
    }
  }
  return { headers, errors }
}

const isMask = (value: unknown) => typeof value === 'string' && /^\*{8}[^*]{0,4}$/.test(value)
