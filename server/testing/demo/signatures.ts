import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Received } from '../receiver.ts'

/** What a receiver does, by the published rules alone: nothing here comes from the code that signs. */
export function holdsServiceSignature({ headers, body }: Received, secret: string, now: number): boolean {
  if (!isRecent(headers['x-webhook-timestamp'], now)) return false
  return isEqual(headers['x-service-signature'], createHmac('sha256', secret).update(body).digest('hex'))
}

/** https://www.standardwebhooks.com: id, time and body, keyed with what follows `whsec_` in base64. */
export function holdsStandardSignature({ headers, body }: Received, secret: string, now: number): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (!isRecent(timestamp, now)) return false
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
  return String(signatures)
    .split(' ')
    .some((each) => isEqual(each, `v1,${signature}`))
}

function isRecent(timestamp: unknown, now: number): boolean {
  return Math.abs(now / 1000 - Number(timestamp)) <= 300
}

function isEqual(given: unknown, wanted: string): boolean {
  const [one, other] = [Buffer.from(String(given)), Buffer.from(wanted)]
  return one.length === other.length && timingSafeEqual(one, other)
}
