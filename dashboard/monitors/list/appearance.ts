import { useState } from 'react'
import { METADATA_PARAMETER, type METADATA_PREFIX } from '#contract/labels.ts'

/** Columns in their default order. Most are named like the API field. */
export const COLUMN_IDS = [
  'state',
  'name',
  'record_type',
  'expected_value',
  'group',
  'tags',
  'external_id',
  'frequency',
  'uptime',
  'last_checked',
  'incidence_count',
  'created',
] as const
export type FieldColumn = (typeof COLUMN_IDS)[number]
/** A field, or one key of the metadata. */
export type ColumnId = FieldColumn | `${typeof METADATA_PREFIX}${string}`
export type Density = 'comfortable' | 'compact'

/** Without `columns` the list has the default ones that fit the screen. */
export type ListAppearance = { columns?: readonly ColumnId[]; density: Density }

const DEFAULT_COLUMNS: readonly ColumnId[] = [
  'state',
  'name',
  'record_type',
  'expected_value',
  'group',
  'uptime',
  'last_checked',
  'incidence_count',
]

export const columnIds = ({ columns }: ListAppearance): readonly ColumnId[] => columns ?? DEFAULT_COLUMNS

/** Shows or hides a column. The name is always visible. */
export function withColumn(appearance: ListAppearance, id: ColumnId, isShown: boolean): ListAppearance {
  const others = columnIds(appearance).filter((other) => other !== id)
  if (!isShown) return { ...appearance, columns: withName(others) }
  const next = others.findIndex((other) => position(other) > position(id))
  return { ...appearance, columns: others.toSpliced(next === -1 ? others.length : next, 0, id) }
}

/** Metadata columns come after the external id. */
const position = (id: ColumnId) => {
  const index = COLUMN_IDS.indexOf(id as FieldColumn)
  return index === -1 ? COLUMN_IDS.indexOf('external_id') + 0.5 : index
}
const withName = (columns: readonly ColumnId[]): ColumnId[] =>
  columns.includes('name') ? [...columns] : ['name', ...columns]

/** The parameter `include` that the visible columns need. */
export function includeOf(appearance: ListAppearance): string {
  const shown = columnIds(appearance)
  const labels = shown.filter((id) => id === 'tags' || id === 'external_id')
  const metadata = shown.some(isMetadata) ? ['metadata'] : []
  return ['frequency', 'group', 'wait', ...labels, ...metadata].join(',')
}

export const isMetadata = (id: string): id is `${typeof METADATA_PREFIX}${string}` =>
  new RegExp(METADATA_PARAMETER).test(id)
const isColumn = (id: unknown): id is ColumnId =>
  typeof id === 'string' && (isMetadata(id) || COLUMN_IDS.some((columnId) => columnId === id))

/** Drops unknown columns. Undefined if none is left. */
export function knownColumns(input: readonly unknown[] | null | undefined): readonly ColumnId[] | undefined {
  const known = [...new Set(input)].filter(isColumn)
  return known.length === 0 ? undefined : withName(known)
}

const STORAGE_KEY = 'zonewatch.list-appearance'

export function parseAppearance(input: unknown): ListAppearance {
  const { columns, density } = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>
  const known = Array.isArray(columns) ? knownColumns(columns) : undefined
  return { ...(known ? { columns: known } : {}), density: density === 'compact' ? 'compact' : 'comfortable' }
}

function storedAppearance(): ListAppearance {
  try {
    return parseAppearance(JSON.parse(localStorage.getItem(STORAGE_KEY) ?? 'null'))
  } catch {
    return parseAppearance(null)
  }
}

/** Stored in this browser. */
export function useListAppearance(): [ListAppearance, (appearance: ListAppearance) => void] {
  const [appearance, setAppearance] = useState(storedAppearance)
  const change = (next: ListAppearance) => {
    setAppearance(next)
    localStorage.setItem(STORAGE_KEY, JSON.stringify(next))
  }
  return [appearance, change]
}
