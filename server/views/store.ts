import type { Selectable } from 'kysely'
import { MAX_VIEWS, type NewView, type View, type ViewChange, type ViewQuery } from '#contract/views.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { listPage, type Page } from '../database/pagination.ts'
import type { ViewsTable } from '../database/schema-people.ts'
import { deleteTenantRow, getTenantRow, refuseAtLimit, updateTenantRow } from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale, withVersion } from '../database/versions.ts'
import { newId } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { toIso } from '../times.ts'

type ViewRow = Selectable<ViewsTable>

export async function listViews(
  db: Database,
  keyring: Keyring,
  { organizationId }: Tenant,
  query: ViewQuery,
): Promise<Page<View>> {
  const rows = db.selectFrom('views').selectAll('views').where('views.organization_id', '=', organizationId)
  const page = await listPage<ViewRow>(rows, {
    keyring,
    query,
    id: 'views.id',
    orders: { created: { column: 'views.id' }, name: { column: 'views.name' } },
    scope: ['views', organizationId],
  })
  return { ...page, data: page.data.map(toView) }
}

/** Throws `not_found`, also for a view of another organization. */
export async function getView(db: Database, tenant: Tenant, id: string): Promise<View> {
  return toView(await getTenantRow(db, 'views', tenant, id))
}

/** Returns the id. Throws a 409 if the organization has the maximum number of views. */
export async function insertView(db: Database, context: RequestContext, view: NewView): Promise<string> {
  const { organizationId, actor, now } = context
  return await inTransaction(db, async (transaction) => {
    await refuseAtLimit(transaction, 'views', context, { max: MAX_VIEWS, things: 'views' })
    const id = newId('viw', now)
    const { name, filter = {}, order_by = 'created', order_way = 'asc', columns = null, density = null } = view
    await transaction
      .insertInto('views')
      .values({
        ...{ organization_id: organizationId, id, created_at: now, created_by: actor.label },
        ...columnsOf({ name, filter, order_by, order_way, columns, density }),
      })
      .execute()
    const after = await getView(transaction, context, id)
    await recordAudit(transaction, context, { action: 'view.created', object: { id, label: name }, after })
    return id
  })
}

/** Throws `not_found` and 412. */
export async function updateView(
  db: Database,
  context: RequestContext,
  { id, change, match }: { id: string; change: ViewChange; match: Match },
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'views', context, id, forUpdate(transaction))
    refuseStale(row, match)
    const before = toView(row)
    await updateTenantRow(transaction, 'views', context, id, {
      ...columnsOf({ ...before, ...change }),
      ...nextVersion,
    })
    const after = await getView(transaction, context, id)
    await recordAudit(transaction, context, { action: 'view.updated', object: { id, label: row.name }, before, after })
  })
}

/** Throws `not_found` and 412. */
export async function deleteView(db: Database, context: RequestContext, id: string, match: Match): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'views', context, id, forUpdate(transaction))
    refuseStale(row, match)
    await deleteTenantRow(transaction, 'views', context, id)
    const object = { id, label: row.name }
    await recordAudit(transaction, context, { action: 'view.deleted', object, before: toView(row) })
  })
}

type ViewSettings = Pick<View, 'name' | 'filter' | 'order_by' | 'order_way' | 'columns' | 'density'>

const columnsOf = ({ name, filter, order_by, order_way, columns, density }: ViewSettings) => ({
  name,
  filter: JSON.stringify(filter),
  order_by,
  order_way,
  columns: columns === null ? null : JSON.stringify(columns),
  density,
})

function toView(row: ViewRow): View {
  return withVersion(
    {
      id: row.id,
      created: toIso(row.created_at),
      created_by: row.created_by,
      name: row.name,
      filter: JSON.parse(row.filter),
      order_by: row.order_by,
      order_way: row.order_way,
      columns: row.columns === null ? null : JSON.parse(row.columns),
      density: row.density,
    },
    row.version,
  )
}
