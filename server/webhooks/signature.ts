import { createHmac, randomBytes } from 'node:crypto'
import { type FieldError, fieldError } from '#contract/field-errors.ts'

const STANDARD_PREFIX = 'whsec_'

/** `sentAt` is when this attempt is made, not the first one. */
export type SignatureInput = {
  requestId: string
  body: Buffer
  secret: string
  /** The old secret, during the grace period of a rotation. */
  previousSecret?: string | undefined
  sentAt: number
}

/** 32 random bytes in the format of the Standard Webhooks specification. */
export function newWebhookSecret(): string {
  return STANDARD_PREFIX + randomBytes(32).toString('base64')
}

/** Why the secret is invalid, or null: after `whsec_` comes the base64 of a key. */
export function secretError(secret: string): FieldError | null {
  if (!secret.startsWith(STANDARD_PREFIX)) return null
  const key = secret.slice(STANDARD_PREFIX.length)
  if (key !== '' && standardKey(secret).toString('base64') === key) return null
  return fieldError('invalid_webhook_secret')
}

/**
 * The five signature headers. `X-Service-Signature` is the hex HMAC-SHA256 of the body by the new secret. The three of
 * Standard Webhooks also cover id and time, and have the signatures of both secrets during a rotation.
 */
export function signatureHeaders({
  requestId,
  body,
  secret,
  previousSecret,
  sentAt,
}: SignatureInput): Record<string, string> {
  const timestamp = String(Math.floor(sentAt / 1000))
  const secrets = previousSecret === undefined ? [secret] : [secret, previousSecret]
  return {
    'X-Service-Signature': createHmac('sha256', secret).update(body).digest('hex'),
    'X-Webhook-Timestamp': timestamp,
    'webhook-id': requestId,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((key) => standardSignature(key, requestId, timestamp, body)).join(' '),
  }
}

function standardSignature(secret: string, requestId: string, timestamp: string, body: Buffer): string {
  const hmac = createHmac('sha256', standardKey(secret)).update(`${requestId}.${timestamp}.`).update(body)
  return `v1,${hmac.digest('base64')}`
}

/** A Standard Webhooks secret is base64 after `whsec_`. Any other secret is the key itself. */
function standardKey(secret: string): Buffer {
  if (secret.startsWith(STANDARD_PREFIX)) return Buffer.from(secret.slice(STANDARD_PREFIX.length), 'base64')
  return Buffer.from(secret)
}
