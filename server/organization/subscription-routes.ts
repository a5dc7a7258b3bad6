import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { PageOf } from '#contract/common.ts'
import { Invoice, InvoiceQuery, PaymentPage, Plan, PlanChoice, Subscription } from '#contract/subscription.ts'
import type { Deps } from '../deps.ts'
import { requireWriteRole } from '../http/authorization.ts'
import { Responses, type Routes, tagRoutes } from '../http/routes.ts'
import type { Plan as ConfiguredPlan } from '../plan.ts'
import { listInvoices } from './invoices.ts'
import type { Payments } from './payments.ts'
import { cancelPlan, choosePlan, openPortal } from './purchase.ts'
import { handleStripeEvent } from './stripe-events.ts'
import { getSubscription } from './subscription-store.ts'

/** 202: someone has to pay or confirm first. */
const ChoiceResponses = { ...Responses(200, Subscription), 202: PaymentPage }

export function subscriptionRoutes(deps: Deps, payments: Payments | null): Routes {
  const { db, clock, keyring, config } = deps
  return async (app) => {
    tagRoutes(app, 'Organization')
    requireWriteRole(app, 'owner')
    setRetryAfter(app)

    app.get(
      '/organization/subscription',
      {
        schema: {
          operationId: 'getOrganizationSubscription',
          summary: 'Get the subscription',
          response: Responses(200, Subscription),
        },
      },
      ({ context }) => getSubscription(db, config.plans, context, clock.now()),
    )

    app.put(
      '/organization/subscription',
      {
        schema: {
          operationId: 'replaceOrganizationSubscription',
          summary: 'Choose a plan',
          description:
            'Returns 200 if the plan has changed. Returns 202 with a URL if someone has to pay or confirm in a browser.',
          body: PlanChoice,
          response: ChoiceResponses,
        },
      },
      async ({ body, context }, reply) => {
        const result = await choosePlan(deps, payments, context, body)
        return 'url' in result ? reply.code(202).send(result) : reply.code(200).send(result)
      },
    )

    app.delete(
      '/organization/subscription',
      {
        schema: {
          operationId: 'deleteOrganizationSubscription',
          summary: 'Cancel the plan at the end of its period',
          description: 'The plan stays active until the end of the paid period. Returns 409 if no plan is paid for.',
          response: Responses(200, Subscription),
        },
      },
      ({ context }) => cancelPlan(deps, payments, context),
    )

    app.post(
      '/organization/subscription/portal',
      {
        config: { writesNothing: true },
        schema: {
          operationId: 'createOrganizationSubscriptionPortal',
          summary: 'Open the customer portal',
          description:
            'Returns a URL of the payment provider to manage payment methods and invoices. Returns 409 if nothing was bought yet.',
          response: Responses(200, PaymentPage),
        },
      },
      ({ context }) => openPortal(deps, payments, context),
    )

    app.get(
      '/organization/plans',
      {
        schema: { operationId: 'listOrganizationPlans', summary: 'List plans', response: Responses(200, PageOf(Plan)) },
      },
      async () => {
        const data = config.plans.map(toPlan)
        return { limit: data.length, after: null, before: null, has_more: false, data }
      },
    )

    app.get(
      '/organization/invoices',
      {
        config: { readRole: 'admin' },
        schema: {
          operationId: 'listOrganizationInvoices',
          summary: 'List invoices',
          description: 'Requires the role admin or owner.',
          querystring: InvoiceQuery,
          response: Responses(200, PageOf(Invoice)),
        },
      },
      ({ query, context }) => listInvoices(db, keyring, context, query),
    )
  }
}

function toPlan({ id, name, prices, limits }: ConfiguredPlan): Plan {
  return { id, name, prices: prices.map(({ currency, amount, interval }) => ({ currency, amount, interval })), limits }
}

/** Receives the events of Stripe. Their signature replaces the API key, and covers the bytes of the body. */
export function stripeRoutes(deps: Deps, payments: Payments): FastifyPluginAsync {
  return async (app) => {
    setRetryAfter(app)
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

    app.post<{ Body: Buffer | undefined }>('/stripe/webhook', async ({ body, headers }) => {
      const signature = String(headers['stripe-signature'] ?? '')
      const event = payments.parseEvent(body ?? Buffer.alloc(0), signature, deps.clock.now())
      await handleStripeEvent(deps, payments, event)
      return { received: true }
    })
  }
}

/** Adds `Retry-After` to the 503 responses of this scope. */
function setRetryAfter(scope: Pick<FastifyInstance, 'addHook'>): void {
  scope.addHook('onSend', async (_request, reply) => {
    if (reply.statusCode === 503 && !reply.hasHeader('retry-after')) reply.header('retry-after', '60')
  })
}
