export type WebhookInput = {
  /** The body as it arrived, before it is parsed. */
  body: string | Uint8Array<ArrayBuffer> | ArrayBuffer
  headers: Headers | Record<string, string | readonly string[] | undefined>
  /** The secret of the webhook; several during a rotation. */
  secret: string | readonly string[]
  /** How far the time of the request may be from now, in seconds. Default: 300. */
  toleranceSeconds?: number
}

/** A request whose signature is right. Without `batch` of the webhook, `events` has one item. */
export type VerifiedRequest<Item = unknown> = {
  /** The same on every attempt and replay: handle each once. */
  id: string
  webhook_id: string
  created: string
  events: Item[]
}

/** The request is not from Zonewatch, or too old: respond with 401. */
export class WebhookError extends Error {
  override name = 'WebhookError'
}

/**
 * Verifies a request of a webhook, and returns its content. Rejects with a `WebhookError` otherwise.
 *
 * `webhook-signature` covers id, time and body (Standard Webhooks) and decides where it is present; `X-Service-Signature` covers
 * the body only, so that somebody who recorded a request could send it again: handle each `id` once.
 */
export async function verifyWebhook<Item = unknown>(input: WebhookInput): Promise<VerifiedRequest<Item>> {
  const header = reader(input.headers)
  const body = octetsOf(input.body)
  const standard = header('webhook-signature')
  const timestamp = header(standard === undefined ? 'x-webhook-timestamp' : 'webhook-timestamp') ?? ''
  const distance = Math.abs(Date.now() / 1_000 - Number(timestamp))
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookError('The request has no time.')
  if (distance > (input.toleranceSeconds ?? 300))
    throw new WebhookError(`The time of the request is ${Math.round(distance)} seconds away from the clock here.`)

  const secrets = typeof input.secret === 'string' ? [input.secret] : input.secret
  const signed = standard === undefined ? body : join(`${header('webhook-id') ?? ''}.${timestamp}.`, body)
  const signatures =
    standard === undefined
      ? [fromHex(header('x-service-signature') ?? '')]
      : standard.split(' ').flatMap((each) => (each.startsWith('v1,') ? [fromBase64(each.slice(3))] : []))
  for (const secret of secrets) {
    const raw = standard === undefined ? octetsOf(secret) : keyOf(secret)
    const key = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
    for (const signature of signatures)
      if (signature && (await crypto.subtle.verify('HMAC', key, signature, signed))) return contentOf(body)
  }
  throw new WebhookError('The signature is wrong.')
}

function contentOf<Item>(body: Uint8Array): VerifiedRequest<Item> {
  const { id, webhook_id, created, events, ...item } = JSON.parse(new TextDecoder().decode(body))
  return { id, webhook_id, created, events: events ?? [item] }
}

/** Header names in any letter case; of several values none is used. */
function reader(headers: WebhookInput['headers']): (name: string) => string | undefined {
  if (headers instanceof Headers) return (name) => headers.get(name) ?? undefined
  const values = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  return (name) => {
    const value = values.get(name)
    return typeof value === 'string' ? value : undefined
  }
}

function octetsOf(value: WebhookInput['body']): Uint8Array<ArrayBuffer> {
  if (typeof value === 'string') return new TextEncoder().encode(value)
  return value instanceof Uint8Array ? value : new Uint8Array(value)
}

function join(text: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const start = octetsOf(text)
  const joined = new Uint8Array(start.length + body.length)
  joined.set(start)
  joined.set(body, start.length)
  return joined
}

/** Standard Webhooks: what follows `whsec_` is base64. Any other secret is a key as it is. */
const keyOf = (secret: string): Uint8Array<ArrayBuffer> =>
  (secret.startsWith('whsec_') ? fromBase64(secret.slice(6)) : undefined) ?? octetsOf(secret)

function fromHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^(?:[0-9a-f]{2})+$/i.test(text)) return undefined
  return Uint8Array.from(text.match(/../g)!, (each) => Number.parseInt(each, 16))
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (each) => each.charCodeAt(0))
  } catch {
    return undefined
  }
}
