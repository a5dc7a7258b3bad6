import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { MonitorCounts } from '#contract/dashboard.ts'
import type { MonitorFilters, MonitorQuery } from '#contract/monitors.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { withIndex } from '../database/index-hints.ts'
import type { Tables } from '../database/schema.ts'
import type { Builder } from '../http/keyset-query.ts'
import { listPage, orderOf, type Page } from '../http/pagination.ts'
import type { Signer } from '../seal.ts'
import { parseFilter, whereMonitors } from './filter.ts'
import { type ListPlan, ORDERS, type OrderName, planList } from './list-indexes.ts'
import { type Inclusion, type ShownMonitor, toMonitor } from './monitor.ts'
import { someFoundIds } from './search.ts'
import type { Links } from './setup-pages.ts'
import { columnsOf } from './store.ts'
import { withWaits } from './waits.ts'

/** A page of representations as JSON. Throws as `listMonitors` does. */
export async function listMonitorsAsJson(
  db: Database,
  links: Links,
  tenant: Tenant,
  listed: ListedMonitors,
): Promise<string> {
  const page = await listMonitors(db, links.seal, tenant, listed)
  const rows = listed.included.wait ? await withWaits(db, links, tenant, page.data) : page.data
  return JSON.stringify({ ...page, data: rows.map((row) => toMonitor(row, listed.included)) })
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
  const filter = await parseFilter(db, tenant, query, groupId)
  const plan = await planList(db, tenant, filter, orderBy)
  const id = plan.among?.isInOrder ? 'those.id' : plan.table === 'monitors' ? 'monitors.id' : 'due_checks.monitor_id'
  let rows = whereMonitors((from(db, plan) as Joined).select(columnsOf(included)), tenant, filter)
  if (plan.where !== undefined) rows = rows.where(sql.raw<boolean>(plan.where))
  if (plan.table === 'due_checks') rows = rows.where('due_checks.organization_id', '=', organizationId)
  const joined = included.group
    ? rows.innerJoin('groups', 'groups.id', 'monitors.group_id').select('groups.slug as group_slug')
    : rows
  const order = plan.among?.isInOrder ? { column: id } : plan.order
  return await listPage<ShownMonitor>(joined as unknown as Builder<ShownMonitor>, {
    seal,
    query,
    id,
    orders: { ...ORDERS, [orderBy]: order },
    scope: [
      'monitors',
      organizationId,
      Object.entries(filter.equals),
      filter.states,
      filter.labels,
      filter.search ?? [],
    ],
  })
}

/** How many monitors the filters leave, active ones by state; at most `most` are counted. Throws a 400 for a wrong filter. */
export async function countMonitors(
  db: Database,
  tenant: Tenant,
  query: MonitorFilters,
  most: number,
): Promise<MonitorCounts> {
  const filter = await parseFilter(db, tenant, query)
  const { index, where, among } = await planList(db, tenant, filter, 'created')
  const found = filter.search && someFoundIds(db, tenant, filter.search, most)
  const ids = found ?? among?.ids
  let rows = ids
    ? amongThose(db, ids)
    : db.selectFrom((index === undefined ? 'monitors' : withIndex('monitors', { index })) as 'monitors')
  rows = whereMonitors(rows, tenant, filter)
  if (!ids && where !== undefined) rows = rows.where(sql.raw<boolean>(where))
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
function from(db: Database, { table, index, order, among }: ListPlan) {
  const first = index === undefined ? table : withIndex(table, { index })
  const rows = among ? amongThose(db, among.ids) : db.selectFrom(first as 'monitors')
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
