import type { Selectable } from 'kysely'
import { INCLUDES, type MonitorResponse, type MonitorState, type Notify, type Resolution } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { Wait } from '#contract/setup-pages.ts'
import type { MonitorsTable } from '../database/schema.ts'
import { withVersion } from '../database/versions.ts'
import { labelsFromRow } from '../groups/labels.ts'
import { parseIncludedFields } from '../http/included-fields.ts'
import { toIso, toIsoOrNull } from '../times.ts'
import { toDiagnosis, toDifference, toReason } from './diagnosis.ts'

/** `name_order` is written by a trigger, so a row that was just inserted lacks it. */
export type MonitorRow = Omit<Selectable<MonitorsTable>, 'name_order'> & { name_order?: string | null }

/** The columns of a new monitor; all others have defaults. */
export const COLUMN_TYPES = {
  id: 'text',
  organization_id: 'text',
  group_id: 'text',
  created_at: 'bigint',
  domain: 'text',
  subdomain: 'text',
  owner: 'text',
  record_type: 'text',
  expected_values: 'text',
  is_exact_match: 'bigint',
  is_active: 'bigint',
  notify: 'text',
  frequency: 'bigint',
  resolution: 'text',
  state: 'text',
  slot: 'bigint',
  external_id: 'text',
  tags: 'text',
  metadata: 'text',
} as const

/** The columns that every response is built from. */
export const RESPONSE_COLUMNS = [
  'id',
  'created_at',
  'domain',
  'subdomain',
  'record_type',
  'expected_values',
  'current_values',
  'is_exact_match',
  'state',
  'incidence_count',
  'is_active',
  'notify',
  'version',
] as const

/** Those of `?include=` are optional. */
export type MonitorResponseRow = Pick<MonitorRow, (typeof RESPONSE_COLUMNS)[number]> &
  Partial<Pick<MonitorRow, 'frequency' | 'resolution' | 'diagnosis' | 'external_id' | 'tags' | 'metadata'>> & {
    last_checked_at: number | null
    group_slug?: string
    wait?: Wait | null
  }

/** The label of a monitor in the audit log. */
export const monitorLabel = ({ owner, record_type }: Pick<MonitorRow, 'owner' | 'record_type'>) =>
  `${owner} ${record_type}`

type Configuration = Pick<MonitorRow, 'domain' | 'subdomain' | 'record_type' | 'expected_values' | 'is_exact_match'> &
  Pick<MonitorRow, 'is_active' | 'notify' | 'frequency' | 'resolution' | 'external_id' | 'tags' | 'metadata'>

/** Absent if the request does not change the wait. */
type AuditedWait = { until?: string | null; deadline?: string | null; setup_page?: string | undefined }

/** The configuration of a monitor, for the audit log. `group`: its slug. */
export const auditOf = (row: Configuration, group: string | undefined, wait: AuditedWait = {}) => ({
  domain: row.domain,
  subdomain: row.subdomain,
  record_type: row.record_type,
  expected_value: JSON.parse(row.expected_values) as string[],
  is_exact_match: row.is_exact_match === 1,
  is_active: row.is_active === 1,
  notify: row.notify,
  frequency: row.frequency,
  resolution: row.resolution,
  group,
  ...wait,
  ...labelsFromRow(row),
})

/** The optional fields of a response. */
export type Inclusion = Record<(typeof INCLUDES)[number], boolean>
export const inclusionOf = (names: readonly string[]): Inclusion =>
  Object.fromEntries(INCLUDES.map((name) => [name, names.includes(name)])) as Inclusion
export const INCLUDE_NOTHING = inclusionOf([])
export const INCLUDE_EVERYTHING = inclusionOf(INCLUDES)

/** The response: exactly the keys of the specification, and the included ones. */
export function toMonitor(row: MonitorResponseRow, included: Inclusion): MonitorResponse {
  const monitor: MonitorResponse = {
    id: row.id,
    created: toIso(row.created_at),
    domain: row.domain,
    subdomain: row.subdomain,
    record_type: row.record_type as MonitorRecordType,
    expected_value: JSON.parse(row.expected_values),
    current_value: row.current_values === null ? null : JSON.parse(row.current_values),
    is_exact_match: row.is_exact_match === 1,
    state: row.state as MonitorState,
    incidence_count: row.incidence_count,
    last_checked: toIsoOrNull(row.last_checked_at),
    is_active: row.is_active === 1,
    notify: row.notify as Notify,
  }
  if (included.frequency && row.frequency !== undefined) monitor.frequency = row.frequency
  if (included.resolution && row.resolution !== undefined) monitor.resolution = row.resolution as Resolution
  if (included.group && row.group_slug !== undefined) monitor.group = row.group_slug
  if (included.external_id) monitor.external_id = row.external_id ?? null
  if (included.tags && row.tags !== undefined) monitor.tags = JSON.parse(row.tags)
  if (included.metadata && row.metadata !== undefined) monitor.metadata = JSON.parse(row.metadata)
  if (included.reason) monitor.reason = toReason(row.diagnosis)
  if (included.difference) monitor.difference = toDifference(row.diagnosis)
  if (included.diagnosis) monitor.diagnosis = row.diagnosis ? toDiagnosis(row.diagnosis) : null
  if (row.wait === undefined) return withVersion(monitor, row.version)
  // The response to `until` has the wait, the response to GET has not.
  return withVersion({ ...monitor, wait: row.wait }, row.version, included.wait ? undefined : monitor)
}

/** Parses `?include=`. Throws a 400 that lists the allowed fields. */
export const parseInclude = (text: string | undefined): Inclusion => inclusionOf(parseIncludedFields(text, INCLUDES))
