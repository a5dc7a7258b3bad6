import { sql } from 'kysely'
import { type Database, engineOf } from '../database/database.ts'

/** A count stops here, so that reading it costs the same however much is due. */
export const MOST_COUNTED = 10_000
/** A check that has been due for longer than this is overdue. */
const OVERDUE_MS = 60_000

/** What is due over all organizations. Counts of `MOST_COUNTED` mean that many or more; ages are in milliseconds. */
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

/** One statement. Each part of it reads one index and stops at its limit. */
export async function readBacklog(db: Database, now: number): Promise<Backlog> {
  const countOf = (rows: ReturnType<typeof sql>) =>
    sql`(select count(*) from (${rows} limit ${sql.lit(MOST_COUNTED)}) as counted)`
  const dueBefore = (table: string, at: number) => sql`select 1 as one from ${sql.table(table)} where due_at <= ${at}`
  const oldestOf = (table: string) => sql`(select min(due_at) from ${sql.table(table)} where due_at <= ${now})`
  const troubled = engineOf(db) === 'sqlite' ? sql`webhooks indexed by webhooks_in_trouble` : sql`webhooks`
  const paused = sql`select 1 as one from ${troubled}
    where is_active = 1 and (state = 'paused' or last_error is not null) and state = 'paused'`
  const { rows } = await sql<Record<keyof Backlog, number | null>>`select
    ${countOf(dueBefore('due_checks', now))} as due_checks,
    ${countOf(dueBefore('due_checks', now - OVERDUE_MS))} as overdue_checks,
    ${oldestOf('due_checks')} as check_age,
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
  const row = rows[0]!
  const age = (oldest: number | null) => (oldest === null ? 0 : Math.max(0, now - oldest))
  return {
    due_checks: row.due_checks ?? 0,
    overdue_checks: row.overdue_checks ?? 0,
    check_age: age(row.check_age),
    due_webhooks: row.due_webhooks ?? 0,
    webhook_age: age(row.webhook_age),
    pending_requests: row.pending_requests ?? 0,
    paused_webhooks: row.paused_webhooks ?? 0,
    pending_mails: row.pending_mails ?? 0,
    mail_age: age(row.mail_age),
    due_alerts: row.due_alerts ?? 0,
    alert_age: age(row.alert_age),
    due_waits: row.due_waits ?? 0,
    wait_age: age(row.wait_age),
  }
}
