import { type RawBuilder, sql } from 'kysely'
import type { MonitorState } from '#contract/monitors.ts'
import { type Database, engineOf } from '../database/database.ts'

// In the words of the migration, so that the partial index is used.
const IS_FAILING = sql`is_active = 1 and state <> 'VALID' and state <> 'UNSET'`

/** Walks one index where SQLite, which keeps no statistics here, might take another. */
const walked = (db: Database, table: string, index: string) =>
  engineOf(db) === 'sqlite' ? sql`${sql.ref(table)} indexed by ${sql.ref(index)}` : sql.ref(table)

export type StateCounts = { total: number; disabled: number; active: Partial<Record<MonitorState, number>> }

/**
 * One statement, so that the numbers are of one moment. Those that are VALID are what remains of all: as a rule nearly all,
 * and never counted one by one.
 */
export async function countStates(db: Database, organizationId: string): Promise<StateCounts> {
  const { rows } = await sql<{ what: string; state: string; count: number }>`
    select 'all' as what, '' as state, cast(coalesce(sum(monitors), 0) as bigint) as count
      from groups where organization_id = ${organizationId}
    union all select 'failing', state, count(*) from ${walked(db, 'monitors', 'monitors_failing')}
      where organization_id = ${organizationId} and ${IS_FAILING} group by state
    union all select 'disabled', state, count(*) from ${walked(db, 'monitors', 'monitors_disabled')}
      where organization_id = ${organizationId} and is_active = 0 group by state
    union all select 'new', 'UNSET', count(*) from ${walked(db, 'monitors', 'monitors_by_state')}
      where organization_id = ${organizationId} and state = 'UNSET'`.execute(db)
  const sum = (kind: string, of?: string) =>
    rows.reduce((all, { what, state, count }) => all + (what === kind && (of ?? state) === state ? count : 0), 0)
  const [total, disabled] = [sum('all'), sum('disabled')]
  const unset = sum('new') - sum('disabled', 'UNSET')
  const failing = rows.flatMap(({ what, state, count }) => (what === 'failing' ? [[state, count] as const] : []))
  const counts = [['VALID', total - disabled - unset - sum('failing')] as const, ['UNSET', unset] as const, ...failing]
  return { total, disabled, active: Object.fromEntries(counts.filter(([, count]) => count > 0)) }
}

/** Monitors of one registrable domain that fail in the same way. */
export type Trouble = { state: MonitorState; domain: string; count: number }

/** The largest of them, and how many there are. */
export async function largestTroubles(
  db: Database,
  organizationId: string,
  limit: number,
): Promise<{ troubles: Trouble[]; all: number }> {
  const { rows } = await sql<Trouble & { all_of_them: number }>`
    select state, domain, count(*) as count, count(*) over () as all_of_them
      from ${walked(db, 'monitors', 'monitors_failing')}
      where organization_id = ${organizationId} and ${IS_FAILING} group by state, domain
      order by count(*) desc, max(id) desc limit ${limit}`.execute(db)
  return { troubles: rows.map(({ all_of_them: _, ...trouble }) => trouble), all: rows[0]?.all_of_them ?? 0 }
}

/** As many as there are monitors of this domain in this state now. */
export async function troubleOf(
  db: Database,
  organizationId: string,
  { state, domain }: Pick<Trouble, 'state' | 'domain'>,
): Promise<Trouble> {
  const { rows } = await sql<{ count: number }>`select count(*) as count
    from ${walked(db, 'monitors', 'monitors_failing')} where ${ofTrouble(organizationId, { state, domain })}`.execute(
    db,
  )
  return { state, domain, count: rows[0]!.count }
}

export type FailingMonitor = {
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

export async function failingMonitors(
  db: Database,
  organizationId: string,
  trouble: Pick<Trouble, 'state' | 'domain'>,
  limit: number,
): Promise<FailingMonitor[]> {
  const { rows } = await sql<FailingMonitor>`
    select id, owner, record_type, expected_values, current_values,
        (select max(occurred_at) from (
          select occurred_at, old_state, new_state from ${walked(db, 'events', 'events_by_monitor')}
            where monitor_id = monitors.id order by occurred_at desc, id desc limit ${EVENTS_LOOKED_AT}
        ) as latest where old_state <> new_state and new_state = monitors.state) as since
      from ${walked(db, 'monitors', 'monitors_failing')}
      where ${ofTrouble(organizationId, trouble)} order by id desc limit ${limit}`.execute(db)
  return rows
}

const ofTrouble = (organizationId: string, { state, domain }: Pick<Trouble, 'state' | 'domain'>): RawBuilder<unknown> =>
  sql`organization_id = ${organizationId} and ${IS_FAILING} and state = ${state} and domain = ${domain}`

/** The sentence that a check left with its verdict. */
export async function reasonOf(db: Database, organizationId: string, id: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('monitors')
    .select('diagnosis')
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row?.diagnosis ? JSON.parse(row.diagnosis).reason : undefined
}

/** Late checks of all organizations that are looked at one by one without a thought. */
const FEW_LATE = 20_000

/** How many checks should have been made before `dueBefore` and have not. */
export async function countLate(db: Database, organizationId: string, dueBefore: number): Promise<number> {
  const { rows } = await sql<{ all_late: number; own: number | null }>`
    select count(*) as all_late, cast(sum(case when organization_id = ${organizationId} then 1 else 0 end) as bigint) as own
      from (select organization_id from due_checks where due_at < ${dueBefore} order by due_at limit ${FEW_LATE}) as late`.execute(
    db,
  )
  const { all_late, own } = rows[0]!
  if (all_late < FEW_LATE) return own ?? 0
  const exact = await sql<{ count: number }>`select count(*) as count from due_checks
    where organization_id = ${organizationId} and due_at < ${dueBefore}`.execute(db)
  return exact.rows[0]!.count
}

export async function lastCheckedAt(db: Database, organizationId: string): Promise<number | null> {
  const { rows } = await sql<{ last_checked_at: number }>`select last_checked_at
    from ${walked(db, 'due_checks', 'due_checks_by_last_checked')}
    where organization_id = ${organizationId} and last_checked_at is not null
    order by last_checked_at desc limit 1`.execute(db)
  return rows[0]?.last_checked_at ?? null
}

export type PausedWebhook = { id: string; url: string; last_error: string | null; waiting: number }
/** Requests counted of one webhook. */
const MOST_WAITING = 1_000

export async function pausedWebhooks(
  db: Database,
  organizationId: string,
  limit: number,
): Promise<{ count: number; paused: PausedWebhook[] }> {
  const webhooks = await sql<{ count: number }>`select count(*) as count
    from webhooks where organization_id = ${organizationId}`.execute(db)
  const { rows } = await sql<PausedWebhook>`
    select id, url, last_error, (select count(*) from
        (select 1 as one from due_requests where webhook_id = webhooks.id limit ${MOST_WAITING}) as kept) as waiting
      from webhooks where organization_id = ${organizationId} and state = 'paused' and is_active = 1
      order by id limit ${limit}`.execute(db)
  return { count: webhooks.rows[0]!.count, paused: rows }
}
