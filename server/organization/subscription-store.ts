import type { Selectable } from 'kysely'
import type { Subscription } from '#contract/subscription.ts'
import { recordAudit } from '../audit-log.ts'
import { operatorContext, type RequestContext, systemContext, type Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import type { SubscriptionsTable } from '../database/schema-people.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import type { Plans } from '../plan.ts'
import { toIsoOrNull } from '../times.ts'
import { countUsage, currentPlan, eventRetentionDays, shortestFrequency } from './quota.ts'
import { type PaymentState, paymentStateOf, type StripeSubscription } from './subscription.ts'

export type SubscriptionRow = Selectable<SubscriptionsTable>

/** Undefined for an organization without payments. */
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
    usage: await getUsage(db, plans, tenant, now),
  }
}

/** The id at Stripe; null without a subscription, or after its end. */
export function activeSubscription(row: SubscriptionRow | undefined): string | null {
  return row && row.status !== 'canceled' ? row.stripe_subscription : null
}

/** Stores the id of the organization at Stripe. */
export async function storeCustomer(db: Database, { organizationId }: Tenant, customer: string): Promise<void> {
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

/** Assigns a plan without payment. Returns false if a paid subscription sets the plan. */
export async function setPlan(db: Database, tenant: Tenant, plan: string, now: number): Promise<boolean> {
  const { organizationId } = tenant
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId)
    const row = await findSubscriptionRow(transaction, tenant)
    if (activeSubscription(row) !== null) return false
    // `subscribed_at` is set, so that a late event about the end of an earlier subscription does not remove the plan.
    const values = { ...NOTHING_PAID, plan, status: 'active' as const, stripe_subscription: null, subscribed_at: now }
    await transaction
      .insertInto('subscriptions')
      .values({ organization_id: organizationId, ...values, as_of: now })
      .onConflict((conflict) => conflict.column('organization_id').doUpdateSet({ ...values, as_of: now }))
      .execute()
    await recordUpdated(transaction, operatorContext(organizationId, now), row, values)
    return true
  })
}

type StoreResult = 'stored' | 'unchanged' | 'unknown_customer' | 'unknown_price' | 'second'

/**
 * Stores the state that was requested from Stripe at `asOf`. Events can arrive twice and in any order: a state older than the
 * stored one changes nothing.
 */
export async function storeSubscription(
  db: Database,
  plans: Plans,
  subscription: StripeSubscription,
  asOf: number,
): Promise<StoreResult> {
  const row = await db
    .selectFrom('subscriptions')
    .selectAll()
    .where('stripe_customer', '=', subscription.customer)
    .modifyEnd(forUpdate(db))
    .executeTakeFirst()
  if (!row) return 'unknown_customer'
  const isCurrent = row.stripe_subscription === subscription.id
  if (isCurrent && row.as_of > asOf) return 'unchanged'
  const state = paymentStateOf(plans, subscription)
  if (state.kind === 'unknown_price') return 'unknown_price'
  if (state.kind === 'incomplete') return 'unchanged'
  const isOlder = !isCurrent && (row.subscribed_at ?? 0) > subscription.createdAt
  const isSecond = !isCurrent && activeSubscription(row) !== null
  // Otherwise the end is stored even if the subscription was never current: an earlier state of it may still arrive.
  if (state.kind === 'ended' && (isOlder || isSecond)) return 'unchanged'
  if (isOlder) return isSecond ? 'second' : 'unchanged'
  const values = { ...NOTHING_PAID, ...columnsOf(state, subscription) }
  await db
    .updateTable('subscriptions')
    .set({ ...values, as_of: asOf })
    .where('organization_id', '=', row.organization_id)
    .execute()
  await recordUpdated(db, systemContext(row.organization_id, asOf, STRIPE), row, values)
  return isSecond ? 'second' : 'stored'
}

const STRIPE = { type: 'system', id: 'stripe', label: 'Stripe' } as const

type AuditedColumns = Pick<SubscriptionRow, 'plan' | 'status' | 'quantity' | 'cancel_at'>

async function recordUpdated(
  db: Database,
  context: RequestContext,
  before: AuditedColumns | undefined,
  after: AuditedColumns,
): Promise<void> {
  const fields = (row: AuditedColumns) => ({ ...row, cancel_at: toIsoOrNull(row.cancel_at) })
  await recordAudit(db, context, {
    action: 'subscription.updated',
    object: {},
    ...(before && { before: fields(before) }),
    after: fields(after),
  })
}

const NOTHING_PAID = {
  plan: null,
  quantity: 1,
  current_period_start: null,
  current_period_end: null,
  cancel_at: null,
}

type StoredState = Exclude<PaymentState, { kind: 'unknown_price' | 'incomplete' }>

function columnsOf(state: StoredState, subscription: StripeSubscription) {
  const key = { stripe_subscription: subscription.id, subscribed_at: subscription.createdAt }
  if (state.kind === 'ended') return { ...key, status: 'canceled' as const }
  const isPaid = state.kind === 'paid'
  return {
    plan: isPaid ? state.plan.id : null,
    status: isPaid ? state.status : ('past_due' as const),
    quantity: subscription.quantity,
    current_period_start: subscription.currentPeriodStart,
    current_period_end: subscription.currentPeriodEnd,
    cancel_at: subscription.cancelAt,
    ...key,
  }
}

async function getUsage(db: Database, plans: Plans, tenant: Tenant, now: number): Promise<Subscription['usage']> {
  return {
    monitors: await countUsage(db, tenant, 'monitors', now),
    min_frequency: await shortestFrequency(db, tenant),
    event_retention_days: await eventRetentionDays(db, plans, tenant),
    webhooks: await countUsage(db, tenant, 'webhooks', now),
    agents: await countUsage(db, tenant, 'agents', now),
    api_keys: await countUsage(db, tenant, 'api_keys', now),
  }
}
