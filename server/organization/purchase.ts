import { fieldError } from '#contract/field-errors.ts'
import type { PaymentPage, PlanChoice, Subscription } from '#contract/subscription.ts'
import { recordAudit } from '../audit-log.ts'
import type { Clock } from '../clock.ts'
import type { RequestContext, Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { freePlan } from '../plan.ts'
import { conflict, invalid } from '../problem.ts'
import { toIsoOrNull } from '../times.ts'
import { getBilling } from './billing.ts'
import type { Payments } from './payments.ts'
import { currentPlan } from './quota.ts'
import { planChange, priceOf } from './subscription.ts'
import {
  activeSubscription,
  findSubscriptionRow,
  getSubscription,
  type SubscriptionRow,
  storeCustomer,
} from './subscription-store.ts'

type PurchaseDeps = { db: Database; clock: Clock; config: Pick<Deps['config'], 'plans' | 'baseUrl'> }

/** Requests within this time open the same checkout session. Stripe keeps a session open for at least 30 minutes. */
const SESSION_MS = 30 * 60_000

/**
 * Changes the plan of the organization. If it has to pay, returns the URL of a page of Stripe; the plan then changes when Stripe
 * reports the payment. Throws 400 for an unknown plan or interval, 409 if nothing can be bought.
 */
export async function choosePlan(
  deps: PurchaseDeps,
  payments: Payments | null,
  context: RequestContext,
  choice: PlanChoice,
): Promise<Subscription | PaymentPage> {
  const { db, config } = deps
  const target = config.plans.find(({ id }) => id === choice.plan)
  if (!target)
    throw invalid({ plan: fieldError('invalid_choice', { allowed: config.plans.map(({ id }) => id).join(', ') }) })
  await refuseInDeletion(db, context)
  const { currency } = await getBilling(db, context)
  const price = priceOf(target, { interval: choice.interval, currency })?.stripe_price
  if (choice.interval !== undefined && price === undefined) {
    throw invalid({ interval: fieldError('no_such_price', { plan: target.id }) })
  }
  const row = await findSubscriptionRow(db, context)
  const current = {
    plan: await currentPlan(db, config.plans, context),
    subscription: activeSubscription(row),
    cancelAt: row?.cancel_at ?? null,
  }
  const change = planChange(target, current, freePlan(config.plans).id)
  switch (change) {
    case 'none':
      return await getSubscription(db, config.plans, context, deps.clock.now())
    case 'not_for_sale':
      throw conflict(`The plan ${target.id} is not for sale. Ask the operator of this server.`)
    case 'cancel':
    case 'resume':
      return await setCancelAtPeriodEnd(deps, payments, context, row, change === 'cancel')
    case 'buy':
    case 'confirm': {
      const url = await createPaymentPage(deps, payments, context, row, price!)
      const after = { plan: target.id }
      await recordAudit(db, context, { action: 'subscription.checkout_started', object: {}, after })
      return { url }
    }
  }
}

/** Throws 409 while the organization is being deleted. */
async function refuseInDeletion(db: Database, { organizationId }: Tenant): Promise<void> {
  const query = db.selectFrom('organizations').select('deletion_at').where('id', '=', organizationId)
  if ((await query.executeTakeFirst())?.deletion_at == null) return
  throw conflict('The organization is being deleted. Cancel the deletion first: DELETE /organization/deletion.')
}

/** Cancels the plan at the end of the paid period. Throws 409 without a paid plan. */
export async function cancelPlan(deps: PurchaseDeps, payments: Payments | null, context: RequestContext) {
  const row = await findSubscriptionRow(deps.db, context)
  if (activeSubscription(row) === null) throw conflict('You have no paid plan to cancel.')
  return await setCancelAtPeriodEnd(deps, payments, context, row, true)
}

/** Returns the URL of the customer portal. Throws 409 before the first purchase. */
export async function openPortal(deps: PurchaseDeps, payments: Payments | null, tenant: Tenant): Promise<PaymentPage> {
  const row = await findSubscriptionRow(deps.db, tenant)
  if (!row?.stripe_customer) throw conflict('You have no purchases to manage yet.')
  const stripe = requirePayments(payments)
  await sendBillingToStripe(deps, payments, tenant)
  return { url: await stripe.createPortal(row.stripe_customer, returnUrlOf(deps)) }
}

/** Does nothing for an organization that is not a customer. */
export async function sendBillingToStripe({ db }: Pick<PurchaseDeps, 'db'>, payments: Payments | null, tenant: Tenant) {
  const row = await findSubscriptionRow(db, tenant)
  if (!payments || !row?.stripe_customer) return
  await payments.updateCustomer(row.stripe_customer, await getBilling(db, tenant))
}

/** Returns the URL on which a user pays or, with a subscription, confirms the new price. */
async function createPaymentPage(
  deps: PurchaseDeps,
  payments: Payments | null,
  tenant: Tenant,
  row: SubscriptionRow | undefined,
  price: string,
): Promise<string> {
  const { db, clock } = deps
  const { organizationId } = tenant
  const stripe = requirePayments(payments)
  const returnUrl = returnUrlOf(deps)
  const subscription = activeSubscription(row)
  if (row?.stripe_customer && subscription !== null) {
    await sendBillingToStripe(deps, payments, tenant)
    return await stripe.createPriceChange(row.stripe_customer, subscription, price, returnUrl)
  }
  const customer = row?.stripe_customer ?? (await stripe.createCustomer(organizationId))
  await storeCustomer(db, tenant, customer)
  await sendBillingToStripe(deps, payments, tenant)
  // Repeated requests open the same session instead of a second subscription. After the end of a subscription, the key differs.
  const period = Math.floor(clock.now() / SESSION_MS)
  const idempotencyKey = `buy:${organizationId}:${price}:${row?.as_of ?? 0}:${period}`
  const expiresAt = (period + 2) * SESSION_MS
  return await stripe.createCheckout({ customer, organizationId, price, returnUrl, idempotencyKey, expiresAt })
}

async function setCancelAtPeriodEnd(
  { db, clock, config }: PurchaseDeps,
  payments: Payments | null,
  context: RequestContext,
  row: SubscriptionRow | undefined,
  cancel: boolean,
): Promise<Subscription> {
  const updated = await requirePayments(payments).setCancelAtPeriodEnd(activeSubscription(row) ?? '', cancel)
  // The row changes when Stripe sends the event.
  const subscription = await getSubscription(db, config.plans, context, clock.now())
  const after = { cancel_at: toIsoOrNull(updated.cancelAt) }
  const action = cancel ? 'subscription.canceled' : 'subscription.resumed'
  await recordAudit(db, context, { action, object: {}, before: { cancel_at: subscription.cancel_at }, after })
  return { ...subscription, ...after }
}

function requirePayments(payments: Payments | null): Payments {
  if (!payments) throw conflict('Payments are not set up on this server. Ask its operator.')
  return payments
}

const returnUrlOf = ({ config }: PurchaseDeps): string => `${config.baseUrl}/dashboard/billing`
