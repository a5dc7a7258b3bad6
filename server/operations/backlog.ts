import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { indexedTable } from '../database/index-hints.ts'
import { LEASE_MS, overdueInRounds } from '../queue/lease-queue.ts'

/** A count stops here, so that its cost has a bound. */
export const MAX_COUNT = 10_000
/** A check that has been due for longer is overdue. */
const OVERDUE_MS = 60_000

/** What is due in all organizations. A count of `MAX_COUNT` means that many or more. Ages are in milliseconds. */
export type Backlog = {
  due_checks: number
  overdue_checks: number
  check_age: number
  due_webhooks: number
  webhook_age: number
  pending_requests: number
  paused_webhooks: number
  pending_mails: number
  mail_age: number
  due_alerts: number
  alert_age: number
  due_waits: number
  wait_age: number
}

/** One statement. Each part reads one index and stops at its limit. */
export async function readBacklog(db: Database, now: number): Promise<Backlog> {
  const countOf = (rows: ReturnType<typeof sql>) =>
    sql`(select count(*) from (${rows} limit ${sql.lit(MAX_COUNT)}) as counted)`
  const dueBefore = (table: string, instant: number) =>
    sql`select 1 as one from ${sql.table(table)} where due_at <= ${instant}`
  const oldestOf = (table: string) => sql`(select min(due_at) from ${sql.table(table)} where due_at <= ${now})`
  const paused = sql`select 1 as one from ${indexedTable(db, 'webhooks', 'webhooks_in_trouble')}
    where is_active = 1 and (state = 'paused' or last_error is not null) and state = 'paused'`
  // A round takes some seconds, so one that is not late is no backlog.
  const inLateRounds = sql`select 1 as one from ${overdueInRounds(now - OVERDUE_MS)}`
  // So is work in progress. The newest leases come first, because those of running checks are renewed.
  const inProgress = sql`select was_due_at as one from (select was_due_at, claimed_by from due_checks
      where due_at > ${now} and due_at <= ${now + LEASE_MS} order by due_at desc limit ${sql.lit(MAX_COUNT)}) as leased
    where claimed_by is not null and was_due_at <= ${now - OVERDUE_MS}`
  const late = sql`union all ${inLateRounds} union all ${inProgress}`
  const { rows } = await sql<Record<keyof Backlog, number | null>>`select
    ${countOf(sql`${dueBefore('due_checks', now)} ${late}`)} as due_checks,
    ${countOf(sql`${dueBefore('due_checks', now - OVERDUE_MS)} ${late}`)} as overdue_checks,
    (select min(at) from (select ${oldestOf('due_checks')} as at union all select min(one) from (${inProgress}) as late
      union all select min(planned_at) from due_rounds where planned_at <= ${now - OVERDUE_MS}) as oldest) as check_age,
    ${countOf(dueBefore('due_webhooks', now))} as due_webhooks,
    ${oldestOf('due_webhooks')} as webhook_age,
    ${countOf(sql`select 1 as one from due_requests`)} as pending_requests,
    ${countOf(paused)} as paused_webhooks,
    ${countOf(sql`select 1 as one from due_mails`)} as pending_mails,
    ${oldestOf('due_mails')} as mail_age,
    ${countOf(dueBefore('due_alerts', now))} as due_alerts,
    ${oldestOf('due_alerts')} as alert_age,
    ${countOf(dueBefore('due_waits', now))} as due_waits,
    ${oldestOf('due_waits')} as wait_age`.execute(db)
  const entries = Object.entries(rows[0]!).map(([field, value]) => {
    if (!field.endsWith('_age')) return [field, value ?? 0]
    return [field, value === null ? 0 : Math.max(0, now - value)]
  })
  return Object.fromEntries(entries) as Backlog
}
