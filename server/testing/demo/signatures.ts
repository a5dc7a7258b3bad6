import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Received } from '../receiver.ts'

/** Verifies as a receiver does, by the published rules and without the code that signs. */
export function isServiceSignatureValid({ headers, body }: Received, secret: string, now: number): boolean {
  if (!isRecent(headers['x-webhook-timestamp'], now)) return false
  return isEqual(headers['x-service-signature'], createHmac('sha256', secret).update(body).digest('hex'))
}

/** https://www.standardwebhooks.com: id, timestamp and body, signed with the base64 key after `whsec_`. */
export function isStandardSignatureValid({ headers, body }: Received, secret: string, now: number): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (!isRecent(timestamp, now)) return false
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
  return String(signatures)
    .split(' ')
    .some((candidate) => isEqual(candidate, `v1,${signature}`))
}

function isRecent(timestamp: unknown, now: number): boolean {
  return Math.abs(now / 1000 - Number(timestamp)) <= 300
}

function isEqual(received: unknown, expected: string): boolean {
  const [a, b] = [Buffer.from(String(received)), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
