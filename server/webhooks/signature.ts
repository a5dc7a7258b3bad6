import { createHmac, randomBytes } from 'node:crypto'
import { type FieldError, fieldError } from '#contract/field-errors.ts'

const STANDARD_PREFIX = 'whsec_'

/** What the signature covers, and with which secrets. `sentAt` is the instant of this attempt, not of the first. */
export type Signable = {
  requestId: string
  body: Buffer
  secret: string
  /** The secret before a rotation, while its grace lasts. */
  previousSecret?: string | undefined
  sentAt: number
}

/** Text that receivers share with us: 32 random octets in the form of the Standard Webhooks specification. */
export function newWebhookSecret(): string {
  return STANDARD_PREFIX + randomBytes(32).toString('base64')
}

/** Why this cannot be a secret, or null: what follows `whsec_` is the base64 of a key. */
export function refusalOfSecret(secret: string): FieldError | null {
  if (!secret.startsWith(STANDARD_PREFIX)) return null
  const key = secret.slice(STANDARD_PREFIX.length)
  if (key !== '' && standardKey(secret).toString('base64') === key) return null
  return fieldError('invalid_webhook_secret')
}

/**
 * The five headers that let a receiver trust a request. `X-Service-Signature` is the hex HMAC-SHA256 of the body alone, by
 * the new secret; the three of Standard Webhooks cover id and time as well, and during a rotation carry both signatures.
 */
export function signatureHeaders({
  requestId,
  body,
  secret,
  previousSecret,
  sentAt,
}: Signable): Record<string, string> {
  const timestamp = String(Math.floor(sentAt / 1000))
  const secrets = previousSecret === undefined ? [secret] : [secret, previousSecret]
  return {
    'X-Service-Signature': createHmac('sha256', secret).update(body).digest('hex'),
    'X-Webhook-Timestamp': timestamp,
    'webhook-id': requestId,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((one) => standardSignature(one, requestId, timestamp, body)).join(' '),
  }
}

function standardSignature(secret: string, requestId: string, timestamp: string, body: Buffer): string {
  const hmac = createHmac('sha256', standardKey(secret)).update(`${requestId}.${timestamp}.`).update(body)
  return `v1,${hmac.digest('base64')}`
}

/** Standard Webhooks: what follows `whsec_` is base64. Secrets chosen by the caller are taken octet by octet. */
function standardKey(secret: string): Buffer {
  if (secret.startsWith(STANDARD_PREFIX)) return Buffer.from(secret.slice(STANDARD_PREFIX.length), 'base64')
  return Buffer.from(secret)
}
