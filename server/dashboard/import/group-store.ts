import type { Tenant } from '../../context.ts'
import { isOneOf } from '../../database/bulk.ts'
import type { Database } from '../../database/database.ts'

/** Ids of groups by the id or slug that names them; null names the default group. Those that are not there are left out. */
export async function findGroupIds(
  db: Database,
  { organizationId }: Tenant,
  named: ReadonlySet<string | null>,
): Promise<Map<string | null, string>> {
  const names = [...named].filter((name) => name !== null)
  const groups = db.selectFrom('groups').select(['id', 'slug']).where('organization_id', '=', organizationId)
  const found = new Map<string | null, string>()
  if (named.has(null)) {
    const preset = await groups.where('is_default', '=', 1).executeTakeFirst()
    if (preset) found.set(null, preset.id)
  }
  if (names.length === 0) return found
  for (const column of ['id', 'slug'] as const) {
    for (const row of await groups.where(isOneOf(db, column, names)).execute()) found.set(row[column], row.id)
  }
  return found
}

/** Slugs of groups by their ids. */
export async function findSlugs(
  db: Database,
  { organizationId }: Tenant,
  ids: ReadonlySet<string>,
): Promise<Map<string, string>> {
  if (ids.size === 0) return new Map()
  const groups = db.selectFrom('groups').select(['id', 'slug']).where('organization_id', '=', organizationId)
  const rows = await groups.where(isOneOf(db, 'id', [...ids])).execute()
  return new Map(rows.map(({ id, slug }) => [id, slug]))
}
