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
const VALUE_LIMIT = 4000

/** Says in one sentence why a webhook must not have this header, or null. */
export function refusalOfHeader(name: string, value: string): string | null {
  // A token, RFC 9110 section 5.6.2.
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || name.length > NAME_LIMIT) {
    return `A header's name must have 1 to ${NAME_LIMIT} letters, digits or hyphens.`
  }
  const lower = name.toLowerCase()
  if (OWN_NAMES.has(lower) || lower.startsWith('proxy-')) return `${name} is set by the service; choose another name.`
  if (!/^[\t\x20-\x7e]*$/.test(value) || value.length > VALUE_LIMIT) {
    return `The value of ${name} must be at most ${VALUE_LIMIT} visible ASCII characters, blanks and tabs.`
  }
  return null
}
