import { type RawBuilder, sql } from 'kysely'
import type { PlanLimits } from '#contract/subscription.ts'
import type { Clock } from '../clock.ts'
import type { Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import { freePlan, type Plan, type Plans } from '../plan.ts'
import { Problem } from '../problem.ts'

type QuotaDeps = { db: Database; clock: Clock; config: { plans: Plans } }

/** The limit of the current plan. */
export type Quota = { plan: string; resource: QuotaResource; limit: number; now: number }

/** Undefined without a limit. */
export async function findQuota(
  { db, clock, config }: QuotaDeps,
  tenant: Tenant,
  resource: QuotaResource,
): Promise<Quota | undefined> {
  const plan = await currentPlan(db, config.plans, tenant)
  const limit = plan.limits[resource]
  return limit === null ? undefined : { plan: plan.name, resource, limit, now: clock.now() }
}

/**
 * Runs work that creates resources in one transaction. Throws 402 and rolls back if that exceeds the plan. Concurrent requests
 * cannot exceed it together. Costs nothing without a limit.
 */
export async function withinQuota<T>(
  deps: QuotaDeps,
  tenant: Tenant,
  resource: QuotaResource,
  work: (transaction: Database) => Promise<T>,
): Promise<T> {
  const quota = await findQuota(deps, tenant, resource)
  if (!quota) return await work(deps.db)
  return await inTransaction(deps.db, (transaction) =>
    enforceQuota(transaction, tenant, quota, () => work(transaction)),
  )
}

/** Like `withinQuota`, in an open transaction. */
export async function enforceQuota<T>(
  transaction: Database,
  tenant: Tenant,
  { plan, resource, limit, now }: Quota,
  work: () => Promise<T>,
): Promise<T> {
  await lockOrganization(transaction, tenant.organizationId)
  const before = await countUsage(transaction, tenant, resource, now)
  const result = await work()
  const after = await countUsage(transaction, tenant, resource, now)
  if (after <= limit || after <= before) return result
  const { what, remedy } = LIMITED[resource]
  throw new Problem(
    402,
    `Plan limit reached: ${before} of ${limit} ${what} are in use on the plan ${plan}, and this request adds ${after - before}. ${remedy} or change the plan.`,
  )
}

/** Returns a function for frequencies in minutes: it throws 402 below the minimum of the plan, and defaults to the minimum. */
export async function frequencyLimiter(
  { db, config }: Pick<QuotaDeps, 'db' | 'config'>,
  tenant: Tenant,
): Promise<(requested?: number | undefined) => number> {
  const { name, limits } = await currentPlan(db, config.plans, tenant)
  const min = Math.max(MIN_FREQUENCY, limits.min_frequency ?? MIN_FREQUENCY)
  return (requested = min) => {
    if (requested >= min) return requested
    throw new Problem(
      402,
      `Plan limit reached: the plan ${name} allows a check every ${min} minutes, not every ${requested}. Use ${min} or more, or change the plan.`,
    )
  }
}

/** Minutes: the minimum of the API. */
const MIN_FREQUENCY = 5

/** What is limited, and what frees a place. */
const LIMITED: Record<QuotaResource, { what: string; remedy: string }> = {
  monitors: { what: 'monitors', remedy: 'Delete monitors' },
  webhooks: { what: 'webhooks', remedy: 'Delete webhooks' },
  agents: { what: 'agents (with open invitations)', remedy: 'Remove agents, revoke invitations' },
  api_keys: { what: 'active API keys', remedy: 'Revoke API keys' },
}

/** What a plan limits by number. */
export type QuotaResource = Exclude<keyof PlanLimits, 'min_frequency' | 'event_retention_days'>

/** A plan that is no longer in the settings counts as the free plan. */
export async function currentPlan(db: Database, plans: Plans, { organizationId }: Tenant): Promise<Plan> {
  if (plans.length === 1) return plans[0]
  const row = await db
    .selectFrom('subscriptions')
    .select('plan')
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return plans.find(({ id }) => id === row?.plan) ?? freePlan(plans)
}

export async function countUsage(db: Database, tenant: Tenant, resource: QuotaResource, now: number): Promise<number> {
  const { rows } = await usageQuery(tenant, resource, now).execute(db)
  return rows[0]!.count
}

/** The groups count their monitors, so that the cost does not grow with them. */
function usageQuery({ organizationId }: Tenant, resource: QuotaResource, now: number): RawBuilder<{ count: number }> {
  switch (resource) {
    case 'monitors':
      return sql`select cast(coalesce(sum(monitors), 0) as bigint) as count from groups where organization_id = ${organizationId}`
    case 'webhooks':
      return sql`select count(*) as count from webhooks where organization_id = ${organizationId}`
    case 'agents':
      return sql`select (select count(*) from agents where organization_id = ${organizationId})
        + (select count(*) from invitations where organization_id = ${organizationId}
           and accepted_at is null and revoked_at is null and expires_at > ${now}) as count`
    case 'api_keys':
      return sql`select count(*) as count from api_keys where organization_id = ${organizationId}
        and revoked_at is null and (expires_at is null or expires_at > ${now})`
  }
}

/** Minutes; null without monitors. */
export async function shortestFrequency(db: Database, { organizationId }: Tenant): Promise<number | null> {
  const row = await db
    .selectFrom('monitors')
    .select('frequency')
    .where('organization_id', '=', organizationId)
    .orderBy('frequency')
    .limit(1)
    .executeTakeFirst()
  return row?.frequency ?? null
}

/** The setting of the organization, limited by its plan; null: events are never deleted. */
export async function eventRetentionDays(db: Database, plans: Plans, tenant: Tenant): Promise<number | null> {
  const row = await db
    .selectFrom('organizations')
    .select('event_retention_days')
    .where('id', '=', tenant.organizationId)
    .executeTakeFirst()
  const { limits } = await currentPlan(db, plans, tenant)
  const days = [row?.event_retention_days, limits.event_retention_days].filter((limit) => typeof limit === 'number')
  return days.length === 0 ? null : Math.min(...days)
}
