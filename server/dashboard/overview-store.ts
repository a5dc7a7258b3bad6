import { type RawBuilder, sql } from 'kysely'
import { FAILING_STATES } from '#contract/alert-states.ts'
import type { CauseReason } from '#contract/causes.ts'
import type { Overview } from '#contract/dashboard.ts'
import type { MonitorState } from '#contract/monitors.ts'
import type { Tenant } from '../context.ts'
import { type Database, engineOf } from '../database/database.ts'
import type { FailingCounts } from '../monitors/counts.ts'
import { toReason } from '../monitors/diagnosis.ts'

// The same expression as in the migration, so that the partial index is used.
const IS_FAILING = sql`is_active = 1 and state <> 'VALID' and state <> 'UNSET'`

/** Names the index for SQLite, which has no statistics and might use another one. */
const byIndex = (db: Database, table: string, index: string) =>
  engineOf(db) === 'sqlite' ? sql`${sql.ref(table)} indexed by ${sql.ref(index)}` : sql.ref(table)

/** Monitors of one registrable domain in one failing state. */
export type FailingGroup = { state: MonitorState; domain: string; count: number }

/** Up to this many domains of a state are counted one by one. With more, all failing monitors are read and grouped. */
const MAX_DOMAINS = 200

/** `failing`: failing monitors by state; undefined if they were not counted one by one. */
export type FailingGroups = { largest: FailingGroup[]; all: number; failing?: FailingCounts }

/** The largest groups, and the number of all. */
export async function largestFailingGroups(
  db: Database,
  { organizationId }: Tenant,
  limit: number,
): Promise<FailingGroups> {
  const few = await countByDomain(db, organizationId)
  if (few) {
    const failing: FailingCounts = {}
    for (const { state, count } of few) failing[state] = (failing[state] ?? 0) + count
    return { largest: few.slice(0, limit), all: few.length, failing }
  }
  const { rows } = await sql<FailingGroup & { all_of_them: number }>`
    select state, domain, count(*) as count, count(*) over () as all_of_them
      from ${byIndex(db, 'monitors', 'monitors_failing_counted')}
      where organization_id = ${organizationId} and ${IS_FAILING} group by state, domain
      order by count(*) desc, max(id) desc limit ${limit}`.execute(db)
  return { largest: rows.map(({ all_of_them: _, ...failingGroup }) => failingGroup), all: rows[0]?.all_of_them ?? 0 }
}

/** Steps from one domain to the next, so that the 100,000 monitors of one are only counted. Undefined where there are many domains. */
async function countByDomain(db: Database, organizationId: string): Promise<FailingGroup[] | undefined> {
  const failing = (what: string, of: string, more = sql``) => sql`(select ${sql.raw(what)}
    from ${byIndex(db, 'monitors', 'monitors_failing_counted')}
    where organization_id = ${organizationId} and ${IS_FAILING} and monitors.state = ${sql.ref(`${of}.state`)} ${more})`
  const ofDomain = sql`and monitors.domain = steps.domain`
  const states = sql.join(
    FAILING_STATES.map((state) => sql`select ${state} as state`),
    sql` union all `,
  )
  const { rows } = await sql<FailingGroup & { step: number; newest: string }>`
    with recursive states as (${states}), steps as (
      select state, ${failing('min(domain)', 'states')} as domain, 1 as step from states
      union all
      select state, ${failing('min(domain)', 'steps', sql`and monitors.domain > steps.domain`)}, step + 1
        from steps where domain is not null and step <= ${MAX_DOMAINS}
    )
    select state, domain, step, ${failing('count(*)', 'steps', ofDomain)} as count,
        ${failing('max(id)', 'steps', ofDomain)} as newest
      from steps where domain is not null`.execute(db)
  if (rows.some(({ step }) => step > MAX_DOMAINS)) return undefined
  return rows
    .map(({ step: _, ...failingGroup }) => failingGroup)
    .sort((one, other) => other.count - one.count || (one.newest < other.newest ? 1 : -1))
    .map(({ newest: _, ...failingGroup }) => failingGroup)
}

type FailingGroupKey = Pick<FailingGroup, 'state' | 'domain'>

/** The current sizes of these groups. Groups without monitors are left out. */
export async function countFailingGroups(
  db: Database,
  { organizationId }: Tenant,
  named: readonly FailingGroupKey[],
): Promise<FailingGroup[]> {
  if (named.length === 0) return []
  const each = named.map(
    (failingGroup) => sql`select ${failingGroup.state} as state, ${failingGroup.domain} as domain, count(*) as count
      from ${byIndex(db, 'monitors', 'monitors_failing_counted')} where ${isOf(organizationId, failingGroup)}`,
  )
  const { rows } = await sql<FailingGroup>`${sql.join(each, sql` union all `)}`.execute(db)
  return rows.filter(({ count }) => count > 0)
}

export type FailingMonitor = {
  /** The index of its group in the argument. */
  group_index: number
  id: string
  owner: string
  record_type: string
  expected_values: string
  current_values: string | null
  /** When it came into its state; null where that event is no longer kept. */
  since: number | null
}

/** Events looked through for the one that began a state: a monitor that is wrong in ever new ways has many. */
const MAX_EVENTS = 20

/** The newest monitors of each group, at most `limit`. */
export async function listFailingMonitors(
  db: Database,
  { organizationId }: Tenant,
  failingGroups: readonly FailingGroupKey[],
  limit: number,
): Promise<FailingMonitor[]> {
  if (failingGroups.length === 0) return []
  const each = failingGroups.map(
    (failingGroup, index) => sql`select * from (
      select cast(${index} as integer) as group_index, id, owner, record_type, expected_values, current_values,
          (select max(occurred_at) from (
            select occurred_at, old_state, new_state from ${byIndex(db, 'events', 'events_by_monitor')}
              where monitor_id = monitors.id order by occurred_at desc, id desc limit ${MAX_EVENTS}
          ) as latest where old_state <> new_state and new_state = monitors.state) as since
        from ${byIndex(db, 'monitors', 'monitors_failing_counted')}
        where ${isOf(organizationId, failingGroup)} order by id desc limit ${limit}) as newest`,
  )
  const { rows } = await sql<FailingMonitor>`${sql.join(each, sql` union all `)}`.execute(db)
  return rows
}

const isOf = (organizationId: string, { state, domain }: FailingGroupKey): RawBuilder<unknown> =>
  sql`organization_id = ${organizationId} and ${IS_FAILING} and state = ${state} and domain = ${domain}`

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

/** Up to this many late checks of all organizations are read by the index. With more, the table is scanned. */
const MAX_LATE_CHECKS = 2_000

/** The number of checks that were due before `dueBefore` and have not run, or have been postponed since then. */
export async function countLate(db: Database, { organizationId }: Tenant, dueBefore: number): Promise<number> {
  return (await countOverdue(db, organizationId, dueBefore)) + (await countPostponed(db, organizationId, dueBefore))
}

async function countPostponed(db: Database, organizationId: string, dueBefore: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count
    from ${byIndex(db, 'due_checks', 'due_checks_postponed')}
    where organization_id = ${organizationId} and postponed_since < ${dueBefore} and due_at >= ${dueBefore}`.execute(db)
  return rows[0]!.count
}

async function countOverdue(db: Database, organizationId: string, dueBefore: number): Promise<number> {
  const { rows } = await sql<{ all_late: number; own: number | null }>`
    select count(*) as all_late, cast(sum(case when organization_id = ${organizationId} then 1 else 0 end) as bigint) as own
      from (select organization_id from due_checks where due_at < ${dueBefore} order by due_at limit ${MAX_LATE_CHECKS}) as late`.execute(
    db,
  )
  const { all_late, own } = rows[0]!
  if (all_late < MAX_LATE_CHECKS) return own ?? 0
  const through = engineOf(db) === 'sqlite' ? sql`due_checks not indexed` : sql`due_checks`
  const exact = await sql<{ count: number }>`select count(*) as count from ${through}
    where organization_id = ${organizationId} and due_at < ${dueBefore}`.execute(db)
  return exact.rows[0]!.count
}

export async function lastCheckedAt(db: Database, { organizationId }: Tenant): Promise<number | null> {
  const { rows } = await sql<{ last_checked_at: number }>`select last_checked_at
    from ${byIndex(db, 'due_checks', 'due_checks_by_last_checked')}
    where organization_id = ${organizationId} and last_checked_at is not null
    order by last_checked_at desc limit 1`.execute(db)
  return rows[0]?.last_checked_at ?? null
}

type FailingWebhook = Overview['webhooks']['trouble'][number]
/** Requests counted of one webhook. */
const MAX_WAITING = 1_000

// The same expression as in the migration, so that the partial index is used.
const HAS_PROBLEM = sql`is_active = 1 and (state = 'paused' or last_error is not null)`

export async function readWebhooks(
  db: Database,
  { organizationId }: Tenant,
  limit: number,
): Promise<Pick<Overview['webhooks'], 'count' | 'paused' | 'failing' | 'trouble'>> {
  const inTrouble = byIndex(db, 'webhooks', 'webhooks_in_trouble')
  const counts = await sql<{ what: string; count: number }>`
    select 'all' as what, count(*) as count from webhooks where organization_id = ${organizationId}
    union all select state, count(*) from ${inTrouble}
      where organization_id = ${organizationId} and ${HAS_PROBLEM} group by state`.execute(db)
  const { rows } = await sql<FailingWebhook>`
    select id, url, case when state = 'paused' then 'paused' else 'failing' end as health, last_error, (select count(*) from
        (select 1 as one from due_requests where webhook_id = webhooks.id limit ${MAX_WAITING}) as kept) as waiting
      from ${inTrouble} where organization_id = ${organizationId} and ${HAS_PROBLEM}
      order by state desc, id limit ${limit}`.execute(db)
  const countOf = (what: string) => counts.rows.find((row) => row.what === what)?.count ?? 0
  return { count: countOf('all'), paused: countOf('paused'), failing: countOf('active'), trouble: rows }
}

/** Late webhooks of all organizations that are read. */
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

/** The number of first results since `since`, at most 10,000, and when they came. */
export async function firstResultsSince(
  db: Database,
  { organizationId }: Tenant,
  since: number,
): Promise<{ count: number; from: number; to: number } | null> {
  const { rows } = await sql<{ count: number; first: number; last: number }>`
    select count(*) as count, min(occurred_at) as first, max(occurred_at) as last from (
      select occurred_at from ${byIndex(db, 'events', 'events_by_old_state')}
        where organization_id = ${organizationId} and old_state = 'UNSET' and occurred_at > ${since}
        order by occurred_at desc limit ${MAX_FIRST_RESULTS}) as newest`.execute(db)
  const { count, first, last } = rows[0]!
  return count === 0 ? null : { count, from: first, to: last }
}
