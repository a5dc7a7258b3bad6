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
type Thing = Record<string, unknown> & { id: string }

export type StripeWorld = {
  url: string
  /** Every call that was answered from a store or made something; repeated ones of one idempotency key too. */
  calls: StripeCall[]
  /** What Stripe knows, by id. A test puts subscriptions and invoices here and changes them. */
  things: Map<string, Thing>
  /** The next calls are answered with this status. */
  fails(status: number, times: number): void
  /** A subscription of one item, paid for a month. */
  subscription(given: { id: string; customer: string; price: string } & Record<string, unknown>): Thing
  invoice(given: { id: string; customer: string } & Record<string, unknown>): Thing
  close(): Promise<void>
}

/** What Stripe's HTTP API does with the calls that we make, on 127.0.0.1. Anything unexpected is answered with an error. */
export async function startStripe(): Promise<StripeWorld> {
  const calls: StripeCall[] = []
  const things = new Map<string, Thing>()
  const answered = new Map<string, { request: string; answer: Thing }>()
  let failures = { status: 0, times: 0 }
  let made = 0

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const sent = Buffer.concat(chunks).toString()
    const fault = faultOf(request)
    if (fault) return answerError(response, 401, { type: 'invalid_request_error', message: fault })
    if (failures.times > 0) {
      failures = { ...failures, times: failures.times - 1 }
      return answerError(response, failures.status, { type: 'api_error', message: 'made to fail' })
    }
    const path = request.url!.split('?')[0]!
    const form = Object.fromEntries(new URLSearchParams(sent))
    const idempotencyKey = request.headers['idempotency-key'] as string | undefined
    calls.push({ method: request.method!, path, form, idempotencyKey })
    const before = idempotencyKey === undefined ? undefined : answered.get(idempotencyKey)
    if (before && before.request !== `${path} ${sent}`) {
      return answerError(response, 400, { type: 'idempotency_error', message: 'other parameters under the same key' })
    }
    const answer = before?.answer ?? answerTo(request.method!, path, form)
    if (!answer) {
      const code = request.method === 'GET' ? 'resource_missing' : 'unexpected'
      return answerError(response, 404, { type: 'invalid_request_error', code, message: `No such: ${path}` })
    }
    if (idempotencyKey !== undefined) answered.set(idempotencyKey, { request: `${path} ${sent}`, answer })
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })

  const answerTo = (method: string, path: string, form: Record<string, string>): Thing | undefined => {
    const [, , resource, name = '', ...rest] = path.split('/')
    const known = things.get(name)
    if (method === 'GET' && (resource === 'subscriptions' || resource === 'invoices')) return known
    if (method !== 'POST') return undefined
    if (path === '/v1/customers') return keep({ id: `cus_${++made}`, object: 'customer', ...form })
    if (resource === 'customers' && known && rest.length === 0) return keep({ ...known, ...form })
    if (path === '/v1/checkout/sessions' && things.has(form.customer ?? '')) {
      const id = `cs_test_${++made}`
      return keep({ id, object: 'checkout.session', url: `https://checkout.stripe.test/${id}` })
    }
    if (path === '/v1/billing_portal/sessions' && things.has(form.customer ?? '')) {
      const id = `bps_${++made}`
      return keep({ id, object: 'billing_portal.session', url: `https://billing.stripe.test/${id}` })
    }
    if (resource === 'subscriptions' && known && form.cancel_at_period_end !== undefined) {
      return keep({ ...known, cancel_at_period_end: form.cancel_at_period_end === 'true' })
    }
    return undefined
  }
  const keep = (thing: Thing): Thing => {
    things.set(thing.id, thing)
    return thing
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // always this form for a TCP server that listens
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  onTestFinished(close)
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    things,
    fails: (status, times) => {
      failures = { status, times }
    },
    subscription({ id, customer, price, ...more }) {
      const item = { id: `si_${id}`, quantity: 1, price: { id: price }, current_period_start: 1_795_000_000 }
      const items = { object: 'list', data: [{ ...item, current_period_end: 1_797_592_000 }] }
      const defaults = { status: 'active', created: 1_795_000_000, cancel_at: null, cancel_at_period_end: false }
      return keep({ id, object: 'subscription', customer, items, ...defaults, ...more })
    },
    invoice({ id, customer, ...more }) {
      const amounts = { total: 1_190, amount_due: 1_190, amount_paid: 0, currency: 'eur' }
      const period = { created: 1_795_000_000, period_start: 1_795_000_000, period_end: 1_797_592_000 }
      const pages = { hosted_invoice_url: `https://invoice.stripe.test/${id}`, invoice_pdf: null, number: 'A-0001' }
      return keep({ id, object: 'invoice', customer, status: 'open', ...amounts, ...period, ...pages, ...more })
    },
    close,
  }
}

/** A report as Stripe sends it: the body's octets and the header that signs them. */
export function signedReport(
  report: { id: string; type: string; object: object },
  { at, secret = STRIPE_WEBHOOK_SECRET }: { at: number; secret?: string },
): { raw: string; headers: Record<string, string> } {
  const { id, type, object } = report
  const raw = JSON.stringify({ id, object: 'event', type, created: Math.floor(at / 1_000), data: { object } }, null, 2)
  const timestamp = Math.floor(at / 1_000)
  const signature = createHmac('sha256', secret).update(`${timestamp}.${raw}`).digest('hex')
  const headers = {
    'stripe-signature': `t=${timestamp},v1=${signature}`,
    'content-type': 'application/json; charset=utf-8',
  }
  return { raw, headers }
}

/** What Stripe itself would refuse, or what we promise about our calls. */
function faultOf({ method, headers }: IncomingMessage): string | undefined {
  if (headers.authorization !== `Bearer ${STRIPE_KEY}`) return 'the key is not the one of the settings'
  if (!/^\d{4}-\d\d-\d\d\./.test(String(headers['stripe-version']))) return 'there is no Stripe-Version'
  if (method !== 'POST') return undefined
  if (headers['content-type'] !== 'application/x-www-form-urlencoded') return 'the body is not a form'
  return headers['idempotency-key'] === undefined ? 'there is no Idempotency-Key' : undefined
}

function answerError(response: ServerResponse, status: number, error: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
}
