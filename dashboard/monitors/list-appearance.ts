import { useState } from 'react'
import { METADATA_PARAMETER, type METADATA_PREFIX } from '#contract/labels.ts'

/** Columns in the order in which they stand where nobody says otherwise. Most have the name of the API's field. */
export const COLUMN_IDS = [
  'state',
  'name',
  'record_type',
  'expected_value',
  'group',
  'tags',
  'external_id',
  'frequency',
  'last_checked',
  'incidence_count',
  'created',
] as const
export type FieldColumn = (typeof COLUMN_IDS)[number]
/** A field, or one key of the metadata. */
export type ColumnId = FieldColumn | `${typeof METADATA_PREFIX}${string}`
export type Density = 'comfortable' | 'compact'

/** How the list looks. Without `columns`: the usual ones, as many as the screen is wide enough for. */
export type Look = { columns?: readonly ColumnId[]; density: Density }

const USUAL: readonly ColumnId[] = [
  'state',
  'name',
  'record_type',
  'expected_value',
  'group',
  'last_checked',
  'incidence_count',
]

export const columnsOf = ({ columns }: Look): readonly ColumnId[] => columns ?? USUAL

/** With the column or without it. The name stays. */
export function withColumn(look: Look, id: ColumnId, isShown: boolean): Look {
  const others = columnsOf(look).filter((each) => each !== id)
  if (!isShown) return { ...look, columns: withName(others) }
  const next = others.findIndex((each) => placeOf(each) > placeOf(id))
  return { ...look, columns: others.toSpliced(next === -1 ? others.length : next, 0, id) }
}

/** Metadata stands behind the external id. */
const placeOf = (id: ColumnId) => {
  const place = COLUMN_IDS.indexOf(id as FieldColumn)
  return place === -1 ? COLUMN_IDS.indexOf('external_id') + 0.5 : place
}
const withName = (columns: readonly ColumnId[]): ColumnId[] =>
  columns.includes('name') ? [...columns] : ['name', ...columns]

/** What the API has to add to each monitor. */
export function includeOf(look: Look): string {
  const shown = columnsOf(look)
  const labels = shown.filter((id) => id === 'tags' || id === 'external_id')
  const metadata = shown.some(isMetadata) ? ['metadata'] : []
  return ['frequency', 'group', ...labels, ...metadata].join(',')
}

export const isMetadata = (id: string): id is `${typeof METADATA_PREFIX}${string}` =>
  new RegExp(METADATA_PARAMETER).test(id)
const isColumn = (id: unknown): id is ColumnId =>
  typeof id === 'string' && (isMetadata(id) || COLUMN_IDS.some((each) => each === id))

/** From outside: what is unknown is left out. */
export function knownColumns(given: readonly unknown[] | null | undefined): readonly ColumnId[] | undefined {
  const known = [...new Set(given)].filter(isColumn)
  return known.length === 0 ? undefined : withName(known)
}

const KEPT = 'zonewatch.list-look'

export function parseLook(given: unknown): Look {
  const { columns, density } = (typeof given === 'object' && given !== null ? given : {}) as Record<string, unknown>
  const known = Array.isArray(columns) ? knownColumns(columns) : undefined
  return { ...(known ? { columns: known } : {}), density: density === 'compact' ? 'compact' : 'comfortable' }
}

function keptLook(): Look {
  try {
    return parseLook(JSON.parse(localStorage.getItem(KEPT) ?? 'null'))
  } catch {
    return parseLook(null)
  }
}

/** Kept in this browser. */
export function useLook(): [Look, (look: Look) => void] {
  const [look, setLook] = useState(keptLook)
  const set = (next: Look) => {
    setLook(next)
    localStorage.setItem(KEPT, JSON.stringify(next))
  }
  return [look, set]
}
