import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Tenant } from '../../context.ts'
import type { Database } from '../../database/database.ts'
import { choosesIndexes } from '../../database/dialect.ts'
import { type IndexedFilter, narrowestFilter } from '../../database/index-hints.ts'
import type { Order } from '../../database/pagination.ts'
import type { Tables } from '../../database/schema.ts'
import { type MonitorFilter, NO_FILTER } from './filter.ts'
import { foundIds, isFoundFew, type Search, withRareTrigrams } from './search.ts'

/** The orders of a list of monitors, by `order_by`. The first is the default. */
export const ORDERS = {
  created: { column: 'monitors.id' },
  // Null for a monitor of an older version, until it is backfilled.
  name: { column: 'monitors.name_order', isNullable: true },
  domain: { column: 'monitors.domain' },
  subdomain: { column: 'monitors.subdomain' },
  record_type: { column: 'monitors.record_type' },
  state: { column: 'monitors.state' },
  incidence_count: { column: 'monitors.incidence_count' },
} satisfies Record<string, Order>
export type OrderName = keyof typeof ORDERS

/** How a list is read: in the order of an index, or by ids that are looked up first. */
export type ListPlan = {
  /** Undefined: the database chooses. */
  index: string | undefined
  /** The condition of a partial index. */
  where?: string | undefined
  order: Order
  /** The ids of a label or search that few monitors have. `isOrdered`: the ids are in the order of the list. */
  lookup?: { ids: RawBuilder<{ id: string }>; isOrdered: boolean; isSearch: boolean }
  /** The plan to use if the next rows of the order have too few matches. */
  sparse?: ListPlan
}

/** The plan with which a page costs the same whatever the filter, and however many monitors there are. */
export async function planList(
  db: Database,
  tenant: Tenant,
  filter: MonitorFilter,
  orderBy: OrderName,
): Promise<ListPlan> {
  const { equals, search } = filter
  // If all rows have the same value, the order is that of the ids, which the index of the filter has.
  const order: Order = orderBy in equals ? ORDERS.created : ORDERS[orderBy]
  if (search) return await planSearch(db, tenant, search, order, indexedFiltersOf(db, tenant, filter))
  const inOrder: ListPlan = { order, index: orderIndex(db, orderBy) }
  // PostgreSQL estimates how many rows have a label.
  if (choosesIndexes(db)) return inOrder
  const filters = indexedFiltersOf(db, tenant, filter)
  const narrowest = filters.length === 0 ? undefined : await narrowestFilter(db, 'monitors', filters)
  if (!narrowest) return inOrder
  const hasOrder = order === ORDERS.created && !hasSeveralValues(narrowest.filter)
  return narrowest.isFew || hasOrder ? planByFilter(narrowest.filter, order) : inOrder
}

/** Up to so many rows of another filter, each row is compared with the search. */
const MAX_COMPARED = 20_000

/** Reads a page in its order if the next rows have enough matches, as for a common text. Otherwise sorts all matches. */
async function planSearch(
  db: Database,
  tenant: Tenant,
  requested: Search,
  order: Order,
  filters: readonly IndexedFilter[],
): Promise<ListPlan> {
  const narrowest = await narrowestFilter(db, 'monitors', filters, MAX_COMPARED)
  if (narrowest?.isFew) return planByFilter(narrowest.filter, order)
  const search = await withRareTrigrams(db, tenant, requested)
  const comparesRows =
    narrowest !== undefined && narrowest.count < MAX_COMPARED && !(await isFoundFew(db, tenant, search))
  const sparse = comparesRows
    ? planByFilter(narrowest.filter, order)
    : planLookup(order, { ids: foundIds(db, tenant, search), isOrdered: false, isSearch: true })
  const [orderBy] = Object.entries(ORDERS).find(([, known]) => known === order)! as [OrderName, Order]
  return { order, index: orderIndex(db, orderBy), sparse }
}

const planLookup = (order: Order, lookup: NonNullable<ListPlan['lookup']>): ListPlan => ({
  index: undefined,
  order,
  lookup,
})

/** An index has the rows of one value in the order of their ids, but not those of several values. */
const hasSeveralValues = ({ values }: IndexedFilter) => values.some(Array.isArray)

function planByFilter(filter: IndexedFilter, order: Order): ListPlan {
  const { index, where, ids } = filter
  if (!ids) return { index, where, order }
  return planLookup(order, { ids: sql`(${ids})`, isOrdered: order === ORDERS.created, isSearch: false })
}

/** The index of an order. */
const orderIndex = (db: Database, orderBy: OrderName) => (choosesIndexes(db) ? undefined : `monitors_by_${orderBy}`)

// Exactly the condition of the partial index `monitors_failing_in_group`, which has disabled monitors too.
const IS_FAILING = "state <> 'VALID' and state <> 'UNSET'"

/** The indexes that serve a filter and its labels, without the search. */
export function indexedFiltersOf(db: Database, tenant: Tenant, filter: MonitorFilter): IndexedFilter[] {
  const filters = [
    ...filter.labels.map((label) => byLabel(tenant, label)),
    ...(filter.incident === undefined ? [] : [byIncident(tenant, filter.incident)]),
    ...byColumns(tenant, filter),
  ]
  if (!choosesIndexes(db)) return filters
  return filters.map(({ columns, values, ...filter }) =>
    columns.includes('organization_id')
      ? { ...filter, columns, values, index: undefined }
      : {
          ...filter,
          columns: ['organization_id', ...columns],
          values: [tenant.organizationId, ...values],
          index: undefined,
        },
  )
}

function byColumns({ organizationId }: Tenant, { equals, states }: MonitorFilter): IndexedFilter[] {
  const { group_id, state, ...others } = equals
  const anyState = state === undefined ? states : [state]
  const isFailing = anyState.length > 0 && !anyState.includes('VALID') && !anyState.includes('UNSET')
  if (group_id !== undefined && isFailing) {
    const columns = ['group_id', 'state']
    const both = { index: 'monitors_failing_in_group', columns, values: [group_id, state ?? states], where: IS_FAILING }
    return [both, ...byColumns({ organizationId }, { ...NO_FILTER, equals: others })]
  }
  return [
    ...(states.length === 0 ? [] : [byColumn(organizationId, 'state', states)]),
    ...(group_id === undefined ? [] : [byGroup(organizationId, group_id)]),
    ...INDEXED_COLUMNS.flatMap((column) => {
      const value = equals[column]
      return value === undefined ? [] : [byColumn(organizationId, column, value)]
    }),
  ]
}

const byGroup = (organizationId: string, groupId: string | number): IndexedFilter => ({
  index: 'monitors_by_group',
  columns: ['group_id'],
  values: [groupId],
  count: sql`select monitors as count from groups where organization_id = ${organizationId} and id = ${groupId}`,
})

/** Those that have an index `monitors_by_<column>`. Another column is only compared. */
const INDEXED_COLUMNS = [
  'owner',
  'domain',
  'subdomain',
  'state',
  'record_type',
  'is_active',
  'external_id',
] as const satisfies readonly (keyof MonitorFilter['equals'])[]

const byColumn = (organizationId: string, column: (typeof INDEXED_COLUMNS)[number], value: unknown): IndexedFilter => ({
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
  ids: sql`select monitor_id as id from monitor_labels where organization_id = ${organizationId} and label = ${label}`,
})

const byIncident = ({ organizationId }: Tenant, incident: string): IndexedFilter => ({
  table: 'incident_monitors',
  index: undefined,
  columns: ['organization_id', 'incident_id'],
  values: [organizationId, incident],
  ids: sql`select monitor_id as id from incident_monitors
    where organization_id = ${organizationId} and incident_id = ${incident}`,
})

/** SQLite reads the left side of a cross join first. */
export function monitorsByIds(db: Database, { organizationId }: Tenant, ids: RawBuilder<{ id: string }>) {
  const rows = db
    .selectFrom(ids.as('ids'))
    .crossJoin('monitors')
    .whereRef('monitors.id', '=', 'ids.id')
    .where('monitors.organization_id', '=', organizationId)
  return rows as unknown as SelectQueryBuilder<Tables, 'monitors', object>
}
