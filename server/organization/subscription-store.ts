import type { Selectable } from 'kysely'
import type { PlanLimits, Subscription } from '#contract/subscription.ts'
import { recordAudit } from '../audit-log.ts'
import { operatorContext, type RequestContext, systemContext, type Tenant } from '../context.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import type { SubscriptionsTable } from '../database/schema-people.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import type { Plans } from '../plan.ts'
import { toIsoOrNull } from '../times.ts'
import { countUsage, currentPlan, eventRetentionDays, shortestFrequency } from './quota.ts'
import { type PaidSubscription, standingOf } from './subscription.ts'

export type SubscriptionRow = Selectable<SubscriptionsTable>

/** Undefined for an organization that never had to do with payments. */
export async function findSubscriptionRow(
  db: Database,
  { organizationId }: Tenant,
): Promise<SubscriptionRow | undefined> {
  return await db
    .selectFrom('subscriptions')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}

/** The current plan and how much of it is used. */
export async function getSubscription(db: Database, plans: Plans, tenant: Tenant, now: number): Promise<Subscription> {
  const { organizationId } = tenant
  const row = await findSubscriptionRow(db, tenant)
  const plan = await currentPlan(db, plans, tenant)
  return {
    plan: plan.id,
    status: row?.status ?? 'active',
    quantity: row?.quantity ?? 1,
    current_period_start: toIsoOrNull(row?.current_period_start ?? null),
    current_period_end: toIsoOrNull(row?.current_period_end ?? null),
    cancel_at: toIsoOrNull(row?.cancel_at ?? null),
    limits: plan.limits,
    usage: await usageOf(db, plans, organizationId, now),
  }
}

/** The subscription that is or will be paid for; null when there is none, or it ended. */
export function liveSubscription(row: SubscriptionRow | undefined): string | null {
  return row && row.status !== 'canceled' ? row.stripe_subscription : null
}

/** The customer at the payment provider, noted once. */
export async function noteCustomer(db: Database, { organizationId }: Tenant, customer: string): Promise<void> {
  await db
    .insertInto('subscriptions')
    .values({ organization_id: organizationId, status: 'active', quantity: 1, stripe_customer: customer, as_of: 0 })
    .onConflict((conflict) => conflict.column('organization_id').doUpdateSet({ stripe_customer: customer }))
    .execute()
}

export async function findOrganizationOfCustomer(db: Database, customer: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('subscriptions')
    .select('organization_id')
    .where('stripe_customer', '=', customer)
    .executeTakeFirst()
  return row?.organization_id
}

/** Gives a plan that nobody pays for. False where a subscription is paid for: that decides the plan. */
export async function givePlan(db: Database, tenant: Tenant, plan: string, now: number): Promise<boolean> {
  const { organizationId } = tenant
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId)
    const row = await findSubscriptionRow(transaction, tenant)
    if (liveSubscription(row) !== null) return false
    // As one that begins now, so that a late report of an earlier subscription's end does not take the plan away.
    const given = { ...NOTHING_PAID, plan, status: 'active' as const, stripe_subscription: null, subscribed_at: now }
    await transaction
      .insertInto('subscriptions')
      .values({ organization_id: organizationId, ...given, as_of: now })
      .onConflict((conflict) => conflict.column('organization_id').doUpdateSet({ ...given, as_of: now }))
      .execute()
    await recordUpdated(transaction, operatorContext(organizationId, now), row, given)
    return true
  })
}

/** The result of a report. The subscription can be unknown, or one that the row need not follow. */
export type Followed = 'recorded' | 'unchanged' | 'not_ours' | 'unknown_price' | 'second'

/**
 * Makes the organization's row say what the provider said when it was asked at `asOf`. Reports may come twice and in any
 * order: an answer older than the one recorded changes nothing, so that the last state wins.
 */
export async function followSubscription(
  db: Database,
  plans: Plans,
  found: PaidSubscription,
  asOf: number,
): Promise<Followed> {
  const row = await db
    .selectFrom('subscriptions')
    .selectAll()
    .where('stripe_customer', '=', found.customer)
    .modifyEnd(forUpdate(db))
    .executeTakeFirst()
  if (!row) return 'not_ours'
  const isCurrent = row.stripe_subscription === found.id
  if (isCurrent && row.as_of > asOf) return 'unchanged'
  const standing = standingOf(plans, found)
  if (standing.kind === 'unknown_price') return 'unknown_price'
  if (standing.kind === 'not_begun') return 'unchanged'
  const isOlder = !isCurrent && (row.subscribed_at ?? 0) > found.createdAt
  const isSecond = !isCurrent && liveSubscription(row) !== null
  // The end of one that never was current is noted too: an earlier answer about it may still be on its way.
  if (standing.kind === 'ended' && (isOlder || isSecond)) return 'unchanged'
  if (isOlder) return isSecond ? 'second' : 'unchanged'
  const values = { ...NOTHING_PAID, ...valuesOf(standing, found) }
  await db
    .updateTable('subscriptions')
    .set({ ...values, as_of: asOf })
    .where('organization_id', '=', row.organization_id)
    .execute()
  await recordUpdated(db, systemContext(row.organization_id, asOf, STRIPE), row, values)
  return isSecond ? 'second' : 'recorded'
}

const STRIPE = { type: 'system', id: 'stripe', label: 'Stripe' } as const

type Paid = Pick<SubscriptionRow, 'plan' | 'status' | 'quantity' | 'cancel_at'>

async function recordUpdated(
  db: Database,
  context: RequestContext,
  before: Paid | undefined,
  after: Paid,
): Promise<void> {
  const fields = ({ plan, status, quantity, cancel_at }: Paid) => ({
    ...{ plan, status, quantity },
    cancel_at: toIsoOrNull(cancel_at),
  })
  const audited = { object: {}, ...(before && { before: fields(before) }), after: fields(after) }
  await recordAudit(db, context, { action: 'subscription.updated', ...audited })
}

const NOTHING_PAID = {
  plan: null,
  quantity: 1,
  current_period_start: null,
  current_period_end: null,
  cancel_at: null,
}

type Counting = Exclude<ReturnType<typeof standingOf>, { kind: 'unknown_price' | 'not_begun' }>

function valuesOf(standing: Counting, found: PaidSubscription) {
  const of = { stripe_subscription: found.id, subscribed_at: found.createdAt }
  if (standing.kind === 'ended') return { ...of, status: 'canceled' as const }
  const isPaid = standing.kind === 'paid'
  return {
    plan: isPaid ? standing.plan.id : null,
    status: isPaid ? standing.status : ('past_due' as const),
    quantity: found.quantity,
    current_period_start: found.currentPeriodStart,
    current_period_end: found.currentPeriodEnd,
    cancel_at: found.cancelAt,
    ...of,
  }
}

async function usageOf(db: Database, plans: Plans, organizationId: string, now: number) {
  const usage: Record<keyof PlanLimits, number | null> = {
    monitors: null,
    min_frequency: await shortestFrequency(db, { organizationId }),
    event_retention_days: await eventRetentionDays(db, plans, { organizationId }),
    webhooks: null,
    agents: null,
    api_keys: null,
  }
  for (const what of ['monitors', 'webhooks', 'agents', 'api_keys'] as const) {
    usage[what] = await countUsage(db, { organizationId }, what, now)
  }
  return usage as Subscription['usage']
}
