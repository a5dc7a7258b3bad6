import { sql } from 'kysely'
import type { PlanLimits } from '#contract/subscription.ts'
import type { Clock } from '../clock.ts'
import type { Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import { freePlan, type Plan, type Plans } from '../plan.ts'
import { Problem } from '../problem.ts'

type QuotaDeps = { db: Database; clock: Clock; config: { plans: Plans } }

/** How many there may be by the plan in force. */
export type Quota = { plan: string; what: QuotaResource; limit: number; now: number }

/** Undefined where the plan has no limit. */
export async function findQuota(
  { db, clock, config }: QuotaDeps,
  tenant: Tenant,
  what: QuotaResource,
): Promise<Quota | undefined> {
  const plan = await currentPlan(db, config.plans, tenant)
  const limit = plan.limits[what]
  return limit === null ? undefined : { plan: plan.name, what, limit, now: clock.now() }
}

/**
 * Runs work that makes more of something, in one transaction, and takes it back when that is more than the plan allows.
 * Throws 402 with what is used and what is allowed. Two at the same time cannot share one last place. Costs nothing
 * where the plan has no limit.
 */
export async function withinQuota<T>(
  deps: QuotaDeps,
  tenant: Tenant,
  what: QuotaResource,
  work: (transaction: Database) => Promise<T>,
): Promise<T> {
  const quota = await findQuota(deps, tenant, what)
  if (!quota) return await work(deps.db)
  return await inTransaction(deps.db, (transaction) =>
    withinKnownQuota(transaction, tenant, quota, () => work(transaction)),
  )
}

/** The same in a transaction that is open. */
export async function withinKnownQuota<T>(
  transaction: Database,
  tenant: Tenant,
  { plan, what, limit, now }: Quota,
  work: () => Promise<T>,
): Promise<T> {
  const { organizationId } = tenant
  await lockOrganization(transaction, organizationId)
  const before = await countUsage(transaction, tenant, what, now)
  const made = await work()
  const after = await countUsage(transaction, tenant, what, now)
  if (after <= limit || after <= before) return made
  throw new Problem(402, LIMIT_REACHED[what]({ plan, limit, used: before, added: after - before }))
}

/**
 * How often an organization may check, as a function: of the minutes that were asked for, or of nothing for the shortest
 * that its plan allows. The function throws 402 for less than that.
 */
export async function frequencyLimiter(
  { db, config }: Pick<QuotaDeps, 'db' | 'config'>,
  tenant: Tenant,
): Promise<(asked?: number | undefined) => number> {
  const { name, limits } = await currentPlan(db, config.plans, tenant)
  const least = Math.max(SHORTEST, limits.min_frequency ?? SHORTEST)
  return (asked = least) => {
    if (asked >= least) return asked
    throw new Problem(
      402,
      `Plan limit reached: the plan ${name} allows a check every ${least} minutes, not every ${asked}. Use ${least} or more, or change the plan.`,
    )
  }
}

/** Minutes: what the API itself allows. */
const SHORTEST = 5

type Use = { plan: string; limit: number; used: number; added: number }

const LIMIT_REACHED: Record<QuotaResource, (use: Use) => string> = {
  monitors: ({ plan, limit, used, added }) =>
    `Plan limit reached: ${used} of ${limit} monitors are in use on the plan ${plan}, and this request adds ${added}. Delete monitors or change the plan.`,
  webhooks: ({ plan, limit, used, added }) =>
    `Plan limit reached: ${used} of ${limit} webhooks are in use on the plan ${plan}, and this request adds ${added}. Delete webhooks or change the plan.`,
  agents: ({ plan, limit, used, added }) =>
    `Plan limit reached: ${used} of ${limit} agents (with open invitations) are in use on the plan ${plan}, and this request adds ${added}. Remove agents, revoke invitations or change the plan.`,
  api_keys: ({ plan, limit, used, added }) =>
    `Plan limit reached: ${used} of ${limit} active API keys are in use on the plan ${plan}, and this request adds ${added}. Revoke API keys or change the plan.`,
}

/** What a plan limits by number. */
export type QuotaResource = Exclude<keyof PlanLimits, 'min_frequency' | 'event_retention_days'>

/** The plan in force. A plan that the settings no longer name counts as the free one. */
export async function currentPlan(db: Database, plans: Plans, { organizationId }: Tenant): Promise<Plan> {
  if (plans.length === 1) return plans[0]
  const row = await db
    .selectFrom('subscriptions')
    .select('plan')
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return plans.find(({ id }) => id === row?.plan) ?? freePlan(plans)
}

/** How many there are. Monitors are counted by their groups, so that the cost does not grow with them. */
export async function countUsage(
  db: Database,
  { organizationId }: Tenant,
  what: QuotaResource,
  now: number,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`${countOf(what, organizationId, now)}`.execute(db)
  return rows[0]!.count
}

function countOf(what: QuotaResource, organizationId: string, now: number) {
  switch (what) {
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

/** In minutes; null without monitors. */
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

/** How many days events are kept: the organization's own wish within its plan; null for good. */
export async function eventRetentionDays(db: Database, plans: Plans, tenant: Tenant): Promise<number | null> {
  const { organizationId } = tenant
  const row = await db
    .selectFrom('organizations')
    .select('event_retention_days')
    .where('id', '=', organizationId)
    .executeTakeFirst()
  const { limits } = await currentPlan(db, plans, tenant)
  const days = [row?.event_retention_days, limits.event_retention_days].filter((each) => typeof each === 'number')
  return days.length === 0 ? null : Math.min(...days)
}
