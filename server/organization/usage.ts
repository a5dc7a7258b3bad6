import { sql } from 'kysely'
import type { PlanLimits } from '#contract/subscription.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { freePlan, type Plan, type Plans } from '../plan.ts'

/** What a plan limits by number. */
export type Counted = Exclude<keyof PlanLimits, 'min_frequency' | 'event_retention_days'>

/** The plan in force. A plan that the settings no longer name counts as the free one. */
export async function planOf(db: Database, plans: Plans, { organizationId }: Tenant): Promise<Plan> {
  if (plans.length === 1) return plans[0]
  const row = await db
    .selectFrom('subscriptions')
    .select('plan')
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
  return plans.find(({ id }) => id === row?.plan) ?? freePlan(plans)
}

/** How many there are. Monitors are counted by their groups, so that the cost does not grow with them. */
export async function countUse(db: Database, { organizationId }: Tenant, what: Counted, now: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`${countOf(what, organizationId, now)}`.execute(db)
  return rows[0]!.count
}

function countOf(what: Counted, organizationId: string, now: number) {
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
export async function retentionDaysOf(db: Database, plans: Plans, tenant: Tenant): Promise<number | null> {
  const { organizationId } = tenant
  const row = await db
    .selectFrom('organizations')
    .select('event_retention_days')
    .where('id', '=', organizationId)
    .executeTakeFirst()
  const { limits } = await planOf(db, plans, tenant)
  const days = [row?.event_retention_days, limits.event_retention_days].filter((each) => typeof each === 'number')
  return days.length === 0 ? null : Math.min(...days)
}
