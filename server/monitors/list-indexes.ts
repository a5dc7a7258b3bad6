import type { Tenant } from '../context.ts'
import { type Database, engineOf } from '../database/database.ts'
import { FEW, narrowestIndex, type Way } from '../database/index-hints.ts'
import type { Order } from '../http/keyset-query.ts'
import { countFound, type NameRange } from './search.ts'

/** What each `order_by` of a list of monitors stands for; the first is the default. */
export const ORDERS = {
  created: { column: 'monitors.id' },
  domain: { column: 'monitors.domain' },
  subdomain: { column: 'monitors.subdomain' },
  record_type: { column: 'monitors.record_type' },
  state: { column: 'monitors.state' },
  last_checked: { column: 'due_checks.last_checked_at', isNullable: true },
  incidence_count: { column: 'monitors.incidence_count' },
} satisfies Record<string, Order>
export type OrderName = keyof typeof ORDERS

/** What a list's monitors must be equal to: column of `monitors` → value. */
export type Filters = Partial<
  Record<'group_id' | 'owner' | 'domain' | 'subdomain' | 'state' | 'record_type' | 'is_active', string | number>
>

/**
 * `table` is walked in the order of `index`, whose condition is `where`; without one the planner decides. `order`: what the
 * order comes to. `isFound`: what is searched for is looked up first, because few monitors have such a name.
 */
export type ListPlan = {
  table: 'monitors' | 'due_checks'
  index: string | undefined
  where?: string | undefined
  order: Order
  isFound?: boolean
}

/** How a list of monitors is read so that a page costs the same whatever is asked and however many monitors there are. */
export async function planList(
  db: Database,
  tenant: Tenant,
  filters: Filters,
  orderBy: OrderName,
  search?: NameRange,
): Promise<ListPlan> {
  const { organizationId } = tenant
  // Where all rows have one value the id alone is the order, and the filter's index has it.
  const order: Order = orderBy in filters ? ORDERS.created : ORDERS[orderBy]
  const inOrder: ListPlan = { order, ...INDEXES[orderBy] }
  const isPostgres = engineOf(db) === 'postgres'
  // PostgreSQL's planner knows how many have such a name, but not in the order of another table.
  if (search && (!isPostgres || order === ORDERS.last_checked)) {
    const found = await countFound(db, tenant, search)
    if (found < FEW) return { table: 'monitors', index: undefined, order, isFound: true }
  }
  if (isPostgres) return { ...inOrder, index: undefined }
  const ways = waysOf(organizationId, filters)
  const isCreated = order === ORDERS.created
  if (ways.length === 0) return inOrder
  if (isCreated && ways.length === 1) return along(ways[0]!, order)
  const chosen = await narrowestIndex(db, 'monitors', ways)
  return chosen && (isCreated || chosen.isFew) ? along(chosen.way, order) : inOrder
}

const along = ({ index, where }: Way, order: Order): ListPlan => ({ table: 'monitors', index, where, order })

const INDEXES: Record<OrderName, Pick<ListPlan, 'table' | 'index'>> = {
  created: { table: 'monitors', index: 'monitors_by_created' },
  domain: { table: 'monitors', index: 'monitors_by_domain' },
  subdomain: { table: 'monitors', index: 'monitors_by_subdomain' },
  record_type: { table: 'monitors', index: 'monitors_by_record_type' },
  state: { table: 'monitors', index: 'monitors_by_state' },
  last_checked: { table: 'due_checks', index: 'due_checks_by_last_checked' },
  incidence_count: { table: 'monitors', index: 'monitors_by_incidence_count' },
}

// In the words of the migration, so that the partial index is used.
const IS_FAILING = "state <> 'VALID' and state <> 'UNSET'"

function waysOf(organizationId: string, filters: Filters): Way[] {
  const { group_id, state, ...others } = filters
  if (group_id !== undefined && state !== undefined && state !== 'VALID' && state !== 'UNSET') {
    const columns = ['group_id', 'state']
    const both = { index: 'monitors_failing_in_group', columns, values: [group_id, state], where: IS_FAILING }
    return [both, ...waysOf(organizationId, others)]
  }
  return Object.entries(filters).map(([column, value]) =>
    column === 'group_id'
      ? { index: 'monitors_by_group', columns: [column], values: [value] }
      : { index: `monitors_by_${column}`, columns: ['organization_id', column], values: [organizationId, value] },
  )
}
