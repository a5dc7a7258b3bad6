import type { Interval, SubscriptionStatus } from '#contract/subscription.ts'
import { isFree, type Plan, type Plans, type Price, planOfPrice } from '../plan.ts'

/** A subscription as the payment provider tells it now. Instants in UTC epoch milliseconds. */
export type PaidSubscription = {
  id: string
  customer: string
  /** The provider's own word. */
  status: string
  price: string | null
  quantity: number
  createdAt: number
  currentPeriodStart: number | null
  currentPeriodEnd: number | null
  cancelAt: number | null
}

export type Standing =
  | { kind: 'paid'; plan: Plan; status: SubscriptionStatus }
  /** It exists and is not paid for: the free plan's limits hold until it is. */
  | { kind: 'unpaid' }
  | { kind: 'ended' }
  /** The first payment is still to come, or never came: nothing changes. */
  | { kind: 'not_begun' }
  | { kind: 'unknown_price' }

/** What a provider's subscription means for an organization. */
export function standingOf(plans: Plans, { status, price }: PaidSubscription): Standing {
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
      return { kind: 'not_begun' }
  }
}

export type Current = { plan: Plan; subscription: string | null; cancelAt: number | null }
export type Change = 'none' | 'buy' | 'confirm' | 'resume' | 'cancel' | 'not_for_sale'

/** How an organization comes from its plan to another. */
export function changeTo(target: Plan, { plan, subscription, cancelAt }: Current, freePlanId: string): Change {
  if (target.id === plan.id) return cancelAt !== null && subscription !== null ? 'resume' : 'none'
  if (!isFree(target)) return subscription === null ? 'buy' : 'confirm'
  // Other plans without a price are the operator's to give.
  if (target.id !== freePlanId) return 'not_for_sale'
  return subscription === null ? 'none' : 'cancel'
}

/** The price to pay: of the interval that was asked for, in the organization's currency where there is one. */
export function priceOf(
  { prices }: Plan,
  { interval, currency }: { interval?: Interval | undefined; currency: string | null },
): Price | undefined {
  const possible = prices.filter((price) => interval === undefined || price.interval === interval)
  return possible.find((price) => price.currency === currency) ?? possible[0]
}
