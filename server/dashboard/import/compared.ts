import {
  type GoneMonitor,
  type ImportPlan,
  type ImportRequest,
  type ImportRow,
  MOST_COMPARED,
} from '#contract/dashboard.ts'
import type { Tenant } from '../../context.ts'
import { isOneOf } from '../../database/bulk.ts'
import type { Database } from '../../database/database.ts'
import { type LabelRow, labelColumnsOf } from '../../groups/labels.ts'
import { type DuplicateFields, duplicateKey } from '../../monitors/insert.ts'
import { parseMonitorName } from '../../monitors/names.ts'
import { findGroupIds } from './group-store.ts'

export type Other = DuplicateFields & { id: string }

const monitorsOf = (db: Database, { organizationId }: Tenant) =>
  db
    .selectFrom('monitors')
    .select(['id', 'group_id', 'owner', 'record_type', 'is_exact_match', 'expected_values'])
    .where('organization_id', '=', organizationId)

type Labels = Pick<LabelRow, 'tags' | 'metadata'>

/** By their external ids. */
export async function monitorsWith(
  db: Database,
  tenant: Tenant,
  ids: readonly string[],
): Promise<Map<string, Other & Labels>> {
  if (ids.length === 0) return new Map()
  const rows = await monitorsOf(db, tenant)
    .select(['external_id', 'tags', 'metadata'])
    .where('external_id', 'is not', null)
    .where(isOneOf(db, 'external_id', ids))
    .execute()
  return new Map(rows.map((row) => [row.external_id!, row]))
}

/** Whether the row has a column for tags or metadata, and it says something else. */
export function hasOtherLabels(stored: Labels, { tags, metadata }: ImportRow): boolean {
  const wanted = labelColumnsOf({ tags, metadata })
  const sorted = (text: string) => JSON.stringify((JSON.parse(text) as string[]).sort())
  const isOtherTags = tags !== null && sorted(wanted.tags) !== sorted(stored.tags)
  return isOtherTags || (metadata !== null && wanted.metadata !== stored.metadata)
}

/** Equal but for the group. */
export const isEqualElsewhere = (one: DuplicateFields, other: DuplicateFields): boolean =>
  duplicateKey({ ...one, group_id: '' }) === duplicateKey({ ...other, group_id: '' })

const MOST_SHOWN = 200

/**
 * The monitors of the group, or of the domains of the rows, that the input does not have: no row has their name and type, and none
 * means them by their external id. A row that is refused has a name too.
 */
export async function goneMonitors(
  db: Database,
  tenant: Tenant,
  { compare, group }: ImportRequest,
  rows: readonly ImportRow[],
): Promise<ImportPlan['gone']> {
  const meant = new Set(rows.flatMap(({ monitor }) => monitor?.id ?? []))
  const records = new Set(rows.map(({ full_domain, record_type }) => recordText(full_domain, record_type)))
  const compared = await comparedMonitors(db, tenant, compare === 'group' ? (group ?? null) : domainsOf(rows))
  const isGone = ({ id, owner, record_type }: Other) => !meant.has(id) && !records.has(recordText(owner, record_type))
  const gone = compared.slice(0, MOST_COMPARED).filter(isGone)
  return { monitors: gone.map(toGone), is_partial: compared.length > MOST_COMPARED }
}

/** A file has its SPF record as TXT. */
const recordText = (name: string, type: string) =>
  `${name.toLowerCase()} ${type.toUpperCase() === 'SPF' ? 'TXT' : type.toUpperCase()}`

async function comparedMonitors(db: Database, tenant: Tenant, of: string | null | readonly string[]): Promise<Other[]> {
  const monitors = monitorsOf(db, tenant)
    .orderBy('id')
    .limit(MOST_COMPARED + 1)
  if (Array.isArray(of)) return await monitors.where(isOneOf(db, 'domain', of)).execute()
  const id = (await findGroupIds(db, tenant, new Set([of as string | null]))).get(of as string | null)
  return id === undefined ? [] : await monitors.where('group_id', '=', id).execute()
}

function domainsOf(rows: readonly ImportRow[]): string[] {
  const names = rows.map(({ full_domain, record_type }) => parseMonitorName({ full_domain }, record_type as 'A'))
  return [...new Set(names.flatMap((parsed) => (parsed.ok ? parsed.name.domain : [])))]
}

const toGone = ({ id, owner, record_type, expected_values }: Other): GoneMonitor => ({
  id,
  name: owner,
  record_type: record_type as GoneMonitor['record_type'],
  expected_value: (JSON.parse(expected_values) as string[])[0]!.slice(0, MOST_SHOWN),
})
