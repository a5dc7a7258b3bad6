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
import { changeTo, type PaidSubscription, priceOf } from './subscription.ts'
import {
  findSubscriptionRow,
  getSubscription,
  liveSubscription,
  noteCustomer,
  type SubscriptionRow,
} from './subscription-store.ts'

export type PurchaseDeps = { db: Database; clock: Clock; config: Pick<Deps['config'], 'plans' | 'baseUrl'> }

/** Sessions that are asked for within one of these are one; the provider keeps one open for at least 30 minutes. */
const SESSION_MS = 30 * 60_000

/**
 * Takes an organization towards a plan. What costs money is left to a person on the provider's page: the answer says where
 * that is, and the plan changes when the provider reports the payment. Throws 400 for an unknown plan or interval, 409 where
 * nothing can be bought.
 */
export async function choosePlan(
  deps: PurchaseDeps,
  payments: Payments | null,
  context: RequestContext,
  choice: PlanChoice,
): Promise<Subscription | PaymentPage> {
  const { organizationId } = context
  const { db, config } = deps
  const target = config.plans.find(({ id }) => id === choice.plan)
  if (!target)
    throw invalid({ plan: fieldError('invalid_choice', { allowed: config.plans.map(({ id }) => id).join(', ') }) })
  const { currency } = await getBilling(db, context)
  const price = priceOf(target, { interval: choice.interval, currency })?.stripe_price
  if (choice.interval !== undefined && price === undefined) {
    throw invalid({ interval: fieldError('no_such_price', { plan: target.id }) })
  }
  const row = await findSubscriptionRow(db, context)
  const subscription = liveSubscription(row)
  const current = {
    plan: await currentPlan(db, config.plans, context),
    subscription,
    cancelAt: row?.cancel_at ?? null,
  }
  const change = changeTo(target, current, freePlan(config.plans).id)
  switch (change) {
    case 'none':
      return await getSubscription(db, config.plans, context, deps.clock.now())
    case 'not_for_sale':
      throw conflict(`The plan ${target.id} is not for sale. Ask the operator of this server.`)
    case 'cancel':
      return await cancelPlan(deps, payments, context)
    case 'resume':
      return await setCancelled(deps, payments, context, row, false)
    case 'buy':
    case 'confirm': {
      const url = await pageFor(deps, payments, organizationId, row, price!)
      const after = { plan: target.id }
      await recordAudit(db, context, { action: 'subscription.checkout_started', object: {}, after })
      return { url }
    }
  }
}

/** Ends the paid plan when what is paid ends. Throws 409 for a plan that costs nothing. */
export async function cancelPlan(deps: PurchaseDeps, payments: Payments | null, context: RequestContext) {
  const row = await findSubscriptionRow(deps.db, context)
  if (liveSubscription(row) === null) throw conflict('You have no paid plan to cancel.')
  return await setCancelled(deps, payments, context, row, true)
}

/** The address of the customer portal. Throws 409 before anything was bought. */
export async function openPortal(deps: PurchaseDeps, payments: Payments | null, tenant: Tenant) {
  const row = await findSubscriptionRow(deps.db, tenant)
  if (!row?.stripe_customer) throw conflict('You have no purchases to manage yet.')
  const provider = switchedOn(payments)
  await passOnBilling(deps, payments, tenant)
  return { url: await provider.portal(row.stripe_customer, returnUrlOf(deps)) }
}

/** Sends changed billing details on, where the provider knows the organization. */
export async function passOnBilling({ db }: PurchaseDeps, payments: Payments | null, tenant: Tenant) {
  const row = await findSubscriptionRow(db, tenant)
  if (!payments || !row?.stripe_customer) return
  await payments.updateCustomer(row.stripe_customer, await getBilling(db, tenant))
}

async function pageFor(
  deps: PurchaseDeps,
  payments: Payments | null,
  organizationId: string,
  row: SubscriptionRow | undefined,
  price: string,
): Promise<string> {
  const { db, clock } = deps
  const provider = switchedOn(payments)
  const returnUrl = returnUrlOf(deps)
  const subscription = liveSubscription(row)
  if (row?.stripe_customer && subscription !== null) {
    await passOnBilling(deps, payments, { organizationId })
    return await provider.confirm(row.stripe_customer, subscription, price, returnUrl)
  }
  const customer = row?.stripe_customer ?? (await provider.newCustomer(organizationId))
  await noteCustomer(db, { organizationId }, customer)
  await passOnBilling(deps, payments, { organizationId })
  // Anyone who asks twice gets one page, not two subscriptions; after a subscription ended, the next page is a new one.
  const turn = Math.floor(clock.now() / SESSION_MS)
  const key = `buy:${organizationId}:${price}:${row?.as_of ?? 0}:${turn}`
  const expiresAt = (turn + 2) * SESSION_MS
  return await provider.buy({ customer, organizationId, price, returnUrl, key, expiresAt })
}

async function setCancelled(
  { db, clock, config }: PurchaseDeps,
  payments: Payments | null,
  context: RequestContext,
  row: SubscriptionRow | undefined,
  cancel: boolean,
): Promise<Subscription> {
  const received: PaidSubscription = await switchedOn(payments).cancelAtPeriodEnd(liveSubscription(row) ?? '', cancel)
  // The row itself follows when the provider reports it.
  const subscription = await getSubscription(db, config.plans, context, clock.now())
  const after = { cancel_at: toIsoOrNull(received.cancelAt) }
  const action = cancel ? 'subscription.canceled' : 'subscription.resumed'
  await recordAudit(db, context, { action, object: {}, before: { cancel_at: subscription.cancel_at }, after })
  return { ...subscription, ...after }
}

function switchedOn(payments: Payments | null): Payments {
  if (!payments) throw conflict('Payments are not set up on this server. Ask its operator.')
  return payments
}

const returnUrlOf = ({ config }: PurchaseDeps): string => `${config.baseUrl}/dashboard/billing`
