import Stripe from 'stripe'
import { fieldError } from '#contract/field-errors.ts'
import type { Billing } from '#contract/organization.ts'
import type { InvoiceStatus } from '#contract/subscription.ts'
import type { Deps } from '../deps.ts'
import { invalid, Problem } from '../problem.ts'
import type { StripeInvoice } from './invoices.ts'
import type { StripeSubscription } from './subscription.ts'

/** The object that a signed event is about. Its state in the event may be outdated, so the current state is requested. */
export type StripeEvent = { id: string; object: { kind: 'subscription' | 'invoice'; id: string } | null }

type Checkout = {
  customer: string
  organizationId: string
  price: string
  returnUrl: string
  /** Requests with the same key create one session. They must have the same `expiresAt`. */
  idempotencyKey: string
  expiresAt: number
}

/** The client of Stripe. Every request throws a 503 `Problem` while Stripe is unavailable. */
export type Payments = ReturnType<typeof createPayments>

/** Opens no connection yet. */
export function createPayments({ secretKey, webhookSecret, apiBase }: NonNullable<Deps['config']['stripe']>) {
  const stripe = new Stripe(secretKey, {
    host: apiBase.hostname,
    port: apiBase.port || (apiBase.protocol === 'https:' ? 443 : 80),
    protocol: apiBase.protocol === 'https:' ? 'https' : 'http',
    timeout: 15_000,
    maxNetworkRetries: 1,
    telemetry: false,
    appInfo: { name: 'Zonewatch' },
  })

  return {
    /** Returns the same customer for each request within a day. */
    createCustomer: (organizationId: string): Promise<string> =>
      refuseIfUnavailable(async () => {
        const metadata = { organization_id: organizationId }
        return (await stripe.customers.create({ metadata }, { idempotencyKey: `customer:${organizationId}` })).id
      }),

    updateCustomer: (customer: string, billing: Billing): Promise<void> =>
      refuseIfUnavailable(async () => {
        await stripe.customers.update(customer, toCustomer(billing))
      }),

    /** Returns the URL of a page on which a user pays. */
    createCheckout: (checkout: Checkout): Promise<string> =>
      refuseIfUnavailable(async () => {
        const { customer, organizationId, price, returnUrl, idempotencyKey, expiresAt } = checkout
        const session = await stripe.checkout.sessions.create(
          {
            mode: 'subscription',
            customer,
            client_reference_id: organizationId,
            line_items: [{ price, quantity: 1 }],
            subscription_data: { metadata: { organization_id: organizationId } },
            success_url: `${returnUrl}?paid=1`,
            cancel_url: returnUrl,
            expires_at: Math.floor(expiresAt / 1_000),
          },
          { idempotencyKey },
        )
        return session.url ?? returnUrl
      }),

    /** Returns the URL of the customer portal: payment methods, invoices, cancellation. */
    createPortal: (customer: string, returnUrl: string): Promise<string> =>
      refuseIfUnavailable(
        async () => (await stripe.billingPortal.sessions.create({ customer, return_url: returnUrl })).url,
      ),

    /** Returns the URL of the portal's page on which a user confirms another price. */
    createPriceChange: (customer: string, subscription: string, price: string, returnUrl: string): Promise<string> =>
      refuseIfUnavailable(async () => {
        const { items } = await stripe.subscriptions.retrieve(subscription)
        const session = await stripe.billingPortal.sessions.create({
          customer,
          return_url: returnUrl,
          flow_data: {
            type: 'subscription_update_confirm',
            subscription_update_confirm: { subscription, items: [{ id: items.data[0]!.id, price, quantity: 1 }] },
          },
        })
        return session.url
      }),

    /** Cancels the subscription at the end of the paid period, or resumes it. */
    setCancelAtPeriodEnd: (subscription: string, cancel: boolean): Promise<StripeSubscription> =>
      refuseIfUnavailable(async () =>
        toSubscription(await stripe.subscriptions.update(subscription, { cancel_at_period_end: cancel })),
      ),

    findSubscription: (id: string): Promise<StripeSubscription | null> =>
      refuseIfUnavailable(() => stripe.subscriptions.retrieve(id).then(toSubscription).catch(nullIfMissing)),

    findInvoice: (id: string): Promise<StripeInvoice | null> =>
      refuseIfUnavailable(() => stripe.invoices.retrieve(id).then(toInvoice).catch(nullIfMissing)),

    /** Throws 400 if the signature is wrong or more than 5 minutes old. */
    parseEvent(body: Buffer, signature: string, now: number): StripeEvent {
      try {
        const { id, data } = stripe.webhooks.constructEvent(body, signature, webhookSecret, undefined, undefined, now)
        return { id, object: objectOf(data.object as unknown as EventObject) }
      } catch (error) {
        if (!(error instanceof Stripe.errors.StripeSignatureVerificationError)) throw error
        throw invalid({ 'Stripe-Signature': fieldError('invalid_signature') })
      }
    },
  }
}

type EventObject = { object: string; id: string; subscription?: string | null }

function objectOf({ object, id, subscription }: EventObject): StripeEvent['object'] {
  if (object === 'subscription' || object === 'invoice') return { kind: object, id }
  if (object === 'checkout.session' && subscription) return { kind: 'subscription', id: subscription }
  return null
}

/** Any other error is a bug. */
async function refuseIfUnavailable<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    const { StripeConnectionError, StripeAPIError, StripeRateLimitError } = Stripe.errors
    if ([StripeConnectionError, StripeAPIError, StripeRateLimitError].some((kind) => error instanceof kind)) {
      throw new Problem(503, 'The payment provider is unavailable. Try again in a minute.')
    }
    throw error
  }
}

function nullIfMissing(error: unknown): null {
  if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing') return null
  throw error
}

function toSubscription(subscription: Stripe.Subscription): StripeSubscription {
  const item = subscription.items.data[0]
  const end = toMsOrNull(item?.current_period_end)
  return {
    id: subscription.id,
    customer: idOf(subscription.customer),
    status: subscription.status,
    price: item?.price.id ?? null,
    quantity: item?.quantity ?? 1,
    createdAt: toMs(subscription.created),
    currentPeriodStart: toMsOrNull(item?.current_period_start),
    currentPeriodEnd: end,
    cancelAt: toMsOrNull(subscription.cancel_at) ?? (subscription.cancel_at_period_end ? end : null),
  }
}

/** Null for an invoice without a customer. */
function toInvoice(invoice: Stripe.Invoice): StripeInvoice | null {
  if (!invoice.customer) return null
  return {
    id: invoice.id,
    customer: idOf(invoice.customer),
    created_at: toMs(invoice.created),
    number: invoice.number,
    status: (invoice.status ?? 'draft') as InvoiceStatus,
    currency: invoice.currency.toUpperCase(),
    total: invoice.total,
    amount_due: invoice.amount_due,
    amount_paid: invoice.amount_paid,
    period_start: toMs(invoice.period_start),
    period_end: toMs(invoice.period_end),
    url: invoice.hosted_invoice_url ?? null,
    pdf: invoice.invoice_pdf ?? null,
  }
}

/** Stripe clears a field that is an empty string. */
function toCustomer(billing: Billing): Stripe.CustomerUpdateParams {
  const text = (value: string | null) => value ?? ''
  const { name, email, line1, line2, zipcode, city, state, country, vat } = billing
  const address = { line1, line2, postal_code: zipcode, city, state, country }
  const isEmpty = Object.values(address).every((part) => part === null)
  return {
    name: text(name),
    email: text(email),
    metadata: { vat: text(vat) },
    address: isEmpty ? '' : Object.fromEntries(Object.entries(address).map(([part, value]) => [part, text(value)])),
  }
}

const toMs = (seconds: number): number => seconds * 1_000
const toMsOrNull = (seconds: number | null | undefined): number | null =>
  typeof seconds === 'number' ? toMs(seconds) : null
const idOf = (object: string | { id: string }): string => (typeof object === 'string' ? object : object.id)
