import { type RawBuilder, sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import { EXTERNAL_ID, MAX_METADATA_PAIRS, METADATA_KEY, METADATA_PREFIX, type Metadata } from '#contract/labels.ts'
import type { Tenant } from '../context.ts'
import { deleteEach, insertEach, isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { LabelColumns } from '../database/schema.ts'
import { conflict, type FieldErrors } from '../problem.ts'

/** What a caller gives a monitor or group; null and absent are the same here. */
export type LabelInput = {
  external_id?: string | null | undefined
  tags?: string[] | null | undefined
  metadata?: Metadata | null | undefined
}

/** The columns of monitors and groups that hold external id, tags and metadata. */
export type LabelRow = { [Column in keyof LabelColumns]: string | (Column extends 'external_id' ? null : never) }

/** As people give them, for the audit log. */
export const labelsFromRow = ({ external_id, tags, metadata }: LabelRow) => ({
  external_id,
  tags: JSON.parse(tags) as string[],
  metadata: JSON.parse(metadata) as Metadata,
})

const KEY = new RegExp(METADATA_KEY)
const EXTERNAL = new RegExp(EXTERNAL_ID)
const EXTERNAL_ID_FORMAT = '1 to 128 visible ASCII characters without spaces'

/** Pairs in the order of their keys, so that equal ones have one text. What has a wrong type counts as absent: the schema reports it. */
export function labelColumnsOf(given: LabelInput): LabelRow {
  const external_id = typeof given.external_id === 'string' ? given.external_id : null
  const tags = Array.isArray(given.tags) ? given.tags : []
  const metadata = isPairs(given.metadata) ? given.metadata : {}
  const pairs = Object.entries(metadata).sort(([one], [other]) => (one < other ? -1 : 1))
  return {
    external_id,
    tags: JSON.stringify([...new Set(tags)]),
    metadata: JSON.stringify(Object.fromEntries(pairs)),
  }
}

const isPairs = (given: unknown): given is Metadata =>
  typeof given === 'object' && given !== null && !Array.isArray(given)

/** What the schema cannot say: how keys of metadata are written. */
export function metadataKeyErrors(metadata: unknown): FieldErrors {
  if (!isPairs(metadata)) return {}
  const wrong = Object.keys(metadata)
    .slice(0, MAX_METADATA_PAIRS + 1)
    .filter((key) => !KEY.test(key))
  return wrong.length === 0 ? {} : { metadata: fieldError('invalid_metadata_key', { given: wrong[0]!.slice(0, 60) }) }
}

/** Of a path, and of the body beside it, which may repeat it. */
export function externalIdErrors(inPath: string, inBody: unknown): FieldErrors {
  if (inPath.length > 128 || !EXTERNAL.test(inPath)) {
    return { external_id: fieldError('invalid_format', { format: EXTERNAL_ID_FORMAT, given: inPath.slice(0, 60) }) }
  }
  if (inBody === undefined || inBody === inPath) return {}
  return { external_id: { ...fieldError('read_only'), text: 'differs from the one in the path. Leave it out.' } }
}

/** What a list of monitors or groups can be filtered by, as `monitor_labels` and `group_labels` hold it. */
export function labelsOf({ tags, metadata }: Pick<LabelRow, 'tags' | 'metadata'>): string[] {
  const pairs = Object.entries(JSON.parse(metadata) as Metadata)
  return [...(JSON.parse(tags) as string[]).map(tagLabel), ...pairs.map(([key, value]) => metadataLabel(key, value))]
}

/** No key of metadata has a colon, so that a tag is never taken for a pair. */
export const tagLabel = (tag: string) => `tag:${tag}`
export const metadataLabel = (key: string, value: string) => `${key}=${value}`

/** What a query asks for. `tag=a,b` asks for both. */
export function requestedLabels(query: object): string[] {
  const { tag = '' } = query as { tag?: string }
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    name.startsWith(METADATA_PREFIX) ? [metadataLabel(name.slice(METADATA_PREFIX.length), String(value))] : [],
  )
  const tags = tag.split(',').filter((each) => each !== '')
  return [...new Set([...tags.map(tagLabel), ...pairs])].sort()
}

/** Of the objects that are listed, those with the label. */
export const hasLabel = ({ table, id }: Of, listed: 'monitors' | 'groups', { organizationId }: Tenant, label: string) =>
  sql<boolean>`exists (select 1 from ${sql.table(table)} where ${sql.ref(`${table}.organization_id`)} = ${organizationId}
    and ${sql.ref(`${table}.label`)} = ${label} and ${sql.ref(`${table}.${id}`)} = ${sql.ref(`${listed}.id`)})`

/** As searched texts are: letters beyond ASCII keep their case on both engines. */
export const asciiLowerCase = (text: string) => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

/** Whether a text has these characters. They have no wildcards; `before` is a pattern of what is in front of them. */
export const containsText = (text: RawBuilder<unknown>, characters: string, before = '%') =>
  sql<boolean>`${text} like ${`${before}${characters.replace(/[%_\\]/g, '\\$&')}%`} escape '\\'`

type Of = { table: 'monitor_labels'; id: 'monitor_id' } | { table: 'group_labels'; id: 'group_id' }
export const MONITOR_LABELS: Of = { table: 'monitor_labels', id: 'monitor_id' }
export const GROUP_LABELS: Of = { table: 'group_labels', id: 'group_id' }

type Labelled = Pick<LabelRow, 'tags' | 'metadata'> & { id: string; organization_id: string }

/** Of objects that have none there yet. */
export async function insertLabels(db: Database, { table, id }: Of, rows: readonly Labelled[]): Promise<void> {
  const labels = rows.flatMap((row) =>
    labelsOf(row).map((label) => ({ organization_id: row.organization_id, label, [id]: row.id })),
  )
  await insertEach(db, table, { organization_id: 'text', label: 'text', [id]: 'text' }, labels)
}

/** Makes the labels of objects those of their rows. */
export async function replaceLabels(db: Database, of: Of, rows: readonly Labelled[]): Promise<void> {
  const key = { [of.id]: 'text', organization_id: 'text' } as const
  const ids = rows.map(({ id, organization_id }) => ({ [of.id]: id, organization_id }))
  await deleteEach(db, { table: of.table, key }, ids)
  await insertLabels(db, of, rows)
}

/** Which of these external ids an object of the organization has already. */
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

/** `fields`: the paths of the external ids that are taken. */
export const externalIdTaken = (fields: readonly string[]) =>
  conflict(
    'Another object of the organization has this external id. Use another one, or PUT /monitors/external/{external_id}.',
    Object.fromEntries(fields.map((field) => [field, fieldError('taken')])),
    'external_id_taken',
  )
