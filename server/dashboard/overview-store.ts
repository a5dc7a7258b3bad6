import { type RawBuilder, sql } from 'kysely'
import { FAILING_STATES } from '#contract/alert-states.ts'
import type { CauseReason } from '#contract/causes.ts'
import type { Overview } from '#contract/dashboard.ts'
import type { MonitorState } from '#contract/monitors.ts'
import type { Tenant } from '../context.ts'
import { type Database, engineOf } from '../database/database.ts'
import type { FailingCounts } from '../monitors/counts.ts'
import { toReason } from '../monitors/diagnosis.ts'

// In the words of the migration, so that the partial index is used.
const IS_FAILING = sql`is_active = 1 and state <> 'VALID' and state <> 'UNSET'`

/** Walks one index where SQLite, which keeps no statistics here, might take another. */
const byIndex = (db: Database, table: string, index: string) =>
  engineOf(db) === 'sqlite' ? sql`${sql.ref(table)} indexed by ${sql.ref(index)}` : sql.ref(table)

/** Monitors of one registrable domain that fail in the same way. */
export type Trouble = { state: MonitorState; domain: string; count: number }

/** Domains of one state that are counted one by one. With more of them all that fails is read and grouped. */
const FEW_DOMAINS = 200

/** `failing`: how many monitors fail, by state, where counting the troubles told it. */
export type Troubles = { largest: Trouble[]; all: number; failing?: FailingCounts }

/** The largest of them, and how many there are. */
export async function largestTroubles(db: Database, { organizationId }: Tenant, limit: number): Promise<Troubles> {
  const few = await troublesOneByOne(db, organizationId)
  if (few) {
    const failing: FailingCounts = {}
    for (const { state, count } of few) failing[state] = (failing[state] ?? 0) + count
    return { largest: few.slice(0, limit), all: few.length, failing }
  }
  const { rows } = await sql<Trouble & { all_of_them: number }>`
    select state, domain, count(*) as count, count(*) over () as all_of_them
      from ${byIndex(db, 'monitors', 'monitors_failing_counted')}
      where organization_id = ${organizationId} and ${IS_FAILING} group by state, domain
      order by count(*) desc, max(id) desc limit ${limit}`.execute(db)
  return { largest: rows.map(({ all_of_them: _, ...trouble }) => trouble), all: rows[0]?.all_of_them ?? 0 }
}

/** Steps from one domain to the next, so that the 100,000 monitors of one are only counted. Undefined where there are many domains. */
async function troublesOneByOne(db: Database, organizationId: string): Promise<Trouble[] | undefined> {
  const failing = (what: string, of: string, more = sql``) => sql`(select ${sql.raw(what)}
    from ${byIndex(db, 'monitors', 'monitors_failing_counted')}
    where organization_id = ${organizationId} and ${IS_FAILING} and monitors.state = ${sql.ref(`${of}.state`)} ${more})`
  const ofDomain = sql`and monitors.domain = steps.domain`
  const states = sql.join(
    FAILING_STATES.map((state) => sql`select ${state} as state`),
    sql` union all `,
  )
  const { rows } = await sql<Trouble & { place: number; newest: string }>`
    with recursive states as (${states}), steps as (
      select state, ${failing('min(domain)', 'states')} as domain, 1 as place from states
      union all
      select state, ${failing('min(domain)', 'steps', sql`and monitors.domain > steps.domain`)}, place + 1
        from steps where domain is not null and place <= ${FEW_DOMAINS}
    )
    select state, domain, place, ${failing('count(*)', 'steps', ofDomain)} as count,
        ${failing('max(id)', 'steps', ofDomain)} as newest
      from steps where domain is not null`.execute(db)
  if (rows.some(({ place }) => place > FEW_DOMAINS)) return undefined
  return rows
    .map(({ place: _, ...trouble }) => trouble)
    .sort((one, other) => other.count - one.count || (one.newest < other.newest ? 1 : -1))
    .map(({ newest: _, ...trouble }) => trouble)
}

type NamedTrouble = Pick<Trouble, 'state' | 'domain'>

/** How large these are now; those that are over are left out. */
export async function troublesOf(
  db: Database,
  { organizationId }: Tenant,
  named: readonly NamedTrouble[],
): Promise<Trouble[]> {
  if (named.length === 0) return []
  const each = named.map(
    (trouble) => sql`select ${trouble.state} as state, ${trouble.domain} as domain, count(*) as count
      from ${byIndex(db, 'monitors', 'monitors_failing_counted')} where ${isOf(organizationId, trouble)}`,
  )
  const { rows } = await sql<Trouble>`${sql.join(each, sql` union all `)}`.execute(db)
  return rows.filter(({ count }) => count > 0)
}

export type FailingMonitor = {
  /** The place of its trouble among those asked for. */
  place: number
  id: string
  owner: string
  record_type: string
  expected_values: string
  current_values: string | null
  /** When it came into its state; null where that event is no longer kept. */
  since: number | null
}

/** Events looked through for the one that began a state: a monitor that is wrong in ever new ways has many. */
const EVENTS_LOOKED_AT = 20

/** Of each trouble its newest monitors, at most `limit`. */
export async function failingMonitors(
  db: Database,
  { organizationId }: Tenant,
  troubles: readonly NamedTrouble[],
  limit: number,
): Promise<FailingMonitor[]> {
  if (troubles.length === 0) return []
  const each = troubles.map(
    (trouble, place) => sql`select * from (
      select cast(${place} as integer) as place, id, owner, record_type, expected_values, current_values,
          (select max(occurred_at) from (
            select occurred_at, old_state, new_state from ${byIndex(db, 'events', 'events_by_monitor')}
              where monitor_id = monitors.id order by occurred_at desc, id desc limit ${EVENTS_LOOKED_AT}
          ) as latest where old_state <> new_state and new_state = monitors.state) as since
        from ${byIndex(db, 'monitors', 'monitors_failing_counted')}
        where ${isOf(organizationId, trouble)} order by id desc limit ${limit}) as newest`,
  )
  const { rows } = await sql<FailingMonitor>`${sql.join(each, sql` union all `)}`.execute(db)
  return rows
}

const isOf = (organizationId: string, { state, domain }: NamedTrouble): RawBuilder<unknown> =>
  sql`organization_id = ${organizationId} and ${IS_FAILING} and state = ${state} and domain = ${domain}`

/** Why monitors are in their states, by monitor. */
export async function reasonsOf(
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

/** Late checks of all organizations that are looked up one by one; with more of them the table is read through. */
const FEW_LATE = 2_000

/** How many checks should have been made before `dueBefore` and have not, or have been postponed since then. */
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
      from (select organization_id from due_checks where due_at < ${dueBefore} order by due_at limit ${FEW_LATE}) as late`.execute(
    db,
  )
  const { all_late, own } = rows[0]!
  if (all_late < FEW_LATE) return own ?? 0
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

type WebhookInTrouble = Overview['webhooks']['trouble'][number]
/** Requests counted of one webhook. */
const MOST_WAITING = 1_000

// In the words of the migration, so that the partial index is used.
const IS_IN_TROUBLE = sql`is_active = 1 and (state = 'paused' or last_error is not null)`

export async function webhooksOf(
  db: Database,
  { organizationId }: Tenant,
  limit: number,
): Promise<Pick<Overview['webhooks'], 'count' | 'paused' | 'failing' | 'trouble'>> {
  const inTrouble = byIndex(db, 'webhooks', 'webhooks_in_trouble')
  const counts = await sql<{ what: string; count: number }>`
    select 'all' as what, count(*) as count from webhooks where organization_id = ${organizationId}
    union all select state, count(*) from ${inTrouble}
      where organization_id = ${organizationId} and ${IS_IN_TROUBLE} group by state`.execute(db)
  const { rows } = await sql<WebhookInTrouble>`
    select id, url, case when state = 'paused' then 'paused' else 'failing' end as health, last_error, (select count(*) from
        (select 1 as one from due_requests where webhook_id = webhooks.id limit ${MOST_WAITING}) as kept) as waiting
      from ${inTrouble} where organization_id = ${organizationId} and ${IS_IN_TROUBLE}
      order by state desc, id limit ${limit}`.execute(db)
  const countOf = (what: string) => counts.rows.find((row) => row.what === what)?.count ?? 0
  return { count: countOf('all'), paused: countOf('paused'), failing: countOf('active'), trouble: rows }
}

/** Webhooks of all organizations that are looked through for late ones. */
const MOST_LATE = 2_000

/** How many webhooks should have been looked at before `dueBefore` and have not. */
export async function countLateWebhooks(db: Database, { organizationId }: Tenant, dueBefore: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (select webhook_id from due_webhooks where due_at < ${dueBefore}
        order by due_at limit ${MOST_LATE}) as late
      join webhooks on webhooks.id = late.webhook_id
      where organization_id = ${organizationId} and is_active = 1`.execute(db)
  return rows[0]!.count
}

const MOST_FIRST_RESULTS = 10_000

/** The outcomes of first checks since then, in one. */
export async function firstResultsSince(
  db: Database,
  { organizationId }: Tenant,
  since: number,
): Promise<{ count: number; from: number; to: number } | null> {
  const { rows } = await sql<{ count: number; first: number; last: number }>`
    select count(*) as count, min(occurred_at) as first, max(occurred_at) as last from (
      select occurred_at from ${byIndex(db, 'events', 'events_by_old_state')}
        where organization_id = ${organizationId} and old_state = 'UNSET' and occurred_at > ${since}
        order by occurred_at desc limit ${MOST_FIRST_RESULTS}) as newest`.execute(db)
  const { count, first, last } = rows[0]!
  return count === 0 ? null : { count, from: first, to: last }
}
