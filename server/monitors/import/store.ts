import {
  type ImportPlan,
  type ImportRequest,
  type ImportRow,
  MAX_COMPARED_MONITORS,
  type MissingMonitor,
} from '#contract/dashboard.ts'
import type { Tenant } from '../../context.ts'
import { isOneOf } from '../../database/bulk.ts'
import type { Database } from '../../database/database.ts'
import { type LabelRow, labelColumnsOf } from '../../groups/labels.ts'
import { findGroups, getDefaultGroup } from '../../groups/resolve.ts'
import { type DuplicateFields, duplicateKey } from '../insert.ts'
import { parseMonitorName } from '../names.ts'

export type MonitorRow = DuplicateFields & { id: string }

const selectMonitors = (db: Database, { organizationId }: Tenant) =>
  db
    .selectFrom('monitors')
    .select(['id', 'group_id', 'owner', 'record_type', 'is_exact_match', 'expected_values'])
    .where('organization_id', '=', organizationId)

type Labels = Pick<LabelRow, 'tags' | 'metadata'>

/** The monitors with these external ids, by external id. */
export async function findByExternalId(
  db: Database,
  tenant: Tenant,
  ids: readonly string[],
): Promise<Map<string, MonitorRow & Labels>> {
  if (ids.length === 0) return new Map()
  const rows = await selectMonitors(db, tenant)
    .select(['external_id', 'tags', 'metadata'])
    .where('external_id', 'is not', null)
    .where(isOneOf(db, 'external_id', ids))
    .execute()
  return new Map(rows.map((row) => [row.external_id!, row]))
}

/** Whether the row has tags or metadata that differ from the stored ones. */
export function hasOtherLabels(stored: Labels, { tags, metadata }: ImportRow): boolean {
  const imported = labelColumnsOf({ tags, metadata })
  const sorted = (text: string) => JSON.stringify((JSON.parse(text) as string[]).sort())
  const isOtherTags = tags !== null && sorted(imported.tags) !== sorted(stored.tags)
  return isOtherTags || (metadata !== null && imported.metadata !== stored.metadata)
}

export const isEqualExceptGroup = (a: DuplicateFields, b: DuplicateFields): boolean =>
  duplicateKey({ ...a, group_id: '' }) === duplicateKey({ ...b, group_id: '' })

const MAX_SHOWN_LENGTH = 200

/**
 * The monitors of the group, or of the domains of the rows, that are missing in the input: no row has their name and type, or their
 * external id. Refused rows count too.
 */
export async function findMissingMonitors(
  db: Database,
  tenant: Tenant,
  { compare, group }: ImportRequest,
  rows: readonly ImportRow[],
): Promise<ImportPlan['missing']> {
  const matchedIds = new Set(rows.flatMap(({ monitor }) => monitor?.id ?? []))
  const records = new Set(rows.map(({ full_domain, record_type }) => recordText(full_domain, record_type)))
  const compared = await listComparedMonitors(db, tenant, compare === 'group' ? (group ?? null) : domainsOf(rows))
  const isMissing = ({ id, owner, record_type }: MonitorRow) =>
    !matchedIds.has(id) && !records.has(recordText(owner, record_type))
  const missing = compared.slice(0, MAX_COMPARED_MONITORS).filter(isMissing)
  return { monitors: missing.map(toMissingMonitor), is_partial: compared.length > MAX_COMPARED_MONITORS }
}

/** Zone files have SPF records as TXT. */
const recordText = (name: string, type: string) =>
  `${name.toLowerCase()} ${type.toUpperCase() === 'SPF' ? 'TXT' : type.toUpperCase()}`

async function listComparedMonitors(
  db: Database,
  tenant: Tenant,
  groupOrDomains: string | null | readonly string[],
): Promise<MonitorRow[]> {
  const monitors = selectMonitors(db, tenant)
    .orderBy('id')
    .limit(MAX_COMPARED_MONITORS + 1)
  if (Array.isArray(groupOrDomains)) return await monitors.where(isOneOf(db, 'domain', groupOrDomains)).execute()
  const group = groupOrDomains as string | null
  const id = (await findGroupIds(db, tenant, new Set([group]))).get(group)
  return id === undefined ? [] : await monitors.where('group_id', '=', id).execute()
}

function domainsOf(rows: readonly ImportRow[]): string[] {
  const names = rows.map(({ full_domain, record_type }) => parseMonitorName({ full_domain }, record_type as 'A'))
  return [...new Set(names.flatMap((parsed) => (parsed.ok ? parsed.name.domain : [])))]
}

const toMissingMonitor = ({ id, owner, record_type, expected_values }: MonitorRow): MissingMonitor => ({
  id,
  name: owner,
  record_type: record_type as MissingMonitor['record_type'],
  expected_value: (JSON.parse(expected_values) as string[])[0]!.slice(0, MAX_SHOWN_LENGTH),
})

/** Returns group ids by id or slug; null is the default group. Unknown groups are absent. */
export async function findGroupIds(
  db: Database,
  tenant: Tenant,
  idsOrSlugs: ReadonlySet<string | null>,
): Promise<Map<string | null, string>> {
  const names = [...idsOrSlugs].filter((name) => name !== null)
  const ids = new Map<string | null, string>()
  for (const [name, { id }] of await findGroups(db, tenant, names)) ids.set(name, id)
  if (idsOrSlugs.has(null)) ids.set(null, (await getDefaultGroup(db, tenant)).id)
  return ids
}
