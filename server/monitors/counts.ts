import { sql } from 'kysely'
import { MAX_COUNTED, type MonitorCounts, type MonitorFilters } from '#contract/monitor-list.ts'
import type { MonitorState } from '#contract/monitors.ts'
import type { Tenant } from '../context.ts'
import { type Database, engineOf } from '../database/database.ts'
import { type IndexedFilter, narrowestFilter, withIndex } from '../database/index-hints.ts'
import { countByGroup, countsOf } from '../groups/counts.ts'
import { type MonitorFilter, matchesFilter, parseFilter } from './filter.ts'
import { amongThose, indexedFiltersOf } from './list-indexes.ts'
import { countedIds, isExact, isFoundFew, withRareTrigrams } from './search.ts'

// In the words of the migration, so that the partial index is used.
const IS_FAILING = sql`is_active = 1 and state <> 'VALID' and state <> 'UNSET'`

const byIndex = (db: Database, index: string) =>
  engineOf(db) === 'sqlite' ? sql`monitors indexed by ${sql.ref(index)}` : sql`monitors`

export type StateCounts = { total: number; disabled: number; active: Partial<Record<MonitorState, number>> }

/** Monitors of one state that are counted one by one. While a large import is checked for the first time there are more without a result. */
const MOST_OF_STATE = 5_000

export type FailingCounts = Partial<Record<MonitorState, number>>

/**
 * One statement, so that the numbers are of one moment; nearly all monitors are VALID, and are what remains. `known`: what a
 * statement just before it counted, and is not counted again.
 */
export async function countStates(
  db: Database,
  { organizationId }: Tenant,
  known?: FailingCounts,
): Promise<StateCounts> {
  const failing = sql`union all select 'failing', state, count(*) from ${byIndex(db, 'monitors_failing_counted')}
      where organization_id = ${organizationId} and ${IS_FAILING} group by state`
  const { rows: counted } = await sql<{ what: string; state: string; count: number }>`
    select 'all' as what, '' as state, cast(coalesce(sum(monitors), 0) as bigint) as count
      from groups where organization_id = ${organizationId}
    ${known ? sql`` : failing}
    union all select 'disabled', state, count(*) from ${byIndex(db, 'monitors_disabled')}
      where organization_id = ${organizationId} and is_active = 0 group by state
    union all select 'some', 'UNSET', count(*) from (${inState(db, organizationId, 'UNSET')} limit ${MOST_OF_STATE}) as few`.execute(
    db,
  )
  const rows = [...counted, ...Object.entries(known ?? {}).map(([state, count]) => ({ what: 'failing', state, count }))]
  const sum = (kind: string, of?: string) =>
    rows.reduce((all, { what, state, count }) => all + (what === kind && (of ?? state) === state ? count : 0), 0)
  const [total, disabled] = [sum('all'), sum('disabled')]
  const rest = total - disabled - sum('failing')
  const some = sum('some')
  const valid = some < MOST_OF_STATE ? undefined : await countOf(db, organizationId, 'VALID', MOST_OF_STATE)
  const isValidKnown = valid !== undefined && valid < MOST_OF_STATE
  const all = valid === undefined || isValidKnown ? some : await countOf(db, organizationId, 'UNSET')
  const unset = isValidKnown ? rest - (valid - sum('disabled', 'VALID')) : all - sum('disabled', 'UNSET')
  const states = rows.flatMap(({ what, state, count }) => (what === 'failing' ? [[state, count] as const] : []))
  const counts = [['VALID', rest - unset] as const, ['UNSET', unset] as const, ...states]
  return { total, disabled, active: Object.fromEntries(counts.filter(([, count]) => count > 0)) }
}

const inState = (db: Database, organizationId: string, state: MonitorState) => sql`select 1 as one
  from ${byIndex(db, 'monitors_by_state')} where organization_id = ${organizationId} and state = ${state}`

async function countOf(db: Database, organizationId: string, state: MonitorState, most?: number): Promise<number> {
  const limit = most === undefined ? sql`` : sql`limit ${most}`
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (${inState(db, organizationId, state)} ${limit}) as counted`.execute(db)
  return rows[0]!.count
}

/** How many monitors the filters leave, active ones by state. Throws a 400 for a wrong filter. */
export async function countMonitors(db: Database, tenant: Tenant, query: MonitorFilters): Promise<MonitorCounts> {
  const filter = await parseFilter(db, tenant, query)
  const { equals, states, labels, search } = filter
  const { group_id, ...others } = equals
  const isPlain = Object.keys(others).length === 0 && states.length === 0 && labels.length === 0 && !search
  if (isPlain && group_id === undefined) {
    const { disabled, active } = await countStates(db, tenant)
    return { states: active, active: sumOf(Object.values(active)), disabled, is_partial: false }
  }
  if (isPlain) {
    const group = db
      .selectFrom('groups')
      .select(['id', 'monitors'])
      .where('organization_id', '=', tenant.organizationId)
    const rows = await group.where('id', '=', group_id as string).execute()
    return (await countByGroup(db, tenant, rows)).get(group_id as string) ?? countsOf([], false)
  }
  return await countSome(db, tenant, filter)
}

/** Exact where one of the filters alone leaves fewer than `MAX_COUNTED`; else so many are looked at. */
async function countSome(db: Database, tenant: Tenant, filter: MonitorFilter): Promise<MonitorCounts> {
  const { rows, left, count } = await firstRows(db, tenant, filter)
  if (count !== undefined) {
    const met = rows.where(matchesFilter(tenant, left)).select(['monitors.state', 'monitors.is_active'])
    const counted = met.select(db.fn.countAll<number>().as('count')).groupBy(['monitors.state', 'monitors.is_active'])
    return countsOf(await counted.execute(), count >= MAX_COUNTED)
  }
  const looked = rows
    .select(['monitors.state', 'monitors.is_active'])
    .select(sql<0 | 1>`case when ${matchesFilter(tenant, left)} then 1 else 0 end`.as('is_met'))
    .limit(MAX_COUNTED)
  const counted = await db
    .selectFrom(looked.as('looked'))
    .select(['state', 'is_active', 'is_met', db.fn.countAll<number>().as('count')])
    .groupBy(['state', 'is_active', 'is_met'])
    .execute()
  const met = counted.filter(({ is_met }) => is_met === 1)
  return countsOf(met, sumOf(counted.map(({ count }) => count)) >= MAX_COUNTED)
}

/** What the filter leaves that the fewest monitors meet. `left`: what is still to be looked at. `count`: of the rows, where that is known. */
async function firstRows(db: Database, tenant: Tenant, filter: MonitorFilter) {
  const { organizationId } = tenant
  const chosen = await narrowestFilter(db, 'monitors', indexedFiltersOf(db, tenant, filter), MAX_COUNTED)
  const search = filter.search && (await withRareTrigrams(db, tenant, filter.search))
  const isNarrow =
    chosen && (chosen.isFew || (chosen.count < MAX_COUNTED && search && !(await isFoundFew(db, tenant, search))))
  if (search && !isNarrow) {
    const left = isExact(search) ? { ...filter, search: undefined } : filter
    return { rows: amongThose(db, await countedIds(db, tenant, search, MAX_COUNTED)), left }
  }
  const all = db.selectFrom('monitors').where('monitors.organization_id', '=', organizationId)
  if (!chosen) return { rows: all, left: filter }
  const { table, values } = chosen.filter
  const labels = table === 'monitor_labels' ? filter.labels.filter((label) => label !== values[1]) : filter.labels
  // As conditions, PostgreSQL finds the ids in the index of the next one: a tenth of the pages for a tag and a state.
  const count = table === 'monitor_labels' && engineOf(db) === 'postgres' ? chosen.count : undefined
  return { rows: rowsOf(db, tenant, chosen.filter), left: { ...filter, labels }, count }
}

function rowsOf(db: Database, { organizationId }: Tenant, { table, index, columns, values, where }: IndexedFilter) {
  if (table === 'monitor_labels') {
    const ids = sql<{ id: string }>`(select monitor_id as id from monitor_labels
      where organization_id = ${organizationId} and label = ${values[1]} limit ${MAX_COUNTED})`
    if (engineOf(db) === 'sqlite') return amongThose(db, ids)
    // As one list the ids are found in one pass of the index, with half of the pages of a join (PostgreSQL 17 and newer).
    const own = db.selectFrom('monitors').where('monitors.organization_id', '=', organizationId)
    return own.where(sql<boolean>`monitors.id = any(array${ids})`)
  }
  let rows = db
    .selectFrom((index === undefined ? 'monitors' : withIndex('monitors', { index })) as 'monitors')
    .where('monitors.organization_id', '=', organizationId)
  columns.forEach((column, place) => {
    const value = values[place]
    const isEqual = Array.isArray(value) ? sql`in (${sql.join(value)})` : sql`= ${value}`
    rows = rows.where(sql<boolean>`${sql.ref(`monitors.${column}`)} ${isEqual}`)
  })
  return where === undefined ? rows : rows.where(sql.raw<boolean>(where))
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0)
