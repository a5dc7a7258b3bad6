/** A response that is not a success. */
export class ZonewatchError extends Error {
  override name = 'ZonewatchError'
  /** The HTTP status. */
  readonly code: number
  /** For 400 and 422: a message for each wrong field. */
  readonly errors: Record<string, string>
  /** Finds the request in the log of the server. */
  readonly requestId: string | null
  /** How many seconds to wait before the same request, where the server says so. */
  readonly retryAfter: number | null

  constructor(message: string, fields: Pick<ZonewatchError, 'code' | 'errors' | 'requestId' | 'retryAfter'>) {
    super(message)
    this.code = fields.code
    this.errors = fields.errors
    this.requestId = fields.requestId
    this.retryAfter = fields.retryAfter
  }

  static async of(response: Response): Promise<ZonewatchError> {
    const { status, headers } = response
    // A proxy in between may answer with something other than JSON.
    const content = (await response.json().catch(() => ({}))) as { error?: string; errors?: Record<string, string> }
    const errors = content?.errors ?? {}
    const fields = Object.entries(errors).map(([name, message]) => `${name} ${message}`)
    const text = [content?.error ?? sentenceOf(response), ...fields].join(' ')
    return new ZonewatchError(text, {
      code: status,
      errors,
      requestId: headers.get('x-request-id'),
      retryAfter: retryAfterOf(response),
    })
  }
}

const sentenceOf = ({ status, statusText, type }: Response): string =>
  type === 'opaqueredirect' || (status >= 300 && status < 400)
    ? 'The address redirects to another one, to which the key is not sent: use the final address as `url`.'
    : `The response is ${status} ${statusText}.`

/** Seconds, from a number or a date (RFC 9110, section 10.2.3); null without the header. */
export function retryAfterOf({ headers }: Response): number | null {
  const text = headers.get('retry-after')
  if (text === null) return null
  return /^\d+$/.test(text) ? Number(text) : Math.max(0, (Date.parse(text) - Date.now()) / 1_000)
}

/** What was waited for did not happen in time. */
export class WaitTimeoutError<Last = unknown> extends Error {
  override name = 'WaitTimeoutError'
  /** The monitor or job as it was read last. */
  readonly last: Last

  constructor(message: string, last: Last) {
    super(message)
    this.last = last
  }
}
