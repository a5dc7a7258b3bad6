import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export const STRIPE_KEY = 'sk_test_of_the_test'
export const STRIPE_WEBHOOK_SECRET = 'whsec_of_the_test'

export type StripeCall = {
  method: string
  path: string
  /** The form's fields, by their names as sent: `line_items[0][price]`. */
  form: Record<string, string>
  idempotencyKey: string | undefined
}
type StripeObject = Record<string, unknown> & { id: string }

export type FakeStripe = {
  url: string
  /** Every call with a valid key, repeats with the same idempotency key included. */
  calls: StripeCall[]
  /** Stripe's objects by id. A test adds and changes subscriptions and invoices here. */
  objects: Map<string, StripeObject>
  /** Answers the next calls with this status. */
  fails(status: number, times: number): void
  /** A subscription of one item, paid for a month. */
  subscription(input: { id: string; customer: string; price: string } & Record<string, unknown>): StripeObject
  invoice(input: { id: string; customer: string } & Record<string, unknown>): StripeObject
  close(): Promise<void>
}

/** A fake of the Stripe endpoints that Zonewatch calls, on 127.0.0.1. It answers every other request with an error. */
export async function startStripe(): Promise<FakeStripe> {
  const calls: StripeCall[] = []
  const objects = new Map<string, StripeObject>()
  const responses = new Map<string, { request: string; answer: StripeObject }>()
  let failures = { status: 0, times: 0 }
  let created = 0

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const sent = Buffer.concat(chunks).toString()
    const refusal = refusalOf(request)
    if (refusal) return answerError(response, 401, { type: 'invalid_request_error', message: refusal })
    if (failures.times > 0) {
      failures = { ...failures, times: failures.times - 1 }
      return answerError(response, failures.status, { type: 'api_error', message: 'made to fail' })
    }
    const path = request.url!.split('?')[0]!
    const form = Object.fromEntries(new URLSearchParams(sent))
    const idempotencyKey = request.headers['idempotency-key'] as string | undefined
    calls.push({ method: request.method!, path, form, idempotencyKey })
    const earlier = idempotencyKey === undefined ? undefined : responses.get(idempotencyKey)
    if (earlier && earlier.request !== `${path} ${sent}`) {
      return answerError(response, 400, { type: 'idempotency_error', message: 'other parameters under the same key' })
    }
    const answer = earlier?.answer ?? answerTo(request.method!, path, form)
    if (!answer) {
      const code = request.method === 'GET' ? 'resource_missing' : 'unexpected'
      return answerError(response, 404, { type: 'invalid_request_error', code, message: `No such: ${path}` })
    }
    if (idempotencyKey !== undefined) responses.set(idempotencyKey, { request: `${path} ${sent}`, answer })
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })

  const answerTo = (method: string, path: string, form: Record<string, string>): StripeObject | undefined => {
    const [, , resource, name = '', ...rest] = path.split('/')
    const found = objects.get(name)
    if (method === 'GET' && (resource === 'subscriptions' || resource === 'invoices')) return found
    if (method !== 'POST') return undefined
    if (path === '/v1/customers') return store({ id: `cus_${++created}`, object: 'customer', ...form })
    if (resource === 'customers' && found && rest.length === 0) return store({ ...found, ...form })
    if (path === '/v1/checkout/sessions' && objects.has(form.customer ?? '')) {
      const id = `cs_test_${++created}`
      return store({ id, object: 'checkout.session', url: `https://checkout.stripe.test/${id}` })
    }
    if (path === '/v1/billing_portal/sessions' && objects.has(form.customer ?? '')) {
      const id = `bps_${++created}`
      return store({ id, object: 'billing_portal.session', url: `https://billing.stripe.test/${id}` })
    }
    if (resource === 'subscriptions' && found && form.cancel_at_period_end !== undefined) {
      return store({ ...found, cancel_at_period_end: form.cancel_at_period_end === 'true' })
    }
    return undefined
  }
  const store = (object: StripeObject): StripeObject => {
    objects.set(object.id, object)
    return object
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // a listening TCP server always has an AddressInfo
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  onTestFinished(close)
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    objects,
    fails: (status, times) => {
      failures = { status, times }
    },
    subscription({ id, customer, price, ...more }) {
      const item = { id: `si_${id}`, quantity: 1, price: { id: price }, current_period_start: 1_795_000_000 }
      const items = { object: 'list', data: [{ ...item, current_period_end: 1_797_592_000 }] }
      const defaults = { status: 'active', created: 1_795_000_000, cancel_at: null, cancel_at_period_end: false }
      return store({ id, object: 'subscription', customer, items, ...defaults, ...more })
    },
    invoice({ id, customer, ...more }) {
      const amounts = { total: 1_190, amount_due: 1_190, amount_paid: 0, currency: 'eur' }
      const period = { created: 1_795_000_000, period_start: 1_795_000_000, period_end: 1_797_592_000 }
      const pages = { hosted_invoice_url: `https://invoice.stripe.test/${id}`, invoice_pdf: null, number: 'A-0001' }
      return store({ id, object: 'invoice', customer, status: 'open', ...amounts, ...period, ...pages, ...more })
    },
    close,
  }
}

/** A event as Stripe sends it: the body's octets and the header that signs them. */
export function signedStripeEvent(
  stripeEvent: { id: string; type: string; object: object },
  { at, secret = STRIPE_WEBHOOK_SECRET }: { at: number; secret?: string },
): { raw: string; headers: Record<string, string> } {
  const { id, type, object } = stripeEvent
  const raw = JSON.stringify({ id, object: 'event', type, created: Math.floor(at / 1_000), data: { object } }, null, 2)
  const timestamp = Math.floor(at / 1_000)
  const signature = createHmac('sha256', secret).update(`${timestamp}.${raw}`).digest('hex')
  const headers = {
    'stripe-signature': `t=${timestamp},v1=${signature}`,
    'content-type': 'application/json; charset=utf-8',
  }
  return { raw, headers }
}

/** Why the request is refused: Stripe would refuse it, or it breaks a rule of our own. */
function refusalOf({ method, headers }: IncomingMessage): string | undefined {
  if (headers.authorization !== `Bearer ${STRIPE_KEY}`) return 'the key is not the one of the settings'
  if (!/^\d{4}-\d\d-\d\d\./.test(String(headers['stripe-version']))) return 'there is no Stripe-Version'
  if (method !== 'POST') return undefined
  if (headers['content-type'] !== 'application/x-www-form-urlencoded') return 'the body is not a form'
  return headers['idempotency-key'] === undefined ? 'there is no Idempotency-Key' : undefined
}

function answerError(response: ServerResponse, status: number, error: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
}
