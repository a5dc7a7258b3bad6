import { type RawBuilder, sql } from 'kysely'
import { FAILING_STATES } from '#contract/alert-states.ts'
import type { CauseReason } from '#contract/causes.ts'
import type { Failing, Overview } from '#contract/dashboard.ts'
import type { MonitorState } from '#contract/monitors.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { indexedTable, unindexedTable } from '../database/index-hints.ts'
import { toReason } from '../monitors/diagnosis.ts'
import { type FailingCounts, IS_FAILING } from '../monitors/incident-membership.ts'
import { lastCheckedAt as lastCheckedAtSql } from '../monitors/last-round.ts'
import { overdueInRounds } from '../queue/lease-queue.ts'

/** Monitors of one registrable domain in one failing state. */
export type FailingGroup = { state: MonitorState; domain: string; count: number }

/** Up to this many domains of each state are counted one by one. If there are more, all failing monitors are read and grouped. */
const MAX_DOMAINS = 200

/** `failing`: the number of failing monitors by state; undefined if the domains were not counted one by one. */
export type FailingGroups = { largest: FailingGroup[]; groupCount: number; failing?: FailingCounts }

/** The largest groups, and how many groups there are. */
export async function largestFailingGroups(
  db: Database,
  { organizationId }: Tenant,
  limit: number,
): Promise<FailingGroups> {
  const groups = await countByDomain(db, organizationId)
  if (groups) {
    const failing: FailingCounts = {}
    for (const { state, count } of groups) failing[state] = (failing[state] ?? 0) + count
    return { largest: groups.slice(0, limit), groupCount: groups.length, failing }
  }
  const { rows } = await sql<FailingGroup & { group_count: number }>`
    select state, domain, count(*) as count, count(*) over () as group_count
      from ${indexedTable(db, 'monitors', 'monitors_failing_counted')}
      where organization_id = ${organizationId} and ${IS_FAILING} group by state, domain
      order by count(*) desc, max(id) desc limit ${limit}`.execute(db)
  return {
    largest: rows.map(({ group_count: _, ...failingGroup }) => failingGroup),
    groupCount: rows[0]?.group_count ?? 0,
  }
}

/**
 * Finds each next domain in the index and counts its monitors, which is fast even if a domain has 100,000. Returns the largest
 * group first; undefined if a state has more than `MAX_DOMAINS`.
 */
async function countByDomain(db: Database, organizationId: string): Promise<FailingGroup[] | undefined> {
  const selectFailing = (column: string, of: string, condition = sql``) => sql`(select ${sql.raw(column)}
    from ${indexedTable(db, 'monitors', 'monitors_failing_counted')}
    where organization_id = ${organizationId} and ${IS_FAILING} and monitors.state = ${sql.ref(`${of}.state`)} ${condition})`
  const ofDomain = sql`and monitors.domain = domains.domain`
  const states = sql.join(
    FAILING_STATES.map((state) => sql`select ${state} as state`),
    sql` union all `,
  )
  const { rows } = await sql<FailingGroup & { position: number; newest: string }>`
    with recursive states as (${states}), domains as (
      select state, ${selectFailing('min(domain)', 'states')} as domain, 1 as position from states
      union all
      select state, ${selectFailing('min(domain)', 'domains', sql`and monitors.domain > domains.domain`)}, position + 1
        from domains where domain is not null and position <= ${MAX_DOMAINS}
    )
    select state, domain, position, ${selectFailing('count(*)', 'domains', ofDomain)} as count,
        ${selectFailing('max(id)', 'domains', ofDomain)} as newest
      from domains where domain is not null`.execute(db)
  if (rows.some(({ position }) => position > MAX_DOMAINS)) return undefined
  return rows
    .sort((a, b) => b.count - a.count || (a.newest < b.newest ? 1 : -1))
    .map(({ state, domain, count }) => ({ state, domain, count }))
}

type FailingGroupKey = Pick<FailingGroup, 'state' | 'domain'>

/** The current sizes of these groups. Omits groups without monitors. */
export async function countFailingGroups(
  db: Database,
  { organizationId }: Tenant,
  groups: readonly FailingGroupKey[],
): Promise<FailingGroup[]> {
  if (groups.length === 0) return []
  const selects = groups.map(
    (failingGroup) => sql`select ${failingGroup.state} as state, ${failingGroup.domain} as domain, count(*) as count
      from ${indexedTable(db, 'monitors', 'monitors_failing_counted')} where ${inGroup(organizationId, failingGroup)}`,
  )
  const { rows } = await sql<FailingGroup>`${sql.join(selects, sql` union all `)}`.execute(db)
  return rows.filter(({ count }) => count > 0)
}

export type FailingMonitor = {
  state: MonitorState
  domain: string
  id: string
  owner: string
  record_type: string
  expected_values: string
  current_values: string | null
  is_awaited: 0 | 1
  /** When its state began; null if that event is no longer stored. */
  since: number | null
}

/** The latest events in which the beginning of the state is searched. Each change of the values adds an event. */
const MAX_EVENTS = 20

/** The newest monitors of each group, at most `limit`. */
export async function listFailingMonitors(
  db: Database,
  { organizationId }: Tenant,
  failingGroups: readonly FailingGroupKey[],
  limit: number,
): Promise<FailingMonitor[]> {
  if (failingGroups.length === 0) return []
  const selects = failingGroups.map(
    (
      failingGroup,
    ) => sql`select * from (select ${FAILING_MONITOR} from ${indexedTable(db, 'monitors', 'monitors_failing_counted')}
        where ${inGroup(organizationId, failingGroup)} order by id desc limit ${limit}) as newest`,
  )
  const columns = failingMonitorColumns(db, organizationId)
  const { rows } = await sql<FailingMonitor>`
    select ${columns} from (${sql.join(selects, sql` union all `)}) as monitors`.execute(db)
  return rows
}

/** The newest failing monitors that are in no open incident, at most `limit`. */
export async function listOutsideIncidents(
  db: Database,
  { organizationId }: Tenant,
  limit: number,
): Promise<FailingMonitor[]> {
  const { rows } = await sql<FailingMonitor>`
    select ${failingMonitorColumns(db, organizationId)} from (
      select ${FAILING_MONITOR} from ${indexedTable(db, 'monitors', 'monitors_failing_counted')}
        where organization_id = ${organizationId} and ${IS_FAILING}
          and not exists (select 1 from incident_monitors where incident_monitors.organization_id = ${organizationId}
            and incident_monitors.monitor_id = monitors.id and recovered_at is null)
        order by id desc limit ${limit}) as monitors`.execute(db)
  return rows
}

const FAILING_MONITOR = sql.raw('state, domain, id, owner, record_type, expected_values, current_values')
const failingMonitorColumns = (db: Database, organizationId: string) => sql`${FAILING_MONITOR},
  (select count(*) from waits where waits.organization_id = ${organizationId}
    and waits.monitor_id = monitors.id and ended_at is null) as is_awaited,
  (select max(occurred_at) from (
    select occurred_at, old_state, new_state from ${indexedTable(db, 'events', 'events_by_monitor')}
      where organization_id = ${organizationId} and monitor_id = monitors.id order by occurred_at desc, id desc limit ${MAX_EVENTS}
  ) as latest where old_state <> new_state and new_state = monitors.state) as since`

const inGroup = (organizationId: string, { state, domain }: FailingGroupKey): RawBuilder<unknown> =>
  sql`organization_id = ${organizationId} and ${IS_FAILING} and state = ${state} and domain = ${domain}`

/** Events that no incident has yet are counted up to this number. */
const MAX_PENDING_EVENTS = 2_000

/** Where the failing monitors are: in an open incident, awaited, about to be in one, or neither. `monitors`: how many there are. */
export async function countFailing(db: Database, { organizationId }: Tenant, monitors: number): Promise<Failing> {
  const { rows } = await sql<{
    incidents: number
    acknowledged: number
    failing: number
    awaited: number
    failed_now: number
  }>`
    select count(*) as incidents, count(acknowledged_at) as acknowledged,
        cast(coalesce(sum(failing), 0) as bigint) as failing,
        (select count(*) from ${indexedTable(db, 'waits', 'open_waits')}
          join monitors on monitors.organization_id = waits.organization_id and monitors.id = waits.monitor_id
          where waits.organization_id = ${organizationId} and waits.ended_at is null and ${IS_FAILING}
            and not exists (select 1 from incident_monitors where incident_monitors.organization_id = waits.organization_id
              and incident_monitors.monitor_id = waits.monitor_id and recovered_at is null)) as awaited,
        (select count(distinct pending.monitor_id) from (
            select events.monitor_id, events.old_state from due_evaluations
              join events on events.organization_id = due_evaluations.organization_id and events.id > after_event_id
              where due_evaluations.organization_id = ${organizationId} and due_at is not null and new_state <> 'VALID'
              order by events.id limit ${MAX_PENDING_EVENTS}) as pending
          join monitors on monitors.organization_id = ${organizationId} and monitors.id = pending.monitor_id
          where (pending.old_state = 'VALID' or monitors.was_valid = 1) and ${IS_FAILING}
            and not exists (select 1 from incident_monitors where incident_monitors.organization_id = ${organizationId}
              and incident_monitors.monitor_id = pending.monitor_id and recovered_at is null)
            and not exists (select 1 from waits where waits.organization_id = ${organizationId}
              and waits.monitor_id = pending.monitor_id and waits.ended_at is null)) as failed_now
      from ${indexedTable(db, 'incidents', 'open_incidents_by_id')}
      where organization_id = ${organizationId} and resolved_at is null`.execute(db)
  const { incidents, acknowledged, ...counted } = rows[0]!
  const inIncidents = Math.min(counted.failing, monitors)
  const awaited = Math.min(counted.awaited, monitors - inIncidents)
  const failedNow = Math.min(counted.failed_now, monitors - inIncidents - awaited)
  return {
    monitors,
    in_incidents: inIncidents,
    awaited,
    failed_now: failedNow,
    never_valid: monitors - inIncidents - awaited - failedNow,
    incidents,
    acknowledged,
  }
}

/** The reason of each monitor's state, by monitor id. */
export async function findReasons(
  db: Database,
  { organizationId }: Tenant,
  ids: readonly string[],
): Promise<Map<string, CauseReason>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('monitors')
    .select(['id', 'diagnosis'])
    .where('organization_id', '=', organizationId)
    .where('id', 'in', ids)
    .execute()
  return new Map(
    rows.flatMap(({ id, diagnosis }) => {
      const reason = toReason(diagnosis)
      return reason ? [[id, reason]] : []
    }),
  )
}

/** Up to this many late checks of all organizations are read from the index. If there are more, the table is scanned. */
const MAX_LATE_CHECKS = 2_000

/** The number of checks that were due before `dueBefore` and have not run, or have been postponed since then. */
export async function countLate(db: Database, { organizationId }: Tenant, dueBefore: number): Promise<number> {
  const counts = [countOverdue, countInRounds, countPostponed].map((count) => count(db, organizationId, dueBefore))
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
}

async function countInRounds(db: Database, organizationId: string, dueBefore: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${overdueInRounds(dueBefore)}
    and due_checks.organization_id = ${organizationId}`.execute(db)
  return rows[0]!.count
}

async function countPostponed(db: Database, organizationId: string, dueBefore: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count
    from ${indexedTable(db, 'due_checks', 'due_checks_postponed')}
    where organization_id = ${organizationId} and postponed_since < ${dueBefore} and due_at >= ${dueBefore}`.execute(db)
  return rows[0]!.count
}

async function countOverdue(db: Database, organizationId: string, dueBefore: number): Promise<number> {
  const { rows } = await sql<{ late_checks: number; late_checks_of_organization: number | null }>`
    select count(*) as late_checks,
        cast(sum(case when organization_id = ${organizationId} then 1 else 0 end) as bigint) as late_checks_of_organization
      from (select organization_id from due_checks where due_at < ${dueBefore} order by due_at limit ${MAX_LATE_CHECKS}) as late`.execute(
    db,
  )
  const { late_checks, late_checks_of_organization } = rows[0]!
  if (late_checks < MAX_LATE_CHECKS) return late_checks_of_organization ?? 0
  const exact = await sql<{ count: number }>`select count(*) as count from ${unindexedTable(db, 'due_checks')}
    where organization_id = ${organizationId} and due_at < ${dueBefore}`.execute(db)
  return exact.rows[0]!.count
}

/** Of so many monitors one was checked within seconds, because checks are spread over the interval. */
const MAX_LAST_CHECKED = 500

/** The latest check of the oldest and the newest active monitors: no index has the checks in their order, because each check would move it. */
export async function lastCheckedAt(db: Database, { organizationId }: Tenant): Promise<number | null> {
  const slots = (way: 'asc' | 'desc') => sql`select slot from (
    select slot from ${indexedTable(db, 'monitors', 'monitors_by_is_active')}
      where organization_id = ${organizationId} and is_active = 1 order by id ${sql.raw(way)} limit ${MAX_LAST_CHECKED}) as part`
  const { rows } = await sql<{ at: number | null }>`select max(${lastCheckedAtSql}) as at
    from (${slots('asc')} union ${slots('desc')}) as sampled cross join due_checks
    where due_checks.slot = sampled.slot`.execute(db)
  return rows[0]!.at
}

type FailingWebhook = Overview['webhooks']['trouble'][number]
/** Waiting requests of one webhook are counted up to this number. */
const MAX_WAITING = 1_000

// The same expression as in the migration, so that the partial index is used.
const HAS_PROBLEM = sql`is_active = 1 and (state = 'paused' or last_error is not null)`

export async function readWebhooks(
  db: Database,
  { organizationId }: Tenant,
  limit: number,
): Promise<Pick<Overview['webhooks'], 'count' | 'paused' | 'failing' | 'trouble'>> {
  const webhooks = indexedTable(db, 'webhooks', 'webhooks_in_trouble')
  const counts = await sql<{ state: string; count: number }>`
    select 'all' as state, count(*) as count from webhooks where organization_id = ${organizationId}
    union all select state, count(*) from ${webhooks}
      where organization_id = ${organizationId} and ${HAS_PROBLEM} group by state`.execute(db)
  const { rows } = await sql<FailingWebhook>`
    select id, url, case when state = 'paused' then 'paused' else 'failing' end as health, last_error, (select count(*) from
        (select 1 as one from due_requests where webhook_id = webhooks.id limit ${MAX_WAITING}) as requests) as waiting
      from ${webhooks} where organization_id = ${organizationId} and ${HAS_PROBLEM}
      order by state desc, id limit ${limit}`.execute(db)
  const countOf = (state: string) => counts.rows.find((row) => row.state === state)?.count ?? 0
  return { count: countOf('all'), paused: countOf('paused'), failing: countOf('active'), trouble: rows }
}

/** Webhooks, and requests of each, in which a delivery is searched. */
const MAX_FIRST_DELIVERIES = 20

/** Whether a rule alerts somebody, and whether anything was delivered. */
export async function readFirstSteps(
  db: Database,
  { organizationId }: Tenant,
  sendsMail: boolean,
): Promise<Pick<Overview['has'], 'alerts' | 'arrived'>> {
  const { rows } = await sql<{ alerts: number; sent: number; delivered: number }>`
    select (select count(*) from channels where organization_id = ${organizationId} and is_active = 1
          and (type <> 'email' or ${sendsMail ? 1 : 0} = 1)
          and exists (select 1 as one from alert_rule_channels as link
            join alert_rules on alert_rules.organization_id = link.organization_id and alert_rules.id = link.rule_id
            where link.organization_id = ${organizationId} and link.channel_id = channels.id and alert_rules.is_active = 1)) as alerts,
      (select count(*) from channels where organization_id = ${organizationId} and last_sent_at is not null)
        + (select has_received from organizations where id = ${organizationId}) as sent,
      (select count(*) from (select id, last_error from webhooks
            where organization_id = ${organizationId} and last_executed_at is not null order by last_executed_at limit ${MAX_FIRST_DELIVERIES}) as used
          where last_error is null or exists (select 1 as one from (select status from webhook_requests
              where organization_id = ${organizationId} and webhook_id = used.id order by created_at, id limit ${MAX_FIRST_DELIVERIES}) as oldest
            where status = 'DELIVERED')) as delivered`.execute(db)
  const { alerts, sent, delivered } = rows[0]!
  return { alerts: alerts > 0, arrived: sent > 0 || delivered > 0 }
}

/** Late webhooks of all organizations are read up to this number. */
const MAX_LATE_WEBHOOKS = 2_000

/** The number of webhooks that were due before `dueBefore` and have not been processed. */
export async function countLateWebhooks(db: Database, { organizationId }: Tenant, dueBefore: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (select webhook_id from due_webhooks where due_at < ${dueBefore}
        order by due_at limit ${MAX_LATE_WEBHOOKS}) as late
      join webhooks on webhooks.id = late.webhook_id
      where organization_id = ${organizationId} and is_active = 1`.execute(db)
  return rows[0]!.count
}

const MAX_FIRST_RESULTS = 10_000

/** The number of first results after `since`, at most 10,000, with the times of the oldest and the newest. */
export async function firstResultsSince(
  db: Database,
  { organizationId }: Tenant,
  since: number,
): Promise<{ count: number; from: number; to: number } | null> {
  const { rows } = await sql<{ count: number; first: number; last: number }>`
    select count(*) as count, min(occurred_at) as first, max(occurred_at) as last from (
      select occurred_at from ${indexedTable(db, 'events', 'events_by_old_state')}
        where organization_id = ${organizationId} and old_state = 'UNSET' and occurred_at > ${since}
        order by occurred_at desc limit ${MAX_FIRST_RESULTS}) as newest`.execute(db)
  const { count, first, last } = rows[0]!
  return count === 0 ? null : { count, from: first, to: last }
}
