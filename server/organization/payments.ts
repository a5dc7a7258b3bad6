import Stripe from 'stripe'
import { fieldError } from '#contract/field-errors.ts'
import type { Billing } from '#contract/organization.ts'
import type { Deps } from '../deps.ts'
import { invalid, Problem } from '../problem.ts'
import { type PaidInvoice, toCustomer, toInvoice, toSubscription } from './stripe.ts'
import type { PaidSubscription } from './subscription.ts'

/** What a signed report is about. The report only says that something changed; the new state is then requested. */
export type Report = { id: string; about: { kind: 'subscription' | 'invoice'; id: string } | null }

export type Purchase = {
  customer: string
  organizationId: string
  price: string
  returnUrl: string
  /** Sessions with the same key are one; `expiresAt` must be the same for each. */
  key: string
  expiresAt: number
}

/** The client of the payment provider. Every call throws a 503 `Problem` when it does not answer. */
export type Payments = ReturnType<typeof openPayments>

/** Opens no connection yet. */
export function openPayments({ secretKey, webhookSecret, apiBase }: NonNullable<Deps['config']['stripe']>) {
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
    /** The same customer however often it is asked for within a day. */
    newCustomer: (organizationId: string): Promise<string> =>
      asking(async () => {
        const metadata = { organization_id: organizationId }
        return (await stripe.customers.create({ metadata }, { idempotencyKey: `customer:${organizationId}` })).id
      }),

    updateCustomer: (customer: string, billing: Billing): Promise<void> =>
      asking(async () => {
        await stripe.customers.update(customer, toCustomer(billing))
      }),

    /** The address of a page on which a person buys. */
    buy: ({ customer, organizationId, price, returnUrl, key, expiresAt }: Purchase): Promise<string> =>
      asking(async () => {
        const metadata = { organization_id: organizationId }
        const session = await stripe.checkout.sessions.create(
          {
            mode: 'subscription',
            customer,
            client_reference_id: organizationId,
            line_items: [{ price, quantity: 1 }],
            subscription_data: { metadata },
            success_url: `${returnUrl}?paid=1`,
            cancel_url: returnUrl,
            expires_at: Math.floor(expiresAt / 1_000),
          },
          { idempotencyKey: key },
        )
        return session.url ?? returnUrl
      }),

    /** The address of the customer portal: means of payment, invoices, cancellation. */
    portal: (customer: string, returnUrl: string): Promise<string> =>
      asking(async () => (await stripe.billingPortal.sessions.create({ customer, return_url: returnUrl })).url),

    /** The address of the portal's page on which a person confirms another price. */
    confirm: (customer: string, subscription: string, price: string, returnUrl: string): Promise<string> =>
      asking(async () => {
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

    /** Cancels at the end of what is paid, or takes that back. */
    cancelAtPeriodEnd: (subscription: string, cancel: boolean): Promise<PaidSubscription> =>
      asking(async () =>
        toSubscription(await stripe.subscriptions.update(subscription, { cancel_at_period_end: cancel })),
      ),

    findSubscription: (id: string): Promise<PaidSubscription | null> =>
      asking(() => stripe.subscriptions.retrieve(id).then(toSubscription).catch(nullWhenMissing)),

    findInvoice: (id: string): Promise<PaidInvoice | null> =>
      asking(() => stripe.invoices.retrieve(id).then(toInvoice).catch(nullWhenMissing)),

    /** Throws 400 when the report is not signed by the provider, or was signed more than 5 minutes ago. */
    readReport(body: Buffer, signature: string, now: number): Report {
      try {
        const { id, data } = stripe.webhooks.constructEvent(body, signature, webhookSecret, undefined, undefined, now)
        return { id, about: aboutOf(data.object as unknown as Reported) }
      } catch (error) {
        if (!(error instanceof Stripe.errors.StripeSignatureVerificationError)) throw error
        throw invalid({ 'Stripe-Signature': fieldError('invalid_signature') })
      }
    },
  }
}

type Reported = { object: string; id: string; subscription?: string | null }

function aboutOf({ object, id, subscription }: Reported): Report['about'] {
  if (object === 'subscription') return { kind: 'subscription', id }
  if (object === 'invoice') return { kind: 'invoice', id }
  if (object === 'checkout.session' && subscription) return { kind: 'subscription', id: subscription }
  return null
}

/** What the provider can do about: it is away, or has too much to do. Anything else is wrong here, and throws as it is. */
async function asking<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    const { StripeConnectionError, StripeAPIError, StripeRateLimitError } = Stripe.errors
    if ([StripeConnectionError, StripeAPIError, StripeRateLimitError].some((kind) => error instanceof kind)) {
      throw new Problem(503, 'The payment provider is unavailable. Try again in a minute.')
    }
    throw error
  }
}

function nullWhenMissing(error: unknown): null {
  if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing') return null
  throw error
}
