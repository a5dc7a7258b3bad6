import { sql } from 'kysely'
import type { MonitorState } from '#contract/monitors.ts'
import { MAX_UPTIME_DAYS, type Uptime, type UptimeOfMonitors, type Uptimes } from '#contract/uptime.ts'
import type { RequestContext } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { fromIndex } from '../database/index-hints.ts'
import { notFound, Problem } from '../problem.ts'
import { DAY_MS } from '../times.ts'
import { yieldToEventLoop } from '../yield.ts'
import { type CheckedRow, readGaps, selectChecked } from './check-history-store.ts'
import { dayOf } from './state-days.ts'
import { addMonitor, describeUptime, type MonitorStates, newTotals } from './uptime.ts'

/** Monitors of a group or zone that are read together. */
const BATCH_SIZE = 200
/** Monitors of a group or zone whose uptime is summed up, at most. */
export const MAX_SUMMED_MONITORS = 20_000
/** Gaps that are read, at most: of the time before them it is not known what was checked. */
const MAX_GAPS = 50_000

/** Throws `not_found`, also for a monitor of another organization. */
export async function getUptime(db: Database, context: RequestContext, id: string, days: number): Promise<Uptime> {
  const [uptime] = (await getUptimes(db, context, [id], days)).data
  if (!uptime) throw notFound()
  const { monitor_id: _, ...rest } = uptime
  return rest
}

/** In the order of the ids, without those that are no monitors of the organization. */
export async function getUptimes(
  db: Database,
  context: RequestContext,
  ids: readonly string[],
  days: number,
): Promise<Uptimes> {
  const rows = await selectRows(db, context)
    .where(isOneOf(db, 'monitors.id', ids))
    .execute()
  const period = periodOf(days, context.now)
  const states = await readStates(db, context, rows, await recordedPart(db, context, period))
  const byId = new Map(
    rows.map(({ id }, index) => {
      const totals = newTotals(period.since, period.until)
      addMonitor(totals, states[index]!)
      return [id, describeUptime(totals)]
    }),
  )
  return { data: [...new Set(ids)].flatMap((id) => (byId.has(id) ? [{ monitor_id: id, ...byId.get(id)! }] : [])) }
}

/** The sums of the monitors of a group, or of those whose domain is a zone. Throws a 400 if there are too many. */
export async function sumUptimes(
  db: Database,
  context: RequestContext,
  of: { column: 'group_id' | 'domain'; value: string },
  days: number,
): Promise<UptimeOfMonitors> {
  const period = periodOf(days, context.now)
  const totals = newTotals(period.since, period.until)
  const recorded = await recordedPart(db, context, period)
  for (let after = ''; ; await yieldToEventLoop()) {
    const ids = await idsAfter(db, context, of, after)
    const rows = await selectRows(db, context)
      .where(isOneOf(db, 'monitors.id', ids))
      .execute()
    for (const states of await readStates(db, context, rows, recorded)) addMonitor(totals, states)
    if (ids.length < BATCH_SIZE) break
    if (totals.monitors >= MAX_SUMMED_MONITORS)
      throw new Problem(
        400,
        `There are more than ${MAX_SUMMED_MONITORS.toLocaleString('en')} monitors, too many to sum up. Use GET /monitors/uptime with their ids.`,
      )
    after = ids.at(-1)!
  }
  return { monitors: totals.monitors, ...describeUptime(totals) }
}

const INDEXES = { group_id: 'monitors_by_group', domain: 'monitors_by_domain' } as const

async function idsAfter(
  db: Database,
  { organizationId }: RequestContext,
  { column, value }: { column: 'group_id' | 'domain'; value: string },
  after: string,
): Promise<string[]> {
  const rows = await db
    .selectFrom(fromIndex(db, 'monitors', INDEXES[column]))
    .select('id')
    .where('organization_id', '=', organizationId)
    .where(column, '=', value)
    .where('id', '>', after)
    .orderBy('id')
    .limit(BATCH_SIZE)
    .execute()
  return rows.map(({ id }) => id)
}

const selectRows = (db: Database, context: RequestContext) => selectChecked(db, context).select('monitors.state')

type Period = { since: number; until: number }

/** Days of UTC, of which the last is today. */
const periodOf = (days: number, now: number): Period => ({ since: dayOf(now) - (days - 1) * DAY_MS, until: now })

/** The part since which changes of states are recorded and kept, with the newest gaps. */
async function recordedPart(
  db: Database,
  { organizationId, now }: RequestContext,
  { since, until }: Period,
): Promise<Period> {
  const { rows } = await sql<{ applied_at: number }>`select applied_at from migrations
    where name = 'state days'`.execute(db)
  const ofRounds = await db
    .selectFrom('round_gaps')
    .select('started_at as at')
    .where('started_at', '>', since)
    .orderBy('started_at', 'desc')
    .offset(MAX_GAPS)
    .limit(1)
    .executeTakeFirst()
  const own = await db
    .selectFrom('check_gaps')
    .select('until_at as at')
    .where('organization_id', '=', organizationId)
    .where('until_at', '>', since)
    .orderBy('until_at', 'desc')
    .offset(MAX_GAPS)
    .limit(1)
    .executeTakeFirst()
  const kept = dayOf(now) - MAX_UPTIME_DAYS * DAY_MS
  return { since: Math.max(since, rows[0]!.applied_at, kept, ofRounds?.at ?? 0, own?.at ?? 0), until }
}

async function readStates(
  db: Database,
  context: RequestContext,
  rows: readonly (CheckedRow & { state: string })[],
  recorded: Period,
): Promise<MonitorStates[]> {
  const gaps = await readGaps(db, context, rows, recorded)
  const days = await db
    .selectFrom('state_days')
    .select(['monitor_id', 'day', 'spans'])
    .where('organization_id', '=', context.organizationId)
    .where(
      isOneOf(
        db,
        'monitor_id',
        rows.map(({ id }) => id),
      ),
    )
    .where('day', '>=', dayOf(recorded.since))
    .orderBy('day')
    .execute()
  const byMonitor = Map.groupBy(days, ({ monitor_id }) => monitor_id)
  return rows.map(({ id, state }, index) => ({
    ...gaps[index]!,
    state: state as MonitorState,
    days: (byMonitor.get(id) ?? []).map(({ day, spans }) => ({ day, spans: JSON.parse(spans) })),
    recordedSince: recorded.since,
  }))
}
