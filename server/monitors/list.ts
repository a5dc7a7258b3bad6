import { type SelectQueryBuilder, sql } from 'kysely'
import type { MonitorQuery } from '#contract/monitor-list.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { withIndex } from '../database/index-hints.ts'
import type { Tables } from '../database/schema.ts'
import type { Builder } from '../http/keyset-query.ts'
import { listPage, orderOf, type Page } from '../http/pagination.ts'
import type { Signer } from '../seal.ts'
import { type MonitorFilter, parseFilter, whereMonitors } from './filter.ts'
import { amongThose, type ListPlan, ORDERS, type OrderName, planList } from './list-indexes.ts'
import { type Inclusion, type MonitorResponseRow, toMonitor } from './monitor.ts'
import { isExact } from './search.ts'
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
): Promise<Page<MonitorResponseRow>> {
  const { organizationId } = tenant
  const orderBy = orderOf({ query, orders: ORDERS }) as OrderName
  const filter = await parseFilter(db, tenant, query, groupId)
  const plan = await planList(db, tenant, filter, orderBy)
  const read = (plan: ListPlan) => rowsOf(db, tenant, plan, filter, included)
  const { rows, id, order } = read(plan)
  return await listPage<MonitorResponseRow>(rows, {
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
    sparse: plan.sparse && { all: orderedRows(db, tenant, plan), instead: read(plan.sparse) },
  })
}

/** What is read by a plan: the rows, their id, and the order. */
function rowsOf(db: Database, tenant: Tenant, plan: ListPlan, filter: MonitorFilter, included: Inclusion) {
  const { among, table, where } = plan
  const id = among?.isInOrder ? 'those.id' : table === 'monitors' ? 'monitors.id' : 'due_checks.monitor_id'
  const isSearched = among?.isSearch && filter.search && isExact(filter.search)
  const { states } = filter
  const left = { ...filter, ...(isSearched && { search: undefined }), ...(plan.sparse && { states: [] }) }
  let rows = whereMonitors((from(db, plan) as Joined).select(columnsOf(included)), tenant, left)
  // A part of the order is walked. By several states SQLite would skip through the same index for each organization.
  if (plan.sparse && states.length > 0) {
    rows = rows.where(sql<boolean>`case when monitors.state in (${sql.join(states)}) then 1 else 0 end = 1`)
  }
  if (where !== undefined) rows = rows.where(sql.raw<boolean>(where))
  if (table === 'due_checks') rows = rows.where('due_checks.organization_id', '=', tenant.organizationId)
  const joined = included.group
    ? rows.innerJoin('groups', 'groups.id', 'monitors.group_id').select('groups.slug as group_slug')
    : rows
  const order = among?.isInOrder ? { column: id } : plan.order
  return { rows: joined as unknown as Builder<MonitorResponseRow>, id, order }
}

/** All of the organization, from the table and index that has the order. */
function orderedRows(
  db: Database,
  { organizationId }: Tenant,
  { table, index }: ListPlan,
): Builder<MonitorResponseRow> {
  const rows = db.selectFrom((index === undefined ? table : withIndex(table, { index })) as 'monitors')
  const id = table === 'monitors' ? 'monitors.id' : 'due_checks.monitor_id'
  const organization = sql<boolean>`${sql.ref(`${table}.organization_id`)} = ${organizationId}`
  return rows.select(sql<string>`${sql.ref(id)}`.as('id')).where(organization) as unknown as Builder<MonitorResponseRow>
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

/** Both tables' columns may be named; which are there is decided above. */
type Joined = SelectQueryBuilder<Tables, 'monitors' | 'due_checks', object>
