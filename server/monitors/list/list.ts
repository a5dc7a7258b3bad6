import { type SelectQueryBuilder, sql } from 'kysely'
import type { MonitorQuery } from '#contract/monitor-list.ts'
import type { Tenant } from '../../context.ts'
import type { Database } from '../../database/database.ts'
import { fromIndex } from '../../database/index-hints.ts'
import { type ListQuery, type ListRow, listPage, type Page, resolveOrderBy } from '../../database/pagination.ts'
import type { Tables } from '../../database/schema.ts'
import { getTenantRow } from '../../database/tenant-row.ts'
import type { Signer } from '../../keyring.ts'
import type { Links } from '../../waits/setup-pages.ts'
import { withWaits } from '../../waits/waits.ts'
import { lastCheckedAt } from '../last-round.ts'
import { type Inclusion, type MonitorResponseRow, toMonitor } from '../monitor.ts'
import { columnsOf, ofMonitor } from '../store.ts'
import { type MonitorFilter, matchesFilter, parseFilter } from './filter.ts'
import { type ListPlan, monitorsByIds, ORDERS, type OrderName, planList } from './indexes.ts'
import { isExact } from './search.ts'

/** The page as JSON. Throws as `listMonitors` does. */
export async function listMonitorsAsJson(
  db: Database,
  links: Links,
  tenant: Tenant,
  list: MonitorList,
): Promise<string> {
  const page = await listMonitors(db, links.keyring, tenant, list)
  const rows = list.included.wait ? await withWaits(db, links, tenant, page.data) : page.data
  return JSON.stringify({ ...page, data: rows.map((row) => toMonitor(row, list.included)) })
}

/** Throws `not_found`. */
export async function checkIncident(db: Database, tenant: Tenant, id: string): Promise<void> {
  await getTenantRow(db, 'incidents', tenant, id)
}

/** `groupId`: only monitors of this group, whatever else the query filters by. */
type MonitorList = { query: Omit<MonitorQuery, 'include'>; included: Inclusion; groupId?: string | undefined }

/** Throws a 400 for an invalid filter or cursor. */
export async function listMonitors(
  db: Database,
  keyring: Signer,
  tenant: Tenant,
  { query, included, groupId }: MonitorList,
): Promise<Page<MonitorResponseRow>> {
  const { organizationId } = tenant
  const orderBy = resolveOrderBy({ query, orders: ORDERS }) as OrderName
  const filter = await parseFilter(db, tenant, query, groupId)
  const plan = await planList(db, tenant, filter, orderBy)
  const select = (plan: ListPlan) => selectRows(db, tenant, plan, filter, included)
  const { rows, id, order } = select(plan)
  return await listPage<MonitorResponseRow>(rows, {
    keyring,
    query,
    id,
    orders: { ...ORDERS, [orderBy]: order },
    scope: [
      'monitors',
      organizationId,
      Object.entries(filter.equals),
      filter.states,
      filter.labels,
      filter.incident,
      filter.search ?? [],
    ],
    sparse: plan.sparse && { all: selectInOrder(db, tenant, plan), instead: select(plan.sparse) },
  })
}

/** The statement of a plan, its id column and its order. */
function selectRows(db: Database, tenant: Tenant, plan: ListPlan, filter: MonitorFilter, included: Inclusion) {
  const { lookup, where } = plan
  const id = lookup?.isOrdered ? 'ids.id' : 'monitors.id'
  const isSearchDone = lookup?.isSearch && filter.search && isExact(filter.search)
  const { states } = filter
  const remaining = {
    ...filter,
    ...(isSearchDone && { search: undefined }),
    ...(plan.sparse && { states: [] }),
  }
  let rows = fromPlan(db, tenant, plan).select(columnsOf(included)).where(matchesFilter(tenant, remaining))
  // A case hides the states from SQLite, which would read a range of the index for each state.
  if (plan.sparse && states.length > 0) {
    rows = rows.where(sql<boolean>`case when monitors.state in (${sql.join(states)}) then 1 else 0 end = 1`)
  }
  if (where !== undefined) rows = rows.where(sql.raw<boolean>(where))
  const withGroup = included.group ? rows.innerJoin('groups', ofMonitor).select('groups.slug as group_slug') : rows
  const order = lookup?.isOrdered ? { column: id } : plan.order
  return { rows: withGroup, id, order }
}

/** All monitors of the organization, from the index of the order. */
function selectInOrder(db: Database, { organizationId }: Tenant, { index }: ListPlan): ListQuery<ListRow> {
  return db
    .selectFrom(fromIndex(db, 'monitors', index))
    .select('monitors.id')
    .where('monitors.organization_id', '=', organizationId)
}

/** A subquery reads `last_checked` for each row: PostgreSQL then uses the index of the order. */
function fromPlan(db: Database, tenant: Tenant, { index, lookup }: ListPlan) {
  const rows = lookup ? monitorsByIds(db, tenant, lookup.ids) : db.selectFrom(fromIndex(db, 'monitors', index))
  const lastChecked = sql<
    number | null
  >`(select ${lastCheckedAt} from due_checks where due_checks.slot = monitors.slot)`
  return (rows as SelectQueryBuilder<Tables, 'monitors', object>).select(lastChecked.as('last_checked_at'))
}
