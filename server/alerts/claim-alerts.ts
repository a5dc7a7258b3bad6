import { sql } from 'kysely'
import { isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { skipLocked } from '../database/dialect.ts'
import { type Claim, claimRows } from '../queue/lease-queue.ts'

export type AlertClaim = Claim<'due_alerts'>

/** Alerts of one channel that a pass claims. */
const PER_CHANNEL = 2
/** Alerts of one organization that a pass claims. */
const PER_ORGANIZATION = 8
/** Due alerts that a pass looks at, without those of full channels and organizations. */
const MAX_CANDIDATES = 500

/**
 * Claims due alerts in turns: a few of each channel and organization, the longest overdue first. However many alerts wait for one
 * channel, the next pass reaches those behind them, because a channel or organization without capacity is left out.
 */
export async function claimAlerts(
  db: Database,
  options: {
    now: number
    process: number
    limit: number
    fullChannels: readonly string[]
    fullOrganizations: readonly string[]
  },
): Promise<AlertClaim[]> {
  const { now, limit, fullChannels, fullOrganizations } = options
  const isNotIn = (column: string, ids: readonly string[]) =>
    ids.length === 0 ? sql`true` : sql`(${sql.ref(column)} is null or not (${isOneOf(db, column, ids)}))`
  return await inTransaction(db, async (transaction) => {
    const { rows } = await sql<AlertClaim>`
      with candidates as (
        select organization_id, alert_id, channel_id, due_at from due_alerts
        where due_at <= ${now} and ${isNotIn('organization_id', fullOrganizations)} and ${isNotIn('channel_id', fullChannels)}
        order by due_at limit ${MAX_CANDIDATES}
      ), by_channel as (
        select organization_id, alert_id, due_at, row_number() over (
          partition by organization_id, coalesce(channel_id, alert_id) order by due_at, alert_id
        ) as place from candidates
      ), by_organization as (
        select organization_id, alert_id, row_number() over (partition by organization_id order by due_at, alert_id) as place
        from by_channel where place <= ${PER_CHANNEL}
      )
      select due_alerts.organization_id, due_alerts.alert_id, due_alerts.channel_id,
        case when claimed_by is null then due_at else coalesce(was_due_at, due_at) end as was_due_at
      from due_alerts join by_organization on by_organization.organization_id = due_alerts.organization_id
        and by_organization.alert_id = due_alerts.alert_id
      where due_at <= ${now} and place <= ${PER_ORGANIZATION} order by place, due_at
      limit ${limit} ${skipLocked(transaction, 'due_alerts')}`.execute(transaction)
    return rows.length === 0 ? [] : await claimRows(transaction, 'due_alerts', rows, options)
  })
}
