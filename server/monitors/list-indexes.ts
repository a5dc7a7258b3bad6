import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Tenant } from '../context.ts'
import { type Database, engineOf } from '../database/database.ts'
import { type IndexedFilter, narrowestFilter } from '../database/index-hints.ts'
import type { Tables } from '../database/schema.ts'
import type { Order } from '../http/keyset-query.ts'
import { type MonitorFilter, NO_FILTER } from './filter.ts'
import { foundIds, isFoundFew, type Search, withRareTrigrams } from './search.ts'

/** What each `order_by` of a list of monitors stands for; the first is the default. */
export const ORDERS = {
  created: { column: 'monitors.id' },
  // A monitor of a version before has none until it is filled.
  name: { column: 'monitors.name_order', isNullable: true },
  domain: { column: 'monitors.domain' },
  subdomain: { column: 'monitors.subdomain' },
  record_type: { column: 'monitors.record_type' },
  state: { column: 'monitors.state' },
  last_checked: { column: 'due_checks.last_checked_at', isNullable: true },
  incidence_count: { column: 'monitors.incidence_count' },
} satisfies Record<string, Order>
export type OrderName = keyof typeof ORDERS

/**
 * `table` is walked in the order of `index`, whose condition is `where`; without one the planner decides. `order`: what the
 * order comes to. `among`: these monitors are looked up first, because few have such a label or text; `isInOrder`: in the order
 * of their ids; `isSearch`: they are those that the search finds.
 */
export type ListPlan = {
  table: 'monitors' | 'due_checks'
  index: string | undefined
  where?: string | undefined
  order: Order
  among?: { ids: RawBuilder<{ id: string }>; isInOrder: boolean; isSearch?: boolean }
  /** What is read instead where the next rows of the order hold too few that a search finds. */
  sparse?: ListPlan
}

/** How a list of monitors is read so that a page costs the same whatever is asked and however many monitors there are. */
export async function planList(
  db: Database,
  tenant: Tenant,
  filter: MonitorFilter,
  orderBy: OrderName,
): Promise<ListPlan> {
  const { equals, search } = filter
  // Where all rows have one value the id alone is the order, and the filter's index has it.
  const order: Order = orderBy in equals ? ORDERS.created : ORDERS[orderBy]
  const isPostgres = engineOf(db) === 'postgres'
  const inOrder: ListPlan = { order, ...INDEXES[orderBy], ...(isPostgres && { index: undefined }) }
  if (search) return await planSearch(db, tenant, search, order, indexedFiltersOf(db, tenant, filter))
  // PostgreSQL's planner knows how many have such a label, but not in the order of another table.
  if (isPostgres && order !== ORDERS.last_checked) return inOrder
  const filters = indexedFiltersOf(db, tenant, isPostgres ? { ...NO_FILTER, labels: filter.labels } : filter)
  const isCreated = order === ORDERS.created
  const chosen = filters.length === 0 ? undefined : await narrowestFilter(db, 'monitors', filters)
  if (chosen && (chosen.isFew || (isCreated && hasOrder(chosen.filter)))) return along(tenant, chosen.filter, order)
  return inOrder
}

/** Rows of another filter up to which each is compared with the search. */
const MOST_COMPARED = 20_000

/** A page is read in its order where the next rows hold it, which is so for a text that many have; else all that are found are sorted. */
async function planSearch(
  db: Database,
  tenant: Tenant,
  given: Search,
  order: Order,
  filters: readonly IndexedFilter[],
): Promise<ListPlan> {
  const chosen = await narrowestFilter(db, 'monitors', filters, MOST_COMPARED)
  if (chosen?.isFew) return along(tenant, chosen.filter, order)
  const search = await withRareTrigrams(db, tenant, given)
  const found = lookedUp(order, foundIds(db, tenant, search), false, true)
  const isCompared = chosen !== undefined && chosen.count < MOST_COMPARED && !(await isFoundFew(db, tenant, search))
  const sparse = isCompared ? along(tenant, chosen.filter, order) : found
  const [name] = Object.entries(ORDERS).find(([, each]) => each === order)! as [OrderName, Order]
  return { order, ...INDEXES[name], ...(engineOf(db) === 'postgres' && { index: undefined }), sparse }
}

const lookedUp = (order: Order, ids: RawBuilder<{ id: string }>, isInOrder: boolean, isSearch = false): ListPlan => ({
  table: 'monitors',
  index: undefined,
  order,
  among: { ids, isInOrder, isSearch },
})

/** Several values of one column stand one behind the other in its index. */
const hasOrder = ({ values }: IndexedFilter) => !values.some(Array.isArray)

function along({ organizationId }: Tenant, { table, index, where, values }: IndexedFilter, order: Order): ListPlan {
  if (table !== 'monitor_labels') return { table: 'monitors', index, where, order }
  const ids = sql<{ id: string }>`(select monitor_id as id from monitor_labels
    where organization_id = ${organizationId} and label = ${values[1]})`
  return lookedUp(order, ids, order === ORDERS.created)
}

const INDEXES: Record<OrderName, Pick<ListPlan, 'table' | 'index'>> = {
  created: { table: 'monitors', index: 'monitors_by_created' },
  name: { table: 'monitors', index: 'monitors_by_name' },
  domain: { table: 'monitors', index: 'monitors_by_domain' },
  subdomain: { table: 'monitors', index: 'monitors_by_subdomain' },
  record_type: { table: 'monitors', index: 'monitors_by_record_type' },
  state: { table: 'monitors', index: 'monitors_by_state' },
  last_checked: { table: 'due_checks', index: 'due_checks_by_last_checked' },
  incidence_count: { table: 'monitors', index: 'monitors_by_incidence_count' },
}

// In the words of the migration, so that the partial index is used.
const IS_FAILING = "state <> 'VALID' and state <> 'UNSET'"

/** The indexes that serve a filter, and its labels; without the search. */
export function indexedFiltersOf(db: Database, tenant: Tenant, filter: MonitorFilter): IndexedFilter[] {
  const filters = [...filter.labels.map((label) => byLabel(tenant, label)), ...byColumns(tenant, filter)]
  if (engineOf(db) === 'sqlite') return filters
  return filters.map(({ columns, values, ...rest }) => {
    const isOfGroup = !columns.includes('organization_id')
    return {
      ...rest,
      index: undefined,
      columns: isOfGroup ? ['organization_id', ...columns] : columns,
      values: isOfGroup ? [tenant.organizationId, ...values] : values,
    }
  })
}

function byColumns({ organizationId }: Tenant, { equals, states }: MonitorFilter): IndexedFilter[] {
  const { group_id, state, ...others } = equals
  const wanted = state === undefined ? states : [state]
  const isFailing = wanted.length > 0 && !wanted.includes('VALID') && !wanted.includes('UNSET')
  if (group_id !== undefined && isFailing) {
    const columns = ['group_id', 'state']
    const both = { index: 'monitors_failing_in_group', columns, values: [group_id, state ?? states], where: IS_FAILING }
    return [both, ...byColumns({ organizationId }, { ...NO_FILTER, equals: others })]
  }
  const any = states.length === 0 ? [] : [byColumn(organizationId, 'state', states)]
  return [
    ...any,
    ...Object.entries(equals).map(([column, value]) =>
      column === 'group_id'
        ? { index: 'monitors_by_group', columns: [column], values: [value], count: inGroup(organizationId, value) }
        : byColumn(organizationId, column, value),
    ),
  ]
}

const inGroup = (organizationId: string, groupId: unknown) =>
  sql<{
    count: number
  }>`select monitors as count from groups where organization_id = ${organizationId} and id = ${groupId}`

const byColumn = (organizationId: string, column: string, value: unknown): IndexedFilter => ({
  index: `monitors_by_${column}`,
  columns: ['organization_id', column],
  values: [organizationId, value],
  ...(column === 'external_id' ? { where: 'monitors.external_id is not null' } : {}),
})

const byLabel = ({ organizationId }: Tenant, label: string): IndexedFilter => ({
  table: 'monitor_labels',
  index: undefined,
  columns: ['organization_id', 'label'],
  values: [organizationId, label],
})

/** SQLite reads what stands on the left of a cross join first. */
export function amongThose(db: Database, ids: RawBuilder<{ id: string }>) {
  const rows = db.selectFrom(ids.as('those')).crossJoin('monitors').whereRef('monitors.id', '=', 'those.id')
  return rows as unknown as SelectQueryBuilder<Tables, 'monitors', object>
}
