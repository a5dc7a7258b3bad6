import { sql } from 'kysely'
import { MAX_COUNTED, type MonitorCounts, type MonitorFilters } from '#contract/monitor-list.ts'
import type { MonitorState } from '#contract/monitors.ts'
import type { Tenant } from '../../context.ts'
import type { Database } from '../../database/database.ts'
import { choosesIndexes } from '../../database/dialect.ts'
import {
  conditionsOf,
  fromIndex,
  type IndexedFilter,
  indexedTable,
  narrowestFilter,
} from '../../database/index-hints.ts'
import { countByGroup, countsOf } from '../../groups/counts.ts'
import { type FailingCounts, IS_FAILING } from '../incident-membership.ts'
import { type MonitorFilter, matchesFilter, parseFilter } from './filter.ts'
import { indexedFiltersOf, monitorsByIds } from './indexes.ts'
import { countedIds, isExact, isFoundFew, withRareTrigrams } from './search.ts'

type ByState = Partial<Record<MonitorState, number>>
export type StateCounts = { total: number; disabled: number; active: ByState; disabledByState: ByState }

/** Up to so many rows of a state are counted. During the first checks of a large import, more monitors are UNSET. */
const MAX_COUNTED_OF_STATE = 5_000

/**
 * Counts in one statement, so that the numbers are consistent. Nearly all monitors are VALID: they are what remains. `failing`: the
 * failing monitors, if the caller has just counted them.
 */
export async function countStates(
  db: Database,
  { organizationId }: Tenant,
  failing?: FailingCounts,
): Promise<StateCounts> {
  const countFailing = sql`union all select 'failing', state, count(*) from ${indexedTable(db, 'monitors', 'monitors_failing_counted')}
      where organization_id = ${organizationId} and ${IS_FAILING} group by state`
  const { rows: counted } = await sql<{ what: string; state: string; count: number }>`
    select 'all' as what, '' as state, cast(coalesce(sum(monitors), 0) as bigint) as count
      from groups where organization_id = ${organizationId}
    ${failing ? sql`` : countFailing}
    union all select 'disabled', state, count(*) from ${indexedTable(db, 'monitors', 'monitors_disabled')}
      where organization_id = ${organizationId} and is_active = 0 group by state
    union all select 'some unset', 'UNSET', count(*) from (${inState(db, organizationId, 'UNSET')} limit ${MAX_COUNTED_OF_STATE}) as few`.execute(
    db,
  )
  const rows = [
    ...counted,
    ...Object.entries(failing ?? {}).map(([state, count]) => ({ what: 'failing', state, count })),
  ]
  const sum = (kind: string, ofState?: MonitorState) =>
    sumOf(rows.filter(({ what, state }) => what === kind && (ofState ?? state) === state).map(({ count }) => count))
  const [total, disabled] = [sum('all'), sum('disabled')]
  const validOrUnset = total - disabled - sum('failing')
  const unset = await countActiveUnset()
  const failingStates = rows.filter(({ what }) => what === 'failing').map(({ state, count }) => [state, count] as const)
  const counts = [['VALID', validOrUnset - unset] as const, ['UNSET', unset] as const, ...failingStates]
  const active = Object.fromEntries(counts.filter(([, count]) => count > 0))
  const ofDisabled = rows.filter(({ what }) => what === 'disabled').map(({ state, count }) => [state, count])
  return { total, disabled, active, disabledByState: Object.fromEntries(ofDisabled) }

  /** Counts VALID instead if there are fewer of these, and all UNSET if there are many of both. */
  async function countActiveUnset(): Promise<number> {
    const someUnset = sum('some unset')
    if (someUnset < MAX_COUNTED_OF_STATE) return someUnset - sum('disabled', 'UNSET')
    const valid = await countInState(db, organizationId, 'VALID', MAX_COUNTED_OF_STATE)
    if (valid < MAX_COUNTED_OF_STATE) return validOrUnset - (valid - sum('disabled', 'VALID'))
    return (await countInState(db, organizationId, 'UNSET')) - sum('disabled', 'UNSET')
  }
}

const inState = (db: Database, organizationId: string, state: MonitorState) => sql`select 1 as one
  from ${indexedTable(db, 'monitors', 'monitors_by_state')} where organization_id = ${organizationId} and state = ${state}`

async function countInState(db: Database, organizationId: string, state: MonitorState, max?: number): Promise<number> {
  const limit = max === undefined ? sql`` : sql`limit ${max}`
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (${inState(db, organizationId, state)} ${limit}) as counted`.execute(db)
  return rows[0]!.count
}

/** How many monitors match the filters, active ones by state. Throws a 400 for an invalid filter. */
export async function countMonitors(db: Database, tenant: Tenant, query: MonitorFilters): Promise<MonitorCounts> {
  const filter = await parseFilter(db, tenant, query)
  const { equals, states, labels, incident, search } = filter
  const { group_id, ...others } = equals
  const { state, is_active, ...rest } = others
  const isByState = Object.keys(rest).length === 0 && labels.length === 0 && incident === undefined && !search
  if (isByState && group_id === undefined) {
    const counts = await countStates(db, tenant)
    const wanted = state === undefined ? states : [state as MonitorState]
    const ofWanted = (byState: ByState, isCounted: boolean): ByState =>
      Object.fromEntries(
        Object.entries(byState).filter(
          ([name]) => isCounted && (wanted.length === 0 || wanted.some((state) => state === name)),
        ),
      )
    const active = ofWanted(counts.active, is_active !== 0)
    const disabled = ofWanted(counts.disabledByState, is_active !== 1)
    return {
      states: active,
      active: sumOf(Object.values(active)),
      disabled: sumOf(Object.values(disabled)),
      is_partial: false,
    }
  }
  const isUnfiltered = isByState && Object.keys(others).length === 0 && states.length === 0
  if (isUnfiltered) {
    const group = db
      .selectFrom('groups')
      .select(['id', 'monitors'])
      .where('organization_id', '=', tenant.organizationId)
    const rows = await group.where('id', '=', group_id as string).execute()
    return (await countByGroup(db, tenant, rows)).get(group_id as string) ?? countsOf([], false)
  }
  return await countMatches(db, tenant, filter)
}

/** Exact if one of the filters alone matches fewer than `MAX_COUNTED` monitors. Otherwise counts the matches among so many. */
async function countMatches(db: Database, tenant: Tenant, filter: MonitorFilter): Promise<MonitorCounts> {
  const { rows, remaining, count } = await candidates(db, tenant, filter)
  if (count !== undefined) {
    const counts = await rows
      .where(matchesFilter(tenant, remaining))
      .select(['monitors.state', 'monitors.is_active', db.fn.countAll<number>().as('count')])
      .groupBy(['monitors.state', 'monitors.is_active'])
      .execute()
    return countsOf(counts, count >= MAX_COUNTED)
  }
  const compared = rows
    .select(['monitors.state', 'monitors.is_active'])
    .select(sql<0 | 1>`case when ${matchesFilter(tenant, remaining)} then 1 else 0 end`.as('is_match'))
    .limit(MAX_COUNTED)
  const counts = await db
    .selectFrom(compared.as('compared'))
    .select(['state', 'is_active', 'is_match', db.fn.countAll<number>().as('count')])
    .groupBy(['state', 'is_active', 'is_match'])
    .execute()
  const matches = counts.filter(({ is_match }) => is_match === 1)
  return countsOf(matches, sumOf(counts.map(({ count }) => count)) >= MAX_COUNTED)
}

/** The matches of the narrowest filter. `remaining`: the filters still to apply. `count`: of the rows, if known. */
async function candidates(db: Database, tenant: Tenant, filter: MonitorFilter) {
  const { organizationId } = tenant
  const narrowest = await narrowestFilter(db, 'monitors', indexedFiltersOf(db, tenant, filter), MAX_COUNTED)
  const search = filter.search && (await withRareTrigrams(db, tenant, filter.search))
  const isNarrow =
    narrowest &&
    (narrowest.isFew || (narrowest.count < MAX_COUNTED && search && !(await isFoundFew(db, tenant, search))))
  if (search && !isNarrow) {
    const remaining = isExact(search) ? { ...filter, search: undefined } : filter
    return { rows: monitorsByIds(db, tenant, await countedIds(db, tenant, search, MAX_COUNTED)), remaining }
  }
  const all = db.selectFrom('monitors').where('monitors.organization_id', '=', organizationId)
  if (!narrowest) return { rows: all, remaining: filter }
  const { table, values } = narrowest.filter
  const labels = table === 'monitor_labels' ? filter.labels.filter((label) => label !== values[1]) : filter.labels
  const incident = table === 'incident_monitors' ? undefined : filter.incident
  // With the ids as a condition, PostgreSQL uses the index of the next filter: a tenth of the pages for a tag and a state.
  const count = narrowest.filter.ids && choosesIndexes(db) ? narrowest.count : undefined
  return { rows: rowsByFilter(db, tenant, narrowest.filter), remaining: { ...filter, labels, incident }, count }
}

function rowsByFilter(db: Database, tenant: Tenant, filter: IndexedFilter) {
  const { organizationId } = tenant
  if (filter.ids) {
    const ids = sql<{ id: string }>`(${filter.ids} limit ${MAX_COUNTED})`
    if (!choosesIndexes(db)) return monitorsByIds(db, tenant, ids)
    // PostgreSQL 17 and newer finds a list of ids in one pass of the index, with half of the pages of a join.
    const monitors = db.selectFrom('monitors').where('monitors.organization_id', '=', organizationId)
    return monitors.where(sql<boolean>`monitors.id = any(array${ids})`)
  }
  let rows = db
    .selectFrom(fromIndex(db, 'monitors', filter.index))
    .where('monitors.organization_id', '=', organizationId)
  for (const condition of conditionsOf(filter)) rows = rows.where(condition)
  return rows
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0)
