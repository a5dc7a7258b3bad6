import { type RawBuilder, sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import {
  EXTERNAL_ID,
  MAX_METADATA_PAIRS,
  MAX_TAGS,
  METADATA_KEY,
  METADATA_PREFIX,
  type Metadata,
} from '#contract/labels.ts'
import type { Tenant } from '../context.ts'
import { deleteAnyEach, insertAnyEach, isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { LabelColumns } from '../database/schema.ts'
import { conflict, type FieldErrors, throwIfInvalid } from '../problem.ts'

/** The labels of a monitor or group in a request. Null means the same as absent. */
export type LabelInput = {
  external_id?: string | null | undefined
  tags?: string[] | null | undefined
  metadata?: Metadata | null | undefined
}

/** The columns of monitors and groups that hold external id, tags and metadata. */
export type LabelRow = { [Column in keyof LabelColumns]: string | (Column extends 'external_id' ? null : never) }

/** As in requests and responses. */
export const labelsFromRow = ({ external_id, tags, metadata }: LabelRow) => ({
  external_id,
  tags: JSON.parse(tags) as string[],
  metadata: JSON.parse(metadata) as Metadata,
})

const METADATA_KEY_PATTERN = new RegExp(METADATA_KEY)
const EXTERNAL_ID_PATTERN = new RegExp(EXTERNAL_ID)
const EXTERNAL_ID_FORMAT = '1 to 128 visible ASCII characters without spaces'

/** Sorts metadata by key, so that equal metadata has the same text. Ignores values of a wrong type: the schema reports them. */
export function labelColumnsOf(input: LabelInput): LabelRow {
  const external_id = typeof input.external_id === 'string' ? input.external_id : null
  const tags = Array.isArray(input.tags) ? input.tags : []
  const metadata = isPairs(input.metadata) ? input.metadata : {}
  const pairs = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    external_id,
    tags: JSON.stringify([...new Set(tags)]),
    metadata: JSON.stringify(Object.fromEntries(pairs)),
  }
}

const isPairs = (value: unknown): value is Metadata =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An error for the first invalid key. The schema does not validate keys. */
export function metadataKeyErrors(metadata: unknown): FieldErrors {
  if (!isPairs(metadata)) return {}
  const keys = Object.keys(metadata).slice(0, MAX_METADATA_PAIRS + 1)
  const invalid = keys.find((key) => !METADATA_KEY_PATTERN.test(key))
  if (invalid === undefined) return {}
  return { metadata: fieldError('invalid_metadata_key', { given: invalid.slice(0, 60) }) }
}

/** An error for an invalid external id in the path, or another one in the body. */
export function externalIdErrors(inPath: string, inBody: unknown): FieldErrors {
  if (inPath.length > 128 || !EXTERNAL_ID_PATTERN.test(inPath)) {
    return { external_id: fieldError('invalid_format', { format: EXTERNAL_ID_FORMAT, given: inPath.slice(0, 60) }) }
  }
  if (inBody === undefined || inBody === inPath) return {}
  return { external_id: { ...fieldError('read_only'), text: 'differs from the one in the path. Leave it out.' } }
}

/** The rows of `monitor_labels` and `group_labels`, by which lists are filtered. */
export function labelsOf({ tags, metadata }: Pick<LabelRow, 'tags' | 'metadata'>): string[] {
  const pairs = Object.entries(JSON.parse(metadata) as Metadata)
  return [...(JSON.parse(tags) as string[]).map(tagLabel), ...pairs.map(([key, value]) => metadataLabel(key, value))]
}

/** Metadata keys have no colon, so a tag never looks like a pair. */
export const tagLabel = (tag: string) => `tag:${tag}`
export const metadataLabel = (key: string, value: string) => `${key}=${value}`

/** The labels that a query filters by. `tag=a,b` requires both. */
export function requestedLabels(query: object): string[] {
  const { tag = '' } = query as { tag?: string }
  const pairs = Object.entries(query).filter(([name]) => name.startsWith(METADATA_PREFIX))
  const tags = new Set(tag.split(',').filter((name) => name !== ''))
  const errors: FieldErrors = {}
  if (tags.size > MAX_TAGS) errors.tag = fieldError('too_many', { max: MAX_TAGS })
  const [excess] = pairs[MAX_METADATA_PAIRS] ?? []
  if (excess !== undefined) errors[excess] = fieldError('too_many_metadata_filters', { max: MAX_METADATA_PAIRS })
  throwIfInvalid(errors)
  const metadata = pairs.map(([name, value]) => metadataLabel(name.slice(METADATA_PREFIX.length), String(value)))
  return [...new Set([...[...tags].map(tagLabel), ...metadata])].sort()
}

/** The condition that a listed object has the label. */
export const hasLabel = (
  { table, id }: LabelTable,
  listed: 'monitors' | 'groups',
  { organizationId }: Tenant,
  label: string,
) =>
  sql<boolean>`exists (select 1 from ${sql.table(table)} where ${sql.ref(`${table}.organization_id`)} = ${organizationId}
    and ${sql.ref(`${table}.label`)} = ${label} and ${sql.ref(`${table}.${id}`)} = ${sql.ref(`${listed}.id`)})`

/** As search texts are stored: on both engines only ASCII letters ignore their case. */
export const asciiLowerCase = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

/** The condition that a text contains these characters, without wildcards. `before`: the LIKE pattern in front of them. */
export const containsText = (text: RawBuilder<unknown>, characters: string, before = '%') =>
  sql<boolean>`${text} like ${`${before}${characters.replace(/[%_\\]/g, '\\$&')}%`} escape '\\'`

type LabelTable = { table: 'monitor_labels'; id: 'monitor_id' } | { table: 'group_labels'; id: 'group_id' }
export const MONITOR_LABELS: LabelTable = { table: 'monitor_labels', id: 'monitor_id' }
export const GROUP_LABELS: LabelTable = { table: 'group_labels', id: 'group_id' }

type LabelledRow = Pick<LabelRow, 'tags' | 'metadata'> & { id: string; organization_id: string }

/** For objects that have no labels stored yet. */
export async function insertLabels(
  db: Database,
  { table, id }: LabelTable,
  rows: readonly LabelledRow[],
): Promise<void> {
  const labels = rows.flatMap((row) =>
    labelsOf(row).map((label) => ({ organization_id: row.organization_id, label, [id]: row.id })),
  )
  await insertAnyEach(db, table, { organization_id: 'text', label: 'text', [id]: 'text' }, labels)
}

/** Stores the labels of the rows instead of the previous ones. */
export async function replaceLabels(db: Database, labelTable: LabelTable, rows: readonly LabelledRow[]): Promise<void> {
  const { table, id: idColumn } = labelTable
  const key = { [idColumn]: 'text', organization_id: 'text' } as const
  const keys = rows.map(({ id, organization_id }) => ({ [idColumn]: id, organization_id }))
  await deleteAnyEach(db, { table, key }, keys)
  await insertLabels(db, labelTable, rows)
}

/** The ids of the objects with these external ids. */
export async function findIdsByExternalId(
  db: Database,
  { organizationId }: Tenant,
  table: 'monitors' | 'groups',
  ids: readonly string[],
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom(table)
    .select(['external_id', 'id'])
    .where('organization_id', '=', organizationId)
    .where('external_id', 'is not', null)
    .where(isOneOf(db, 'external_id', ids))
    .execute()
  return new Map(rows.map((row) => [row.external_id!, row.id]))
}

/** `fields`: the paths of the external ids in the request. */
export const externalIdTaken = (fields: readonly string[]) =>
  conflict(
    'Another object of the organization has this external id. Use another one, or PUT /monitors/external/{external_id}.',
    Object.fromEntries(fields.map((field) => [field, fieldError('taken')])),
    'external_id_taken',
  )
