import type { Clock } from '../clock.ts'
import type { Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { lockOrganization } from '../database/organization-lock.ts'
import type { Plans } from '../plan.ts'
import { Problem } from '../problem.ts'
import { type Counted, countUse, planOf } from './usage.ts'

export type QuotaDeps = { db: Database; clock: Clock; config: { plans: Plans } }

/** How many there may be by the plan in force. */
export type Quota = { plan: string; what: Counted; limit: number; now: number }

/** Undefined where the plan has no limit. */
export async function quotaFor(
  { db, clock, config }: QuotaDeps,
  tenant: Tenant,
  what: Counted,
): Promise<Quota | undefined> {
  const plan = await planOf(db, config.plans, tenant)
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
  what: Counted,
  work: (transaction: Database) => Promise<T>,
): Promise<T> {
  const quota = await quotaFor(deps, tenant, what)
  if (!quota) return await work(deps.db)
  return await inTransaction(deps.db, (transaction) => within(transaction, tenant, quota, () => work(transaction)))
}

/** The same in a transaction that is open. */
export async function within<T>(
  transaction: Database,
  tenant: Tenant,
  { plan, what, limit, now }: Quota,
  work: () => Promise<T>,
): Promise<T> {
  const { organizationId } = tenant
  await lockOrganization(transaction, organizationId)
  const before = await countUse(transaction, tenant, what, now)
  const made = await work()
  const after = await countUse(transaction, tenant, what, now)
  if (after <= limit || after <= before) return made
  throw new Problem(402, LIMIT_REACHED[what]({ plan, limit, used: before, added: after - before }))
}

/**
 * How often an organization may check, as a function: of the minutes that were asked for, or of nothing for the shortest
 * that its plan allows. The function throws 402 for less than that.
 */
export async function paceOf(
  { db, config }: Pick<QuotaDeps, 'db' | 'config'>,
  tenant: Tenant,
): Promise<(asked?: number | undefined) => number> {
  const { name, limits } = await planOf(db, config.plans, tenant)
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

const LIMIT_REACHED: Record<Counted, (use: Use) => string> = {
  monitors: ({ plan, limit, used, added }) =>
    `Plan limit reached: ${used} of ${limit} monitors are in use on the plan ${plan}, and this request adds ${added}. Delete monitors or change the plan.`,
  webhooks: ({ plan, limit, used, added }) =>
    `Plan limit reached: ${used} of ${limit} webhooks are in use on the plan ${plan}, and this request adds ${added}. Delete webhooks or change the plan.`,
  agents: ({ plan, limit, used, added }) =>
    `Plan limit reached: ${used} of ${limit} agents (with open invitations) are in use on the plan ${plan}, and this request adds ${added}. Remove agents, revoke invitations or change the plan.`,
  api_keys: ({ plan, limit, used, added }) =>
    `Plan limit reached: ${used} of ${limit} active API keys are in use on the plan ${plan}, and this request adds ${added}. Revoke API keys or change the plan.`,
}
