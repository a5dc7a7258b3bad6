import type { Interval, SubscriptionStatus } from '#contract/subscription.ts'
import { isFree, type Plan, type Plans, type Price, planOfPrice } from '../plan.ts'

/** A subscription as Stripe returns it. Instants in UTC epoch milliseconds. */
export type StripeSubscription = {
  id: string
  customer: string
  /** One of Stripe's statuses. */
  status: string
  price: string | null
  quantity: number
  createdAt: number
  currentPeriodStart: number | null
  currentPeriodEnd: number | null
  cancelAt: number | null
}

export type PaymentState =
  | { kind: 'paid'; plan: Plan; status: SubscriptionStatus }
  /** The limits of the free plan apply until it is paid. */
  | { kind: 'unpaid' }
  | { kind: 'ended' }
  /** The first payment has not arrived, so nothing changes. */
  | { kind: 'incomplete' }
  | { kind: 'unknown_price' }

/** What a subscription at Stripe means for the organization. */
export function paymentStateOf(plans: Plans, { status, price }: StripeSubscription): PaymentState {
  switch (status) {
    case 'active':
    case 'trialing':
    case 'past_due': {
      const plan = price === null ? undefined : planOfPrice(plans, price)
      return plan ? { kind: 'paid', plan, status } : { kind: 'unknown_price' }
    }
    case 'canceled':
      return { kind: 'ended' }
    case 'unpaid':
    case 'paused':
      return { kind: 'unpaid' }
    default:
      return { kind: 'incomplete' }
  }
}

type CurrentPlan = { plan: Plan; subscription: string | null; cancelAt: number | null }
type PlanChange = 'none' | 'buy' | 'confirm' | 'resume' | 'cancel' | 'not_for_sale'

/** What has to be done to change from the current plan to another. */
export function planChange(
  target: Plan,
  { plan, subscription, cancelAt }: CurrentPlan,
  freePlanId: string,
): PlanChange {
  if (target.id === plan.id) return cancelAt !== null && subscription !== null ? 'resume' : 'none'
  if (!isFree(target)) return subscription === null ? 'buy' : 'confirm'
  // Only the operator assigns other plans without a price.
  if (target.id !== freePlanId) return 'not_for_sale'
  return subscription === null ? 'none' : 'cancel'
}

/** The price for the interval, in the organization's currency if the plan has it. */
export function priceOf(
  { prices }: Plan,
  { interval, currency }: { interval?: Interval | undefined; currency: string | null },
): Price | undefined {
  const possible = prices.filter((price) => interval === undefined || price.interval === interval)
  return possible.find((price) => price.currency === currency) ?? possible[0]
}
