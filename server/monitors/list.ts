import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { MonitorCounts } from '#contract/dashboard.ts'
import type { MonitorQuery } from '#contract/monitors.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { withIndex } from '../database/index-hints.ts'
import type { Tables } from '../database/schema.ts'
import { findGroupRow } from '../groups/store.ts'
import type { Builder } from '../http/keyset-query.ts'
import { listPage, orderOf, type Page } from '../http/pagination.ts'
import { invalid } from '../problem.ts'
import type { Signer } from '../seal.ts'
import { type Filters, type ListPlan, ORDERS, type OrderName, planList } from './list-indexes.ts'
import { type Inclusion, type ShownMonitor, toMonitor } from './monitor.ts'
import { parseNameFilter } from './names.ts'
import { foundIds, isInRange, parseSearch, someFoundIds } from './search.ts'
import { columnsOf } from './store.ts'

/** A page of representations as JSON. Throws as `listMonitors` does. */
export async function listMonitorsAsJson(
  db: Database,
  seal: Signer,
  tenant: Tenant,
  listed: ListedMonitors,
): Promise<string> {
  const page = await listMonitors(db, seal, tenant, listed)
  return JSON.stringify({ ...page, data: page.data.map((row) => toMonitor(row, listed.included)) })
}

export type ListedMonitors = { query: Omit<MonitorQuery, 'include'>; included: Inclusion; groupId?: string }

/**
 * Throws a 400 for a filter or cursor that cannot be used. `groupId`: only the monitors of this group, whatever else the
 * query asks. A group that does not exist has no monitors.
 */
export async function listMonitors(
  db: Database,
  seal: Signer,
  tenant: Tenant,
  { query, included, groupId }: ListedMonitors,
): Promise<Page<ShownMonitor>> {
  const { organizationId } = tenant
  const orderBy = orderOf({ query, orders: ORDERS }) as OrderName
  const filters = await filtersOf(db, organizationId, query, groupId)
  const search = query.search === undefined ? undefined : parseSearch(query.search)
  const plan = await planList(db, tenant, filters, orderBy, search)
  const id = plan.table === 'monitors' ? 'monitors.id' : 'due_checks.monitor_id'
  const found = search && plan.isFound ? foundIds(db, tenant, search) : undefined
  let rows = (from(db, plan, found) as Joined)
    .select(columnsOf(included))
    .where('monitors.organization_id', '=', organizationId)
  if (plan.where !== undefined) rows = rows.where(sql.raw<boolean>(plan.where))
  if (plan.table === 'due_checks') rows = rows.where('due_checks.organization_id', '=', organizationId)
  for (const [column, value] of Object.entries(filters)) {
    rows = rows.where(sql<boolean>`${sql.ref(`monitors.${column}`)} = ${value}`)
  }
  if (search && !plan.isFound) rows = rows.where(isInRange(search))
  const joined = included.group
    ? rows.innerJoin('groups', 'groups.id', 'monitors.group_id').select('groups.slug as group_slug')
    : rows
  return await listPage<ShownMonitor>(joined as unknown as Builder<ShownMonitor>, {
    seal,
    query,
    id,
    orders: { ...ORDERS, [orderBy]: plan.order },
    scope: ['monitors', organizationId, Object.entries(filters), ...(search ? [search] : [])],
  })
}

/** How many monitors the filters leave, active ones by state; at most `most` are counted. Throws a 400 for a wrong filter. */
export async function countMonitors(
  db: Database,
  tenant: Tenant,
  query: Pick<MonitorQuery, 'search' | 'record_type' | 'group'>,
  most: number,
): Promise<MonitorCounts> {
  const { organizationId } = tenant
  const filters = await filtersOf(db, organizationId, query, undefined)
  const search = query.search === undefined ? undefined : parseSearch(query.search)
  const { index, where } = await planList(db, tenant, filters, 'created', search)
  const found = search && someFoundIds(db, tenant, search, most)
  let rows = found
    ? amongThose(db, found)
    : db.selectFrom((index === undefined ? 'monitors' : withIndex('monitors', { index })) as 'monitors')
  rows = rows.where('monitors.organization_id', '=', organizationId)
  if (!found && where !== undefined) rows = rows.where(sql.raw<boolean>(where))
  for (const [column, value] of Object.entries(filters)) {
    rows = rows.where(sql<boolean>`${sql.ref(`monitors.${column}`)} = ${value}`)
  }
  const some = rows.select(['monitors.state', 'monitors.is_active']).limit(most)
  const counted = await db
    .selectFrom(some.as('some'))
    .select(['state', 'is_active', db.fn.countAll<number>().as('count')])
    .groupBy(['state', 'is_active'])
    .execute()
  const sum = (isActive: number) =>
    counted.reduce((all, { is_active, count }) => (is_active === isActive ? all + count : all), 0)
  return {
    states: Object.fromEntries(
      counted.flatMap(({ state, is_active, count }) => (is_active === 1 ? [[state, count]] : [])),
    ),
    active: sum(1),
    disabled: sum(0),
    is_partial: sum(1) + sum(0) >= most,
  }
}

/**
 * A monitor's `last_checked` stands beside its place in the schedule. Where that is the order, the two tables are joined, in
 * SQLite in the order written; else it is looked up for each row, so that PostgreSQL has no join to plan and walks the index of
 * the order.
 */
function from(db: Database, { table, index, order }: ListPlan, among: RawBuilder<{ id: string }> | undefined) {
  const first = index === undefined ? table : withIndex(table, { index })
  const rows = among ? amongThose(db, among) : db.selectFrom(first as 'monitors')
  if (order !== ORDERS.last_checked) {
    const lastChecked = sql<number | null>`(select due_checks.last_checked_at from due_checks
      where due_checks.slot = monitors.slot)`
    return (rows as Joined).select(lastChecked.as('last_checked_at'))
  }
  const joined = rows.crossJoin((table === 'monitors' ? 'due_checks' : 'monitors') as 'due_checks')
  // Each table is found by its own key.
  const found =
    table === 'monitors'
      ? joined.whereRef('due_checks.slot', '=', 'monitors.slot')
      : joined.whereRef('monitors.id', '=', 'due_checks.monitor_id')
  return found.select('due_checks.last_checked_at')
}

/** SQLite reads what stands on the left of a cross join first. */
function amongThose(db: Database, ids: RawBuilder<{ id: string }>) {
  const rows = db.selectFrom(ids.as('those')).crossJoin('monitors').whereRef('monitors.id', '=', 'those.id')
  return rows as unknown as SelectQueryBuilder<Tables, 'monitors', object>
}

/** Both tables' columns may be named; which are there is decided above. */
type Joined = SelectQueryBuilder<Tables, 'monitors' | 'due_checks', object>

async function filtersOf(
  db: Database,
  organizationId: string,
  { group, state, record_type, is_active, ...names }: Omit<MonitorQuery, 'include'>,
  ofGroup: string | undefined,
): Promise<Filters> {
  const name = parseNameFilter(names)
  if (!name.ok) throw invalid(name.problems)
  const filters: Filters = { ...name.filter }
  const named = group === undefined ? ofGroup : ((await findGroupRow(db, { organizationId }, group))?.id ?? '')
  if (named !== undefined) filters.group_id = ofGroup === undefined || ofGroup === named ? named : ''
  if (state !== undefined) filters.state = state
  if (record_type !== undefined) filters.record_type = record_type
  if (is_active !== undefined) filters.is_active = is_active ? 1 : 0
  return filters
}
